// Op: everything halyard knows about one operator, stated once.
//
// In kernels, () indexes innermost first (Halide order); in signatures and samples, [] lists
// extents outermost first (caller order). Op does the reversal. Every value is a real (dsl/real.h):
// no dtype here.
//
//     struct Softmax : Rows { ... };
//     HALYARD_OPS { add<Softmax>(); add<SoftmaxDx>(); }
//
// Gradient by name: op "softmax_dx" is the adjoint of "softmax" in its input `x`; its own inputs
// (any of softmax's inputs and outputs, and dy) tell the tape what to save. No other registration
// exists.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dsl/backend.h"
#include "dsl/problem.h"
#include "dsl/real.h"
#include "dsl/trace.h"
#include "dsl/variant.h"
#include "registry/op/op_record.h"
#include "registry/op/signature.h"

namespace halyard {

// dimensions of an elementwise kernel, as registry/dispatch/canonical.h leaves them
inline constexpr int elementwise_rank = 3;

class Op : public OpRecord {
public:
    Op(std::string name, std::string signature);
    virtual ~Op() = default;

    // Innermost dimension last in `sig`; for x[*] the dimensions are d0, d1, d2.
    const Signature sig;
    const Trace made = Trace::here();  // by the constructor of an op file

    // An op overrides one of the two: the second where what it computes depends on the build. One
    // with several variants may leave both to them.
    virtual void algorithm() {}
    virtual void algorithm(const Build &) { algorithm(); }
    virtual void schedule(const Cpu &) {}  // an empty schedule is legal, correct and slow
    virtual void schedule(const Gpu &) {}
    virtual void schedule(const Ascend &npu);  // the automatic one (dsl/ascend/schedule.h)

    // A build calls define(), which runs the algorithm of the variant that `build` names, then
    // schedule_kernel(), which runs its schedule. Without a name they are the op's own. Throws
    // Error for a variant that the op doesn't have.
    void define(const Build &build);
    template<class B> void schedule_kernel(const B &backend) {
        if (implementation_)
            implementation_->schedule(backend);
        else
            schedule(backend);
    }

    // The naive answer in double, independent of the DSL: fills every output of `p`.
    virtual void reference(Problem &p) const = 0;

    // An op reads memory, or the Funcs of another op: that is all there is to fusion.
    using Extents = std::vector<Halide::Expr>;  // innermost first
    void feed(size_t input, const Halide::Func &from, const Extents &extents);
    Extents output_extents() const;
    void sink(const Halide::Func &f) { end_ = f; }
    // declares the tensors that the op itself doesn't
    void complete();
    // outermost first, with the collapsed and the any-rank ones
    std::vector<std::string> extents_of(const TensorSpec &t) const;

    std::vector<Halide::Func> in, out;
    // where inputs are loaded from; empty inside a chain
    std::vector<Halide::ImageParam> memory;
    std::map<std::string, Halide::Parameter> parameters;  // of the scalars
    // elements are moved as they are stored, in T: no arithmetic between
    bool moves = false;
    int any_rank = elementwise_rank;  // dimensions of x[*] in this instance

    // The extent or scalar in the kernel: size(c / group), of dimensions, scalars and lets.
    Halide::Expr size(const DimExpr &e) const { return size(e.text()); }
    Halide::Expr size(const std::string &expression) const;
    // what reaches memory: the output, or the end of its epilogue
    Halide::Func store() const { return end_.defined() ? end_ : out[0]; }
    // loops of store(), innermost first
    Halide::Var var(int dim) const { return store().args()[size_t(dim)]; }
    // The stride, in elements, of dimension `dim`, innermost 0, of an input, or of the innermost
    // dimension of an output, in the condition of a variant.
    Dim stride(const Halide::Func &tensor, int dim = 0) const;

protected:
    using Var = Halide::Var;
    using RVar = Halide::RVar;
    using RDom = Halide::RDom;
    using Func = Halide::Func;
    using Expr = Halide::Expr;
    using Tail = Halide::TailStrategy;

