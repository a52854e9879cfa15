// Compositions of conv2d and its gradient (records: kernels/convolution/conv1d_conv3d.cpp).
#include <algorithm>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/concat.h"
#include "primitives/facts.h"

namespace halyard {
namespace {

using Given = std::vector<std::pair<std::string, AttrValue>>;

// conv2d's attributes for the last two dimensions of a call; a vector's height is 1.
Given planar(const Attrs &a, const Dims &f) {
    const auto value = [&](const std::string &name, int64_t otherwise) {
        const auto it = f.find(name);
        return it == f.end() ? otherwise : it->second;
    };
    const auto pair = [&](const std::string &name) {
        return Ints{value(name + "_h", 1), value(name + "_w", 1)};
    };
    return {
        {"stride", pair("stride")},
        {"pad_mode", choice(a, "pad_mode")},
        {"padding", Ints{value("top", 0), value("bottom", 0), value("left", 0), value("right", 0)}},
        {"dilation", pair("dilation")},
        {"group", f.at("group")}};
}

// A tensor of which only the shape matters.
Tensor shape_alone(const Shape &s, DType dtype) {
    return Tensor::empty({s.back()}, dtype).expand(s);
}

Tensor lifted(const Tensor &t) {  // [a,b,w] -> [a,b,1,w]
    Shape s = t.shape();
    s.insert(2, 1);
    return reshaped(t, s);
}

Result conv1d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    return {reshaped(run1("conv2d", {lifted(in[0]), lifted(in[1])}, planar(a, f)),
                     {f.at("n"), f.at("o"), f.at("ow")})};
}

// Taps along d become channels: one convolution of n * od images.
Result conv3d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const int64_t n = f.at("n"), c = f.at("c"), o = f.at("o"), t = f.at("t"), h = f.at("h"),
                  w = f.at("w"), od = f.at("od"), stride = f.at("stride_d");
    const int64_t front = f.at("pad_front"), back = f.at("pad_back");
    const Tensor x = front + back
                         ? run1("pad", {in[0]}, {{"padding", Ints{0, 0, 0, 0, front, back}}})
                         : in[0];
    std::vector<Tensor> taps;
    for (int64_t k = 0; k < t; k++) {
        const int64_t from = k * f.at("dilation_d");
        const int64_t to = from + (od - 1) * stride + 1;
        taps.push_back(
            transposed(window_of(x, {{0, 0, from, 0, 0}, {n, c, to, h, w}, {1, 1, stride, 1, 1}}),
                       {0, 2, 1, 3, 4}));
    }
    const Tensor images = reshaped(F::stack(taps, 3), {n * od, c * t, h, w});
    const Tensor weight = reshaped(in[1], {o, c / f.at("group") * t, f.at("u"), f.at("v")});
    const Tensor y = run1("conv2d", {images, weight}, planar(a, f));
    return {transposed(reshaped(y, {n, od, o, f.at("oh"), f.at("ow")}), {0, 2, 1, 3, 4})};
}

// The gradient of conv2d at an input of y's shape.
Tensor spread(const Tensor &x, const Tensor &weight, const Shape &y, const Given &attrs) {
    return run1("conv2d_dx", {shape_alone(y, x.dtype()), weight, x}, attrs);
}

Result conv1d_transpose(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const Shape y{f.at("n"), f.at("k") * f.at("group"), f.at("ow")};
    return {reshaped(spread(lifted(in[0]), lifted(in[1]), {y[0], y[1], 1, y[2]}, planar(a, f)), y)};
}

Result conv2d_transpose(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    return {spread(in[0], in[1], {f.at("n"), f.at("k") * f.at("group"), f.at("oh"), f.at("ow")},
                   planar(a, f))};
}

// As in conv3d, taps along d are channels, of what is then added up where it belongs: in f32, where
// the parts have 16 bits.
Result conv3d_transpose(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const int64_t n = f.at("n"), c = f.at("c"), d = f.at("d"), h = f.at("h"), w = f.at("w"),
                  k = f.at("k"), t = f.at("t");
    const int64_t outs = k * f.at("group");
    const int64_t od = f.at("od"), oh = f.at("oh"), ow = f.at("ow"), stride = f.at("stride_d"),
                  dilation = f.at("dilation_d"), front = f.at("pad_front");
    const DType given = in[0].dtype();
    const DType sums = bytes_of(given) == 2 ? DType::f32 : given;
    const Tensor images = reshaped(transposed(cast_to(in[0], sums), {0, 2, 1, 3, 4}),
                                   {n * d, c, h, w});
    const Tensor weight = reshaped(cast_to(in[1], sums), {c, k * t, f.at("u"), f.at("v")});
    const Tensor taps = reshaped(spread(images, weight, {n * d, outs * t, oh, ow}, planar(a, f)),
                                 {n, d, outs, t, oh, ow});
    const Shape whole{n, outs, std::max((d - 1) * stride + (t - 1) * dilation + 1, front + od), oh,
                      ow};
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
        y = y.defined() ? run1("add", {y, placed}) : placed;
    }
    return {
        cast_to(window_of(y, {{0, 0, front, 0, 0}, {n, outs, front + od, oh, ow}, {1, 1, 1, 1, 1}}),
                given)};
}

