// The ops as operators of PyTorch: kernels for the CPU, shapes for its compiler (the key Meta), and
// gradients (the key Autograd), all in C++ and boxed, so that one function of each serves all ops.
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/stack.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "registry/base/host_threads.h"
#include "tools/export/runtime/host.h"
#include "tools/export/runtime/symbolic_shapes.h"

namespace halyard {
namespace {

using c10::IValue;
using torch::autograd::variable_list;
using torch::jit::Stack;

constexpr size_t max_tensors = 24;

constexpr std::pair<DType, c10::ScalarType> scalar_types[] = {
    {DType::f32, c10::kFloat}, {DType::f64, c10::kDouble},    {DType::f16, c10::kHalf},
    {DType::i32, c10::kInt},   {DType::bf16, c10::kBFloat16}, {DType::i64, c10::kLong},
    {DType::i8, c10::kChar},   {DType::u8, c10::kByte},       {DType::boolean, c10::kBool},
};

c10::ScalarType scalar_type(DType dtype) {
    for (const auto &[ours, torchs] : scalar_types)
        if (ours == dtype) return torchs;
    TORCH_CHECK(false, "an unknown dtype");
}

// Runs `work`, whose errors become PyTorch's.
template<class Work> auto translated(const Work &work) {
    try {
        return work();
    } catch (const Error &e) {
        TORCH_CHECK(false, e.what());
    }
}

struct Op;

// A tensor of a call that a gradient op reads.
struct Source {
    enum Kind : uint8_t { input, output, gradient_of_output } kind;
    size_t place;
    friend bool operator==(const Source &, const Source &) = default;
};

// An op that computes gradients in inputs of another.
struct GradientStep {
    const Op *op;
    std::vector<Source> sources;                     // what its inputs are
    std::vector<std::pair<size_t, size_t>> results;  // its outputs, and the inputs they belong to
};

// An op of the library. Its operator takes the inputs, and then the attributes: those without a
// default first.
struct Op {
    const RegisteredOp *registered = nullptr;
    size_t number = 0;
    size_t inputs = 0, outputs = 0;
    std::vector<size_t> attributes;  // their places in the record, in the operator's order
    std::vector<GradientStep> gradients;
    std::vector<Source> saved;      // the inputs and outputs that they read
    std::optional<Attrs> defaults;  // of an op without attributes
    std::optional<c10::OperatorHandle> handle;

