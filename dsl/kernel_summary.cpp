#include "dsl/kernel_summary.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "dsl/variables.h"

namespace halyard {
namespace {
using namespace Halide;
using namespace Halide::Internal;

// Those that the mantissa of an f32 has below the 10 of an f16.
constexpr uint32_t lower_bits = 0x1fff;

class FindLoad : public IRVisitor {
public:
    explicit FindLoad(const std::string &buffer) : buffer_(buffer) {}
    bool found = false;

private:
    using IRVisitor::visit;
    void visit(const Load *op) override {
        found |= op->name == buffer_;
        IRVisitor::visit(op);
    }
    const std::string &buffer_;
};

bool loads_any(const Expr &e) {
    struct : IRVisitor {
        using IRVisitor::visit;
        void visit(const Load *) override { found = true; }
        bool found = false;
    } visitor;
    e.accept(&visitor);
    return visitor.found;
}

// Analyses the stores of a loop.
class LoopAnalysis : public IRVisitor, public LoopStores {
public:
    explicit LoopAnalysis(const For *loop) {
        depending_.push(loop->name);
        loop->body.accept(this);
    }

private:
    using IRVisitor::visit;
    bool depends(const Expr &e) const { return expr_uses_vars(e, depending_); }
    void visit(const LetStmt *op) override {
        if (depends(op->value)) depending_.push(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Let *op) override {
        if (depends(op->value)) depending_.push(op->name);
        IRVisitor::visit(op);
    }
    void visit(const For *op) override {
        bounds_inner_loop |= depends(op->extent);
        if (depends(op->min)) depending_.push(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Allocate *op) override {
        allocated_.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        if (!allocated_.count(op->name) && !depends(op->index)) {
            repeats_store = true;
            differs |= depends(op->value) || loads_any(op->value);
            accumulates |= loads(op->value, op->name);
        }
        IRVisitor::visit(op);
    }

    Scope<> depending_;                // variables that depend on the loop
    std::set<std::string> allocated_;  // buffers within the loop
};

}  // namespace

bool loads(const Expr &e, const std::string &buffer) {
    FindLoad visitor(buffer);
    e.accept(&visitor);
    return visitor.found;
}

LoopStores stores_of(const For *loop) {
    return LoopAnalysis(loop);
}

bool only_fills(const Stmt &s, const std::set<std::string> &buffers) {
    struct Filling : IRVisitor {
        explicit Filling(const std::set<std::string> &all) : buffers(all) {}
        using IRVisitor::visit;
        void visit(const For *) override { holds = false; }
        void visit(const IfThenElse *) override { holds = false; }
        void visit(const Load *op) override { holds = holds && buffers.count(op->name); }
        void visit(const Store *op) override {
            holds = holds && buffers.count(op->name) && variables_of(op->index).empty();
            IRVisitor::visit(op);
        }
        const std::set<std::string> &buffers;
        bool holds = true;
    } filling(buffers);
    s.accept(&filling);
    return filling.holds;
}

class KernelSummary::Collector : public IRVisitor {
public:
    explicit Collector(KernelSummary &s) : s_(s) {}

private:
    using IRVisitor::visit;
    void add_index(const Expr &e) { s_.indices_.merge(variables_of(e)); }
    void visit(const Let *op) override {
        s_.lets_.emplace(op->name, op->value);
        IRVisitor::visit(op);
    }
    void add_control(const Expr &e) {
        add_index(e);
        s_.controls_.merge(variables_of(e));
    }
    void visit(const For *op) override {
        add_control(op->min);
        add_control(op->extent);
        IRVisitor::visit(op);
    }
    void visit(const IfThenElse *op) override {
        add_control(op->condition);
        IRVisitor::visit(op);
    }
    void visit(const LetStmt *op) override {
        s_.lets_.emplace(op->name, op->value);
        const size_t at = op->name.find(".stride.");
        if (at != std::string::npos && std::isdigit(static_cast<unsigned char>(op->name.back())))
            s_.strides[op->name.substr(0, at)].push_back(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Store *op) override {
        add_index(op->index);
        add_index(op->predicate);
        s_.stores_[op->name].push_back(op->value);
        if (loads(op->value, op->name)) s_.accumulators.insert(op->name);
        IRVisitor::visit(op);
    }
    void visit(const Load *op) override {
        add_index(op->index);
        add_index(op->predicate);
        if (op->param.defined()) s_.inputs_of_type[op->type.element_of()][op->name] = op->param;
        op->index.accept(this);
        if (s_.is_array(op->name))
            s_.array_masks_.merge(variables_of(op->predicate));
        else
            op->predicate.accept(this);
    }
    void visit(const Variable *op) override { s_.other_uses_.insert(op->name); }
    void visit(const Allocate *op) override {
        if (std::ranges::all_of(op->extents, [](const Expr &e) { return is_const(e); }))
            s_.arrays_.insert(op->name);
        for (const Expr &extent : op->extents)
            s_.sizes_.merge(variables_of(extent));
        IRVisitor::visit(op);
    }

    KernelSummary &s_;
};

KernelSummary::KernelSummary(const Stmt &kernel) {
    Collector collector(*this);
    kernel.accept(&collector);
    find_few_bits();
    add_parts(indices_);
    add_parts(controls_);
}

// Those buffers are left whose stores are of such numbers, if those that they load are.
void KernelSummary::find_few_bits() {
    for (auto &[buffer, values] : stores_)
        few_bits_.insert(buffer);
    for (size_t before = 0; before != few_bits_.size();) {
        before = few_bits_.size();
        std::erase_if(few_bits_, [&](const std::string &buffer) {
            return !std::ranges::all_of(stores_.at(buffer),
                                        [&](const Expr &e) { return has_few_bits(e); });
        });
    }
}

// Adds the lets that those among the names use.
void KernelSummary::add_parts(std::set<std::string> &names) const {
    for (std::vector<std::string> left(names.begin(), names.end()); !left.empty();) {
        const std::string name = left.back();
        left.pop_back();
        const auto [first, last] = lets_.equal_range(name);
        for (auto let = first; let != last; ++let) {
            for (const std::string &part : variables_of(let->second))
                if (names.insert(part).second) left.push_back(part);
        }
    }
}

bool KernelSummary::has_few_bits(const Expr &e) const {
    if (const Cast *cast = e.as<Cast>()) {
        // The least coordinate of a tensor is 0.
        const Variable *v = cast->value.as<Variable>();
        if (v && v->name.find(".min.") != std::string::npos) return true;
        const Type from = cast->value.type();
        return from.is_bool() || (from.is_float() ? from.bits() == 16 : from.bits() == 8);
    }
    if (const FloatImm *number = e.as<FloatImm>())
        return (std::bit_cast<uint32_t>(float(number->value)) & lower_bits) == 0;
    if (const UIntImm *bits = e.as<UIntImm>()) return (bits->value & lower_bits) == 0;
    if (const Broadcast *b = e.as<Broadcast>()) return has_few_bits(b->value);
    if (const Let *let = e.as<Let>()) return has_few_bits(let->body);
    if (const Load *load = e.as<Load>()) return few_bits_.count(load->name) != 0;
    if (const Variable *v = e.as<Variable>()) {
        const auto [first, last] = lets_.equal_range(v->name);
        return first != last &&
               std::all_of(first, last, [&](auto &let) { return has_few_bits(let.second); });
    }
    return parts_have_few_bits(e);
}

// The same for operations that give one of their operands, or combine them bit by bit.
bool KernelSummary::parts_have_few_bits(const Expr &e) const {
    const auto both = [&](const Expr &a, const Expr &b) {
        return has_few_bits(a) && has_few_bits(b);
    };
    if (const Min *op = e.as<Min>()) return both(op->a, op->b);
    if (const Max *op = e.as<Max>()) return both(op->a, op->b);
    if (const Select *op = e.as<Select>()) return both(op->true_value, op->false_value);
    if (const Reinterpret *op = e.as<Reinterpret>())
        return op->type.bits() == 32 && has_few_bits(op->value);
    const Call *call = e.as<Call>();
    return call && call->is_intrinsic({Call::bitwise_or, Call::bitwise_and}) &&
           both(call->args[0], call->args[1]);
}

}  // namespace halyard
