// Op: the base class of all operators. An op file defines one class per operator; everything else
// (dispatch, primitives, checks, benchmarks, documentation) is derived from it. The example is a
// complete op file:
//
//     #include "dsl/op.h"
//
//     namespace halyard {
//     namespace {
//
//     struct ScaleColumns : Op {
//         ScaleColumns() : Op("scale_columns", "x[..n,c] gain[c] -> y[..n,c]") {
//             doc = "y = alpha * gain * x, a gain for each column";
//             contract = {Contract::elementwise, 3};
//             samples = {"n=1 c=1", "n=3 c=7 alpha=0.5", "n=4 c=64"};
//         }
//         Func x = input("x");
//         Func gain = input("gain");
//         Func y = output("y");
//         Expr alpha = scalar("alpha", 1.0);
//         Var c{"c"}, n{"n"};
//
//         void algorithm() override { y(c, n) = alpha * gain(c) * x(c, n); }
//
//         void schedule(const Cpu &cpu) override {
//             y.vectorize(c, cpu.lanes, Tail::GuardWithIf).parallel(n);
//         }
//
//         void reference(Problem &p) const override {
//             for (int64_t i = 0; i < p["n"]; i++) {
//                 for (int64_t j = 0; j < p["c"]; j++)
//                     p("y")(i, j) = p.real("alpha") * p("gain")(j) * p("x")(i, j);
//             }
//         }
//     };
//
//     }  // namespace
//
//     HALYARD_OPS {
//         ops.add<ScaleColumns>();
//     }
//
//     }  // namespace halyard
//
// Record: the constructor fills the members of OpRecord (registry/op/op_record.h). The signature
// gives the shapes and dtypes of all tensors (registry/op/signature.h). docs/writing_ops.md is the
// guide.
//
// Index order: in an algorithm, () lists indices innermost first, as Halide does. In signatures,
// samples and references, the extents and indices are outermost first, as callers see them. Op
// reverses them.
//
// Dtypes: an algorithm computes with real numbers (dsl/real.h) and names no dtype. One class is
// compiled for every entry of `dtypes`, and once over integers modulo 2^32, where any two legal
// schedules give the same bits (exact mode).
//
// Gradients: the op "softmax_dx" is the gradient of "softmax" with respect to its input `x`. Its
// inputs are any of softmax's inputs and outputs, and `dy`; their names tell the tape which tensors
// to keep. Nothing else registers a gradient.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dsl/backend.h"
#include "dsl/call_site.h"
#include "dsl/real.h"
#include "dsl/variant.h"
#include "registry/op/op_record.h"
#include "registry/op/problem.h"
#include "registry/op/signature.h"

namespace halyard {

// The rank of an elementwise kernel: registry/dispatch/canonical.h merges the dimensions of a call
// into at most this many.
inline constexpr int elementwise_rank = 3;

class Op : public OpRecord {
public:
    // Throws Error, with the line of the op file, if `signature` cannot be parsed.
    Op(std::string name, std::string signature);
    virtual ~Op() = default;

    // The parsed signature. Extents are outermost first; x[*] has the dimensions d0, d1 and d2.
    const Signature sig;
    // The call of the constructor, which error messages name.
    const CallSite defined_at = CallSite::here();

    // Defines every output in terms of the inputs and scalars. An op overrides the second form if
    // its algorithm depends on lanes or dtypes, and neither if all of its variants have their own.
    virtual void algorithm() {}
    virtual void algorithm(const Build &);

    // Schedules the definitions of algorithm() for one backend. An empty schedule is legal: the
    // kernel is correct and slow. For a GPU the default is gpu::plain_schedule()
    // (dsl/gpu/plain_schedule.h), for Ascend an automatic schedule (dsl/ascend/schedule.h).
    virtual void schedule(const Cpu &) {}
    virtual void schedule(const Gpu &gpu);
    virtual void schedule(const Ascend &npu);

    // False if no kernel of this op is built for a GPU (dsl/gpu/gpu_kernels.h).
    bool gpu = true;

    // Computes every output of `p` from its inputs, naively, in double, without the DSL. For ops
    // with Contract::products it also fills `p.abs_sum`.
    virtual void reference(Problem &p) const = 0;

    // ---- Functions that build kernels and chains. Op files do not call them.

    using Extents = std::vector<Halide::Expr>;  // innermost first

