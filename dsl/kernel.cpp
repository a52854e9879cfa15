#include "dsl/kernel.h"

#include "dsl/argument_checks.h"
#include "dsl/ascend/algorithm.h"
#include "dsl/ascend/outputs.h"
#include "dsl/c99/functions.h"
#include "dsl/c99/schedule.h"
#include "dsl/call_facts.h"
#include "dsl/diagnostic.h"
#include "dsl/fix_scalars.h"
#include "dsl/float_pairs.h"
#include "dsl/gpu/half_floats.h"
#include "dsl/gpu/strict_operations.h"
#include "dsl/joint_outputs.h"
#include "dsl/matrix_tiles.h"
#include "dsl/mutate.h"
#include "dsl/op_check.h"
#include "dsl/wide_stores.h"
#include "registry/op/extension.h"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace halyard {
using namespace Halide;

std::string Instance::symbol(const std::string &op) const {
    std::string s = "hy_" + op + "_" + dtypes + (variant.empty() ? "" : "_" + variant) + "_" +
                    (backend == "cpu" ? name_of(isa) : backend);
    if (!scheduled) s += "_plain";
    if (!adjoint_in.empty()) s += "_adj_" + adjoint_in;
    for (char &c : s)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return s;
}

Halide::Type halide_type(DType t) {
    switch (t) {
    case DType::f64: return Float(64);
    case DType::f32: return Float(32);
    case DType::f16: return Float(16);
    case DType::bf16: return BFloat(16);
    case DType::i64: return Int(64);
    case DType::i32: return Int(32);
    case DType::i8: return Int(8);
    case DType::u8: return UInt(8);
    case DType::boolean: break;
    }
    return UInt(8);
}

namespace {

// Returns Halide's words for the CPU that the kernel is for, or that starts it on a GPU.
std::string cpu_text(const Op &op, const Instance &i) {
    if (i.isa == Isa::neon) return "arm-64-linux";
    std::string text = "x86-64-linux";
    if (i.isa >= Isa::avx2) text += "-sse41-avx-f16c-fma-avx2";
    if (i.isa >= Isa::avx512) {
        text += "-avx512-avx512_skylake";
        if (extension_of(op, i.variant) != Extension::none)
            text += "-avx512_cannonlake-avx512_zen4";
    }
    return text;
}

}  // namespace

Target target_of(const Op &op, const Instance &i) {
    if (i.backend == "ascend" || i.backend == "c99")
        return Target("x86-64-linux-no_asserts-no_bounds_query-no_runtime-strict_float");
    std::string text = cpu_text(op, i);
    // One loop for several outputs has many products and sums. LLVM makes other FMAs of them in the
    // loop over whole vectors than in the one for the rest, so that an element's bits would depend
    // on its place. Updates of large tensors wait for memory, not for the instructions that FMAs
    // would save.
    if (i.backend == "cpu" && op.joins_outputs && op.sig.outputs.size() > 1)
        text += "-strict_float";
    if (i.backend == "opencl") text += "-opencl-cl_doubles";
    if (i.backend == "cuda") text += "-cuda-cuda_capability_80";
    if (!i.sanitizer.empty()) text += i.sanitizer == "thread" ? "-tsan" : "-asan";
    if (i.profiled) text += "-profile";
    if (i.traced) text += "-trace_realizations";
    return Target(text + "-no_bounds_query-no_runtime");
}

// The Halide types of an op's tensors. The type variables of its signature, in order of appearance,
// are bound to the entries of Instance::dtypes.
struct Kernel::TensorTypes {
    // Throws DTypeError if there are too few dtypes.
    TensorTypes(const Op &op, const Instance &i)
        : exact(i.dtypes == "exact"), ascend(i.backend == "ascend") {
        std::stringstream rest(i.dtypes);
        for (auto *specs : {&op.sig.inputs, &op.sig.outputs}) {
            for (const TensorSpec &t : *specs)
                bind(op, t.dtype, i.dtypes, rest);
        }
    }

    // Returns the type in which a tensor is stored.
    Type stored(const TensorSpec &t) const {
        const auto it = bound.find(t.dtype);
        if (it != bound.end()) return it->second;
        const DType d = dtype_of(t.dtype);
        // An Ascend core has no f64: f64 tables are rounded before they are copied to the device.
        if (ascend && d == DType::f64) return Float(32);
        return exact && is_float(d) ? Type(UInt(32)) : halide_type(d);
    }

    // Returns true if the algorithm computes with the elements as reals. Integers and booleans
    // whose dtype is written in the signature (labels:i32) keep it.
    bool is_real(const TensorSpec &t) const {
        return bound.count(t.dtype) || (t.dtype != "bool" && is_float(dtype_of(t.dtype)));
    }