    Func input(const std::string &name);  // of the signature: any other name is an AttrError
    Func output(const std::string &name);

    // Adds a variant. The first one added whose condition holds, and which has a kernel for the
    // call, runs; the last one takes every call.
    void add(Variant v);

    // Attributes. The first group never reaches the kernel by itself; expressions in lets,
    // conditions and scalars use it.
    void attr(const std::string &name, int64_t value) {
        attrs.push_back({name, AttrKind::integer, std::to_string(value), {}, {}});
    }
    void flag(const std::string &name, bool value) {
        attrs.push_back({name, AttrKind::boolean, value ? "1" : "0", {}, {}});
    }
    void choice(const std::string &name, std::vector<std::string> choices) {
        attrs.push_back({name, AttrKind::choice, choices[0], choices, {}});
    }
    void ints(const std::string &name, const std::string &value,
              std::vector<std::string> parts = {}) {
        attrs.push_back({name, AttrKind::ints, value, {}, std::move(parts)});
    }
    void let(const std::string &name, const std::string &expression) {
        lets.push_back({name, expression});
    }
    // The same with names that are declared as Dims.
    void attr(const Dim &d, int64_t value) { attr(d.name(), value); }
    void flag(const Dim &d, bool value) { flag(d.name(), value); }
    void choice(const Dim &d, const std::vector<Dim> &choices) {
        choice(d.name(), names_of(choices));
    }
    void ints(const std::string &name, const std::string &value, const std::vector<Dim> &parts) {
        ints(name, value, names_of(parts));
    }
    void let(const Dim &d, const DimExpr &e) { let(d.name(), e.text()); }
    void require(const DimExpr &condition) { conditions.push_back(condition.text()); }
    // Run-time attributes: each is an attribute and a kernel argument of the same name.
    Expr scalar(const std::string &name, int64_t value);
    Expr scalar(const std::string &name, int value) { return scalar(name, int64_t(value)); }
    Expr scalar(const std::string &name, double value);
    // a kernel argument computed at dispatch
    Expr derived(const std::string &name, const std::string &expression);
    Expr derived(const Dim &d, const DimExpr &e) { return derived(d.name(), e.text()); }

    // inputs are computed, not loaded
    bool fused() const { return memory.empty(); }

private:
    Func declared(std::vector<Func> &all, const std::vector<TensorSpec> &specs,
                  const std::string &name, const char *suffix, const char *kind);
    Expr parameter(const std::string &name, const Halide::Type &t);
    static std::vector<std::string> names_of(const std::vector<Dim> &dims);
    std::vector<Variant> variants_;
    std::unique_ptr<Implementation> implementation_;  // of the variant that is built
    std::map<std::string, Expr> extents_;
    Extents shape_;  // of the first input
    Func end_;
};

using OpPtr = std::unique_ptr<Op>;
using OpFactory = std::function<OpPtr()>;

// Build-time list of ops. Each op file defines one function that fills it; the generator of that
// file, and the development tools, which list all files, call it. Nothing registers itself.
class OpTable {
public:
    template<class T, class... Args> void add(const Args &...args) {
        put([args...] { return std::make_unique<T>(args...); });
    }
    void put(OpFactory f);
    OpPtr make(const std::string &name) const;  // null when there is none
    const std::vector<std::string> &names() const { return order_; }

private:
    std::map<std::string, OpFactory> ops_;
    std::vector<std::string> order_;
};
OpTable &op_table();

// Opens the function that lists a file's ops. HALYARD_OP_FILE is the file's name, given by CMake's
// halyard_op().
#define HALYARD_JOIN_(a, b) a##b
#define HALYARD_JOIN(a, b) HALYARD_JOIN_(a, b)
#define HALYARD_OPS void HALYARD_JOIN(halyard_list_, HALYARD_OP_FILE)(OpTable & ops)

}  // namespace halyard
