#include "dsl/known_facts.h"

#include "dsl/integer_proof.h"

namespace halyard {
namespace {
using namespace Halide;
using namespace Halide::Internal;

constexpr int max_size = 200;  // of an expression that is worth the time of a proof

int size_of(const Expr &e) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Variable *) override { count++; }
        void visit(const IntImm *) override { count++; }
        int count = 0;
    } nodes;
    e.accept(&nodes);
    return nodes.count;
}

// Takes one lane of a vector of integers or conditions.
class Lane : public IRMutator {
public:
    explicit Lane(int k) : k_(k) {}
    bool is_known = true;  // false: the vector has a part whose lanes aren't known

private:
    using IRMutator::visit;
    Expr unknown(const Expr &e) {
        is_known = is_known && e.type().is_scalar();
        return e.type().is_scalar() ? e : make_zero(e.type().element_of());
    }
    Expr visit(const Ramp *op) override {
        return op->base.type().is_scalar() ? op->base + op->stride * k_ : unknown(op);
    }
    Expr visit(const Broadcast *op) override {
        return op->value.type().is_scalar() ? op->value : unknown(op);
    }
    Expr visit(const Cast *op) override {
        return Cast::make(op->type.element_of(), mutate(op->value));
    }
    Expr visit(const Variable *op) override { return unknown(op); }
    Expr visit(const Reinterpret *op) override { return unknown(op); }
    Expr visit(const Load *op) override { return unknown(op); }
    Expr visit(const Call *op) override { return unknown(op); }
    Expr visit(const Let *op) override { return unknown(op); }
    Expr visit(const VectorReduce *op) override { return unknown(op); }
    Expr visit(const Shuffle *op) override { return unknown(op); }
    const int k_;
};

// Compares in 32 bits what a mask of narrower numbers compares: a small constant with the limited
// value of a difference, int16(3) <= saturating_cast(saturating_sub(extent, i)).
class WideComparison : public IRMutator {
    using IRMutator::visit;
    // Returns what a narrow number limits; nothing if it limits nothing.
    static Expr limited(const Expr &e) {
        const Call *narrow = e.as<Call>();
        if (!narrow || !narrow->is_intrinsic(Call::saturating_cast)) return {};
        const Call *difference = narrow->args[0].as<Call>();
        if (!difference || !difference->is_intrinsic(Call::saturating_sub) ||
            difference->type != Int(32))
            return {};
        return difference->args[0] - difference->args[1];
    }
    Expr visit(const LE *op) override {
        const Expr constant = simplify(cast(Int(32), op->a));
        const Expr wide = limited(op->b);
        return is_const(constant) && wide.defined() ? constant <= wide : IRMutator::visit(op);
    }
};

// Returns the buffers that a statement stores something else to than a constant.
std::set<std::string> buffers_changed(const Stmt &s) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Store *op) override {
            if (!is_const(op->value)) names.insert(op->name);
        }
        std::set<std::string> names;
    } stores;
    s.accept(&stores);
    return stores.names;
}

// Replaces loads of buffers by the constants with which they are filled.
class LoadConstants : public IRMutator {
public:
    explicit LoadConstants(const std::map<std::string, Expr> &filled) : filled_(filled) {}

private:
    using IRMutator::visit;
    Expr visit(const Load *op) override {
        const auto it = filled_.find(op->name);
        if (it == filled_.end() || !it->second.defined()) return IRMutator::visit(op);
        const int lanes = op->type.lanes();
        return lanes == 1 ? it->second : Broadcast::make(it->second, lanes);
    }
    const std::map<std::string, Expr> &filled_;
};

