#include "tools/export/mindspore_module.h"

#include <algorithm>

#include "bench/harness/op_call.h"
#include "registry/base/text.h"

namespace halyard::exporting {
namespace {

std::string quoted(const std::string &text) {
    return "\"" + text + "\"";
}

std::string truth(const std::string &value) {
    return value == "1" || value == "true" || value == "True" ? "True" : "False";
}

// Returns the default of an attribute in Python.
std::string default_of(const AttrSpec &a) {
    switch (a.kind) {
    case AttrKind::integer:
    case AttrKind::real: return a.value;
    case AttrKind::boolean: return truth(a.value);
    case AttrKind::ints: return "(" + a.value + (a.value.empty() ? ")" : ",)");
    case AttrKind::choice:
    case AttrKind::dtype:
    case AttrKind::text: break;
    }
    return quoted(a.value);
}

// Returns "axis, keep_dims=False": those without a default first.
std::string parameters_of(const OpRecord &op) {
    std::vector<std::string> words;
    for (const bool required : {true, false}) {
        for (const AttrSpec &a : op.attrs) {
            if (a.is_required() != required) continue;
            words.push_back(required ? a.name : a.name + "=" + default_of(a));
        }
    }
    return join(words, ", ");
}

// Returns the dictionary of an op's attributes, of those that `given` has.
std::string attributes_of(const OpRecord &op, const OpRecord &given) {
    std::vector<std::string> words;
    for (const AttrSpec &a : op.attrs) {
        if (std::ranges::count(given.attrs, a.name, &AttrSpec::name))
            words.push_back(quoted(a.name) + ": " + a.name);
    }
    return "{" + join(words, ", ") + "}";
}

// Returns where the dtype of an output comes from: the number of an input, or a dtype's name.
std::string dtype_source(const RegisteredOp &op, const TensorSpec &output) {
    if (!is_type_variable(output.dtype)) return quoted(output.dtype);
    const std::vector<TensorSpec> &inputs = op.signature.inputs;
    const auto like = std::ranges::find(inputs, output.dtype, &TensorSpec::dtype);
    return like == inputs.end() ? "dtype" : std::to_string(like - inputs.begin());
}

// Returns a call of _operator() without its bprop and its last parenthesis.
std::string operator_of(const RegisteredOp &op, const OpRecord &given) {
    const size_t inputs = op.signature.inputs.size();
    const std::vector<DType> all = bench::dtypes_from(op, op.record.dtypes[0]);
    std::vector<std::string> dtypes, outputs;
    for (size_t k = 0; k < inputs; k++)
        dtypes.push_back(quoted(name_of(all[k])));
    for (const TensorSpec &t : op.signature.outputs)
        outputs.push_back(dtype_source(op, t));
    return "_operator(" + quoted(op.record.name) + ", " + std::to_string(inputs) + ", [" +
           join(outputs, ", ") + "], [" + join(dtypes, ", ") + "], " +
           attributes_of(op.record, given);
}

std::vector<std::string> names_of(const std::vector<TensorSpec> &tensors) {
    std::vector<std::string> names;
    for (const TensorSpec &t : tensors)
        names.push_back(t.name);
    return names;
}

// Returns what a gradient op's input is in bprop(): "x", "out", "dout[1]".
std::string source_of(const Signature &forward, const std::string &name) {
    for (size_t k = 0; k < forward.outputs.size(); k++) {
        const std::string &output = forward.outputs[k].name;
        if (name != output && name != "d" + output) continue;
        const std::string place = forward.outputs.size() > 1 ? "[" + std::to_string(k) + "]" : "";
        return (name == output ? "out" : "dout") + place;
    }
    return name;
}

// The gradients of an op: the operators, their calls, and what bprop() returns.
struct Gradients {
    std::string operators, calls;
    std::vector<std::string> results;
    bool any = false;

    void add(const RegisteredOp &op, const std::string &input, const GradientOp &gradient) {
        if (!gradient.op) {
            results.push_back("ops.zeros_like(" + input + ")");
            return;
        }
        any = true;
        const std::string name = "run_" + gradient.op->record.name;
        const bool is_single = gradient.op->signature.outputs.size() == 1;
        if (operators.find(" " + name + " =") == std::string::npos) {
            operators += "    " + name + " = " + operator_of(*gradient.op, op.record) + ")\n";
            std::vector<std::string> sources;
            for (const TensorSpec &t : gradient.op->signature.inputs)
                sources.push_back(source_of(op.signature, t.name));
            calls += "        of_" + name + " = " + name + "(" + join(sources, ", ") + ")\n";
        }
        results.push_back("of_" + name +
                          (is_single ? "" : "[" + std::to_string(gradient.output) + "]"));
    }
};

std::string function_of(const Selection &selection, const RegisteredOp &op) {
    Gradients gradients;
    const std::vector<std::string> inputs = names_of(op.signature.inputs);
    for (const std::string &input : inputs)
        gradients.add(op, input, gradient_in(selection, op, input));
    std::string s = "def " + op.record.name + "(" + parameters_of(op.record) + "):\n    \"\"\"" +
                    op.record.signature + "\"\"\"\n";
    if (gradients.any) {
        s += gradients.operators + "\n    def bprop(" + join(inputs, ", ") + ", out, dout):\n" +
             gradients.calls + "        return (" + join(gradients.results, ", ") + ",)\n";
    }
    return s + "    return " + operator_of(op, op.record) + (gradients.any ? ", bprop" : "") +
           ")\n";
}

}  // namespace

std::string mindspore_functions(const Selection &selection) {
    std::vector<std::string> functions;
    for (const RegisteredOp *op : selection.ops)
        functions.push_back(function_of(selection, *op));
    return join(functions, "\n\n");
}

std::string mindspore_entries(const Selection &selection) {
    std::string entries;
    for (const RegisteredOp *op : selection.ops)
        entries += "HALYARD_OP(" + op->record.name + ")\n";
    return entries;
}

}  // namespace halyard::exporting
