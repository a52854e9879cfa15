#include "dsl/traffic.h"

#include "dsl/integer_value.h"
#include "dsl/lower.h"
#include "dsl/work.h"

namespace halyard {
using namespace Halide;
using namespace Halide::Internal;

Traffic::Bytes Traffic::total() const {
    Bytes sum;
    for (auto *all : {&tensors, &scratch}) {
        for (auto &[name, b] : *all) {
            sum.loaded += b.loaded;
            sum.stored += b.stored;
        }
    }
    return sum;
}

namespace {

constexpr int64_t most_steps = 100'000'000;

// Does what a statement executes depend on a variable: does a loop's extent, a condition or a mask,
// be it through other names?
class Decides : public IRVisitor {
    using IRVisitor::visit;
    std::set<std::string> derived_;

    bool uses(const Expr &e) const {
        struct Names : IRVisitor {
            using IRVisitor::visit;
            void visit(const Variable *v) override { found |= wanted->count(v->name) > 0; }
            const std::set<std::string> *wanted;
            bool found = false;
        } names;
        names.wanted = &derived_;
        e.accept(&names);
        return names.found;
    }
    void decides(const Expr &e) { yes |= uses(e); }
    template<class Op> void bind(const Op *op) {
        if (uses(op->value)) derived_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Let *op) override { bind(op); }
    void visit(const LetStmt *op) override { bind(op); }
    void visit(const For *op) override {
        decides(op->extent);
        if (uses(op->min)) derived_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse *op) override {
        decides(op->condition);
        IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        decides(op->predicate);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        decides(op->predicate);
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        if (op->is_intrinsic(Call::if_then_else)) decides(op->args[0]);
        IRVisitor::visit(op);
    }

public:
    bool yes = false;
    Decides(const Stmt &s, const std::string &variable) : derived_{variable} { s.accept(this); }
};

class Count : public IRVisitor {
    using IRVisitor::visit;
    const std::string op_;
    const std::map<std::string, std::string> tensors_;  // the buffer's name -> the signature's
    IntegerBindings known_;
    std::map<std::string, Traffic::Bytes> scratch_;  // of the allocations that count
    std::map<const IRNode *, bool> decides_;         // loops whose variable decides something
    int64_t times_ = 1, steps_ = 0;
    bool on_device_ = false;

    Traffic::Bytes *bytes_of(const std::string &buffer) {
        if (const auto it = tensors_.find(buffer); it != tensors_.end())
            return &traffic.tensors[it->second];
        const auto it = scratch_.find(buffer);
        return it == scratch_.end() ? nullptr : &it->second;
    }
    int64_t active(const Expr &predicate, int lanes) const {
        if (is_const_one(predicate)) return lanes;
        int64_t n = 0;
        for (int lane = 0; lane < lanes; lane++)
            n += integer_value(predicate, known_, lane).value_or(1) != 0;
        return n;
    }
    void set(const std::string &name, std::optional<int64_t> v) {
        if (v)
            known_[name] = *v;
        else
            known_.erase(name);
    }

    void visit(const Load *op) override {
        if (Traffic::Bytes *b = bytes_of(op->name)) {
            b->loaded += times_ * active(op->predicate, op->type.lanes()) *
                         op->type.element_of().bytes();
        }
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        const Type t = op->value.type();
        if (Traffic::Bytes *b = bytes_of(op->name))
            b->stored += times_ * active(op->predicate, t.lanes()) * t.element_of().bytes();
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        if (!op->is_intrinsic(Call::if_then_else)) return IRVisitor::visit(op);
        op->args[0].accept(this);
        const bool taken = integer_value(op->args[0], known_).value_or(1) != 0;
        if (taken)
            op->args[1].accept(this);
        else if (op->args.size() > 2)
            op->args[2].accept(this);
    }
    void visit(const Let *op) override {
        op->value.accept(this);
        set(op->name, integer_value(op->value, known_));
        op->body.accept(this);
    }
    void visit(const LetStmt *op) override {
        op->value.accept(this);
        set(op->name, integer_value(op->value, known_));
        op->body.accept(this);
    }
    void visit(const IfThenElse *op) override {
        op->condition.accept(this);
        if (integer_value(op->condition, known_).value_or(1) != 0)
            op->then_case.accept(this);
        else if (op->else_case.defined())
            op->else_case.accept(this);
    }
    void visit(const AssertStmt *) override {}  // what fails ends the kernel
    void visit(const Allocate *op) override {
        if (!on_device_) scratch_[op->name];
        op->body.accept(this);
        if (on_device_) return;
        Traffic::Bytes &b = traffic.scratch[without_counters(op->name)];
        b.loaded += scratch_[op->name].loaded;
        b.stored += scratch_[op->name].stored;
        scratch_.erase(op->name);
    }
    void visit(const For *op) override {
        const auto least = integer_value(op->min, known_);
        const auto extent = integer_value(op->extent, known_);
        if (!extent) throw Error(op_, "the bounds of loop " + op->name + " depend on data");
        if (*extent <= 0) return;
        const bool was_on_device = on_device_;
        on_device_ |= op->for_type == ForType::GPUBlock || op->for_type == ForType::GPUThread ||
                      op->for_type == ForType::GPULane;
        auto [decides, is_new] = decides_.emplace(op, false);
        if (is_new) decides->second = Decides(op->body, op->name).yes;
        if (decides->second && !least)
            throw Error(op_, "where loop " + op->name + " begins depends on data");
        const int64_t times = times_;
        const int64_t rounds = decides->second ? *extent : 1;
        if (!decides->second) times_ *= *extent;
        for (int64_t i = 0; i < rounds; i++) {
            if (++steps_ > most_steps) throw Error(op_, "too many iterations to be walked");
            set(op->name, least ? std::optional(*least + i) : std::nullopt);
            op->body.accept(this);
        }
        known_.erase(op->name);
        times_ = times;
        on_device_ = was_on_device;
    }

public:
    Traffic traffic;
    Count(std::string op, std::map<std::string, std::string> tensors, IntegerBindings known)
        : op_(std::move(op)), tensors_(std::move(tensors)), known_(std::move(known)) {}
};

}  // namespace

Traffic traffic_of(Kernel &k, const Dims &dims) try {
    const Op &op = *k.op;
    std::map<std::string, std::string> tensors;
    for (auto &t : op.sig.inputs)
        tensors[t.name] = t.name;
    const std::vector<Func> results = k.pipeline.outputs();
    for (size_t i = 0; i < results.size(); i++)
        tensors[results[i].name()] = op.sig.outputs[i].name;
    const Module m = k.pipeline.compile_to_module(k.arguments(), op.name, k.target);
    Count count(op.name, tensors, bindings_of(op, dims));
    m.get_conceptual_stmt().accept(&count);
    for (auto &[buffer, tensor] : tensors)
        count.traffic.tensors[tensor];
    return count.traffic;
} catch (const Halide::Error &e) {  // no std::exception
    throw Error(k.op->name, e.what());
}

}  // namespace halyard