// The gradients of y = activation(conv2d(x, weight) + bias + z), z being there or not, for
// activations that only cut off.
std::vector<Tensor> cut_gradients(const std::vector<Tensor> &in, const Tensor &y, const Tensor &dy,
                                  const std::string &activation, const Given &attrs) {
    Tensor dsum = dy;
    if (activation == "relu") dsum = run1("relu_dx", {y, dy});
    if (activation == "relu6")
        dsum = run1("hard_tanh_dx", {y, dy}, {{"min_val", 0.0}, {"max_val", 6.0}});
    const Tensor dbias = run1("reduce_sum", {dsum}, {{"axis", Ints{0, 2, 3}}});
    return {run1("conv2d_dx", {in[0], in[1], dsum}, attrs),
            run1("conv2d_dweight", {in[0], in[1], dsum}, attrs), dbias, dsum};
}

Tensor act(const Tensor &sum, const std::string &activation) {
    return activation == "none" ? sum : run1(activation.c_str(), {sum});
}

Result conv2d_act(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const size_t k = size_t(a.find("activation"));
    const std::string &activation = a.op().attrs[k].choices[size_t(a.integer(k))];
    const bool cuts = activation == "none" || activation == "relu" || activation == "relu6";
    const bool shortcut = in.size() == 4;
    const DType dtype = in[0].dtype();
    const Given attrs = planar(a, f);
    if (dtype == DType::f64) {
        const Tensor sum = run1(
            "add", {run1("conv2d", {in[0], in[1]}, attrs), reshaped(in[2], {f.at("o"), 1, 1})});
        return {act(shortcut ? run1("add", {sum, in[3]}) : sum, activation)};
    }
    std::vector<Tensor> given;  // to round 16-bit floats once
    for (const Tensor &t : in)
        given.push_back(cast_to(t, DType::f32));
    Given clamped = attrs;
    if (activation.starts_with("relu")) clamped.push_back({"low", 0.0});
    if (activation == "relu6") clamped.push_back({"high", 6.0});
    const RegisteredOp &kernel = find_op(shortcut ? "conv2d_bias_add_clamp" : "conv2d_bias_clamp");
    const Tensor y = dispatch1(kernel, given, Attrs(kernel.record, clamped));
    if (Tape *tape = Tape::current()) {
        const std::string cut = cuts ? activation : "none";
        tape->record(given, {y}, [given, y, cut, attrs](std::span<const Tensor> dy) {
            std::vector<Tensor> d = cut_gradients(given, y, dy[0], cut, attrs);
            d.resize(given.size());
            return d;
        });
    }
    return {cast_to(cuts ? y : act(y, activation), dtype)};
}

Result fold_batch_norm(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const Tensor &weight = in[0];
    const Tensor &bias = in[1];
    const Tensor &gamma = in[2];
    const Tensor &beta = in[3];
    const Tensor &mean = in[4];
    const Tensor &variance = in[5];
    const Tensor eps = Tensor::scalar(real(a, "eps"), weight.dtype());
    const Tensor factor = run1("div", {gamma, run1("sqrt", {run1("add", {variance, eps})})});
    return {run1("mul", {weight, reshaped(factor, {f.at("o"), 1, 1, 1})}),
            run1("add", {run1("mul", {run1("sub", {bias, mean}), factor}), beta})};
}

}  // namespace

Family convolution_family() {
    static const Family::value_type all[] = {{"conv1d", conv1d},
                                             {"conv3d", conv3d},
                                             {"conv1d_transpose", conv1d_transpose},
                                             {"conv2d_transpose", conv2d_transpose},
                                             {"conv3d_transpose", conv3d_transpose},
                                             {"conv2d_bias_act", conv2d_act},
                                             {"conv2d_bias_add_act", conv2d_act},
                                             {"fold_batch_norm", fold_batch_norm}};
    return all;
}

}  // namespace halyard