// Looks for a store, or another effect, that a statement may have under the known facts. With
// `details`, a store to a buffer that the statement allocates itself has none, and 0 that is added
// to a sum has none. (That turns -0 into 0, which no sum that starts at 0 is.)
class EffectFinder : public IRVisitor {
public:
    EffectFinder(const KnownFacts &known, bool details) : details_(details), known_(known) {}
    bool found = false;

private:
    using IRVisitor::visit;
    void visit(const Allocate *op) override {
        if (details_) own_[op->name] = Expr();
        IRVisitor::visit(op);
        own_.erase(op->name);
    }
    void visit(const For *op) override {
        if (found || known_.proves(op->extent <= 0)) return;
        for (const std::string &changed : buffers_changed(op->body)) {
            if (!own_.count(changed)) continue;
            own_[changed] = Expr();
            changed_.insert(changed);
        }
        const Expr variable = Variable::make(Int(32), op->name);
        known_.assume(variable >= op->min);
        known_.assume(variable < op->min + op->extent);
        op->body.accept(this);
        known_.forget();
        known_.forget();
    }
    void visit(const Block *op) override {
        if (!found) op->first.accept(this);
        if (!found) op->rest.accept(this);
    }
    void visit(const LetStmt *op) override {
        known_.add_let(op->name, op->value);
        op->body.accept(this);
        known_.remove_let(op->name);
    }
    void visit(const IfThenElse *op) override {
        visit_if(op->condition, op->then_case);
        visit_if(!op->condition, op->else_case);
    }
    void visit_if(const Expr &condition, const Stmt &side) {
        if (found || !side.defined() || known_.proves(!condition)) return;
        known_.assume(condition);
        side.accept(this);
        known_.forget();
    }
    void visit(const Store *op) override {
        if (known_.excludes(op->predicate)) return;
        const Expr value = LoadConstants(own_).mutate(op->value);
        if (details_ && adds_zero(op, value)) return;
        if (own_.count(op->name))
            fill(op->name, value);
        else
            found = true;
    }
    // Notes what a buffer of the statement's own contains after a store.
    void fill(const std::string &buffer, const Expr &value) {
        const Broadcast *same = value.as<Broadcast>();
        const Expr one = same ? same->value : value;
        Expr &filled = own_[buffer];
        const bool is_same = is_const(one) && (!filled.defined() || equal(filled, one));
        if (!is_same) changed_.insert(buffer);
        filled = changed_.count(buffer) ? Expr() : one;
    }
    // Returns true for x[i] = x[i] + 0.
    static bool adds_zero(const Store *op, const Expr &value) {
        const Add *sum = value.as<Add>();
        const Load *old = sum ? sum->a.as<Load>() : nullptr;
        return old && old->name == op->name && equal(old->index, op->index) &&
               is_const_zero(sum->b);
    }
    void visit(const Evaluate *op) override { found |= !is_pure(op->value); }
    void visit(const AssertStmt *) override { found = true; }
    void visit(const Acquire *) override { found = true; }
    void visit(const Atomic *) override { found = true; }

    const bool details_;
    KnownFacts known_;
    // The statement's own buffers, and the constant that each is filled with; undefined if there is
    // none, or not yet.
    std::map<std::string, Expr> own_;
    std::set<std::string> changed_;  // those that contain something else
};

// Removes the kernel's checks of its own sizes.
class WithoutAsserts : public IRMutator {
    using IRMutator::visit;
    Stmt visit(const AssertStmt *) override { return Evaluate::make(0); }
};

}  // namespace

Expr KnownFacts::with_values(const Expr &e) const {
    return substitute(values_, e);
}

void KnownFacts::add_let(const std::string &name, const Expr &value) {
    const Type t = value.type();
    if (of_call_.count(name)) return;
    if (t != Int(32) && !(t.is_bool() && t.is_scalar())) return;
    const Expr v = simplify(with_values(value));
    if (size_of(v) <= max_size) values_[name] = v;
}

bool KnownFacts::proves(const Expr &condition) const {
    const Expr c = with_values(condition);
    if (!c.type().is_scalar() || size_of(c) > max_size) return false;
    try {
        return is_const_one(simplify(c, true, Scope<Interval>::empty_scope(),
                                     Scope<ModulusRemainder>::empty_scope(), conditions_)) ||
               ((*proofs_left_)-- > 0 && implies(conditions_, c));
    } catch (const Halide::Error &) {
        return false;  // an expression that the simplifier doesn't expect
    }
}

bool KnownFacts::excludes(const Expr &condition) const {
    if (is_const_one(condition)) return false;
    for (int k = 0; k < condition.type().lanes(); k++) {
        Lane lane(k);
        const Expr one = WideComparison().mutate(lane.mutate(condition));
        if (!lane.is_known || !proves(!one)) return false;
    }
    return true;
}

bool KnownFacts::only_first_lane(const Expr &condition) const {
    if (condition.type().lanes() != 2) return false;
    Lane second(1);
    const Expr one = WideComparison().mutate(second.mutate(condition));
    return second.is_known && proves(!one);
}

bool may_have_effect(const Stmt &s, const KnownFacts &known, bool details) {
    EffectFinder quick(known, false);
    s.accept(&quick);
    if (!quick.found || !details) return quick.found;
    EffectFinder thorough(known.for_details(), true);
    s.accept(&thorough);
    return thorough.found;
}

bool only_first_turn_stores(const For *loop, const KnownFacts &known) {
    KnownFacts later = known.for_races();
    const Expr variable = Variable::make(Int(32), loop->name);
    later.assume(variable > loop->min);
    later.assume(variable < loop->min + loop->extent);
    // These turns run in the right kernel, too, where what it asserts holds.
    EffectFinder finder(later, false);
    WithoutAsserts().mutate(loop->body).accept(&finder);
    return !finder.found;
}

}  // namespace halyard