    // Returns true if a type variable is bound to `t`.
    bool binds(const Type &t) const {
        return std::any_of(bound.begin(), bound.end(),
                           [&](const auto &entry) { return entry.second == t; });
    }

    // Returns the arithmetic of the type variable T: f16 and bf16 are computed in f32, unless the
    // op only copies them.
    Arithmetic arithmetic(bool copies_bits) const {
        if (exact) return halyard::exact();
        const auto t = bound.find("T");
        if (t == bound.end()) return ieee(Float(32));
        const Type type = t->second;
        if (!type.is_float()) return integer(type);
        if (copies_bits) return ieee(type);
        return ieee(type.bits() == 64 ? Float(64) : Float(32));
    }

    const bool exact, ascend;
    // The types and dtypes of type variables; no dtypes in exact mode.
    std::map<std::string, Type> bound;
    std::map<std::string, DType> dtypes;

private:
    // Binds `variable`, if it is one and not bound yet, to the next dtype that `rest` has.
    void bind(const Op &op, const std::string &variable, const std::string &names,
              std::istream &rest) {
        if (!is_type_variable(variable) || bound.count(variable)) return;
        std::string dtype;
        if (exact)
            bound[variable] = UInt(32);
        else if (std::getline(rest, dtype, ','))
            bound[variable] = halide_type(dtypes[variable] = dtype_of(dtype));
        else {
            throw DTypeError(op.name,
                             "dtypes '" + names + "' name too few types for " + op.signature);
        }
    }
};

namespace {

// Fixes the minimum of every dimension to 0, which dispatch guarantees
// (registry/dispatch/planner.cpp). Kernels take a sixth less time to compile without the sums of
// unknown minima.
void begin_at_zero(OutputImageParam m, int dimensions) {
    for (int d = 0; d < dimensions; d++)
        m.dim(d).set_min(0);
}

template<class Dimension> void fix(Dimension d, const FixedCall::Dim &to) {
    d.set_bounds(0, to.extent).set_stride(to.stride);
}

Region bounds_of(const ImageParam &m) {
    Region r;
    for (int d = 0; d < m.dimensions(); d++)
        r.emplace_back(m.dim(d).min(), m.dim(d).extent());
    return r;
}

}  // namespace

Kernel::Kernel(OpPtr o, Instance i)
    : op(std::move(o)), instance(std::move(i)), target(target_of(*op, instance)) {
    throw_halide_errors();
    try {
        build();
    } catch (const Halide::Error &e) {
        throw diagnostic(*op, e, directives);
    }
}

void Kernel::build() {
    const TensorTypes types(*op, instance);
    op->declare_all_tensors();
    Build build{instance.variant,
                target.natural_vector_size(types.arithmetic(op->copies_bits).real), types.dtypes,
                target.has_gpu_feature()};
    if (is_fixed()) {
        check_fixed(build);
        // Such an algorithm is not arranged in vectors. Ascend's instructions are found during
        // lowering.
        build.lanes = 1;
        build.variant = ascend::algorithm_for(*op, build.lanes, *instance.call);
    }
    bind_inputs(types);

    const DirectiveRecorder recorder(directives, instance.skip);
    op->define(build);
    check_algorithm(*op, directives);
    Results results = instance.adjoint_in.empty() ? outputs(types) : differentiate(types);
    if (is_fixed()) fix_scalars();
    const Arithmetic a = arithmetic(types);
    if (is_c99() && a.kind != Arithmetic::exact) c99::name_functions(results.funcs, a.real);
    try {
        interpret(results.funcs, results.storage, a);
    } catch (const DTypeError &e) {
        throw diagnostic(*op, e, directives);
    }

    if (stores_outputs_jointly()) {
        results.funcs = op->out = {joined(results.funcs)};
    }
    pipeline = Pipeline(results.funcs);
    constrain_outputs(results.funcs);
    schedule(results.funcs, a.real, build);
    add_lowering_passes([&] {
        if (instance.fault.empty()) return;
        plant(pipeline, facts_of(*op, instance.variant, instance.tunables, lanes), instance.fault);
    });
}

void Kernel::add_lowering_passes(const std::function<void()> &add_faults) {
    pipeline.clear_custom_lowering_passes();
    if (!checks_arguments()) remove_argument_checks(pipeline);
    if (has_float_pairs(instance.backend, lanes)) keep_float_pairs(pipeline);
    if (has_matrix_tiles()) use_matrix_tiles(pipeline);
    add_faults();
    if (holds_half_floats()) gpu::hold_half_floats_as_integers(pipeline);
    if (instance.backend == "cuda") gpu::keep_strict_operations(pipeline);
    if (instance.sanitizer == "thread") announce_wide_stores(pipeline);
}

