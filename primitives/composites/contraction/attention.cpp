// Scaled dot-product attention. The kernel keeps no scores; the gradient computes them again.
#include <algorithm>
#include <cmath>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/concat.h"
#include "primitives/operators.h"
#include "primitives/ops/attention_kernel.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/select.h"
#include "primitives/ops/softmax.h"
#include "registry/op/reference_math.h"

namespace halyard {
namespace {

constexpr const char *op = "scaled_dot_product_attention";

void expect(const char *what, int64_t got, const char *as, int64_t expected) {
    if (got != expected) {
        throw ShapeError(op, std::string(what) + " is " + std::to_string(got) + ", expected " +
                                 std::to_string(expected) + " as " + as);
    }
}

Tensor number(double v, const Tensor &like) {
    return Tensor::scalar(v, like.dtype());
}

// Returns what is added to the scores: 0 where a query attends to a key, -infinity elsewhere.
Tensor hidden(const Tensor &seen, DType dtype) {
    return F::select(seen, Tensor::scalar(0, dtype), Tensor::scalar(-INFINITY, dtype));
}
Tensor causal_mask(int64_t s, int64_t t, DType dtype) {
    const Tensor seen = Tensor::empty({s, t}, DType::boolean);
    for (int64_t i = 0; i < s; i++) {
        for (int64_t j = 0; j < t; j++)
            static_cast<uint8_t *>(seen.raw())[i * t + j] = j <= i;
    }
    return hidden(seen, dtype);
}

// The forward pass keeps no scores, so the gradient computes them again.
struct Backward {
    Tensor q, k, v, mask;
    bool causal;
    double scale;

    std::vector<Tensor> operator()(std::span<const Tensor> dy) const {
        const Tensor scaled = q * scale;
        Tensor score = F::matmul(scaled, k, false, true) + mask;
        if (causal) score = score + causal_mask(q.size(-2), k.size(-2), q.dtype());
        Tensor weight = F::softmax(score);
        // The weights of a query that attends to no key are 0.
        if (causal || mask.elements() > 1) {
            const Tensor score_max = F::reduce_max(score, {-1}, true);
            weight = F::select(F::equal(score_max, -INFINITY), 0, weight);
        }
        const Tensor dscore = kernel::softmax_dx(weight, F::matmul(dy[0], v, false, true));
        const Tensor dq = F::matmul(dscore, k) * scale;
        return {dq, F::matmul(dscore, scaled, true, false), F::matmul(weight, dy[0], true, false),
                dscore};
    }
};

Tensor attended(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &mask, bool causal,
                int64_t from, double scale) {
    return kernel::attention(q, k, v, mask, scale, int64_t(causal), from);
}

// Returns [from, to) of an axis, which is counted from the last.
Tensor part(const Tensor &x, int axis, int64_t from, int64_t to) {
    Window w{x.shape(), x.shape(), x.shape()};
    for (int d = 0; d < x.rank(); d++) {
        w.begin[d] = 0;
        w.step[d] = 1;
    }
    w.begin[x.rank() + axis] = from;
    w.end[x.rank() + axis] = to;
    return window_of(x, w);
}

// Computes a chunk of queries at a time, with the keys that the chunk's last query attends to.
Tensor by_chunks(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &mask,
                 double scale) {
    constexpr int64_t chunk = 128;
    const int64_t s = q.size(-2);
    const int64_t t = k.size(-2);
    if (s <= chunk) return attended(q, k, v, mask, true, 0, scale);
    std::vector<Tensor> all;
    for (int64_t from = 0; from < s; from += chunk) {
        const int64_t to = std::min(s, from + chunk);
        const int64_t seen = std::min(t, to);
        const Tensor hidden_keys = part(part(mask, -2, from, to), -1, 0, seen);
        all.push_back(attended(part(q, -2, from, to), part(k, -2, 0, seen), part(v, -2, 0, seen),
                               hidden_keys, true, from, scale));
    }
    return F::concat(all, -2);
}

struct Attention : Composite {
    Attention()
        : Composite("scaled_dot_product_attention",
                    "query[..g,s,d] key[..g,t,d] value[..g,t,e] attn_mask[ms,mt] -> y[..g,s,e]",
                    "y = softmax(query key^T scale) value. attn_mask broadcasts to [..g,s,t]: a "
                    "bool says which keys a query sees, a float is added to the "
                    "scores, an undefined tensor is none. is_causal: query i sees keys 0 to i. "
                    "scale 0 is 1/sqrt(d). A query without keys gets 0") {
        optional = {"attn_mask"};
        at_call("is_causal", AttrKind::boolean, "0");
        at_call("scale", AttrKind::real, "0");
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::products, 16};
        samples = {"g=1 s=1 t=1 d=1 e=1 ms=1 mt=1", "g=2 s=7 t=5 d=3 e=9 ms=7 mt=5",
                   "g=3 s=9 t=11 d=8 e=4 ms=1 mt=11 is_causal=1 scale=0.5",
                   "g=2 s=300 t=200 d=3 e=5 ms=300 mt=200 is_causal=1"};
        bench = {"g=12 s=512 t=512 d=64 e=64 ms=1 mt=1",
                 "g=12 s=512 t=512 d=64 e=64 ms=1 mt=1 is_causal=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &q = call[0];
        const Tensor &k = call[1];
        const Tensor &v = call[2];
        const char *names[] = {"query", "key", "value"};
        for (int i = 0; i < 3; i++) {
            if (call[size_t(i)].rank() < 2) {
                throw ShapeError(op, std::string(names[i]) + " has rank " +
                                         std::to_string(call[size_t(i)].rank()) +
                                         ", expected at least 2");
            }
        }
        expect("key.d", k.size(-1), "query.d", q.size(-1));
        expect("value.t", v.size(-2), "key.t", k.size(-2));
        const double given = call.real("scale");
        const double scale = given != 0 ? given
                                        : 1 / std::sqrt(double(std::max<int64_t>(1, q.size(-1))));
        const bool causal = call.is_set("is_causal");
        const Tensor given_mask = call[3].defined() ? call[3] : number(0, q);
        const Tensor additive = given_mask.dtype() == DType::boolean ? hidden(given_mask, q.dtype())
                                                                     : given_mask;
        Shape scores = additive.rank() > 2
                           ? Shape(additive.shape().begin(), additive.shape().end() - 2)
                           : Shape{};
        scores.push_back(q.size(-2));
        scores.push_back(k.size(-2));
        const Tensor mask = broadcast_view(additive, scores);
        Tensor y;
        {
            const StopTape stop;
            y = causal ? by_chunks(q, k, v, mask, scale) : attended(q, k, v, mask, false, 0, scale);
        }
        if (Tape *tape = Tape::current())
            tape->record({q, k, v, additive}, {y}, Backward{q, k, v, additive, causal, scale});
        return {y};
    }
    void reference(Problem &p) const override {
        const Array &m = p("attn_mask");
        const double scale = p.real("scale") != 0 ? p.real("scale") : 1 / std::sqrt(double(p["d"]));
        attend(
            p, "query", "key", "value", p["is_causal"], 0, scale,
            [&](int64_t, int64_t s, int64_t t) { return m(s % p["ms"], t % p["mt"]); },
            p.tensors["y"], p.abs_sum["y"]);
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Attention>();
}

}  // namespace halyard
