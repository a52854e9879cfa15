// Convolutions in one and three dimensions, transposed ones, and what follows a convolution in
// networks: composed of conv2d and its gradients.
#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/concat.h"
#include "primitives/composites/indexing/indexing.h"
#include "primitives/facts.h"
#include "primitives/operators.h"
#include "primitives/ops/conv2d.h"
#include "primitives/ops/formula.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"

namespace halyard {
namespace {

// conv2d with the attributes of a call in its last two dimensions. A vector has height 1.
class PlanarConvolution {
public:
    PlanarConvolution(const Call &call, const Dims &f)
        : stride_(pair(f, "stride")), pad_mode_(call.choice("pad_mode")), padding_(padding(f)),
          dilation_(pair(f, "dilation")), group_(f.at("group")) {}

    Tensor operator()(const Tensor &x, const Tensor &weight) const {
        return F::conv2d(x, weight, stride_, pad_mode_, padding_, dilation_, group_);
    }
    Tensor dx(const Tensor &x, const Tensor &weight, const Tensor &dy) const {
        return kernel::conv2d_dx(x, weight, dy, stride_, pad_mode_, padding_, dilation_, group_);
    }
    Tensor dweight(const Tensor &x, const Tensor &weight, const Tensor &dy) const {
        return kernel::conv2d_dweight(x, weight, dy, stride_, pad_mode_, padding_, dilation_,
                                      group_);
    }
    std::vector<std::pair<std::string, AttrValue>> attributes() const {
        return {{"stride", stride_},
                {"pad_mode", pad_mode_},
                {"padding", padding_},
                {"dilation", dilation_},
                {"group", group_}};
    }

private:
    static int64_t value(const Dims &f, const std::string &name, int64_t otherwise) {
        const auto it = f.find(name);
        return it == f.end() ? otherwise : it->second;
    }
    static Ints pair(const Dims &f, const std::string &name) {
        return {value(f, name + "_h", 1), value(f, name + "_w", 1)};
    }
    static Ints padding(const Dims &f) {
        return {value(f, "top", 0), value(f, "bottom", 0), value(f, "left", 0),
                value(f, "right", 0)};
    }

    Ints stride_;
    F::PadMode pad_mode_;
    Ints padding_, dilation_;
    int64_t group_;
};

// Returns a tensor of this shape. Its elements are undefined; the kernel reads only its shape.
Tensor shape_alone(const Shape &s, DType dtype) {
    return Tensor::empty({s.back()}, dtype).expand(s);
}

Tensor lifted(const Tensor &t) {  // [a,b,w] -> [a,b,1,w]
    Shape s = t.shape();
    s.insert(2, 1);
    return reshaped(t, s);
}

// Returns the gradient of conv2d in an input of shape `y`.
Tensor spread(const Tensor &x, const Tensor &weight, const Shape &y,
              const PlanarConvolution &conv) {
    return conv.dx(shape_alone(y, x.dtype()), weight, x);
}

// Returns the gradients of y = activation(conv2d(x, weight) + bias + z), with or without z, for
// activations that only clamp.
std::vector<Tensor> cut_gradients(const std::vector<Tensor> &in, const Tensor &y, const Tensor &dy,
                                  const std::string &activation, const PlanarConvolution &conv) {
    Tensor dsum = dy;
    if (activation == "relu") dsum = kernel::relu_dx(y, dy);
    if (activation == "relu6") dsum = kernel::hard_tanh_dx(y, dy, 0.0, 6.0);
    const Tensor dbias = F::reduce_sum(dsum, {0, 2, 3});
    return {conv.dx(in[0], in[1], dsum), conv.dweight(in[0], in[1], dsum), dbias, dsum};
}

Tensor act(const Tensor &sum, const std::string &activation) {
    return activation == "none" ? sum : run1(activation.c_str(), {sum});
}

// A spatial dimension: the names of its extents in x, weight and y, and of the padding before and
// after.
struct Line {
    std::string in, tap, out, before, after;
};
const Line lines[] = {{"d", "t", "od", "front", "back"},
                      {"h", "u", "oh", "top", "bottom"},
                      {"w", "v", "ow", "left", "right"}};

std::string joined(const std::vector<std::string> &parts) {
    std::string s;
    for (const std::string &p : parts)
        s += (s.empty() ? "" : ",") + p;
    return s;
}

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
        choice<F::PadMode>("pad_mode");
        std::vector<std::string> zeros, sides;
        for (const Line &l : dims) {
            for (const std::string &side : {l.before, l.after}) {
                zeros.push_back("0");
                sides.push_back(side);
                conditions.push_back(side + ">=0");
            }
        }
        ints("padding", joined(zeros), sides);
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
        ints(name, joined(values), parts);
    }
    // Returns the extent of a window with dilation.
    static std::string window(const Line &l) {
        return "((" + l.tap + "-1)*dilation_" + l.in + "+1)";
    }
    void pads_by_mode(const Line &l, const std::string &extent) {
        const std::string stride = "max(stride_" + l.in + ",1)";
        let("same_" + l.in, "max((cdiv(" + extent + "," + stride + ")-1)*" + stride + "+" +
                                window(l) + "-" + extent + ",0)");
        let("pad_" + l.before, "pad_mode==same?same_" + l.in + "/2:" + l.before);
    }

