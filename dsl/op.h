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
#include "dsl/call_site.h"
#include "dsl/real.h"
#include "registry/op/op_record.h"
#include "registry/op/problem.h"
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
    const CallSite defined_at = CallSite::here();  // by the constructor of an op file

    virtual void algorithm() {}
    virtual void schedule(const Cpu &) {}  // an empty schedule is legal, correct and slow
    virtual void schedule(const Gpu &) {}
    virtual void schedule(const Ascend &npu);  // the automatic one (dsl/ascend/schedule.h)

    // The naive answer in double, independent of the DSL: fills every output of `p`.
    virtual void reference(Problem &p) const = 0;

    // An op reads memory, or the Funcs of another op: that is all there is to fusion.
    using Extents = std::vector<Halide::Expr>;  // innermost first
    void bind_input(size_t input, const Halide::Func &from, const Extents &extents);
    Extents output_extents() const;
    void set_stored(const Halide::Func &f) { end_ = f; }
    // declares the tensors that the op itself doesn't
    void declare_all_tensors();
    // outermost first, with the collapsed and the any-rank ones
    std::vector<std::string> extents_of(const TensorSpec &t) const;

    std::vector<Halide::Func> in, out;
    // where inputs are loaded from; empty inside a chain
    std::vector<Halide::ImageParam> memory;
    std::map<std::string, Halide::Parameter> parameters;  // of the scalars
    // being built: an algorithm may differ by variant
    std::string variant;
    // of the arithmetic: an algorithm may lay out its stages in blocks of vectors
    int lanes = 4;
    // being built: what T, U, ... are; empty in exact mode
    std::map<std::string, DType> types;
    // elements are moved as they are stored, in T: no arithmetic between
    bool copies_bits = false;
    int any_rank = elementwise_rank;  // dimensions of x[*] in this instance

protected:
    using Var = Halide::Var;
    using RVar = Halide::RVar;
    using RDom = Halide::RDom;
    using Func = Halide::Func;
    using Expr = Halide::Expr;
    using Tail = Halide::TailStrategy;

    Func input(const std::string &name);  // of the signature: any other name is an AttrError
    Func output(const std::string &name);
    // "k", "c/groups": of dimensions, scalars and lets
    Expr size(const std::string &expression) const;

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
    // Run-time attributes: each is an attribute and a kernel argument of the same name.
    Expr scalar(const std::string &name, int64_t value);
    Expr scalar(const std::string &name, int value) { return scalar(name, int64_t(value)); }
    Expr scalar(const std::string &name, double value);
    // a kernel argument computed at dispatch
    Expr derived(const std::string &name, const std::string &expression);

    // what reaches memory: the output, or the end of its epilogue
    Func store() const { return end_.defined() ? end_ : out[0]; }
    // loops of store(), innermost first
    Var var(int dim) const { return store().args()[size_t(dim)]; }
    // inputs are computed, not loaded
    bool fused() const { return memory.empty(); }

private:
    Func declared(std::vector<Func> &all, const std::vector<TensorSpec> &specs,
                  const std::string &name, const char *suffix, const char *kind);
    Expr parameter(const std::string &name, const Halide::Type &t);
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
