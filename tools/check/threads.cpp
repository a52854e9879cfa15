// Checks reproducibility: any number of threads and any alignment of tensors gives the same bits,
// forward and backward. sandbox.h looks for races between the threads.
#include "bench/harness/case.h"
#include "bench/harness/progress.h"
#include "primitives/autograd/tape.h"
#include "primitives/primitive.h"
#include "registry/base/parallel.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

// Returns a copy that begins `elements` elements past a multiple of 64 bytes.
Tensor moved(const Tensor &t, int64_t elements) {
    const Tensor at = Tensor::empty({t.elements() + elements}, t.dtype())
                          .slice(0, elements, t.elements() + elements)
                          .reshape(t.shape());
    at.assign(t);
    return at;
}

Tensor weights_like(const Tensor &y) {
    const Tensor w = Tensor::empty({y.elements()}, y.dtype());
    for (int64_t i = 0; i < y.elements(); i++)
        w.set({i}, double(i % 7 - 3) / 4);
    return w.reshape(y.shape());
}

// Returns the op's results, and the gradients of its primitive in every input that has one,
// composed ones too.
std::vector<Tensor> results_of(const Op &op, const Case &c, int64_t offset) {
    std::vector<Tensor> in;
    for (const Tensor &t : c.in)
        in.push_back(moved(t, offset));
    if (op.internal) return dispatch(c.registered, in, c.attrs);
    Tape tape;
    for (const Tensor &t : in)
        if (is_float(t.dtype())) tape.watch(t);
    std::vector<Tensor> all = Primitive(c.registered, c.attrs).run(in);
    std::vector<Tensor> y, sens;
    for (const Tensor &t : all) {
        if (is_float(t.dtype())) {
            y.push_back(t);
            sens.push_back(moved(weights_like(t), offset));
        }
    }
    for (const Tensor &t : in) {
        try {
            if (is_float(t.dtype()) && !y.empty())
                all.push_back(tape.gradient(y, {t}, sens, true)[0]);
        } catch (const GradError &) {  // it has none
        }
    }
    return all;
}

}  // namespace

void check_threads(const Op &op, const Options &o, Report &r) {
    const struct {
        int threads, offset;
    } ways[] = {{1, 0}, {1, 1}, {2, 3}, {3, 0}, {4, 7}, {8, 13}};
    const int before = threads();
    for (auto &sample : op.samples) {
        const Case c(op, sample, o.dtypes.empty() ? op.dtypes[0] : o.dtypes, 5);
        std::vector<Tensor> first;
        for (auto &way : ways) {
            set_threads(way.threads);
            const std::string where = "'" + sample + "' with " + std::to_string(way.threads) +
                                      " threads, tensors " + std::to_string(way.offset) +
                                      " elements off 64 bytes";
            begin_step(kernel_text(c) + " " + where);
            const std::vector<Tensor> all = results_of(op, c, way.offset);
            if (first.empty()) first = all;
            std::string other;
            for (size_t k = 0; k < all.size() && other.empty(); k++) {
                if (!same_bits(all[k], first[k])) {
                    other = k < op.sig.outputs.size()
                                ? op.sig.outputs[k].name
                                : "gradient " + std::to_string(k - op.sig.outputs.size());
                }
            }
            r.expect(where, other.empty() ? "" : other + " has other bits than with 1 and none");
        }
    }
    set_threads(before);
}

}  // namespace halyard::check
