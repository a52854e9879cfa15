#include "dsl/mutate.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "dsl/argument_checks.h"
#include "dsl/kernel.h"

namespace halyard {

const std::vector<FaultKind> &fault_kinds() {
    static const std::vector<FaultKind> kinds = {
        {"dropped-tail",
         "a loop stops one iteration early, or the code for what remains is missing"},
        {"late-start", "a loop begins one iteration late"},
        {"extra-iteration", "a loop makes one iteration too many"},
        {"reduction-bounds",
         "a reduction begins late, begins early, ends early or ends late by one"},
        {"racy-parallel", "a loop whose iterations write to the same place runs in parallel"},
        {"lost-guard", "the condition of a tail or of a special case is taken to hold"},
        {"lost-mask", "a masked vector is stored whole"},
        {"wrong-comparison", "< where <= is meant, or the reverse"},
        {"wrong-clamp", "the second side of a min or max in an index is one too large"},
        {"wrong-pad", "a constant that takes the place of a value is another one"},
        {"wrong-index", "a load or a store goes one element too far"},
        {"swapped-stride", "the stride of another dimension"},
        {"missing-init", "an accumulator isn't initialised"},
        {"wrong-start", "an accumulator starts at another constant"},
        {"overwrites", "an update forgets what was there"},
        {"missing-store", "a result is computed and not stored"},
        {"wrong-operator", "- for +, + for *, min for max, max for min"},
        {"swapped-operands", "b - a for a - b, b / a for a / b"},
        {"wrong-constant", "a constant has the other sign"},
        {"wrong-input", "another input is read"},
        {"lost-precision", "a stage is rounded to 10 bits of mantissa"},
    };
    return kinds;
}

namespace {
const std::string reach_mark = "reach ";
}
std::string reaches(const std::string &fault) {
    return reach_mark + fault;
}

std::string kind_of(const std::string &fault) {
    return fault.substr(0, fault.find(':'));
}

namespace {
using namespace Halide;
using namespace Halide::Internal;

bool is_digit(char c) {
    return std::isdigit((unsigned char)c);
}

// "peak_intm.s1.r$x" of peak_9_intm$3.s1.r236$x: no counters, which depend on what else the process
// built, and on the arithmetic.
std::string stem(const std::string &name) {
    std::string s;
    for (size_t i = 0, end; i < name.size(); i = end) {
        const bool begins = i == 0 || name[i - 1] == '.';
        end = i + 1;
        while (end < name.size() && is_digit(name[end]))
            end++;
        const bool numbered = end > i + 1;
        const bool ends = end == name.size() || name[end] == '.' || name[end] == '$';
        if (numbered &&
            (name[i] == '$' || (name[i] == '_' && (ends || name.compare(end, 5, "_intm") == 0))))
            continue;
        if (numbered && begins && ends && (name[i] == 'r' || name[i] == 't' || name[i] == 'v'))
            s += name[i];
        else
            s += name.substr(i, end - i);
    }
    return s;
}

class Loads : public IRVisitor {
public:
    explicit Loads(const std::string &buffer) : buffer_(buffer) {}
    bool found = false;

private:
    using IRVisitor::visit;
    void visit(const Load *op) override {
        found |= op->name == buffer_;
        IRVisitor::visit(op);
    }
    const std::string &buffer_;
};

bool loads(const Expr &e, const std::string &buffer) {
    Loads visitor(buffer);
    e.accept(&visitor);
    return visitor.found;
}

// Does a loop write to one place in several of its iterations, and what stands there into account?
class Carried : public IRVisitor {
public:
    explicit Carried(const For *loop) {
        by_loop_.push(loop->name);
        loop->body.accept(this);
    }
    bool same_place = false, accumulates = false;
    // a loop inside gets its extent from this one: there is nothing for an iteration too many to do
    bool guarded = false;

private:
    using IRVisitor::visit;
    bool differs(const Expr &e) const { return expr_uses_vars(e, by_loop_); }
    void visit(const LetStmt *op) override {
        if (differs(op->value)) by_loop_.push(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Let *op) override {
        if (differs(op->value)) by_loop_.push(op->name);
        IRVisitor::visit(op);
    }
    void visit(const For *op) override {
        guarded |= differs(op->extent);
        if (differs(op->min)) by_loop_.push(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Allocate *op) override {
        own_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        if (!own_.count(op->name) && !differs(op->index)) {
            same_place = true;
            accumulates |= loads(op->value, op->name);
        }
        IRVisitor::visit(op);
    }

    Scope<> by_loop_;
    std::set<std::string> own_;
};

// What a place needs to know of the rest of the kernel.
class Survey : public IRVisitor {
public:
    // of a buffer: the names they are bound to, by dimension
    std::map<std::string, std::vector<std::string>> strides;
    // buffers with an update that reads what it overwrites
    std::set<std::string> accumulators;
    std::map<Type, std::map<std::string, Parameter>> inputs_of_type;  // that are read

private:
    using IRVisitor::visit;
    void visit(const LetStmt *op) override {
        const size_t at = op->name.find(".stride.");
        if (at != std::string::npos && is_digit(op->name.back()))
            strides[op->name.substr(0, at)].push_back(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        if (loads(op->value, op->name)) accumulators.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        if (op->param.defined()) inputs_of_type[op->type.element_of()][op->name] = op->param;
        IRVisitor::visit(op);
    }
};

// An update's value as if the buffer held what changes nothing: a sum's 0, or the other side of a
// max.
class Forgetful : public IRMutator {
public:
    explicit Forgetful(const std::string &buffer) : buffer_(buffer) {}

private:
    using IRMutator::visit;
    bool is_it(const Expr &e) const {
        const Load *l = e.as<Load>();
        return l && l->name == buffer_;
    }
    template<class Op> Expr other_side(const Op *op) {
        return is_it(op->a) ? op->b : is_it(op->b) ? op->a : IRMutator::visit(op);
    }
    Expr visit(const Max *op) override { return other_side(op); }
    Expr visit(const Min *op) override { return other_side(op); }
    Expr visit(const Load *op) override { return is_it(op) ? make_zero(op->type) : Expr(op); }
    const std::string &buffer_;
};

// int32 are indices, and uint32 are the reals of exact mode
bool is_value(Type t) {
    return t.is_float() || (t.is_uint() && t.bits() >= 32);
}

Expr abort_call() {
    return Call::make(Int(32), "abort", {}, Call::Extern);
}
Stmt aborts_before(const Stmt &s) {
    return Block::make(Evaluate::make(abort_call()), s);
}

// The value, or the end of the process where `condition` holds in any lane.
Expr aborts_if(const Expr &condition, const Expr &value) {
    const Expr any = condition.type().is_scalar()
                         ? condition
                         : VectorReduce::make(VectorReduce::Or, condition, 1);
    const Type t = value.type().element_of();
    Expr aborts = t.is_bool() ? abort_call() != 0 : cast(t, abort_call());
    if (value.type().is_vector()) aborts = Broadcast::make(aborts, value.type().lanes());
    return Call::make(value.type(), Call::if_then_else, {any, aborts, value}, Call::PureIntrinsic);
}

// Do they differ in any bit?
Expr differ(const Expr &a, const Expr &b) {
    const Type t = a.type();
    if (!t.is_float()) return a != b;
    const Type bits = t.with_code(Type::UInt);
    return reinterpret(bits, a) != reinterpret(bits, b);
}

Expr other_constant(const Expr &e) {
    return is_const_zero(e) ? make_one(e.type()) : make_zero(e.type());
}

// The lowered kernel with one fault; with none, when only listing which there could be. Nothing
// outside the stages is touched: what stands there unpacks arguments and checks them.
class Planter : public IRMutator {
public:
    explicit Planter(const std::string &wanted)
        : probes_(wanted.starts_with(reach_mark)),
          wanted_(probes_ ? wanted.substr(reach_mark.size()) : wanted) {}
    std::vector<std::string> found;

    using IRMutator::mutate;
    Stmt mutate(const Stmt &s) override {
        if (inside_) return IRMutator::mutate(s);
        inside_ = true;
        planted_ = false;
        seen_.clear();
        s.accept(&survey_);
        const Stmt result = IRMutator::mutate(s);
        inside_ = false;
        if (!wanted_.empty() && !planted_)
            throw CompileError("no place for the fault '" + wanted_ + "'");
        return result;
    }

private:
    using IRMutator::visit;

    bool here(const std::string &kind, const std::string &place) {
        if (stages_.empty()) return false;
        std::string text = kind + ": " + place;
        if (const int n = ++seen_[text]; n > 1) text += " #" + std::to_string(n);
        if (wanted_.empty()) found.push_back(text);
        if (text != wanted_) return false;
        return planted_ = true;
    }
    // The wrong value; where the place is only to be reached the right one, until they differ.
    Expr wrong(const Expr &right, const Expr &faulty) const {
        return probes_ ? aborts_if(differ(right, faulty), right) : faulty;
    }
    // What can't be computed beside the right value: a load from another place.
    Expr wrong_load(const Expr &right, const Expr &faulty) const {
        return probes_ ? aborts_if(const_true(right.type().lanes()), right) : faulty;
    }
    // x.min.0: every tensor begins at 0, and what it is multiplied by doesn't count
    static bool is_least(const Expr &e) {
        const Variable *v = e.as<Variable>();
        return v && v->name.find(".min.") != std::string::npos;
    }
    std::string stage() const { return stages_.empty() ? "" : stem(stages_.back()); }

    Stmt visit(const ProducerConsumer *op) override {
        if (!op->is_producer) return IRMutator::visit(op);
        stages_.push_back(op->name);
        const Stmt s = IRMutator::visit(op);
        stages_.pop_back();
        return s;
    }
    Stmt visit(const AssertStmt *op) override { return op; }
    Stmt visit(const Allocate *op) override {  // its extents are Halide's
        return Allocate::make(op->name, op->type, op->memory_type, op->extents, op->condition,
                              mutate(op->body), op->new_expr, op->free_function, op->padding);
    }

    // Clamps of loop bounds are Halide's own: most of them only say how the work is cut, and what
    // one loop leaves the next one does.
    Expr bound(const Expr &e) {
        const bool before = std::exchange(in_bound_, true);
        const Expr result = mutate(e);
        in_bound_ = before;
        return result;
    }
    Stmt visit(const LetStmt *op) override {
        // by Halide, of what it needs of a stage
        const bool inferred = op->name.ends_with("_realized");
        const Expr value = inferred ? op->value : bound(op->value);
        lets_.emplace_back(op->name, op->value);
        const Stmt body = mutate(op->body);
        lets_.pop_back();
        return LetStmt::make(op->name, value, body);
    }
    // Without the names that are bound around it.
    Expr written_out(Expr e) const {
        for (size_t k = lets_.size(); k-- > 0;) {
            if (expr_uses_var(e, lets_[k].first))
                e = substitute(lets_[k].first, lets_[k].second, e);
        }
        return e;
    }
    // Where funcs share a loop (compute_with) there is code for the end of the longer ones: all
    // that share one here are of one length.
    static bool shares_a_loop(const Expr &condition) {
        const LT *within = condition.as<LT>();
        const Variable *loop = within ? within->a.as<Variable>() : nullptr;
        return loop && loop->name.find(".fused.") != std::string::npos;
    }
    Stmt visit(const For *op) override {
        const Carried carried(op);
        const std::string loop = "loop " + stem(op->name);
        // What a guarded split leaves: less than one step, for which Halide repeats all that the
        // loop before it does.
        const bool remainder = op->name.ends_with(".rebased");
        if (remainder && can_prove(written_out(op->extent) <= 0)) return op;
        const Expr right_min = bound(op->min);
        const Expr right_extent = bound(op->extent);
        Expr min = right_min;
        Expr extent = right_extent;
        ForType type = op->for_type;
        bool less = false, more = false;
        if (carried.accumulates) {
            if (here("reduction-bounds", loop + " ends early")) {
                less = true;
                extent = extent - 1;
            }
            if (!remainder && here("reduction-bounds", loop + " ends late")) {
                more = true;
                extent = extent + 1;
            }
            if (here("reduction-bounds", loop + " begins late")) {
                less = true;
                min = min + 1;
                extent = extent - 1;
            }
            if (here("reduction-bounds", loop + " begins early")) {
                more = true;
                min = min - 1;
                extent = extent + 1;
            }
        } else {
            if (here("dropped-tail", loop)) {
                less = true;
                extent = extent - 1;
            }
            if (here("late-start", loop)) {
                less = true;
                min = min + 1;
                extent = extent - 1;
            }
            if (!remainder && !carried.guarded && here("extra-iteration", loop)) {
                more = true;
                extent = extent + 1;
            }
        }
        const bool races = carried.same_place && type == ForType::Serial &&
                           here("racy-parallel", loop);
        if (races) type = ForType::Parallel;
        const bool before = std::exchange(in_remainder_, remainder);
        const Stmt body = mutate(op->body);
        in_remainder_ = before;
        if (probes_ && (less || more || races))
            return probe(op, right_min, right_extent, body, more, races);
        return For::make(op->name, min, extent, type, op->partition_policy, op->device_api, body);
    }
    // The right loop, which aborts where a wrong number of iterations or their order could show.
    static Stmt probe(const For *op, const Expr &min, const Expr &extent, const Stmt &body,
                      bool more, bool races) {
        const Stmt end = Evaluate::make(abort_call());
        const Stmt aborts = more ? end : IfThenElse::make(extent > (races ? 1 : 0), end);
        return Block::make(aborts, For::make(op->name, min, extent, op->for_type,
                                             op->partition_policy, op->device_api, body));
    }
    Stmt visit(const IfThenElse *op) override {
        // which is right for all: a condition that fails too often is only slow
        if (op->else_case.defined()) {
            if (shares_a_loop(op->condition))
                return IfThenElse::make(op->condition, mutate(op->then_case), op->else_case);
            if (!in_remainder_ && here("lost-guard", "special case in " + stage())) {
                if (!probes_) return mutate(op->then_case);
                return IfThenElse::make(op->condition, mutate(op->then_case),
                                        aborts_before(op->else_case));
            }
            // no step of a remainder is a whole one
            const Stmt special = in_remainder_ ? op->then_case : mutate(op->then_case);
            return IfThenElse::make(op->condition, special, mutate(op->else_case));
        }
        const Stmt aborts = Evaluate::make(abort_call());
        if (here("lost-guard", "guard in " + stage())) {
            const Stmt guarded = mutate(op->then_case);
            return probes_ ? IfThenElse::make(op->condition, guarded, aborts) : guarded;
        }
        if (here("dropped-tail", "guarded code in " + stage()))
            return probes_ ? IfThenElse::make(op->condition, aborts) : Evaluate::make(0);
        return IRMutator::visit(op);
    }

    Stmt visit(const Store *op) override {
        const bool updates = loads(op->value, op->name);
        const bool starts = !updates && survey_.accumulators.count(op->name);
        const std::string to = "store to " + stem(op->name);
        Expr value = starts && is_const(op->value) ? op->value : mutate(op->value);
        Expr index = mutate(op->index);
        Expr mask = mutate(op->predicate);
        ModulusRemainder alignment = index.same_as(op->index) ? op->alignment : ModulusRemainder();
        if (starts && here("missing-init", to))
            return probes_ ? aborts_before(op) : Evaluate::make(0);
        if (starts && is_const(value) && here("wrong-start", to))
            value = wrong(value, other_constant(value));
        if (!starts && !updates && here("missing-store", to))
            return probes_ ? aborts_before(op) : Evaluate::make(0);
        if (updates && here("overwrites", to))
            value = wrong(value, Forgetful(op->name).mutate(value));
        if (here("wrong-index", to)) {
            if (probes_) return aborts_before(op);
            index = index + make_one(index.type());
            alignment = ModulusRemainder();
        }
        if (!is_const_one(mask) && here("lost-mask", to))
            mask = wrong(mask, const_true(mask.type().lanes()));
        const Type bits = UInt(32, value.type().lanes());
        if (value.type().element_of() == Float(32) && !is_const(value) &&
            here("lost-precision", to)) {
            value = wrong(value,
                          reinterpret(value.type(), reinterpret(bits, value) &
                                                        make_const(bits, uint64_t(0xffffe000))));
        }
        return Store::make(op->name, value, index, op->param, mask, alignment);
    }
    Expr visit(const Load *op) override {
        Expr index = mutate(op->index);
        Expr mask = mutate(op->predicate);
        const std::string from = "load of " + stem(op->name) + " in " + stage();
        ModulusRemainder alignment = index.same_as(op->index) ? op->alignment : ModulusRemainder();
        const Expr right = Load::make(op->type, op->name, index, op->image, op->param, mask,
                                      alignment);
        if (here("wrong-index", from)) {
            index = index + make_one(index.type());
            return wrong_load(right, Load::make(op->type, op->name, index, op->image, op->param,
                                                mask, ModulusRemainder()));
        }
        if (op->param.defined()) {
            const auto &all = survey_.inputs_of_type.at(op->type.element_of());
            auto next = all.upper_bound(op->name);
            if (next == all.end()) next = all.begin();
            if (all.size() > 1 && here("wrong-input", from)) {
                return wrong_load(right, Load::make(op->type, next->first, index, op->image,
                                                    next->second, mask, alignment));
            }
        }
        return right;
    }
    Expr visit(const Variable *op) override {
        const auto of = survey_.strides.find(op->name.substr(0, op->name.find(".stride.")));
        if (of == survey_.strides.end() || of->second.size() < 2) return op;
        const auto at = std::find(of->second.begin(), of->second.end(), op->name);
        if (at == of->second.end() || !here("swapped-stride", stem(op->name) + " in " + stage()))
            return op;
        return wrong(op,
                     Variable::make(op->type, at + 1 == of->second.end() ? of->second[0] : at[1]));
    }

    Expr visit(const LT *op) override {
        return here("wrong-comparison", "< in " + stage()) ? wrong(op, LE::make(op->a, op->b))
                                                           : IRMutator::visit(op);
    }
    Expr visit(const LE *op) override {
        return here("wrong-comparison", "<= in " + stage()) ? wrong(op, LT::make(op->a, op->b))
                                                            : IRMutator::visit(op);
    }
    // a < b || a == b is how a <= b of strict floats arrives here: as it is, <= for its < is no
    // fault
    Expr visit(const Or *op) override {
        const Call *lt = op->a.as<Call>();
        const Call *eq = op->b.as<Call>();
        const bool is_le = lt && eq && lt->is_intrinsic(Call::strict_lt) &&
                           eq->is_intrinsic(Call::strict_eq) &&
                           Halide::Internal::equal(lt->args[0], eq->args[0]) &&
                           Halide::Internal::equal(lt->args[1], eq->args[1]);
        if (!is_le) return IRMutator::visit(op);
        if (here("wrong-comparison", "<= in " + stage())) return wrong(op, op->a);
        const std::vector<Expr> sides = {mutate(lt->args[0]), mutate(lt->args[1])};
        return Or::make(Call::make(lt->type, lt->name, sides, lt->call_type),
                        Call::make(eq->type, eq->name, sides, eq->call_type));
    }
    Expr visit(const Call *op) override {
        if (op->is_intrinsic(Call::prefetch)) return op;  // of any address
        const bool lt = op->is_intrinsic(Call::strict_lt);
        const bool le = op->is_intrinsic(Call::strict_le);
        if ((lt || le) &&
            here("wrong-comparison", std::string(lt ? "<" : "<=") + " in " + stage())) {
            return wrong(
                op, Call::make(op->type,
                               Call::get_intrinsic_name(lt ? Call::strict_le : Call::strict_lt),
                               op->args, op->call_type));
        }
        return IRMutator::visit(op);
    }
    Expr visit(const Select *op) override {
        if (is_least(op->true_value) || is_least(op->false_value)) return op;
        Expr yes = op->true_value;
        Expr no = op->false_value;
        const auto select = [&] { return Select::make(op->condition, yes, no); };
        for (Expr *side : {&yes, &no}) {
            if (!is_const(*side) || !here("wrong-pad", "constant in " + stage())) continue;
            *side = other_constant(*side);
            return wrong(op, select());
        }
        return Select::make(mutate(op->condition), mutate(yes), mutate(no));
    }
    Expr visit(const Min *op) override {
        if (is_value(op->type)) {
            return here("wrong-operator", "min in " + stage()) ? wrong(op, Max::make(op->a, op->b))
                                                               : IRMutator::visit(op);
        }
        return !in_bound_ && here("wrong-clamp", "min in " + stage())
                   ? wrong(op, Min::make(op->a, op->b + make_one(op->type)))
                   : IRMutator::visit(op);
    }
    Expr visit(const Max *op) override {
        if (is_value(op->type)) {
            return here("wrong-operator", "max in " + stage()) ? wrong(op, Min::make(op->a, op->b))
                                                               : IRMutator::visit(op);
        }
        return !in_bound_ && here("wrong-clamp", "max in " + stage())
                   ? wrong(op, Max::make(op->a, op->b + make_one(op->type)))
                   : IRMutator::visit(op);
    }
    Expr visit(const Add *op) override {
        return is_value(op->type) && here("wrong-operator", "+ in " + stage())
                   ? wrong(op, Sub::make(op->a, op->b))
                   : IRMutator::visit(op);
    }
    Expr visit(const Mul *op) override {
        if (is_least(op->a) || is_least(op->b)) return op;
        return is_value(op->type) && here("wrong-operator", "* in " + stage())
                   ? wrong(op, Add::make(op->a, op->b))
                   : IRMutator::visit(op);
    }
    Expr visit(const Sub *op) override {
        return is_value(op->type) && here("swapped-operands", "- in " + stage())
                   ? wrong(op, Sub::make(op->b, op->a))
                   : IRMutator::visit(op);
    }
    Expr visit(const Div *op) override {
        return is_value(op->type) && here("swapped-operands", "/ in " + stage())
                   ? wrong(op, Div::make(op->b, op->a))
                   : IRMutator::visit(op);
    }
    Expr visit(const FloatImm *op) override {
        if (op->value == 0 || !here("wrong-constant", "constant in " + stage())) return op;
        return wrong(op, FloatImm::make(op->type, -op->value));
    }

    const bool probes_;
    const std::string wanted_;
    bool inside_ = false, planted_ = false, in_bound_ = false, in_remainder_ = false;
    Survey survey_;
    std::vector<std::string> stages_;  // being computed, the innermost last
    std::vector<std::pair<std::string, Expr>> lets_;
    std::map<std::string, int> seen_;
};

}  // namespace

std::vector<std::string> faults_of(Kernel &k) {
    auto *lister = new Planter("");
    std::vector<std::string> found;
    k.pipeline.add_custom_lowering_pass(lister, [lister, &found] {
        found = lister->found;
        delete lister;
    });
    try {
        k.pipeline.compile_to_module(k.arguments(), k.instance.symbol(k.op->name), k.target);
    } catch (const Halide::Error &e) {
        throw Error(k.op->name, k.instance.symbol(k.op->name) + ": " + e.what());
    }
    k.pipeline.clear_custom_lowering_passes();
    if (!k.checks_arguments()) remove_argument_checks(k.pipeline);
    return found;
}

void plant(Halide::Pipeline &pipeline, const std::string &fault) {
    pipeline.add_custom_lowering_pass(new Planter(fault));
}

}  // namespace halyard
