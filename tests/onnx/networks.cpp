// ONNX's operators of networks: products, convolutions, pooling, normalisations, losses.
#include <algorithm>

#include "tests/onnx/node.h"

namespace halyard::onnx {
namespace {

Results matmul(const Node &n) {  // Vectors are matrices of one row or column.
    Tensor a = n[0];
    Tensor b = n[1];
    const bool row = a.rank() == 1;
    const bool column = b.rank() == 1;
    if (row) a = a.unsqueeze(0);
    if (column) b = b.unsqueeze(1);
    Tensor y = call1("matmul", {a, b});
    if (column) y = y.squeeze(y.rank() - 1);
    if (row) y = y.squeeze(y.rank() - 1 - !column);
    return {y};
}

Results gemm(const Node &n) {
    Tensor y = call1(
        "matmul", {n[0], n[1]},
        {{"transpose_a", n.integer("transA", 0)}, {"transpose_b", n.integer("transB", 0)}});
    if (n.real("alpha", 1) != 1) y = call1("mul", {y, number(n.real("alpha", 1), y)});
    if (!n.has(2)) return {y};
    const Tensor c = n.real("beta", 1) == 1 ? n[2]
                                            : call1("mul", {n[2], number(n.real("beta", 1), n[2])});
    return call("add", {y, c});
}

Tensor per_channel(const Tensor &v, int rank) {  // [c] -> [c,1,1]
    Shape s(std::vector<int64_t>(size_t(rank) - 1, 1));
    s[0] = v.elements();
    return v.reshape(s);
}

// The strides, dilations and padding of a window over `spatial` dimensions.
struct Window {
    Ints kernel, stride, dilation, pads;  // pads: all before, then all after