    const std::string &name() const { return registered->record.name; }
    size_t arguments() const { return inputs + attributes.size(); }
};

std::deque<Op> &all_ops() {
    static auto &all = *new std::deque<Op>;
    return all;
}

AttrValue attribute_of(const AttrSpec &a, const IValue &value) {
    switch (a.kind) {
    case AttrKind::integer: return value.toInt();
    case AttrKind::boolean: return value.toBool();
    case AttrKind::real: return value.toDouble();
    case AttrKind::ints: return value.toIntVector();
    case AttrKind::choice:
    case AttrKind::dtype:
    case AttrKind::text: break;
    }
    return value.toStringRef();
}

bool same_value(const IValue &a, const IValue &b) {
    if (a.isInt()) return b.isInt() && a.toInt() == b.toInt();
    if (a.isDouble()) return b.isDouble() && a.toDouble() == b.toDouble();
    if (a.isBool()) return b.isBool() && a.toBool() == b.toBool();
    if (a.isString()) return b.isString() && a.toStringRef() == b.toStringRef();
    return a.isIntList() && b.isIntList() && a.toIntVector() == b.toIntVector();
}

// Returns the attributes of a call. A thread keeps those of its last call of each op.
const Attrs &attributes_of(const Op &op, c10::ArrayRef<IValue> values) {
    if (op.defaults) return *op.defaults;
    struct Last {
        std::vector<IValue> values;
        std::optional<Attrs> attrs;
    };
    thread_local std::vector<Last> last_of_ops;
    if (last_of_ops.size() <= op.number) last_of_ops.resize(all_ops().size());
    Last &last = last_of_ops[op.number];
    if (last.attrs && std::equal(values.begin(), values.end(), last.values.begin(), same_value))
        return *last.attrs;
    const OpRecord &record = op.registered->record;
    std::vector<std::pair<std::string, AttrValue>> given;
    for (size_t k = 0; k < values.size(); k++) {
        const AttrSpec &a = record.attrs[op.attributes[k]];
        given.emplace_back(a.name, attribute_of(a, values[k]));
    }
    last.attrs.reset();
    last.attrs.emplace(record, given);
    last.values.assign(values.begin(), values.end());
    return *last.attrs;
}

const std::string &name_of_input(const Op &op, size_t k) {
    return op.registered->signature.inputs[k].name;
}

DType dtype_of_input(const Op &op, size_t k, const at::Tensor &t) {
    for (const auto &[ours, torchs] : scalar_types)
        if (torchs == t.scalar_type()) return ours;
    throw DTypeError(op.name(), name_of_input(op, k) + " is " + c10::toString(t.scalar_type()) +
                                    ", which no op takes");
}

void require_rank(const Op &op, size_t k, const at::Tensor &t) {
    if (t.dim() <= max_rank) return;
    throw ShapeError(op.name(), name_of_input(op, k) + " has rank " + std::to_string(t.dim()) +
                                    ", expected 0 to " + std::to_string(max_rank));
}

Tensor borrowed(const Op &op, size_t k, const at::Tensor &t) {
    if (!t.device().is_cpu()) {
        throw DeviceError(op.name(),
                          name_of_input(op, k) + " is on " + t.device().str() + ", expected cpu");
    }
    require_rank(op, k, t);
    const c10::IntArrayRef sizes = t.sizes(), strides = t.strides();
    return Tensor::borrow(const_cast<void *>(t.const_data_ptr()), Shape(sizes.begin(), sizes.end()),
                          Shape(strides.begin(), strides.end()), dtype_of_input(op, k, t));
}

class Outputs final : public OutputAllocator {
public:
    Tensor allocate(size_t, const Shape &shape, DType dtype) override {
        results.emplace_back(
            at::detail::empty_cpu({shape.begin(), shape.size()}, scalar_type(dtype)));
        return Tensor::borrow(results.back().mutable_data_ptr(), shape, dense_strides(shape),
                              dtype);
    }
    c10::SmallVector<at::Tensor, 4> results;
};

// Calls task(context, i) on the threads of PyTorch.
void run_on_torch(void *, int32_t count, HostTask task, void *context) {
    at::parallel_for(0, count, 1, [&](int64_t from, int64_t to) {
        for (int64_t i = from; i < to; i++)
            task(context, int32_t(i));
    });
}

// Passes on what torch.set_num_threads() sets.
void use_threads_of_torch() {
    static std::atomic<int> used = 1;
    const int now = at::get_num_threads();
    if (used.exchange(now) != now) set_host_loop(run_on_torch, nullptr, now);
}

void run_on_cpu(const Op &op, Stack *stack) {
    const auto arguments = torch::jit::last(*stack, op.arguments());
    Outputs outputs;
    translated([&] {
        use_threads_of_torch();
        std::array<Tensor, max_tensors> in;
        for (size_t k = 0; k < op.inputs; k++)
            in[k] = borrowed(op, k, arguments[k].toTensor());
        const Attrs &attrs = attributes_of(op, arguments.slice(op.inputs));
        host::run_to(*op.registered, {in.data(), op.inputs}, attrs, outputs);
    });
    torch::jit::drop(*stack, op.arguments());
    for (at::Tensor &result : outputs.results)
        stack->emplace_back(std::move(result));
}

at::Tensor meta_tensor(c10::SymIntArrayRef sizes, DType dtype) {
    return at::detail::empty_symint_meta(sizes, scalar_type(dtype), c10::kStrided,
                                         c10::Device(c10::kMeta), false, std::nullopt);
}

// Returns the dtype of output k for inputs that the planner has not looked at.
DType dtype_of_output(const Op &op, size_t k, const Attrs &attrs,
                      const std::vector<DType> &inputs) {
    const Signature &signature = op.registered->signature;
    const std::string &dtype = signature.outputs[k].dtype;
    if (!is_type_variable(dtype)) return dtype_of(dtype);
    for (size_t i = 0; i < inputs.size(); i++)
        if (signature.inputs[i].dtype == dtype) return inputs[i];
    return static_cast<DType>(attrs.integer(size_t(attrs.find("dtype"))));
}

std::vector<at::Tensor> symbolic_results(const Op &op, c10::ArrayRef<IValue> arguments,
                                         const Attrs &attrs) {
    std::vector<SymbolicShapes::Sizes> sizes;
    std::vector<DType> dtypes;
    for (size_t k = 0; k < op.inputs; k++) {
        const at::Tensor t = arguments[k].toTensor();
        sizes.push_back(t.sym_sizes().vec());
        dtypes.push_back(dtype_of_input(op, k, t));
    }
    std::vector<at::Tensor> results;
    if (host::differentiated_by(*op.registered)) {
        for (size_t k = 0; k < op.outputs; k++) {
            const size_t like = host::input_like_output(*op.registered, k);
            results.push_back(meta_tensor(sizes[like], dtypes[like]));
        }
        return results;
    }
    const SymbolicShapes shapes(*op.registered, attrs, std::move(sizes));
    for (size_t k = 0; k < op.outputs; k++)
        results.push_back(meta_tensor(shapes.output(k), dtype_of_output(op, k, attrs, dtypes)));
    return results;
}

std::vector<at::Tensor> planned_results(const Op &op, c10::ArrayRef<IValue> arguments,
                                        const Attrs &attrs) {
    std::vector<host::TensorMeta> in;
    for (size_t k = 0; k < op.inputs; k++) {
        const at::Tensor t = arguments[k].toTensor();
        require_rank(op, k, t);
        const c10::IntArrayRef sizes = t.sizes(), strides = t.strides();
        in.push_back({dtype_of_input(op, k, t), Shape(sizes.begin(), sizes.end()),
                      Shape(strides.begin(), strides.end())});
    }
    std::vector<at::Tensor> results;
    for (const host::TensorMeta &t : host::infer(*op.registered, in, attrs)) {
        const std::vector<c10::SymInt> sizes(t.shape.begin(), t.shape.end());
        results.push_back(meta_tensor(sizes, t.dtype));
    }
    return results;
}

void run_on_meta(const Op &op, Stack *stack) {
    const auto arguments = torch::jit::last(*stack, op.arguments());
    const bool has_symbols = std::ranges::any_of(
        arguments.slice(0, op.inputs), [](const IValue &v) {
            return v.toTensor().unsafeGetTensorImpl()->has_symbolic_sizes_strides();
        });
    std::vector<at::Tensor> results = translated([&] {
        const Attrs &attrs = attributes_of(op, arguments.slice(op.inputs));
        return has_symbols ? symbolic_results(op, arguments, attrs)
                           : planned_results(op, arguments, attrs);
    });
    torch::jit::drop(*stack, op.arguments());
    for (at::Tensor &result : results)
        stack->emplace_back(std::move(result));
}

// A call at the key Autograd.
struct Call {
    const Op &op;
    c10::DispatchKeySet below;  // the keys that are left to run
    Stack *stack;

