#include "tools/export/selection.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>

#include "bench/harness/case.h"
#include "bench/harness/op_call.h"
#include "bench/harness/variadic_ops.h"
#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/base/process_pool.h"
#include "registry/base/program.h"
#include "registry/base/text.h"
#include "tools/export/composites.h"

namespace halyard::exporting {

const RegisteredOp &op_called(const std::string &name) {
    if (bench::variadic_op(name)) {
        throw DispatchError(name,
                            "can't be exported: it takes any number of tensors and has no kernel");
    }
    return library().at(name);
}

namespace {

bool is_composite(const RegisteredOp &op) {
    return op.record.form == Form::composite;
}

const RegisteredOp &with_kernels(const RegisteredOp &op) {
    if (cpu_kernels(op).empty())
        throw DispatchError(op.record.name, "can't be exported: it has no kernel for the CPU");
    return op;
}

// A build with a sanitizer has no archive of what composites are made of.
bool carries_composites() {
    return std::filesystem::exists(installed("share/halyard/export") / "lib/compositions.a");
}

// Builds a selection from the ops that are asked for.
class Selector {
public:
    void add(const std::string &name) {
        const RegisteredOp &op = op_called(name);
        if (is_composite(op) && !carries_composites()) {
            throw DispatchError(op.record.name, "can't be exported: it is composed of other ops, "
                                                "and this build has a sanitizer");
        }
        if (is_composite(op))
            add_composite(op, composed_);
        else
            with_kernels(op);
        if (!ops_.insert(&op).second) return;
        add_gradients(op);
    }

    Selection finished() {
        for (const std::string &name : composed_.kernels)
            ops_.insert(&with_kernels(library().at(name)));
        for (const std::string &name : composed_.composites)
            ops_.insert(&library().at(name));
        s_.files = composed_.files;
        for (const auto &gradient : s_.composed)
            ops_.insert(gradient.get());
        s_.ops.assign(ops_.begin(), ops_.end());
        for (const RegisteredOp *op : ops_) {
            std::vector<std::string> &names = s_.gradient_inputs[op];
            for (const TensorSpec &input : op->signature.inputs)
                if (gradient_in(s_, *op, input.name).op) names.push_back(input.name);
        }
        std::ranges::sort(s_.ops, {}, [](const RegisteredOp *op) { return op->record.name; });
        std::ranges::sort(s_.notes);
        return std::move(s_);
    }

private:
    // Adds the gradient ops of `op`: kernels, and one for all gradients that are composed.
    void add_gradients(const RegisteredOp &op) {
        std::vector<std::string> composed;
        for (const size_t k : bench::differentiable_inputs(op)) {
            const TensorSpec &input = op.signature.inputs[k];
            const GradientOp gradient = library().gradient_in(op, input.name);
            if (gradient.op && !cpu_kernels(*gradient.op).empty())
                ops_.insert(gradient.op);
            else if (is_type_variable(input.dtype) || is_float(dtype_of(input.dtype)))
                composed.push_back(input.name);
        }
        if (!composed.empty()) add_composed_gradient(op, composed);
    }

    void add_composed_gradient(const RegisteredOp &op, const std::vector<std::string> &inputs) {
        Composed with = composed_;
        try {
            if (!carries_composites()) throw Error("export", "this build has a sanitizer");
            s_.composed.push_back(composed_gradient_of(op, inputs, with));
            composed_ = std::move(with);
        } catch (const Error &e) {
            s_.notes.push_back("[" + op.record.name + "] without the gradient in " + join(inputs) +
                               ": " + e.detail());
        }
    }

    Selection s_;
    Composed composed_;
    std::set<const RegisteredOp *> ops_;
};

// Appends the op's kernels for the CPU of these sets of dtypes.
void append_kernels(std::vector<KernelEntry> &kernels, const RegisteredOp &op,
                    const std::vector<std::string> &dtypes) {
    std::ranges::copy_if(cpu_kernels(op), std::back_inserter(kernels), [&](const KernelEntry &k) {
        return std::ranges::count(dtypes, k.dtypes) > 0;
    });
}

}  // namespace

std::vector<KernelEntry> cpu_kernels(const RegisteredOp &op) {
    std::vector<KernelEntry> all;
    std::ranges::copy_if(op.kernels, std::back_inserter(all),
                         [](const KernelEntry &k) { return k.backend == "cpu"; });
    return all;
}

std::vector<KernelEntry> kernels_of(const Selection &selection) {
    std::vector<KernelEntry> kernels;
    for (const RegisteredOp *op : selection.ops)
        append_kernels(kernels, *op, dtypes_of(selection, *op));
    return kernels;
}

std::vector<KernelEntry> kernels_selected_by(const std::vector<std::string> &names) {
    // A line for each op that has kernels: its name, and its sets of dtypes.
    const auto select = [&] {
        const Selection selection = selection_of(names);
        std::string lines;
        for (const RegisteredOp *op : selection.ops) {
            if (op->kernels.empty()) continue;
            lines += op->record.name + " " + join(dtypes_of(selection, *op), " ") + "\n";
        }
        return lines;
    };
    std::istringstream lines(run_in_child("export", select, 0, "selecting the ops"));
    std::vector<KernelEntry> kernels;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        append_kernels(kernels, library().at(name),
                       {std::istream_iterator<std::string>(words), {}});
    }
    return kernels;
}

GradientOp gradient_in(const Selection &selection, const RegisteredOp &op,
                       const std::string &input) {
    const GradientOp kernel = library().gradient_in(op, input);
    if (kernel.op && std::ranges::count(selection.ops, kernel.op)) return kernel;
    for (const auto &gradient : selection.composed) {
        if (!gradient->signature.differentiates(op.signature)) continue;
        const std::vector<TensorSpec> &outputs = gradient->signature.outputs;
        const auto found = std::ranges::find(outputs, "d" + input, &TensorSpec::name);
        if (found != outputs.end()) return {gradient.get(), size_t(found - outputs.begin())};
    }
    return {};
}

Selection selection_of(const std::vector<std::string> &names) {
    Selector selector;
    for (const std::string &name : names)
        selector.add(name);
    return selector.finished();
}

Selection selection_of_kernels(const std::vector<std::string> &names) {
    Selection s;
    for (const std::string &name : std::set<std::string>(names.begin(), names.end())) {
        s.ops.push_back(&with_kernels(op_called(name)));
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
