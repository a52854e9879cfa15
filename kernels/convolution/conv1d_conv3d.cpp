// Convolutions in one and three dimensions, and transposed ones:
// primitives/composites/convolutions.cpp states them in terms of conv2d and its gradient.
#include <cmath>
#include <functional>
#include <span>

#include "kernels/layout/composite.h"
#include "registry/base/text.h"

namespace halyard {
namespace {

// One spatial dimension: names of its extents in x, weight and y, and of the padding before and
// after.
struct Line {
    std::string in, tap, out, before, after;
};
const Line lines[] = {{"d", "t", "od", "front", "back"},
                      {"h", "u", "oh", "top", "bottom"},
                      {"w", "v", "ow", "left", "right"}};

struct SpatialConvolution : Composite {
    const std::span<const Line> dims;

    SpatialConvolution(const std::string &n, int rank, const std::string &x,
                       const std::string &weight, const std::string &y, const std::string &formula,
                       const std::string &more = "")
        : Composite(n,
                    "x[" + x + extents(rank, &Line::in) + "] weight[" + weight +
                        extents(rank, &Line::tap) + "]" + more + " -> y[" + y +
                        extents(rank, &Line::out) + "]",
                    formula),
          dims(last(rank)) {
        per_dimension("stride", "1");
        choice("pad_mode", {"valid", "same", "pad"});
        std::vector<std::string> zeros, sides;
        for (const Line &l : dims) {
            for (const std::string &side : {l.before, l.after}) {
                zeros.push_back("0");
                sides.push_back(side);
                conditions.push_back(side + ">=0");
            }
        }
        ints("padding", join(zeros, ","), sides);
        std::string all;
        for (const std::string &side : sides)
            all += (all.empty() ? "" : "+") + side;
        conditions.push_back("pad_mode==pad||" + all + "==0");
        per_dimension("dilation", "1");
        attr("group", 1);
        conditions.push_back("group>=1");
        for (const Line &l : dims) {
            for (const std::string &least : {"stride_" + l.in, "dilation_" + l.in, l.in, l.tap})
                conditions.push_back(least + ">=1");
        }
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::products, 8};
    }

protected:
    static std::span<const Line> last(int rank) { return std::span(lines).last(size_t(rank)); }
    static std::string extents(int rank, std::string Line::*name) {
        std::string s;
        for (const Line &l : last(rank))
            s += "," + l.*name;
        return s;
    }
    void per_dimension(const std::string &name, const std::string &value) {
        std::vector<std::string> values, parts;
        for (const Line &l : dims) {
            values.push_back(value);
            parts.push_back(name + "_" + l.in);
        }
        ints(name, join(values, ","), parts);
    }
    // What a window covers, of a map with `extent` elements.
    static std::string window(const Line &l) {
        return "((" + l.tap + "-1)*dilation_" + l.in + "+1)";
    }
    void pads_by_mode(const Line &l, const std::string &extent) {
        const std::string stride = "max(stride_" + l.in + ",1)";
        let("same_" + l.in, "max((cdiv(" + extent + "," + stride + ")-1)*" + stride + "+" +
                                window(l) + "-" + extent + ",0)");
        let("pad_" + l.before, "pad_mode==same?same_" + l.in + "/2:" + l.before);
    }

    // Extents of the result, which are smaller than the map's by windows and strides.
    void shrinking() {
        for (const Line &l : dims) {
            pads_by_mode(l, l.in);
            let("pad_" + l.after,
                "pad_mode==same?same_" + l.in + "-same_" + l.in + "/2:" + l.after);
            const std::string whole = "(" + l.in + "+pad_" + l.before + "+pad_" + l.after + ")";
            let(l.out, "max((" + whole + "-" + window(l) + ")/max(stride_" + l.in + ",1)+1,0)");
            conditions.push_back(window(l) + "<=" + whole);
        }
        conditions.push_back("c%group==0");
        conditions.push_back("o%group==0");
    }