    void run() const {
        const at::AutoDispatchBelowADInplaceOrView guard;
        op.handle->redispatchBoxed(below, stack);
    }
};

struct Gradients : torch::autograd::Function<Gradients> {
    static variable_list forward(torch::autograd::AutogradContext *context, const Call *call,
                                 at::TensorList inputs) {
        const Op &op = call->op;
        context->saved_data["op"] = int64_t(op.number);
        if (!op.attributes.empty()) {
            const auto attributes = torch::jit::last(*call->stack, op.attributes.size());
            context->saved_data["attributes"] = c10::ivalue::Tuple::create(attributes.vec());
        }
        call->run();
        variable_list outputs;
        variable_list not_real;
        for (const IValue &result : torch::jit::last(*call->stack, op.outputs)) {
            outputs.push_back(result.toTensor());
            if (!outputs.back().is_floating_point()) not_real.push_back(outputs.back());
        }
        torch::jit::drop(*call->stack, op.outputs);
        variable_list saved;
        for (const Source &s : op.saved)
            saved.push_back(s.kind == Source::input ? inputs[s.place] : outputs[s.place]);
        context->save_for_backward(std::move(saved));
        if (!not_real.empty()) context->mark_non_differentiable(not_real);
        return outputs;
    }

    static variable_list backward(torch::autograd::AutogradContext *context,
                                  const variable_list &gradients) {
        const Op &op = all_ops()[size_t(context->saved_data["op"].toInt())];
        const std::vector<IValue> attributes =
            op.attributes.empty() ? std::vector<IValue>()
                                  : context->saved_data["attributes"].toTuple()->elements().vec();
        const variable_list saved = context->get_saved_variables();
        variable_list results(1 + op.inputs);  // the first belongs to `call` of forward()
        std::vector<bool> done(op.inputs);
        for (const GradientStep &step : op.gradients) {
            const bool is_needed = std::ranges::any_of(step.results, [&](const auto &result) {
                return context->needs_input_grad(result.second);
            });
            for (const auto &[output, input] : step.results)
                done[input] = true;
            if (!is_needed) continue;
            const Stack stack = run_step(op, step, attributes, saved, gradients);
            for (const auto &[output, input] : step.results)
                results[1 + input] = stack[output].toTensor();
        }
        for (size_t k = 0; k < op.inputs; k++) {
            TORCH_CHECK(done[k] || !context->needs_input_grad(k), "[", op.name(),
                        "] this library has no gradient in ", name_of_input(op, k));
        }
        return results;
    }

private:
    // Runs a gradient op through the dispatcher, where the compiler of PyTorch traces it. It has
    // the attributes of the same names.
    static Stack run_step(const Op &op, const GradientStep &step, c10::ArrayRef<IValue> attributes,
                          const variable_list &saved, const variable_list &gradients) {
        Stack stack;
        for (const Source &s : step.sources) {
            const auto kept = std::ranges::find(op.saved, s) - op.saved.begin();
            stack.emplace_back(s.kind == Source::gradient_of_output ? gradients[s.place]
                                                                    : saved[size_t(kept)]);
        }
        for (const size_t place : step.op->attributes) {
            const std::string &name = step.op->registered->record.attrs[place].name;
            const auto theirs = std::ranges::find_if(op.attributes, [&](size_t k) {
                return op.registered->record.attrs[k].name == name;
            });
            if (theirs != op.attributes.end())
                stack.push_back(attributes[size_t(theirs - op.attributes.begin())]);
            else
                stack.push_back(
                    *step.op->handle->schema().arguments()[stack.size()].default_value());
        }
        step.op->handle->callBoxed(&stack);
        return stack;
    }
};

void run_on_autograd(const Op &op, c10::DispatchKeySet keys, Stack *stack) {
    const Call call{op, keys & c10::after_autograd_keyset, stack};
    const auto arguments = torch::jit::last(*stack, op.arguments());
    const auto inputs = arguments.slice(0, op.inputs);
    const bool is_recorded = at::GradMode::is_enabled() &&
                             std::ranges::any_of(inputs, [](const IValue &v) {
                                 return v.toTensor().requires_grad();
                             });
    if (!is_recorded) return call.run();
    variable_list in;
    for (const IValue &v : inputs)
        in.push_back(v.toTensor());
    for (at::Tensor &result : Gradients::apply(&call, at::TensorList(in)))
        stack->emplace_back(std::move(result));
}

using RunsAlone = void (*)(const Op &, Stack *);
template<RunsAlone function> struct Kernel : c10::OperatorKernel {
    explicit Kernel(const Op &op) : op_(op) {}
    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, Stack *stack) {
        function(op_, stack);
    }

private:
    const Op &op_;
};

struct AutogradKernel : c10::OperatorKernel {
    explicit AutogradKernel(const Op &op) : op_(op) {}
    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet keys, Stack *stack) {
        run_on_autograd(op_, keys, stack);
    }

private:
    const Op &op_;
};