    // Runs the algorithm of the variant that `build` names, then schedule_kernel() its schedule. In
    // an op without variants, and for the name "", they are the op's own. Throws Error for a
    // variant that the op does not have.
    void define(const Build &build);
    template<class B> void schedule_kernel(const B &backend) {
        if (implementation_)
            implementation_->schedule(backend);
        else
            schedule(backend);
    }
    // Defines input number `input` as `from`, a tensor in memory or the result of another op, which
    // has these extents.
    void bind_input(size_t input, const Halide::Func &from, const Extents &extents);
    // Returns the extents of the first output, as expressions over those of the inputs.
    Extents output_extents() const;
    // Makes `f`, the last Func of an epilogue, what store() returns.
    void set_stored(const Halide::Func &f) { end_ = f; }
    // Declares the inputs and outputs that the op file has not declared.
    void declare_all_tensors();
    // Returns the names of the extents of `t`, outermost first. The group of a leading `..n` is one
    // extent; x[*] has `any_rank` extents.
    std::vector<std::string> extents_of(const TensorSpec &t) const;

    // ---- The kernel that is being built. Algorithms and schedules may read this; `copies_bits` is
    // set by the op's constructor.

    std::vector<Halide::Func> in, out;  // in the order of the signature
    // The tensors from which inputs are loaded. For an op of a chain, an input that elementwise ops
    // compute has the tensor that the first of them loads; empty if another op computes one.
    std::vector<Halide::ImageParam> memory;
    // The kernel arguments of `scalars`, by name.
    std::map<std::string, Halide::Parameter> parameters;
    // True for an op that copies elements without arithmetic: they keep their bits in every dtype.
    bool copies_bits = false;
    // True for an op whose outputs x[*] are stored in one loop on a CPU. Its CPU schedule arranges
    // out[0], which stands for all of them, and has a loop `vector_lane` (dsl/joint_outputs.h).
    bool joins_outputs = false;
    // True for an op that is made of others, between which math::edge() rounds.
    bool has_edges = false;
    int any_rank = elementwise_rank;  // dimensions of x[*] in this kernel
    // For an elementwise op, the sets of operands, as bits, that calls broadcast along the
    // innermost dimension and that get loops of their own; empty for the usual ones.
    std::vector<unsigned> broadcasts;

    // ---- What op files and their variants use.

    // Returns the value of an expression over dimensions, integer scalars and lets: "k",
    // "c/groups". Throws AttrError if it uses any other name.
    Halide::Expr size(const std::string &expression) const;
    Halide::Expr size(const DimExpr &e) const { return size(e.text()); }
    // Returns the Func that is stored in memory: the first output, or the end of its epilogue if
    // the op is part of a chain.
    Halide::Func store() const { return end_.defined() ? end_ : out[0]; }
    // Returns a loop of store(), counted from the innermost one.
    Halide::Var var(int dim) const { return store().args()[size_t(dim)]; }
    // Returns the stride of a dimension of a tensor, 0 the innermost, for the condition of a
    // variant. Throws AttrError if dispatch has no such stride: of outputs it has the innermost.
    Dim stride(const Halide::Func &tensor, int dim = 0) const;

protected:
    using Var = Halide::Var;
    using RVar = Halide::RVar;
    using RDom = Halide::RDom;
    using Func = Halide::Func;
    using Expr = Halide::Expr;
    using Tail = Halide::TailStrategy;

    // Returns the Func of a tensor of the signature. Throws AttrError for any other name.
    Func input(const std::string &name);
    Func output(const std::string &name);

    // Adds a variant. The first one whose condition a call fulfils computes it; the last one takes
    // every call.
    void add(Variant v);
    // Adds a variant of the kernels for a GPU. Without any they have the algorithm of the op's last
    // variant, and the op's schedule(const Gpu &).
    void add_for_gpu(Variant v);
    // Removes the variants that a base class added.
    void clear_variants();

    // Declares an attribute and its default. The kernel does not see it: lets, conditions and
    // derived scalars may use its value. The first entry of `choices` is the default; in an
    // expression, a choice is its index. `ints` is a list of integers, "1,1"; `parts` names its
    // elements for expressions.
    void attr(const std::string &name, int64_t value) {
        attrs.push_back({name, AttrKind::integer, std::to_string(value), {}, {}});
    }
    void flag(const std::string &name, bool value) {
        attrs.push_back({name, AttrKind::boolean, value ? "1" : "0", {}, {}});
    }
    // `type` names the choices' class in generated functions (AttrSpec::type).
    void choice(const std::string &name, std::vector<std::string> choices,
                const std::string &type = "") {
        attrs.push_back({name, AttrKind::choice, choices[0], choices, {}, false, type});
    }
    void ints(const std::string &name, const std::string &value,
              std::vector<std::string> parts = {}) {
        attrs.push_back({name, AttrKind::ints, value, {}, std::move(parts)});
    }
    // Declares an attribute of another kind, with its default as text.
    void attr(const std::string &name, AttrKind kind, const std::string &value) {
        attrs.push_back({name, kind, value, {}, {}});
    }
    // Declares an attribute that is an argument of the call, not of the primitive's constructor.
    void at_call(const std::string &name, AttrKind kind, const std::string &value) {
        attrs.push_back({name, kind, value, {}, {}, true});
    }
    // Declares an attribute without a default.
    void required(const std::string &name, AttrKind kind, std::vector<std::string> parts = {}) {
        attrs.push_back({name, kind, AttrSpec::no_default, {}, std::move(parts)});
    }

