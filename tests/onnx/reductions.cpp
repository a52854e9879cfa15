// ONNX's reductions, scans and sorts.
#include <algorithm>

#include "tests/onnx/node.h"

namespace halyard::onnx {
namespace {

// Returns the axes: an attribute, or since opset 13 (sum) and 18 the second input. Without them all
// are reduced, or none with noop_with_empty_axes.
Ints axes_of(const Node &n) {
    return n.has(1) ? n.ints_of(1) : n.ints("axes");
}

Operator reduction(const std::string &primitive, const char *before = nullptr,
                   const char *after = nullptr) {
    return [=](const Node &n) -> Results {
        const Ints axes = axes_of(n);
        Tensor y = before ? call1(before, {n[0]}) : n[0];
        if (!axes.empty() || !n.integer("noop_with_empty_axes", 0))
            y = call1(primitive, {y}, {{"axis", axes}, {"keep_dims", n.integer("keepdims", 1)}});
        else if (primitive == "reduce_l1" || primitive == "reduce_l2")
            y = call1("abs", {y});
        return {after ? call1(after, {y}) : y.same_memory(n[0]) ? call1("copy", {y}) : y};
    };
}

// The maximum of bools is their disjunction.
Operator extreme(const std::string &primitive, const std::string &of_bools) {
    return [=](const Node &n) {
        return reduction(n[0].dtype() == DType::boolean ? of_bools : primitive)(n);
    };
}

Operator place_of(const std::string &primitive) {
    return [=](const Node &n) -> Results {
        const int64_t axis = n.integer("axis", 0);
        Tensor y;
        if (n.integer("select_last_index", 0)) {  // It is the first from the other end.
            const int64_t last = n[0].size(int(axis)) - 1;
            y = call1(primitive, {call1("flip", {n[0]}, {{"dims", Ints{axis}}})}, {{"axis", axis}});
            y = call1("sub", {Tensor::scalar(double(last), y.dtype()), y});
        } else
            y = call1(primitive, {n[0]}, {{"axis", axis}});
        if (n.integer("keepdims", 1)) y = y.unsqueeze(int(axis < 0 ? axis + n[0].rank() : axis));
        return {cast(y, DType::i64)};
    };
}

Operator scan(const std::string &primitive) {
    return [=](const Node &n) -> Results {
        return call(primitive, {n[0]},
                    {{"axis", n.ints_of(1).at(0)},
                     {"exclusive", n.integer("exclusive", 0)},
                     {"reverse", n.integer("reverse", 0)}});
    };
}

Results hardmax(const Node &n) {
    const int64_t axis = n.integer("axis", -1);
    return call("one_hot",
                {call1("argmax", {n[0]}, {{"axis", axis}}), number(1, n[0]), number(0, n[0])},
                {{"depth", n[0].size(int(axis))},
                 {"axis", axis < 0 && axis != -1 ? axis + n[0].rank() : axis}});
}

Results lp_normalization(const Node &n) {
    const Tensor &x = n[0];
    const Tensor size = call1("norm", {x},
                              {{"axis", Ints{n.integer("axis", -1)}},
                               {"keep_dims", 1},
                               {"ord", double(n.integer("p", 2))}});
    return call("select",
                {call1("equal", {size, number(0, x)}), number(0, x), call1("div", {x, size})});
}

}  // namespace

void add_reductions(Operators &all) {
    all["ReduceSum"] = reduction("reduce_sum");
    all["ReduceMean"] = reduction("reduce_mean");
    all["ReduceProd"] = reduction("reduce_prod");
    all["ReduceMax"] = extreme("reduce_max", "reduce_any");
    all["ReduceMin"] = extreme("reduce_min", "reduce_all");
    all["ReduceL1"] = reduction("reduce_l1");
    all["ReduceL2"] = reduction("reduce_l2");
    all["ReduceLogSum"] = reduction("reduce_sum", nullptr, "log");
    all["ReduceSumSquare"] = reduction("reduce_sum", "square");
    all["ReduceLogSumExp"] = reduction("logsumexp");
    all["ArgMax"] = place_of("argmax");
    all["ArgMin"] = place_of("argmin");
    all["CumSum"] = scan("cumsum");
    all["CumProd"] = scan("cumprod");
    all["Hardmax"] = hardmax;
    all["LpNormalization"] = lp_normalization;
}

}  // namespace halyard::onnx
