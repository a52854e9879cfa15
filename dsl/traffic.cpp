#include "dsl/traffic.h"

#include "dsl/integer_value.h"
#include "dsl/name_counters.h"
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

constexpr int64_t max_steps = 100'000'000;

// Finds out whether a loop's extent, a condition or a mask in a statement depends on a variable,
// directly or through lets.
class FindDependence : public IRVisitor {
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
    void check(const Expr &e) { found |= uses(e); }
    template<class Op> void bind(const Op *op) {
        if (uses(op->value)) derived_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Let *op) override { bind(op); }
    void visit(const LetStmt *op) override { bind(op); }
    void visit(const For *op) override {
        check(op->extent);
        if (uses(op->min)) derived_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse *op) override {
        check(op->condition);
        IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        check(op->predicate);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        check(op->predicate);
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        if (op->is_intrinsic(Call::if_then_else)) check(op->args[0]);
        IRVisitor::visit(op);
    }

public:
    bool found = false;
    FindDependence(const Stmt &s, const std::string &variable) : derived_{variable} {
        s.accept(this);
    }
};

class CountTraffic : public IRVisitor {
    using IRVisitor::visit;
    const std::string op_;
    const std::map<std::string, std::string> tensors_;  // the name of a buffer -> of its tensor
    IntegerBindings bindings_;
    std::map<std::string, Traffic::Bytes> scratch_;  // of the allocations in scope
    // By loop: true if what the loop executes depends on its variable.
    std::map<const IRNode *, bool> depends_;
    int64_t executions_ = 1;  // of the current statement
    int64_t steps_ = 0;       // iterations that were counted
    bool on_device_ = false;

    // Returns the counts of a buffer; null if the buffer does not count.
    Traffic::Bytes *bytes_of(const std::string &buffer) {
        if (const auto it = tensors_.find(buffer); it != tensors_.end())
            return &traffic.tensors[it->second];
        const auto it = scratch_.find(buffer);
        return it == scratch_.end() ? nullptr : &it->second;
    }
    // Returns the number of lanes in which the mask is true.
    int64_t active_lanes(const Expr &predicate, int lanes) const {
        if (is_const_one(predicate)) return lanes;
        int64_t n = 0;
        for (int lane = 0; lane < lanes; lane++)
            n += integer_value(predicate, bindings_, lane).value_or(1) != 0;
        return n;
    }
    void set(const std::string &name, std::optional<int64_t> v) {
        if (v)
            bindings_[name] = *v;
        else
            bindings_.erase(name);
    }

    void visit(const Load *op) override {
        if (Traffic::Bytes *b = bytes_of(op->name)) {
            b->loaded += executions_ * active_lanes(op->predicate, op->type.lanes()) *
                         op->type.element_of().bytes();
        }
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        const Type t = op->value.type();
        if (Traffic::Bytes *b = bytes_of(op->name))
            b->stored += executions_ * active_lanes(op->predicate, t.lanes()) *
                         t.element_of().bytes();
        IRVisitor::visit(op);
    }
    void visit(const Call *op) override {
        if (!op->is_intrinsic(Call::if_then_else)) return IRVisitor::visit(op);
        op->args[0].accept(this);
        const bool taken = integer_value(op->args[0], bindings_).value_or(1) != 0;
        if (taken)
            op->args[1].accept(this);
        else if (op->args.size() > 2)
            op->args[2].accept(this);
    }
    void visit(const Let *op) override {
        op->value.accept(this);
        set(op->name, integer_value(op->value, bindings_));
        op->body.accept(this);
    }
    void visit(const LetStmt *op) override {
        op->value.accept(this);
        set(op->name, integer_value(op->value, bindings_));
        op->body.accept(this);
    }
    void visit(const IfThenElse *op) override {
        op->condition.accept(this);
        if (integer_value(op->condition, bindings_).value_or(1) != 0)
            op->then_case.accept(this);
        else if (op->else_case.defined())
            op->else_case.accept(this);
    }
    void visit(const AssertStmt *) override {}  // only a failed one is evaluated
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
        const auto min = integer_value(op->min, bindings_);
        const auto extent = integer_value(op->extent, bindings_);
        if (!extent) throw Error(op_, "the bounds of loop " + op->name + " depend on data");
        if (*extent <= 0) return;
        const bool was_on_device = on_device_;
        on_device_ |= op->for_type == ForType::GPUBlock || op->for_type == ForType::GPUThread ||
                      op->for_type == ForType::GPULane;
        auto [depends, is_new] = depends_.emplace(op, false);
        if (is_new) depends->second = FindDependence(op->body, op->name).found;
        if (depends->second && !min)
            throw Error(op_, "where loop " + op->name + " begins depends on data");
        // If every iteration executes the same, one of them is counted, `extent` times.
        const int64_t executions = executions_;
        const int64_t iterations = depends->second ? *extent : 1;
        if (!depends->second) executions_ *= *extent;
        for (int64_t i = 0; i < iterations; i++) {
            if (++steps_ > max_steps) throw Error(op_, "too many iterations to be walked");
            set(op->name, min ? std::optional(*min + i) : std::nullopt);
            op->body.accept(this);
        }
        bindings_.erase(op->name);
        executions_ = executions;
        on_device_ = was_on_device;
    }

public:
    Traffic traffic;
    CountTraffic(std::string op, std::map<std::string, std::string> tensors,
                 IntegerBindings bindings)
        : op_(std::move(op)), tensors_(std::move(tensors)), bindings_(std::move(bindings)) {}
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
    CountTraffic count(op.name, tensors, bindings_of(op, dims));
    m.get_conceptual_stmt().accept(&count);
    for (auto &[buffer, tensor] : tensors)
        count.traffic.tensors[tensor];
    return count.traffic;
} catch (const Halide::Error &e) {  // it is no std::exception
    throw Error(k.op->name, e.what());
}

}  // namespace halyard