// Returns the declaration of an attribute in a schema: "float epsilon=1e-06".
std::string declaration(const AttrSpec &a) {
    const bool has_default = !a.is_required();
    const std::string parts = a.parts.empty() ? "" : std::to_string(a.parts.size());
    switch (a.kind) {
    case AttrKind::integer: return "int " + a.name + (has_default ? "=" + a.value : "");
    case AttrKind::real: return "float " + a.name + (has_default ? "=" + a.value : "");
    case AttrKind::ints:
        return "int[" + parts + "] " + a.name + (has_default ? "=[" + a.value + "]" : "");
    case AttrKind::boolean: {
        const bool yes = a.value == "true" || a.value == "True" || a.value == "1";
        return "bool " + a.name + (has_default ? yes ? "=True" : "=False" : "");
    }
    case AttrKind::choice:
    case AttrKind::dtype:
    case AttrKind::text: break;
    }
    return "str " + a.name + (has_default ? "=\"" + a.value + "\"" : "");
}

// Returns "softmax(Tensor x, int axis=-1) -> Tensor".
std::string schema_of(const Op &op) {
    std::string arguments, results;
    for (const TensorSpec &t : op.registered->signature.inputs)
        arguments += (arguments.empty() ? "Tensor " : ", Tensor ") + t.name;
    for (const size_t place : op.attributes) {
        arguments += arguments.empty() ? "" : ", ";
        arguments += declaration(op.registered->record.attrs[place]);
    }
    for (size_t k = 0; k < op.outputs; k++)
        results += k == 0 ? "Tensor" : ", Tensor";
    if (op.outputs > 1) results = "(" + results + ")";
    return op.name() + "(" + arguments + ") -> " + results;
}

