#include "dsl/kernel.h"

#include "dsl/argument_checks.h"
#include "dsl/ascend/algorithm.h"
#include "dsl/ascend/outputs.h"
#include "dsl/mutate.h"
#include "dsl/op_check.h"
#include "dsl/refusal.h"
#include "registry/op/extension.h"

namespace halyard {
using namespace Halide;

std::string Instance::symbol(const std::string &op) const {
    std::string s = "hy_" + op + "_" + dtypes + (variant.empty() ? "" : "_" + variant) + "_" +
                    (backend == "cpu" ? name_of(isa) : backend);
    if (!scheduled) s += "_plain";
    if (!adjoint_in.empty()) s += "_adj_" + adjoint_in;
    for (char &c : s)
        if (!std::isalnum((unsigned char)c)) c = '_';
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

Target target_of(const Instance &i) {
    if (i.backend == "ascend")
        return Target("x86-64-linux-no_asserts-no_bounds_query-no_runtime-strict_float");
    std::string text = "x86-64-linux";
    if (i.isa >= Isa::avx2) text += "-sse41-avx-f16c-fma-avx2";
    if (i.isa >= Isa::avx512) {
        text += is_extension(i.variant) ? "-avx512-avx512_skylake-avx512_cannonlake-avx512_zen4"
                                        : "-avx512-avx512_skylake";
    }
    if (i.backend == "opencl") text += "-opencl-cl_doubles";
    if (i.backend == "cuda") text += "-cuda-cuda_capability_80";
    if (!i.sanitizer.empty()) text += i.sanitizer == "thread" ? "-tsan" : "-asan";
    if (i.profiled) text += "-profile";
    if (i.traced) text += "-trace_realizations";
    return Target(text + "-no_bounds_query-no_runtime");
}

namespace {

// Type variables of the signature, in order of appearance, bound to the words of "f32,i32".
std::map<std::string, Type> bind_types(const Op &op, const Instance &i, Build &build) {
    std::map<std::string, Type> bound;
    std::stringstream words(i.dtypes);
    auto bind = [&](const TensorSpec &t) {
        const bool variable = t.dtype.size() == 1 && std::isupper((unsigned char)t.dtype[0]);
        if (!variable || bound.count(t.dtype)) return;
        std::string w;
        if (i.dtypes == "exact")
            bound[t.dtype] = UInt(32);
        else if (std::getline(words, w, ','))
            bound[t.dtype] = halide_type(build.types[t.dtype] = dtype_of(w));
        else {
            throw DTypeError(op.name,
                             "dtypes '" + i.dtypes + "' name too few types for " + op.signature);
        }
    };
    for (auto &t : op.sig.inputs)
        bind(t);
    for (auto &t : op.sig.outputs)
        bind(t);
    return bound;
}

// Every tensor begins at 0 in all dimensions (registry/dispatch/plan.cpp). Without the sums of
// unknown beginnings a kernel takes a sixth less time to compile.
void begins_at_zero(OutputImageParam m, int dimensions) {
    for (int d = 0; d < dimensions; d++)
        m.dim(d).set_min(0);
}

Arithmetic arithmetic_of(const std::map<std::string, Type> &bound, bool exactly, bool moves) {
    if (exactly) return exact();
    const auto t = bound.find("T");
    if (t == bound.end()) return ieee(Float(32));
    if (moves) return t->second.is_float() ? ieee(t->second) : integer(t->second);
    if (t->second.is_float()) return ieee(t->second.bits() == 64 ? Float(64) : Float(32));
    return integer(t->second);
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
    : op(std::move(o)), instance(std::move(i)), target(target_of(instance)) {
    refuse_by_exception();
    try {
        build();
    } catch (const Halide::Error &e) {
        throw refusal(*op, e, written);
    }
}

bool Kernel::strides_free() const {
    return op->any_strides && instance.backend != "ascend";
}

void Kernel::build() {
    Build build;
    const auto bound = bind_types(*op, instance, build);
    const bool exactly = instance.dtypes == "exact";
    auto storage_of = [&](const TensorSpec &t) {
        const auto it = bound.find(t.dtype);
        if (it != bound.end()) return it->second;
        const DType d = dtype_of(t.dtype);
        // the chip has no f64: tables are rounded on their way to it
        if (instance.backend == "ascend" && d == DType::f64) return Float(32);
        return exactly && is_float(d) ? Type(UInt(32)) : halide_type(d);
    };
    // Reals, whatever they are stored as; tensors whose dtype is part of the meaning (labels:i32)
    // stay what they are. A derived adjoint gathers from neighbours: outside its bounds every
    // tensor is zero.
    auto loaded = [&](const ImageParam &m, const TensorSpec &t) {
        Func f("loaded");
        const bool is_bool = t.dtype == "bool";
        const bool is_real = bound.count(t.dtype) || (!is_bool && is_float(dtype_of(t.dtype)));
        f(_) = is_real ? cast(Float(64), m(_)) : is_bool ? m(_) != 0 : Expr(m(_));
        return instance.adjoint_in.empty() || !is_real
                   ? f
                   : BoundaryConditions::constant_exterior(f, 0_r, bounds_of(m));
    };
    op->complete();
    const bool ascend = instance.backend == "ascend";
    if (ascend) check_ascend(build);
    // Nothing of an Ascend program's algorithm is laid out in vectors: what becomes of loops is
    // found when it is lowered.
    build.lanes = ascend
                      ? 1
                      : target.natural_vector_size(arithmetic_of(bound, exactly, op->moves).real);
    build.variant = ascend ? ascend::algorithm_for(*op, build.lanes, *instance.call)
                           : instance.variant;
    for (size_t k = 0; k < op->in.size(); k++) {
        const TensorSpec &spec = op->sig.inputs[k];
        op->memory.emplace_back(storage_of(spec), int(op->extents_of(spec).size()), spec.name);
        ImageParam &m = op->memory.back();
        if (strides_free() && m.dimensions() > 0) m.dim(0).set_stride(Expr());
        if (!ascend) begins_at_zero(m, m.dimensions() - 1);
        Op::Extents e;
        for (int d = 0; d < m.dimensions(); d++) {
            if (ascend) fix(m.dim(d), instance.call->inputs[k][size_t(d)]);
            e.push_back(ascend ? Expr(instance.call->inputs[k][size_t(d)].extent)
                               : m.dim(d).extent());
        }
        op->feed(k, loaded(m, spec), e);
    }
    const Recording recording(written, instance.skip);
    op->define(build);
    check_algorithm(*op, written);
    std::vector<Func> results = op->out;
    std::vector<Type> storage;
    for (auto &t : op->sig.outputs)
        storage.push_back(storage_of(t));
    if (!instance.adjoint_in.empty()) {
        // Differentiated over the reals, then interpreted: the derived adjoint exists in every
        // arithmetic.
        TensorSpec spec = op->sig.outputs[0];
        spec.name = "d" + spec.name;
        ImageParam dy(storage[0], int(op->extents_of(spec).size()), spec.name);
        Region to_max;  // Halide's comment says extents; the code wants {min, max}
        for (int k = 0; k < dy.dimensions(); k++)
            to_max.emplace_back(dy.dim(k).min(), dy.dim(k).max());
        Derivative derivative = propagate_adjoints(op->out[0], loaded(dy, spec), to_max);
        for (size_t k = 0; k < op->in.size(); k++) {
            if (op->sig.inputs[k].name == instance.adjoint_in) {
                Func g("adjoint");
                g(_) = derivative(op->in[k])(_);
                results = {g};
                storage = {storage_of(op->sig.inputs[k])};
            }
        }
        op->memory.push_back(dy);
    }
    if (ascend) fix_scalars();
    Arithmetic a = arithmetic_of(bound, exactly, op->moves);
    if (ascend) a.own_math = false;  // it has vexp and friends
    a.f16_by_halide = instance.backend == "cpu" && !target.has_feature(Target::F16C);
    bool f16 = false;
    for (auto &[name, t] : bound)
        f16 |= t == Float(16);
    if (f16 && instance.backend == "cpu" && !a.f16_by_halide) {
        for (const ImageParam &m : op->memory)
            // 0, which Halide knows of inner dimensions only
            if (m.dimensions()) a.zero = m.dim(m.dimensions() - 1).min();
    }
    try {
        interpret(results, storage, a);
    } catch (const DTypeError &e) {
        throw refusal(*op, e, written);
    }
    pipeline = Pipeline(results);
    lanes = target.natural_vector_size(a.real);
    const Backend b{{instance.variant, lanes, build.types}, target, a.real, &instance.picks};
    if (strides_free() && instance.adjoint_in.empty()) {
        for (Func f : results)
            if (f.dimensions() > 0) f.output_buffer().dim(0).set_stride(Expr());
    }
    if (!ascend) {
        for (Func f : results)
            begins_at_zero(f.output_buffer(), f.dimensions());
    }
    if (!instance.scheduled || !instance.adjoint_in.empty()) {
        for (Func f : results)
            f.compute_root();
    } else if (ascend) {
        schedule_ascend(b);
    } else if (target.has_gpu_feature()) {
        op->schedule_kernel(Gpu{b});
    } else {
        op->schedule_kernel(Cpu{b});
    }
    if (!checks_arguments()) leave_out_argument_checks(pipeline);
    if (!instance.fault.empty()) plant(pipeline, instance.fault);
}

// Its vector unit has no other numbers; what a program is made for has to be known.
void Kernel::check_ascend(const Build &build) const {
    for (auto &[name, t] : build.types) {
        if (t == DType::f64 || t == DType::bf16 || t == DType::i64)
            throw DTypeError(op->name, std::string("no Ascend kernels for ") + name_of(t));
    }
    if (!instance.call)
        throw DispatchError(op->name, "an Ascend program is made for one call: give its shape");
}

// Integer scalars are numbers in an Ascend program, because loops and addresses depend on them.
void Kernel::fix_scalars() {
    struct Known : Internal::IRMutator {
        using IRMutator::visit;
        std::map<std::string, int> values;
        Expr visit(const Internal::Variable *v) override {
            const auto it = v->param.defined() ? values.find(v->name) : values.end();
            return it == values.end() ? Expr(v) : Expr(it->second);
        }
        // What is likely is a hint for loops that are split where a condition changes. Here each
        // part would be a program of its own, and of loops within each other their number
        // multiplies.
        Expr visit(const Internal::Call *c) override {
            if (c->is_intrinsic({Internal::Call::likely, Internal::Call::likely_if_innermost}))
                return mutate(c->args[0]);
            return IRMutator::visit(c);
        }
        // A place held within bounds by an unsigned minimum: of a clamp Halide knows the bounds,
        // once they are numbers.
        Expr visit(const Internal::Cast *c) override {
            const auto *least = c->type == Int(32) && c->value.type() == UInt(32)
                                    ? c->value.as<Internal::Min>()
                                    : nullptr;
            const auto *place = least ? least->a.as<Internal::Cast>() : nullptr;
            if (!place || place->value.type() != Int(32)) return IRMutator::visit(c);
            const Expr at = mutate(place->value);
            const Expr last = cast(Int(32), mutate(least->b));
            return clamp(select(at < 0, last, at), 0, last);
        }
    } known;
    for (size_t k = 0; k < op->scalars.size(); k++)
        if (!op->scalars[k].real) known.values[op->scalars[k].name] = instance.call->integers[k];
    std::vector<Internal::Function> outputs;
    for (auto &f : op->out)
        outputs.push_back(f.function());
    for (auto &[name, f] : Internal::build_environment(outputs))
        f.mutate(&known);
}

void Kernel::schedule_ascend(const Backend &b) {
    const FixedCall &call = *instance.call;
    std::vector<Func> gm = ascend::written_together(op->out, call.outputs);
    size_t k = 0;
    for (Func &f : gm) {
        const FixedCall::Layout &shape = call.outputs[k];
        bool first = true;
        for (OutputImageParam image : f.output_buffers()) {
            const FixedCall::Layout &layout = call.outputs[k++];
            for (int d = 0; d < image.dimensions(); d++) {
                if (first)
                    fix(image.dim(d), layout[size_t(d)]);
                else {
                    image.dim(d).set_stride(layout[size_t(d)].stride);
                }  // its extents are the first one's
            }
            first = false;
        }
        for (int d = 0; d < f.dimensions(); d++)
            f.bound(f.args()[size_t(d)], 0, shape[size_t(d)].extent);
    }
    pipeline = Pipeline(gm);
    op->schedule(Ascend{b, gm, &call, &places});
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