    void attr(const Dim &d, int64_t value) { attr(d.name(), value); }
    void flag(const Dim &d, bool value) { flag(d.name(), value); }
    void choice(const Dim &d, std::initializer_list<Dim> choices, const std::string &type = "") {
        choice(d.name(), names_of(choices), type);
    }
    void ints(const std::string &name, const std::string &value, std::initializer_list<Dim> parts) {
        ints(name, value, names_of(parts));
    }

    // Names an integer expression over dimensions, attributes and earlier lets. x_end and x_least
    // also limit the random inputs x of checks (LetSpec).
    void let(const std::string &name, const std::string &expression) {
        lets.push_back({name, expression});
    }
    void let(const Dim &d, const DimExpr &e) { let(d.name(), e.text()); }
    // Adds a condition that every call must fulfil; the error names both sides and their values.
    void require(const DimExpr &condition) { conditions.push_back(condition.text()); }

    // Declares an attribute that is also a kernel argument, and returns its value: an int32 or,
    // with a double as default, a real.
    Expr scalar(const std::string &name, int64_t value);
    Expr scalar(const std::string &name, int value) { return scalar(name, int64_t(value)); }
    Expr scalar(const std::string &name, double value);
    // Declares an int32 kernel argument that dispatch computes from dimensions, attributes and
    // lets, and returns its value.
    Expr derived(const std::string &name, const std::string &expression);
    Expr derived(const Dim &d, const DimExpr &e) { return derived(d.name(), e.text()); }

    // Returns true if an input is the result of another op of a chain, which is stored before.
    bool fused() const { return memory.empty(); }

    // Gives a chain a scalar of one of its ops.
    void adopt(const ScalarSpec &scalar, const Halide::Parameter &argument);

private:
    // Returns the Func in `all` of the tensor that `specs` calls `name`, and makes it if needed.
    Func declared(std::vector<Func> &all, const std::vector<TensorSpec> &specs,
                  const std::string &name, const char *suffix, const char *kind);
    Expr parameter(const std::string &name, const Halide::Type &t);
    static std::vector<std::string> names_of(std::initializer_list<Dim> dims);
    void insert(Variant v, std::vector<VariantSpec> &specs);
    std::vector<Variant> variants_;                   // as in `variants` and `gpu_variants`
    std::unique_ptr<Implementation> implementation_;  // of the variant that define() built
    std::map<std::string, Expr> extents_;  // by the names of dimensions and integer scalars
    Extents first_input_extents_;
    Func end_;
};

using OpPtr = std::unique_ptr<Op>;
using OpFactory = std::function<OpPtr()>;

// OpTable: the ops of this process, by name. Every op file defines one function that adds its ops.
// The generator of that file calls this function; development tools call those of all files.
// Nothing is registered by a static constructor.
class OpTable {
public:
    // Adds op class T, which is constructed from `args` each time it is needed.
    template<class T, class... Args> void add(const Args &...args) {
        insert([args...] { return std::make_unique<T>(args...); });
    }
    void insert(OpFactory factory) { unnamed_.push_back(std::move(factory)); }
    // Returns a new instance of the op, or null if there is none of this name. Throws what names()
    // throws.
    OpPtr make(const std::string &name) const;
    // Returns the names in the order in which the ops were added. The first call after ops were
    // added learns their names, and is for one thread only: it throws what the constructor of one
    // of them throws, Error if two have one name, and DispatchError if a constructor crashes.
    const std::vector<std::string> &names() const;

private:
    void learn_names() const;
    mutable std::vector<OpFactory> unnamed_;  // those of which only the constructor knows the name
    mutable std::map<std::string, OpFactory> ops_;
    mutable std::vector<std::string> order_;
};
// Returns the table of this process.
OpTable &op_table();

// Begins the function that adds the ops of a file to `ops`. CMake's halyard_op() defines
// HALYARD_OP_FILE as the name of the file.
#define HALYARD_JOIN_(a, b) a##b
#define HALYARD_JOIN(a, b) HALYARD_JOIN_(a, b)
#define HALYARD_OPS void HALYARD_JOIN(halyard_list_, HALYARD_OP_FILE)(OpTable & ops)

}  // namespace halyard