    Window(const Node &n, const Ints &extents, Ints kernel_shape)
        : kernel(std::move(kernel_shape)) {
        const size_t spatial = kernel.size();
        stride = n.ints("strides", Ints(spatial, 1));
        dilation = n.ints("dilations", Ints(spatial, 1));
        pads = n.ints("pads", Ints(2 * spatial, 0));
        const std::string automatic = n.text("auto_pad", "NOTSET");
        if (!automatic.starts_with("SAME")) return;
        for (size_t d = 0; d < spatial; d++) {
            const int64_t out = (extents[d] + stride[d] - 1) / stride[d];
            const int64_t needed = std::max<int64_t>(0,
                                                     (out - 1) * stride[d] + reach(d) - extents[d]);
            pads[d + (automatic == "SAME_LOWER" ? spatial : 0)] = needed / 2;
            pads[d + (automatic == "SAME_LOWER" ? 0 : spatial)] = needed - needed / 2;
        }
    }
    int64_t reach(size_t d) const { return (kernel[d] - 1) * dilation[d] + 1; }
    bool dilated() const {
        return std::any_of(dilation.begin(), dilation.end(), [](int64_t d) { return d != 1; });
    }
    // Returns the primitives' order: before and after, dimension by dimension.
    Ints padding() const {
        Ints all;
        for (size_t d = 0; d < kernel.size(); d++) {
            all.push_back(pads[d]);
            all.push_back(pads[d + kernel.size()]);
        }
        return all;
    }
};

Ints spatial_extents(const Tensor &x) {
    return {x.shape().begin() + 2, x.shape().end()};
}

std::string of_rank(const char *before, const Tensor &x, const char *after) {
    return before + std::to_string(x.rank() - 2) + after;
}

Tensor with_bias(const Node &n, const Tensor &y) {
    return n.has(2) ? call1("add", {y, per_channel(n[2], y.rank())}) : y;
}

Results conv(const Node &n) {
    const Window w(n, spatial_extents(n[0]), n.ints("kernel_shape", spatial_extents(n[1])));
    const Given given = {{"stride", w.stride},
                         {"pad_mode", "pad"},
                         {"padding", w.padding()},
                         {"dilation", w.dilation},
                         {"group", n.integer("group", 1)}};
    return {with_bias(n, call1(of_rank("conv", n[0], "d"), {n[0], n[1]}, given))};
}

Results conv_transpose(const Node &n) {
    const std::string primitive = of_rank("conv", n[0], "d_transpose");
    if (!has_primitive(primitive)) throw NotCovered("no primitive " + primitive);
    Window w(n, spatial_extents(n[0]), n.ints("kernel_shape", spatial_extents(n[1])));
    const Ints more = n.ints("output_padding", Ints(w.kernel.size(), 0));
    const std::string automatic = n.text("auto_pad", "NOTSET");
    Ints out = n.ints("output_shape");
    for (size_t d = 0; d < w.kernel.size(); d++) {  // Finds the padding that gives this shape.
        const int64_t in = n[0].shape()[int(d) + 2];
        if (automatic.starts_with("SAME")) out.push_back(in * w.stride[d]);
        if (out.empty()) continue;
        const int64_t total = w.stride[d] * (in - 1) + more[d] + w.reach(d) - out[d];
        const int64_t less = total / 2;
        w.pads[d] = automatic == "SAME_UPPER" ? less : total - less;
        w.pads[d + w.kernel.size()] = total - w.pads[d];
    }
    const Given given = {{"stride", w.stride},
                         {"pad_mode", "pad"},
                         {"padding", w.padding()},
                         {"dilation", w.dilation},
                         {"group", n.integer("group", 1)},
                         {"output_padding", more}};
    return {with_bias(n, call1(primitive, {n[0], n[1]}, given))};
}

Operator pool(const char *name) {
    return [=](const Node &n) -> Results {
        const std::string primitive = of_rank(name, n[0], "d");
        if (!has_primitive(primitive)) throw NotCovered("no primitive " + primitive);
        const Window w(n, spatial_extents(n[0]), n.ints("kernel_shape"));
        n.require_covered(n.results == 1, "indices");
        n.require_covered(!w.dilated() || n.op == "MaxPool", "dilations");
        Given given = {{"kernel_size", w.kernel},
                       {"stride", w.stride},
                       {"pad_mode", "pad"},
                       {"padding", w.padding()}};
        if (n.integer("ceil_mode", 0)) given.emplace_back("ceil_mode", true);
        if (n.op == "AveragePool")
            given.emplace_back("count_include_pad", n.integer("count_include_pad", 0));
        if (n.op == "MaxPool") given.emplace_back("dilation", w.dilation);
        if (n.op == "LpPool") given.emplace_back("norm_type", double(n.integer("p", 2)));
        return call(primitive, {n.op == "LpPool" ? call1("abs", {n[0]}) : n[0]},
                    given);  // Our op leaves the sign to an odd power.
    };
}

Operator global_pool(const std::string &reduction) {
    return [=](const Node &n) -> Results {
        Ints axes;
        for (int d = 2; d < n[0].rank(); d++)
            axes.push_back(d);
        return call(reduction, {n[0]}, {{"axis", axes}, {"keep_dims", 1}});
    };
}

Operator along_axis(const std::string &primitive) {
    return [=](const Node &n) -> Results {
        return call(primitive, {n[0]}, {{"axis", n.integer("axis", -1)}});
    };
}

// Returns (x - mean) / sqrt(mean (x - mean)^2 + eps), over `axes`.
Tensor standardised(const Tensor &x, const Ints &axes, double eps) {
    const Tensor centred = call1(
        "sub", {x, call1("reduce_mean", {x}, {{"axis", axes}, {"keep_dims", 1}})});
    const Tensor variance = call1("var", {x}, {{"axis", axes}, {"keep_dims", 1}});
    return call1("mul", {centred, call1("rsqrt", {call1("add", {variance, number(eps, x)})})});
}

Tensor scaled(const Tensor &x, const Tensor &scale, const Tensor &bias) {
    return call1("add", {call1("mul", {x, scale}), bias});
}

Tensor mixed(const Tensor &old, const Tensor &now, double keep) {  // Updates a running statistic.
    return call1("add", {call1("mul", {old, number(keep, old)}),
                         call1("mul", {now, number(1 - keep, now)})});
}

Results batch_norm(const Node &n) {
    const Tensor &x = n[0];
    const auto v = [&](size_t k) { return per_channel(n[k], x.rank()); };
    if (n.integer("training_mode", 0)) {
        Ints axes = {0};
        for (int d = 2; d < x.rank(); d++)
            axes.push_back(d);
        const double keep = n.real("momentum", 0.9);
        return {scaled(standardised(x, axes, n.real("epsilon", 1e-5)), v(1), v(2)),
                mixed(n[3], call1("reduce_mean", {x}, {{"axis", axes}}), keep),
                mixed(n[4], call1("var", {x}, {{"axis", axes}}), keep)};
    }
    const Tensor root = call1("rsqrt", {call1("add", {v(4), number(n.real("epsilon", 1e-5), x)})});
    return {scaled(call1("mul", {call1("sub", {x, v(3)}), root}), v(1), v(2))};
}

Results instance_norm(const Node &n) {
    Ints axes;
    for (int d = 2; d < n[0].rank(); d++)
        axes.push_back(d);
    return {scaled(standardised(n[0], axes, n.real("epsilon", 1e-5)),
                   per_channel(n[1], n[0].rank()), per_channel(n[2], n[0].rank()))};
}

Ints axes_from(const Node &n, int64_t axis) {  // Returns this axis and all after it.
    Ints axes;
    for (int64_t d = axis < 0 ? axis + n[0].rank() : axis; d < n[0].rank(); d++)
        axes.push_back(d);
    return axes;
}

Results layer_norm(const Node &n) {
    const Ints axes = axes_from(n, n.integer("axis", -1));
    const double eps = n.real("epsilon", 1e-5);
    const Tensor &x = n[0];
    const Tensor y = call1("mul", {standardised(x, axes, eps), n[1]});
    const Tensor variance = call1("var", {x}, {{"axis", axes}, {"keep_dims", 1}});
    return {n.has(2) ? call1("add", {y, n[2]}) : y,
            call1("reduce_mean", {x}, {{"axis", axes}, {"keep_dims", 1}}),
            call1("rsqrt", {call1("add", {variance, number(eps, x)})})};
}

Results rms_norm(const Node &n) {
    const Tensor &x = n[0];
    const Tensor squares = call1("reduce_mean", {call1("square", {x})},
                                 {{"axis", axes_from(n, n.integer("axis", -1))}, {"keep_dims", 1}});
    return call(
        "mul",
        {call1("mul",
               {x, call1("rsqrt", {call1("add", {squares, number(n.real("epsilon", 1e-5), x)})})}),
         n[1]});
}

Results group_norm(const Node &n) {
    const Tensor &x = n[0];
    const int64_t groups = n.integer("num_groups", 1);
    const Tensor grouped = call1("reshape", {x}, {{"shape", Ints{x.shape()[0], groups, -1}}});
    const Tensor y = call1("reshape", {standardised(grouped, {2}, n.real("epsilon", 1e-5))},
                           {{"shape", Ints(x.shape().begin(), x.shape().end())}});
    return {scaled(y, per_channel(n[1], x.rank()), per_channel(n[2], x.rank()))};
}

// Computes each element's loss and applies `reduction`. Weights are by class; ignored elements have
// none.
Results nll_loss(const Node &n) {
    const Tensor &x = n[0];
    const Tensor labels = cast(n[1], DType::i64);
    const int64_t classes = x.shape()[1];
    const int64_t ignored = n.integer("ignore_index", classes);
    const Tensor counts = call1("not_equal", {labels, number(double(ignored), labels)});
    const Tensor places = cast(call1("select", {counts, labels, number(0, labels)}), DType::i32);
    const Tensor weight = n.has(2) ? n[2] : Tensor::ones({classes}, x.dtype());
    const Tensor weights = call1(
        "mul", {call1("gather", {weight, places}, {{"axis", 0}}), cast(counts, x.dtype())});
    Ints order = {0};  // Classes come last.
    for (int d = 2; d < x.rank(); d++)
        order.push_back(d);
    order.push_back(1);
    const Tensor hot = call1("one_hot", {places, number(1, x), number(0, x)}, {{"depth", classes}});
    const Tensor picked = call1("reduce_sum",
                                {call1("mul", {call1("transpose", {x}, {{"perm", order}}), hot})},
                                {{"axis", Ints{-1}}});
    const Tensor loss = call1("mul", {call1("neg", {picked}), weights});
    const std::string reduction = n.text("reduction", "mean");
    if (reduction == "none") return {loss};
    const Tensor sum = call1("reduce_sum", {loss});
    return {reduction == "sum" ? sum : call1("div", {sum, call1("reduce_sum", {weights})})};
}

Results softmax_cross_entropy(const Node &n) {
    Node logs = n;
    const Tensor y = call1("log_softmax", {n[0]}, {{"axis", 1}});
    logs.in[0] = y;
    return {nll_loss(logs)[0], y};
}

Results mean_variance(const Node &n) {
    const Ints axes = n.ints("axes", {0, 2, 3});
    return {standardised(n[0], axes, 1e-9)};
}

// Inference only: the mask of training is drawn by another generator.
Results dropout(const Node &n) {
    const bool drops = n.has(2) && n[2].at({}) != 0 && (!n.has(1) || n[1].item() != 0);
    n.require_covered(!drops, "training_mode, whose numbers are another generator's");
    Results all = {n[0]};
    if (n.results > 1) all.push_back(Tensor::ones(n[0].shape(), DType::boolean));
    return all;
}

}  // namespace

void add_networks(Operators &all) {
    all["MatMul"] = matmul;
    all["Gemm"] = gemm;
    all["Conv"] = conv;
    all["ConvTranspose"] = conv_transpose;
    all["MaxPool"] = pool("max_pool");
    all["AveragePool"] = pool("avg_pool");
    all["LpPool"] = pool("lp_pool");
    all["GlobalAveragePool"] = global_pool("reduce_mean");
    all["GlobalMaxPool"] = global_pool("reduce_max");
    all["Softmax"] = along_axis("softmax");
    all["LogSoftmax"] = along_axis("log_softmax");
    all["BatchNormalization"] = batch_norm;
    all["InstanceNormalization"] = instance_norm;
    all["MeanVarianceNormalization"] = mean_variance;
    all["LayerNormalization"] = layer_norm;
    all["RMSNormalization"] = rms_norm;
    all["GroupNormalization"] = group_norm;
    all["NegativeLogLikelihoodLoss"] = nll_loss;
    all["SoftmaxCrossEntropyLoss"] = softmax_cross_entropy;
    all["Dropout"] = dropout;
}

}  // namespace halyard::onnx