    // `body(small, large, tap)` for every pair of places, in row-major order over (front, top,
    // left), that a tap joins: `small` is of the map that a stride makes smaller.
    static void each_tap(const Problem &p, std::span<const Line> dims, std::string Line::*small,
                         std::string Line::*large,
                         const std::function<void(int64_t, int64_t, int64_t)> &body) {
        const std::function<void(size_t, int64_t, int64_t, int64_t)> line =
            [&](size_t d, int64_t s, int64_t l, int64_t t) {
                if (d == dims.size()) return body(s, l, t);
                const Line &at = dims[d];
                for (int64_t i = 0; i < p[at.*small]; i++) {
                    for (int64_t k = 0; k < p[at.tap]; k++) {
                        const int64_t from = i * p["stride_" + at.in] + k * p["dilation_" + at.in] -
                                             p["pad_" + at.before];
                        if (from >= 0 && from < p[at.*large]) {
                            line(d + 1, s * p[at.*small] + i, l * p[at.*large] + from,
                                 t * p[at.tap] + k);
                        }
                    }
                }
            };
        line(0, 0, 0, 0);
    }
    static int64_t volume(const Problem &p, std::span<const Line> dims, std::string Line::*name) {
        int64_t v = 1;
        for (const Line &l : dims)
            v *= p[l.*name];
        return v;
    }
    // The convolution, and the sum of its terms' magnitudes.
    std::pair<Array, Array> convolved(Problem &p) const {
        const Array &x = p("x"), &weight = p("weight");
        const Shape s = spatial(p, {p["n"], p["o"]}, &Line::out);
        Array y(s), size(s);
        const int64_t per_group = p["c"] / p["group"];
        const int64_t outs = p["o"] / p["group"];
        const int64_t in = volume(p, dims, &Line::in);
        const int64_t out = volume(p, dims, &Line::out);
        const int64_t taps = volume(p, dims, &Line::tap);
        each_tap(p, dims, &Line::out, &Line::in, [&](int64_t to, int64_t from, int64_t tap) {
            for (int64_t n = 0; n < p["n"]; n++) {
                for (int64_t o = 0; o < p["o"]; o++) {
                    for (int64_t k = 0; k < per_group; k++) {
                        const int64_t c = o / outs * per_group + k;
                        const int64_t at = (n * p["o"] + o) * out + to;
                        const double term = weight.v[size_t((o * per_group + k) * taps + tap)] *
                                            x.v[size_t((n * p["c"] + c) * in + from)];
                        y.v[size_t(at)] += term;
                        size.v[size_t(at)] += std::fabs(term);
                    }
                }
            }
        });
        return {y, size};
    }
    Shape spatial(const Problem &p, Shape s, std::string Line::*name) const {
        for (const Line &l : dims)
            s.push_back(p[l.*name]);
        return s;
    }
};

struct Conv : SpatialConvolution {
    Conv(const std::string &n, int rank, const std::string &mindspore)
        : SpatialConvolution(n, rank, "n,c", "o,c/group", "n,o",
                             "y[o] = sum over c and taps of weight[o,c,tap] * x[c], shifted by tap "
                             "* dilation; stride, padding and groups as in conv2d") {
        alias = mindspore;
        shrinking();
        samples = rank == 1 ? std::vector<std::string>{"n=1 c=1 w=1 o=1 v=1",
                                                       "n=2 c=3 w=17 o=5 v=3 pad_mode=same",
                                                       "n=3 c=4 w=31 o=6 v=2 stride=2 pad_mode=pad "
                                                       "padding=1,2 dilation=3 group=2"}
                            : std::vector<std::string>{
                                  "n=1 c=1 d=1 h=1 w=1 o=1 t=1 u=1 v=1",
                                  "n=2 c=3 d=5 h=4 w=7 o=2 t=3 u=3 v=3 pad_mode=same",
                                  "n=2 c=2 d=5 h=6 w=5 o=3 t=2 u=1 v=3 pad_mode=same stride=2,1,2",
                                  "n=1 c=4 d=7 h=5 w=9 o=6 t=3 u=2 v=2 stride=2,2,1 pad_mode=pad "
                                  "padding=2,0,1,0,0,1 dilation=2,1,3 group=2",
                                  "n=2 c=5 d=3 h=5 w=6 o=4 t=2 u=3 v=3"};
    }
    void reference(Problem &p) const override {
        const auto [y, size] = convolved(p);
        p.tensors["y"] = y;
        p.abs_sum["y"] = size;
    }
};

struct ConvTranspose : SpatialConvolution {
    ConvTranspose(const std::string &n, int rank, const std::string &mindspore)
        : SpatialConvolution(n, rank, "n,c", "c,k", "n,k*group",
                             "y is the gradient of a convolution from k*group to c channels whose "
                             "result's gradient is x; in each dimension of extent h it has "
                             "(h-1)*stride + (taps-1)*dilation+1 - padding + output_padding "
                             "elements, h*stride for pad_mode same") {
        alias = mindspore;
        per_dimension("output_padding", "0");
        for (const Line &l : dims) {
            const std::string extra = "output_padding_" + l.in;
            pads_by_mode(l, "(" + l.in + "*stride_" + l.in + ")");
            let(l.out, "max(pad_mode==same?" + l.in + "*stride_" + l.in + ":(" + l.in +
                           "-1)*stride_" + l.in + "+" + window(l) + "-" + l.before + "-" + l.after +
                           "+" + extra + ",0)");
            conditions.push_back(extra + ">=0");
            conditions.push_back(extra + "<stride_" + l.in);
            conditions.push_back(l.out + ">=1");
        }
        std::string all;
        for (const Line &l : dims)
            all += (all.empty() ? "" : "+") + ("output_padding_" + l.in);
        conditions.push_back("pad_mode==pad||" + all + "==0");
        conditions.push_back("c%group==0");
        const std::string one = rank == 1   ? "w=1 k=1 v=1"
                                : rank == 2 ? "h=1 w=1 k=1 u=1 v=1"
                                            : "d=1 h=1 w=1 k=1 t=1 u=1 v=1";
        samples = {"n=1 c=1 " + one};
        const std::vector<std::string> more[] = {
            {"n=2 c=3 w=17 k=5 v=3 stride=2 pad_mode=same",
             "n=2 c=4 w=13 k=3 v=4 stride=3 pad_mode=pad padding=2,1 dilation=2 output_padding=2 "
             "group=2"},
            {"n=2 c=3 h=4 w=9 k=2 u=3 v=3 stride=2,2 pad_mode=same", "n=1 c=5 h=7 w=6 k=3 u=2 v=3",
             "n=2 c=4 h=5 w=7 k=3 u=3 v=2 stride=3,2 pad_mode=pad padding=1,2,0,1 dilation=1,2 "
             "output_padding=2,1 group=2"},
            {"n=2 c=3 d=2 h=4 w=5 k=2 t=3 u=3 v=3 stride=2,2,2 pad_mode=same",
             "n=1 c=2 d=3 h=2 w=4 k=3 t=2 u=3 v=1",
             "n=2 c=4 d=3 h=3 w=4 k=2 t=3 u=2 v=3 stride=2,1,3 pad_mode=pad padding=1,2,0,1,2,0 "
             "dilation=2,1,1 output_padding=1,0,2 group=2"}};
        samples.insert(samples.end(), more[rank - 1].begin(), more[rank - 1].end());
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &weight = p("weight");
        const int64_t outs = p["k"] * p["group"];
        const int64_t per_group = p["c"] / p["group"];
        const Shape s = spatial(p, {p["n"], outs}, &Line::out);
        Array y(s), size(s);
        const int64_t in = volume(p, dims, &Line::in);
        const int64_t out = volume(p, dims, &Line::out);
        const int64_t taps = volume(p, dims, &Line::tap);
        each_tap(p, dims, &Line::in, &Line::out, [&](int64_t from, int64_t to, int64_t tap) {
            for (int64_t n = 0; n < p["n"]; n++) {
                for (int64_t c = 0; c < p["c"]; c++) {
                    for (int64_t k = 0; k < p["k"]; k++) {
                        const int64_t at = (n * outs + c / per_group * p["k"] + k) * out + to;
                        const double term = weight.v[size_t((c * p["k"] + k) * taps + tap)] *
                                            x.v[size_t((n * p["c"] + c) * in + from)];
                        y.v[size_t(at)] += term;
                        size.v[size_t(at)] += std::fabs(term);
                    }
                }
            }
        });
        p.tensors["y"] = y;
        p.abs_sum["y"] = size;
    }
};

// A convolution and what follows it in a network, in one pass for the first activations, f32; in
// two for the others.
struct Conv2dAct : SpatialConvolution {
    const bool shortcut;
    explicit Conv2dAct(bool with_z)
        : SpatialConvolution(with_z ? "conv2d_bias_add_act" : "conv2d_bias_act", 2, "n,c",
                             "o,c/group", "n,o",
                             with_z ? "y = activation(conv2d(x, weight) + bias + z)"
                                    : "y = activation(conv2d(x, weight) + bias)",
                             with_z ? " bias[o] z[n,o,oh,ow]" : " bias[o]"),
          shortcut(with_z) {
        choice("activation", {"relu", "relu6", "none", "elu", "gelu", "hard_sigmoid", "hard_swish",
                              "mish", "sigmoid", "silu", "softplus", "tanh"});
        shrinking();
        samples = {"n=1 c=1 h=1 w=1 o=1 u=1 v=1",
                   "n=2 c=3 h=5 w=7 o=4 u=3 v=3 pad_mode=same stride=2,2 activation=relu6",
                   "n=1 c=4 h=6 w=5 o=6 u=2 v=3 pad_mode=pad padding=1,0,2,1 dilation=2,1 group=2 "
                   "activation=none",
                   "n=2 c=5 h=4 w=4 o=3 u=1 v=1 activation=tanh"};
    }
    static double activated(int64_t activation, double v) {
        if (activation == 0) return v < 0 ? 0 : v;
        if (activation == 1) return std::clamp(v, 0.0, 6.0);
        return activation == 2 ? v : std::tanh(v);  // of the samples
    }
    void reference(Problem &p) const override {
        const auto [sum, size] = convolved(p);
        Array y = sum;
        Array bound = size;
        const int64_t out = volume(p, dims, &Line::out);
        for (size_t i = 0; i < y.v.size(); i++) {
            const double b = p("bias").v[i / size_t(out) % size_t(p["o"])];
            const double z = shortcut ? p("z").v[i] : 0;
            y.v[i] = activated(p["activation"], sum.v[i] + b + z);
            bound.v[i] += std::fabs(b) + std::fabs(z);
        }
        p.tensors["y"] = y;
        p.abs_sum["y"] = bound;
    }
};

// Inference's normalisation is a factor and a summand per channel, which a convolution's weights
// and bias can hold.
struct FoldBatchNorm : Composite {
    FoldBatchNorm()
        : Composite("fold_batch_norm",
                    "weight[o,c,u,v] bias[o] gamma[o] beta[o] mean[o] variance[o] -> "
                    "folded[o,c,u,v] shift[o]",
                    "f = gamma / sqrt(variance + eps): folded = f weight, shift = (bias - mean) f "
                    "+ beta, so that conv2d(x, folded) + shift is "
                    "batch_norm(conv2d(x, weight) + bias)") {
        attrs.push_back({"eps", AttrKind::real, "1e-5", {}, {}});
        dtypes = {"f32", "f64"};
        contract = {Contract::normwise, 8};
        let("variance_least", "1");
        samples = {"o=1 c=1 u=1 v=1", "o=5 c=3 u=3 v=2", "o=17 c=4 u=1 v=1"};
    }
    void reference(Problem &p) const override {
        Array folded = p("weight"), shift = p("bias");
        const size_t per = folded.v.size() / shift.v.size();
        for (size_t o = 0; o < shift.v.size(); o++) {
            const double f = p("gamma").v[o] / std::sqrt(p("variance").v[o] + p.real("eps"));
            for (size_t k = 0; k < per; k++)
                folded.v[o * per + k] *= f;
            shift.v[o] = (shift.v[o] - p("mean").v[o]) * f + p("beta").v[o];
        }
        p.tensors["folded"] = folded;
        p.tensors["shift"] = shift;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Conv>("conv1d", 1, "Conv1D");
    ops.add<Conv>("conv3d", 3, "Conv3D");
    ops.add<ConvTranspose>("conv1d_transpose", 1, "Conv1DTranspose");
    ops.add<ConvTranspose>("conv2d_transpose", 2, "Conv2DTranspose");
    ops.add<ConvTranspose>("conv3d_transpose", 3, "Conv3DTranspose");
    ops.add<Conv2dAct>(false);
    ops.add<Conv2dAct>(true);
    ops.add<FoldBatchNorm>();
}

}  // namespace halyard