bool Kernel::holds_half_floats() const {
    return target.has_gpu_feature() && instance.dtypes.find("f16") != std::string::npos;
}

// Elementwise ops have as many elements of each output, so one launch is enough for all, and so is
// one loop on a CPU, where the op's schedule has to know it.
bool Kernel::stores_outputs_jointly() const {
    const bool in_one_loop = target.has_gpu_feature() ||
                             (instance.backend == "cpu" && (op->has_edges || op->joins_outputs));
    return in_one_loop && instance.scheduled && instance.adjoint_in.empty() &&
           op->sig.outputs.size() > 1 &&
           std::ranges::all_of(op->sig.outputs, &TensorSpec::any_rank);
}

Func Kernel::joined(const std::vector<Func> &outputs) const {
    if (target.has_gpu_feature()) return joint_outputs_of_threads(outputs);
    // The outputs of a chain don't overwrite its inputs, and don't read each other.
    return op->has_edges ? joint_outputs(outputs) : joint_outputs_of_lanes(outputs);
}

bool Kernel::has_matrix_tiles() const {
    return instance.backend == "cpu" && instance.scheduled && instance.adjoint_in.empty() &&
           instance.dtypes != "exact" && extension_of(*op, instance.variant) == Extension::amx;
}

// Throws DTypeError for dtypes that Ascend's vector unit lacks, and DispatchError if there is no
// call.
void Kernel::check_fixed(const Build &build) const {
    for (auto &[name, t] : build.types) {
        if (is_ascend() && (t == DType::f64 || t == DType::bf16 || t == DType::i64))
            throw DTypeError(op->name, std::string("no Ascend kernels for ") + name_of(t));
    }
    if (!instance.call) {
        throw DispatchError(op->name,
                            std::string(is_ascend() ? "an Ascend program" : "a C99 function") +
                                " is made for one call: give its shape");
    }
}

// Defines the op's inputs as tensors in memory.
void Kernel::bind_inputs(const TensorTypes &types) {
    for (size_t k = 0; k < op->in.size(); k++) {
        const TensorSpec &spec = op->sig.inputs[k];
        op->memory.emplace_back(types.stored(spec), int(op->extents_of(spec).size()), spec.name);
        ImageParam &m = op->memory.back();
        if (has_free_strides() && m.dimensions() > 0) m.dim(0).set_stride(Expr());
        // The outermost minimum stays symbolic: see arithmetic().
        if (!is_fixed()) begin_at_zero(m, m.dimensions() - 1);
        Op::Extents extents;
        for (int d = 0; d < m.dimensions(); d++) {
            if (is_fixed()) {
                const FixedCall::Dim &dim = instance.call->inputs[k][size_t(d)];
                fix(m.dim(d), dim);
                extents.emplace_back(dim.extent);
            } else {
                extents.push_back(m.dim(d).extent());
            }
        }
        op->bind_input(k, loaded(m, spec, types), extents);
    }
}

// Returns a Func that loads a tensor: as reals, if types.is_real(). A derived gradient reads beyond
// the bounds of its tensors, so there every tensor is 0.
Func Kernel::loaded(const ImageParam &memory, const TensorSpec &spec,
                    const TensorTypes &types) const {
    Func f("loaded");
    const bool is_real = types.is_real(spec);
    if (is_real)
        f(_) = cast(Float(64), memory(_));
    else if (spec.dtype == "bool")
        f(_) = memory(_) != 0;
    else
        f(_) = Expr(memory(_));
    if (instance.adjoint_in.empty() || !is_real) return f;
    return BoundaryConditions::constant_exterior(f, 0_r, bounds_of(memory));
}

Kernel::Results Kernel::outputs(const TensorTypes &types) const {
    Results results{op->out, {}};
    for (auto &t : op->sig.outputs)
        results.storage.push_back(types.stored(t));
    return results;
}

// Returns the gradient with respect to instance.adjoint_in, and appends dy to the inputs. The op is
// differentiated over the reals, before interpret(): its gradient exists in every arithmetic.
Kernel::Results Kernel::differentiate(const TensorTypes &types) {
    TensorSpec spec = op->sig.outputs[0];
    spec.name = "d" + spec.name;
    ImageParam dy(types.stored(op->sig.outputs[0]), int(op->extents_of(spec).size()), spec.name);
    // propagate_adjoints() takes {min, max} of each dimension, although its comment says extents.
    Region min_max;
    for (int k = 0; k < dy.dimensions(); k++)
        min_max.emplace_back(dy.dim(k).min(), dy.dim(k).max());
    Derivative derivative = propagate_adjoints(op->out[0], loaded(dy, spec, types), min_max);
    Results results = outputs(types);
    for (size_t k = 0; k < op->in.size(); k++) {
        if (op->sig.inputs[k].name == instance.adjoint_in) {
            Func g("adjoint");
            g(_) = derivative(op->in[k])(_);
            results = {{g}, {types.stored(op->sig.inputs[k])}};
        }
    }
    op->memory.push_back(dy);
    return results;
}

