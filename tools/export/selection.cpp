#include "tools/export/selection.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "bench/harness/case.h"
#include "bench/harness/op_call.h"
#include "bench/harness/variadic_ops.h"
#include "primitives/library.h"
#include "primitives/primitive.h"
#include "registry/base/error.h"
#include "registry/base/text.h"
#include "registry/tensor/deaf_listener.h"

namespace halyard::exporting {
namespace {

// Collects the names of the ops whose kernels run.
class CalledOps : public DeafListener {
public:
    std::set<std::string> names;

    void called(const RegisteredOp &op, const Attrs &, std::span<const Tensor>,
                std::span<const Tensor>) override {
        names.insert(op.record.name);
    }
};

// Returns the names of the kernels that the first sample of a composite runs in f32.
std::set<std::string> kernels_called_by(const RegisteredOp &op) {
    const OpPtr code = op_table().make(op.record.name);
    if (!code || code->samples.empty()) return {};
    CalledOps called;
    try {
        const check::Case sample(*code, code->samples[0], op.record.dtypes[0], 1);
        const ListenerScope listening(&called);
        Primitive(op, sample.attrs).run(sample.in);
    } catch (const Error &) {  // the message does without them
    }
    return called.names;
}

[[noreturn]] void refuse_composite(const RegisteredOp &op) {
    std::string text = "can't be exported: it is composed of other ops and has no kernel";
    const std::set<std::string> kernels = kernels_called_by(op);
    if (!kernels.empty()) text += "; it calls " + join(kernels) + ", which can be exported";
    throw DispatchError(op.record.name, text);
}

}  // namespace

const RegisteredOp &op_called(const std::string &name) {
    if (bench::variadic_op(name)) {
        throw DispatchError(name,
                            "can't be exported: it takes any number of tensors and has no kernel");
    }
    return library().at(name);
}

namespace {

const RegisteredOp &exportable(const std::string &name) {
    const RegisteredOp &op = op_called(name);
    if (op.record.form == Form::composite) refuse_composite(op);
    if (cpu_kernels(op).empty())
        throw DispatchError(op.record.name, "can't be exported: it has no kernel for the CPU");
    return op;
}

// Adds the gradient ops of `op`. Returns a note about those that have no kernel, or "".
std::string add_gradients(const RegisteredOp &op, std::set<const RegisteredOp *> &ops) {
    std::vector<std::string> composed;
    for (const size_t k : bench::differentiable_inputs(op)) {
        const std::string &input = op.signature.inputs[k].name;
        const GradientOp gradient = library().gradient_in(op, input);
        if (gradient.op && !cpu_kernels(*gradient.op).empty())
            ops.insert(gradient.op);
        else
            composed.push_back(input);
    }
    if (composed.empty()) return "";
    return "[" + op.record.name + "] without the gradient in " + join(composed) +
           ", which is composed of other ops";
}

}  // namespace

std::vector<KernelEntry> cpu_kernels(const RegisteredOp &op) {
    std::vector<KernelEntry> all;
    std::ranges::copy_if(op.kernels, std::back_inserter(all),
                         [](const KernelEntry &k) { return k.backend == "cpu"; });
    return all;
}

namespace {

// Returns the inputs of `op` whose gradient is computed by one of `ops`.
std::vector<std::string> inputs_with_gradient(const RegisteredOp &op,
                                              const std::set<const RegisteredOp *> &ops) {
    std::vector<std::string> names;
    for (const TensorSpec &input : op.signature.inputs) {
        const GradientOp gradient = library().gradient_in(op, input.name);
        if (gradient.op && ops.count(gradient.op)) names.push_back(input.name);
    }
    return names;
}

}  // namespace

Selection selection_of(const std::vector<std::string> &names) {
    std::set<const RegisteredOp *> ops;
    for (const std::string &name : names)
        ops.insert(&exportable(name));
    Selection s;
    const std::set<const RegisteredOp *> asked_for = ops;
    for (const RegisteredOp *op : asked_for)
        if (const std::string note = add_gradients(*op, ops); !note.empty())
            s.notes.push_back(note);
    for (const RegisteredOp *op : ops)
        s.gradient_inputs[op] = inputs_with_gradient(*op, ops);
    s.ops.assign(ops.begin(), ops.end());
    const auto name_of_op = [](const RegisteredOp *op) { return op->record.name; };
    std::ranges::sort(s.ops, {}, name_of_op);
    std::ranges::sort(s.notes);
    return s;
}

Selection selection_of_kernels(const std::vector<std::string> &names) {
    Selection s;
    for (const std::string &name : std::set<std::string>(names.begin(), names.end())) {
        s.ops.push_back(&exportable(name));
        s.gradient_inputs[s.ops.back()] = {};
    }
    return s;
}

std::vector<std::string> dtypes_of(const Selection &selection, const RegisteredOp &op) {
    std::vector<std::string> sets = op.record.dtypes;
    const auto found = selection.dtypes.find(&op);
    if (found == selection.dtypes.end()) return sets;
    std::erase_if(sets, [&](const std::string &set) {
        const std::vector<DType> own = check::dtypes_of(set);
        return !std::ranges::all_of(own, [&](DType t) { return found->second.count(t) > 0; });
    });
    return sets;
}

}  // namespace halyard::exporting
