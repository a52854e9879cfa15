// Variants: the ways to compute an op, each with the condition under which its kernel may run.
//
//     add({"wide", c >= 2 * lanes, {.schedule = [this](const Cpu &cpu) { row_by_row(cpu); }}});
//     add(im2col(*this));  // has an algorithm and Funcs of its own: a class in its own file
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "dsl/backend.h"
#include "registry/op/op_record.h"

namespace halyard {

class Op;

// In the condition of a variant: the elements in a vector of its kernel.
inline const Dim lanes{"lanes"};

// How one variant computes its op. The object is made when a kernel of the variant is built and
// lives as long as the op, so it keeps the Funcs that its algorithm defines for its schedule.
// Another variant's Funcs don't exist then: a change of one variant makes no other's kernels anew.
class Implementation {
public:
    explicit Implementation(Op &op) : base_(op) {}
    virtual ~Implementation() = default;
    Implementation(const Implementation &) = delete;
    Implementation &operator=(const Implementation &) = delete;

    // The defaults are the op's own.
    virtual void algorithm(const Build &build);
    virtual void schedule(const Cpu &cpu);
    virtual void schedule(const Gpu &gpu);

protected:
    using Var = Halide::Var;
    using RVar = Halide::RVar;
    using RDom = Halide::RDom;
    using Func = Halide::Func;
    using Expr = Halide::Expr;
    using Tail = Halide::TailStrategy;

    // The same as in Op.
    Expr size(const DimExpr &e) const;
    Func store() const;
    Var var(int dim) const;

private:
    Op &base_;
};

// A variant that differs from the op's own algorithm() and schedule() in a step or two. An empty
// function stands for the op's own.
struct Steps {
    std::function<void(const Build &)> algorithm = {};
    std::function<void(const Cpu &)> schedule = {};
    std::function<void(const Gpu &)> schedule_on_gpu = {};
};

// One way to compute an op, with the condition under which its kernel may run.
struct Variant {
    Variant(std::string variant_name, DimExpr condition, Steps steps = {},
            Extension needs = Extension::none);

    std::string name;
    DimExpr when;         // DimExpr::always() for every call
    Extension extension;  // instructions that its kernels need (registry/op/extension.h)
    std::function<std::unique_ptr<Implementation>(Op &)> make;
};

// Returns the variant of `op` that class I computes. An I is constructed from the op and the
// arguments.
template<class I, class O, class... A>
Variant variant_of(O &op, const std::string &name, const DimExpr &when, const A &...arguments) {
    Variant v(name, when);
    v.make = [&op, arguments...](Op &) { return std::make_unique<I>(op, arguments...); };
    return v;
}

}  // namespace halyard