void Kernel::fix_scalars() {
    std::map<std::string, int> values;
    for (size_t k = 0; k < op->scalars.size(); k++)
        if (!op->scalars[k].real) values[op->scalars[k].name] = instance.call->integers[k];
    halyard::fix_scalars(op->out, values);
}

// Returns an outermost minimum, which is 0 in every call, but the compiler cannot derive that.
Expr Kernel::zero_of_call() const {
    Expr zero;
    for (const ImageParam &m : op->memory)
        if (m.dimensions()) zero = m.dim(m.dimensions() - 1).min();
    return zero;
}

Arithmetic Kernel::arithmetic(const TensorTypes &types) const {
    Arithmetic a = types.arithmetic(op->copies_bits);
    if (is_ascend()) a.own_math = false;  // the vector unit has its own functions
    if (is_c99() && a.kind == Arithmetic::ieee) a.own_math = false;  // and so has C's library
    a.on_gpu = target.has_gpu_feature();
    a.f16_by_halide = instance.backend == "cpu" && !target.has_feature(Target::F16C);
    if (types.binds(Float(16)) && instance.backend == "cpu" && !a.f16_by_halide)
        a.zero = zero_of_call();
    if (op->has_edges && types.bound.count("T")) {
        a.edge = types.bound.at("T");
        if (instance.backend == "cpu") a.edge_zero = zero_of_call();
    }
    return a;
}

// States what dispatch guarantees of the outputs' strides and minima.
void Kernel::constrain_outputs(const std::vector<Func> &funcs) {
    if (has_free_strides() && instance.adjoint_in.empty()) {
        for (Func f : funcs) {
            for (OutputImageParam stored : f.output_buffers())
                if (f.dimensions() > 0) stored.dim(0).set_stride(Expr());
        }
    }
    if (!is_fixed()) {
        // The other buffers of a Tuple have the bounds of the first.
        for (Func f : funcs)
            begin_at_zero(f.output_buffers()[0], f.dimensions());
    }
}

void Kernel::schedule(const std::vector<Func> &funcs, const Type &real, const Build &build) {
    lanes = target.natural_vector_size(real);
    const Backend b{
        {instance.variant, lanes, build.types, build.on_gpu}, target, real, &instance.tunables};
    if (!instance.scheduled || !instance.adjoint_in.empty()) {
        for (Func f : funcs)
            f.compute_root();
    } else if (is_ascend()) {
        schedule_ascend(b);
    } else if (is_c99()) {
        schedule_c99();
    } else if (target.has_gpu_feature()) {
        op->schedule_kernel(Gpu{b});
    } else {
        op->schedule_kernel(Cpu{b});
    }
}

// Fixes the layout of every output to that of the call. Returns the Funcs that write them.
std::vector<Func> Kernel::fix_outputs() {
    const FixedCall &call = *instance.call;
    std::vector<Func> gm = ascend::fused_outputs(op->out, call.outputs);
    size_t k = 0;
    for (Func &f : gm) {
        const FixedCall::Layout &shape = call.outputs[k];
        bool is_first = true;
        for (OutputImageParam image : f.output_buffers()) {
            const FixedCall::Layout &layout = call.outputs[k++];
            for (int d = 0; d < image.dimensions(); d++) {
                // The outputs of one Func have the extents of the first.
                if (is_first)
                    fix(image.dim(d), layout[size_t(d)]);
                else
                    image.dim(d).set_stride(layout[size_t(d)].stride);
            }
            is_first = false;
        }
        for (int d = 0; d < f.dimensions(); d++)
            f.bound(f.args()[size_t(d)], 0, shape[size_t(d)].extent);
    }
    pipeline = Pipeline(gm);
    return gm;
}

void Kernel::schedule_ascend(const Backend &b) {
    const std::vector<Func> gm = fix_outputs();
    op->schedule(Ascend{b, gm, instance.call.get(), &buffer_plan});
}

void Kernel::schedule_c99() {
    c99::schedule(fix_outputs(), instance.call->lanes);
}

std::vector<Argument> Kernel::arguments() const {
    std::vector<Argument> args(op->memory.begin(), op->memory.end());
    for (auto &s : op->scalars) {
        args.emplace_back(s.name, Argument::InputScalar, op->parameters.at(s.name).type(), 0,
                          ArgumentEstimates{});
    }
    return args;
}

}  // namespace halyard