    // Declares the extents of the result of a convolution with windows and strides.
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

    // Calls body(small, large, tap) for each pair of elements that a tap connects, by their
    // row-major indices. `small` is in the map that the stride makes smaller.
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
    // Returns the convolution and the sums of its terms' absolute values.
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
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        if (dims.size() == 3) return of_volumes(call, f);
        const PlanarConvolution conv(call, f);
        return {
            reshaped(conv(lifted(call[0]), lifted(call[1])), {f.at("n"), f.at("o"), f.at("ow")})};
    }
    void reference(Problem &p) const override {
        const auto [y, size] = convolved(p);
        p.tensors["y"] = y;
        p.abs_sum["y"] = size;
    }

private:
    // Taps along d become channels: one convolution of n * od images.
    static Result of_volumes(const Call &call, const Dims &f) {
        const int64_t n = f.at("n"), c = f.at("c"), o = f.at("o"), t = f.at("t"), h = f.at("h"),
                      w = f.at("w"), od = f.at("od"), stride = f.at("stride_d");
        const int64_t front = f.at("pad_front"), back = f.at("pad_back");
        const Tensor x = front + back ? composite::pad(call[0], {0, 0, 0, 0, front, back})
                                      : call[0];
        std::vector<Tensor> taps;
        for (int64_t k = 0; k < t; k++) {
            const int64_t from = k * f.at("dilation_d");
            const int64_t to = from + (od - 1) * stride + 1;
            taps.push_back(transposed(
                window_of(x, {{0, 0, from, 0, 0}, {n, c, to, h, w}, {1, 1, stride, 1, 1}}),
                {0, 2, 1, 3, 4}));
        }
        const Tensor images = reshaped(F::stack(taps, 3), {n * od, c * t, h, w});
        const Tensor weight = reshaped(call[1], {o, c / f.at("group") * t, f.at("u"), f.at("v")});
        const Tensor y = PlanarConvolution(call, f)(images, weight);
        return {transposed(reshaped(y, {n, od, o, f.at("oh"), f.at("ow")}), {0, 2, 1, 3, 4})};
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
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        if (dims.size() == 3) return of_volumes(call, f);
        const int64_t outs = f.at("k") * f.at("group");
        if (dims.size() == 2) {
            const Shape y{f.at("n"), outs, f.at("oh"), f.at("ow")};
            return {spread(call[0], call[1], y, {call, f})};
        }
        const Shape line{f.at("n"), outs, f.at("ow")};
        const Shape y{line[0], line[1], 1, line[2]};
        return {reshaped(spread(lifted(call[0]), lifted(call[1]), y, {call, f}), line)};
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

private:
    // Taps along d are channels of images, which are added up at their places: in f32, where the
    // parts have 16 bits.
    static Result of_volumes(const Call &call, const Dims &f) {
        const int64_t n = f.at("n"), c = f.at("c"), d = f.at("d"), h = f.at("h"), w = f.at("w"),
                      k = f.at("k"), t = f.at("t");
        const int64_t outs = k * f.at("group");
        const int64_t od = f.at("od"), oh = f.at("oh"), ow = f.at("ow"), stride = f.at("stride_d"),
                      dilation = f.at("dilation_d"), front = f.at("pad_front");
        const DType given = call[0].dtype();
        const DType sums = bytes_of(given) == 2 ? DType::f32 : given;
        const Tensor images = reshaped(transposed(cast_to(call[0], sums), {0, 2, 1, 3, 4}),
                                       {n * d, c, h, w});
        const Tensor weight = reshaped(cast_to(call[1], sums), {c, k * t, f.at("u"), f.at("v")});
        const Tensor taps = reshaped(spread(images, weight, {n * d, outs * t, oh, ow}, {call, f}),
                                     {n, d, outs, t, oh, ow});
        const Shape whole{n, outs, std::max((d - 1) * stride + (t - 1) * dilation + 1, front + od),
                          oh, ow};
        Tensor y;
        for (int64_t i = 0; i < t; i++) {
            const Tensor tap = window_of(
                taps, {{0, 0, 0, i, 0, 0}, {n, d, outs, i + 1, oh, ow}, {1, 1, 1, 1, 1, 1}});
            const int64_t from = i * dilation;
            const Tensor placed = embedded(
                transposed(reshaped(tap, {n, d, outs, oh, ow}), {0, 2, 1, 3, 4}), whole,
                {{0, 0, from, 0, 0},
                 {n, outs, from + (d - 1) * stride + 1, oh, ow},
                 {1, 1, stride, 1, 1}});
            y = y.defined() ? y + placed : placed;
        }
        return {cast_to(
            window_of(y, {{0, 0, front, 0, 0}, {n, outs, front + od, oh, ow}, {1, 1, 1, 1, 1}}),
            given)};
    }
};