Op described(const RegisteredOp &registered, size_t number) {
    Op op;
    op.registered = &registered;
    op.number = number;
    op.inputs = registered.signature.inputs.size();
    op.outputs = registered.signature.outputs.size();
    const std::vector<AttrSpec> &attrs = registered.record.attrs;
    for (const bool required : {true, false})
        for (size_t k = 0; k < attrs.size(); k++)
            if (attrs[k].is_required() == required) op.attributes.push_back(k);
    if (attrs.empty()) op.defaults.emplace(registered.record);
    return op;
}

// Returns where the forward op has what its gradient op names `name`: an input or output of its
// own, or dy, the gradient in output y.
std::optional<Source> source_named(const Op &forward, const std::string &name) {
    const Signature &s = forward.registered->signature;
    for (size_t k = 0; k < s.inputs.size(); k++)
        if (s.inputs[k].name == name) return Source{Source::input, k};
    for (size_t k = 0; k < s.outputs.size(); k++) {
        if (s.outputs[k].name == name) return Source{Source::output, k};
        if ("d" + s.outputs[k].name == name) return Source{Source::gradient_of_output, k};
    }
    return std::nullopt;
}

void add_gradients(Op &op) {
    for (size_t k = 0; k < op.inputs; k++) {
        const GradientOp gradient = host::ops().gradient_in(*op.registered, name_of_input(op, k));
        if (!gradient.op) continue;
        const auto is_same = [&](const GradientStep &s) { return s.op->registered == gradient.op; };
        auto step = std::ranges::find_if(op.gradients, is_same);
        if (step == op.gradients.end()) {
            GradientStep made;
            made.op = &*std::ranges::find(all_ops(), gradient.op, &Op::registered);
            for (const TensorSpec &input : gradient.op->signature.inputs) {
                const std::optional<Source> source = source_named(op, input.name);
                if (!source) break;
                made.sources.push_back(*source);
            }
            if (made.sources.size() < gradient.op->signature.inputs.size()) continue;
            for (const Source &s : made.sources) {
                if (s.kind != Source::gradient_of_output && !std::ranges::count(op.saved, s))
                    op.saved.push_back(s);
            }
            step = op.gradients.insert(op.gradients.end(), made);
        }
        step->results.emplace_back(gradient.output, k);
    }
}

// Registers all ops when the library is loaded. They stay as long as the process.
void register_ops() {
    auto &library = *new torch::Library(torch::Library::DEF, host::library_name(), std::nullopt,
                                        __FILE__, __LINE__);
    std::deque<Op> &ops = all_ops();
    for (const RegisteredOp *registered : host::ops().ops())
        ops.push_back(described(*registered, ops.size()));
    const auto add = [&](const Op &op, c10::DispatchKey key, torch::CppFunction &&kernel) {
        library.impl(op.name().c_str(), torch::dispatch(key, std::move(kernel)));
    };
    for (Op &op : ops) {
        library.def(schema_of(op).c_str(), {at::Tag::pt2_compliant_tag});
        using torch::CppFunction;
        add(op, c10::DispatchKey::CPU,
            CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel<run_on_cpu>>(op)));
        add(op, c10::DispatchKey::Meta,
            CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel<run_on_meta>>(op)));
        add(op, c10::DispatchKey::Autograd,
            CppFunction::makeFromBoxedFunctor(std::make_unique<AutogradKernel>(op)));
        const std::string whole = host::library_name() + "::" + op.name();
        op.handle = c10::Dispatcher::singleton().findSchemaOrThrow(whole.c_str(), "");
    }
    for (Op &op : ops)
        add_gradients(op);
}

const struct Registration {
    Registration() { register_ops(); }
} registration;

}  // namespace
}  // namespace halyard
