// Checks the gradients of inputs without elements, and of calls whose outputs have none, which are
// zeros.
#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "primitives/autograd/tape.h"
#include "primitives/library.h"
#include "primitives/primitive.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

// Returns the sample with extent 0 for the dimension `name`.
std::string without(const Sample &s, const std::string &name) {
    std::string text;
    for (auto &[other, extent] : s.dims)
        text += other + "=" + std::to_string(other == name ? 0 : extent) + " ";
    for (auto &[attr, value] : s.attrs)
        text += attr + "=" + value + " ";
    return text;
}

bool all_zero(const Tensor &t) {
    for (double v : t.to_vector<double>())
        if (v != 0) return false;
    return true;
}

// Returns what is wrong with the gradients of a call that returned `out`; "" if nothing is.
std::string error_in(const std::vector<Tensor> &x, const std::vector<Tensor> &out, Tape &tape) {
    std::vector<Tensor> y, sens;
    bool nothing = true;
    for (const Tensor &t : out) {
        if (!is_float(t.dtype())) continue;
        y.push_back(t);
        sens.push_back(Tensor::ones(t.shape(), t.dtype()));
        nothing &= t.elements() == 0;
    }
    const std::vector<Tensor> dx = tape.gradient(y, x, sens);
    for (size_t k = 0; k < x.size(); k++) {
        const std::string which = "the gradient in float input " + std::to_string(k);
        if (!(dx[k].shape() == x[k].shape())) {
            return which + " has shape " + dx[k].shape().text() + ", expected " +
                   x[k].shape().text();
        }
        if (dx[k].dtype() != x[k].dtype())
            return which + " is " + name_of(dx[k].dtype()) + ", expected " + name_of(x[k].dtype());
        if (nothing && !all_zero(dx[k]))
            return which + " isn't 0, though the outputs have no elements";
    }
    return "";
}

void differentiate(const Op &op, const std::string &sample, Report &r) {
    const Case c(op, sample, op.dtypes[0], 3);
    std::vector<Tensor> x;
    for (const Tensor &t : c.in)
        if (is_float(t.dtype())) x.push_back(t);
    if (x.empty()) return;
    Tape tape;
    for (const Tensor &t : x)
        tape.watch(t);
    std::vector<Tensor> out;
    begin_step(kernel_text(c) + " and its gradients '" + sample + "'");
    try {
        out = Primitive(c.registered, c.attrs).run(c.in);
    } catch (const Error &) {
        return r.pass();
    }  // check_zero_sizes() judges whether the call itself may be rejected
    std::string error;
    try {
        error = error_in(x, out, tape);
    } catch (const GradError &e) {
        if (std::string(e.what()).find("has no gradient in") == std::string::npos) error = e.what();
    } catch (const Error &e) {
        error = e.what();
    }
    r.expect("'" + sample + "'", error);
}

}  // namespace

void check_zero_gradients(const Op &op, const Options &, Report &r) {
    const Sample s = parse_sample(op, op.samples[0]);
    for (auto &[name, extent] : s.dims) {
        const std::string sample = without(s, name);
        try {
            differentiate(op, sample, r);
        } catch (const Error &) {
            r.skip("gradients of zero sizes that its own shape rule refuses");
        }
    }
}

}  // namespace halyard::check