// A convolution with a bias, a shortcut and an activation: one kernel for relu, relu6 and none, two
// for other activations. f64 is composed of single ops.
struct Conv2dAct : SpatialConvolution {
    const bool shortcut;
    explicit Conv2dAct(bool with_z)
        : SpatialConvolution(with_z ? "conv2d_bias_add_act" : "conv2d_bias_act", 2, "n,c",
                             "o,c/group", "n,o",
                             with_z ? "y = activation(conv2d(x, weight) + bias + z)"
                                    : "y = activation(conv2d(x, weight) + bias)",
                             with_z ? " bias[o] z[n,o,oh,ow]" : " bias[o]"),
          shortcut(with_z) {
        choice("activation",
               {"relu", "relu6", "none", "elu", "gelu", "hard_sigmoid", "hard_swish", "mish",
                "sigmoid", "silu", "softplus", "tanh"},
               "ConvActivation");
        shrinking();
        samples = {"n=1 c=1 h=1 w=1 o=1 u=1 v=1",
                   "n=2 c=3 h=5 w=7 o=4 u=3 v=3 pad_mode=same stride=2,2 activation=relu6",
                   "n=1 c=4 h=6 w=5 o=6 u=2 v=3 pad_mode=pad padding=1,0,2,1 dilation=2,1 group=2 "
                   "activation=none",
                   "n=2 c=5 h=4 w=4 o=3 u=1 v=1 activation=tanh"};
    }
    // The first choices. The samples have no others but tanh.
    enum Activation : int64_t { relu, relu6, none };
    static double activated(int64_t activation, double v) {
        if (activation == relu) return v < 0 ? 0 : v;
        if (activation == relu6) return std::clamp(v, 0.0, 6.0);
        return activation == none ? v : std::tanh(v);
    }
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        const std::string &activation = call.choice("activation");
        const bool cuts = activation == "none" || activation == "relu" || activation == "relu6";
        const DType dtype = call[0].dtype();
        const PlanarConvolution conv(call, f);
        if (dtype == DType::f64) {
            for (size_t k = 2; k < call.in.size(); k++)
                expect_one_dtype(call.in, {0, k});
            const Tensor sum = conv(call[0], call[1]) + reshaped(call[2], {f.at("o"), 1, 1});
            return {act(shortcut ? sum + call[3] : sum, activation)};
        }
        std::vector<Tensor> given;  // 16-bit floats are computed in f32 and rounded once.
        for (const Tensor &t : call.in)
            given.push_back(cast_to(t, DType::f32));
        auto clamped = conv.attributes();
        if (activation.starts_with("relu")) clamped.push_back({"low", 0.0});
        if (activation == "relu6") clamped.push_back({"high", 6.0});
        const RegisteredOp &kernel = find_op(shortcut ? "conv2d_bias_add_clamp"
                                                      : "conv2d_bias_clamp");
        const Tensor y = dispatch1(kernel, given, Attrs(kernel.record, clamped));
        if (Tape *tape = Tape::current()) {
            const std::string cut = cuts ? activation : "none";
            tape->record(given, {y}, [given, y, cut, conv](std::span<const Tensor> dy) {
                std::vector<Tensor> d = cut_gradients(given, y, dy[0], cut, conv);
                d.resize(given.size());
                return d;
            });
        }
        return {cast_to(cuts ? y : act(y, activation), dtype)};
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

// Batch normalisation of inference is a factor and a summand for each channel, which can be folded
// into a convolution's weights and bias.
struct FoldBatchNorm : Composite {
    FoldBatchNorm()
        : Composite("fold_batch_norm",
                    "weight[o,c,u,v] bias[o] gamma[o] beta[o] mean[o] variance[o] -> "
                    "folded[o,c,u,v] shift[o]",
                    "f = gamma / sqrt(variance + eps): folded = f weight, shift = (bias - mean) f "
                    "+ beta, so that conv2d(x, folded) + shift is "
                    "batch_norm(conv2d(x, weight) + bias)") {
        real("eps", "1e-5");
        dtypes = {"f32", "f64"};
        contract = {Contract::normwise, 8};
        let("variance_least", "1");
        samples = {"o=1 c=1 u=1 v=1", "o=5 c=3 u=3 v=2", "o=17 c=4 u=1 v=1"};
    }
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        const Tensor &weight = call[0];
        const Tensor &bias = call[1];
        const Tensor &gamma = call[2];
        const Tensor &beta = call[3];
        const Tensor &mean = call[4];
        const Tensor &variance = call[5];
        expect_one_dtype(call.in, {0, 1, 2, 3, 4, 5});
        const Tensor factor = gamma / F::sqrt(variance + call.real("eps"));
        return {weight * reshaped(factor, {f.at("o"), 1, 1, 1}), (bias - mean) * factor + beta};
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

constexpr const char forward[] = "conv2d", dx[] = "conv2d_dx", dweight[] = "conv2d_dweight";

// Runs op `name` with the attributes of the gradient op.
template<const char *name>
Tensor convolved_by(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const RegisteredOp &other = registry().at(name);
    return std::move(Primitive(other, Attrs(other.record, op.record, attrs)).run(in)[0]);
}

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Conv>("conv1d", 1, "Conv1D");
    composites.add<Conv>("conv3d", 3, "Conv3D");
    composites.add<ConvTranspose>("conv1d_transpose", 1, "Conv1DTranspose");
    composites.add<ConvTranspose>("conv2d_transpose", 2, "Conv2DTranspose");
    composites.add<ConvTranspose>("conv3d_transpose", 3, "Conv3DTranspose");
    composites.add<Conv2dAct>(false);
    composites.add<Conv2dAct>(true);
    composites.add<FoldBatchNorm>();
    // Convolution is linear in its input and in its weight: the gradients of each of its gradients
    // are the other two of the three ops.
    composites.gradient({"conv2d_dx", "x", {}, no_gradient});
    composites.gradient({"conv2d_dx", "weight", {"ddx", "weight", "dy"}, convolved_by<dweight>});
    composites.gradient({"conv2d_dx", "dy", {"ddx", "weight"}, convolved_by<forward>});
    composites.gradient({"conv2d_dweight", "weight", {}, no_gradient});
    composites.gradient({"conv2d_dweight", "x", {"x", "ddweight", "dy"}, convolved_by<dx>});
    composites.gradient({"conv2d_dweight", "dy", {"x", "ddweight"}, convolved_by<forward>});
}

}  // namespace halyard
