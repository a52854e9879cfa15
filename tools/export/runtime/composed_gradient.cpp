#include "tools/export/runtime/composed_gradient.h"

#include <algorithm>
#include <sstream>

#include "primitives/autograd/tape.h"
#include "primitives/primitive.h"

namespace halyard {
namespace {

// The words of a signature: "a[m,k]".
struct Words {
    std::vector<std::string> inputs, outputs;
};

Words words_of(const std::string &signature) {
    Words all;
    bool is_output = false;
    std::istringstream text(signature);
    for (std::string word; text >> word;) {
        if (word == "->")
            is_output = true;
        else
            (is_output ? all.outputs : all.inputs).push_back(word);
    }
    return all;
}

bool is_composite(const RegisteredOp &op) {
    return op.record.form == Form::composite;
}

// Returns true for tensors that may have a gradient.
bool is_real(const TensorSpec &t) {
    return is_type_variable(t.dtype) || is_float(dtype_of(t.dtype));
}

void append(std::string &signature, const std::string &word) {
    signature += (signature.empty() ? "" : " ") + word;
}

// The tensors of a gradient op's call, by what they are of the forward op.
struct Operands {
    std::vector<Tensor> in, out, dy, differentiated;
};

Operands operands_of(const RegisteredOp &forward, const RegisteredOp &gradient,
                     std::span<const Tensor> in) {
    Operands o;
    const std::vector<TensorSpec> &inputs = forward.signature.inputs;
    const auto take = [&](size_t count, std::vector<Tensor> &to) {
        to.assign(in.begin(), in.begin() + std::ptrdiff_t(count));
        in = in.subspan(count);
    };
    take(inputs.size(), o.in);
    if (!is_composite(forward)) take(forward.signature.outputs.size(), o.out);
    take(in.size(), o.dy);
    for (const TensorSpec &t : gradient.signature.outputs)
        for (size_t k = 0; k < inputs.size(); k++)
            if ("d" + inputs[k].name == t.name) o.differentiated.push_back(o.in[k]);
    return o;
}

}  // namespace

OpRecord composed_gradient_record(const RegisteredOp &forward,
                                  const std::vector<std::string> &inputs) {
    const Words words = words_of(forward.signature.text);
    OpRecord r;
    r.name = forward.record.name + "_d" + inputs[0];
    for (const std::string &word : words.inputs)
        append(r.signature, word);
    if (!is_composite(forward))
        for (const std::string &word : words.outputs)
            append(r.signature, word);
    for (size_t k = 0; k < words.outputs.size(); k++)
        if (is_real(forward.signature.outputs[k])) append(r.signature, "d" + words.outputs[k]);
    append(r.signature, "->");
    for (size_t k = 0; k < words.inputs.size(); k++)
        if (std::ranges::count(inputs, forward.signature.inputs[k].name))
            append(r.signature, "d" + words.inputs[k]);
    r.doc = "the gradients of " + forward.record.name + ", composed of other ops";
    r.form = Form::composite;
    r.attrs = forward.record.attrs;
    r.lets = forward.record.lets;
    r.internal = true;
    r.dtypes.clear();
    for (const std::string &set : forward.record.dtypes)
        if (is_float(dtype_of(set.substr(0, set.find(','))))) r.dtypes.push_back(set);
    return r;
}

std::vector<Tensor> run_composed_gradient(const RegisteredOp &forward, const RegisteredOp &gradient,
                                          std::span<const Tensor> in, const Attrs &attrs) {
    Operands o = operands_of(forward, gradient, in);
    const Attrs own(forward.record, gradient.record, attrs);
    Tape tape;
    for (const Tensor &x : o.differentiated)
        tape.watch(x);
    if (is_composite(forward))
        o.out = Primitive(forward, own).run(o.in);
    else
        tape.record(forward, own, o.in, o.out);
    tape.stop();
    std::erase_if(o.out, [](const Tensor &y) { return !is_float(y.dtype()); });
    return tape.gradient(o.out, o.differentiated, o.dy);
}

}  // namespace halyard
