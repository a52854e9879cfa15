// ONNX's operators that make shapes, and move elements between them.
#include <algorithm>
#include <numeric>

#include "primitives/composites/concat.h"
#include "tests/onnx/node.h"

namespace halyard::onnx {
namespace {

Ints extents(const Tensor &t) {
    return {t.shape().begin(), t.shape().end()};
}
Tensor list(const Ints &v) {
    return Tensor::from(v, {int64_t(v.size())});
}
int64_t from_start(int64_t axis, int rank) {
    return axis < 0 ? axis + rank : axis;
}

Results reshape(const Node &n) {
    Ints shape = n.ints_of(1);
    for (size_t d = 0; d < shape.size(); d++)
        if (shape[d] == 0 && !n.integer("allowzero", 0)) shape[d] = n[0].shape()[int(d)];
    return call("reshape", {n[0]}, {{"shape", shape}});
}

Results flatten(const Node &n) {
    const int64_t axis = from_start(n.integer("axis", 1), n[0].rank());
    int64_t outer = 1;
    for (int d = 0; d < axis; d++)
        outer *= n[0].shape()[d];
    return call("reshape", {n[0]}, {{"shape", Ints{outer, outer ? n[0].elements() / outer : 0}}});
}

Results transpose(const Node &n) {
    Ints perm(static_cast<size_t>(n[0].rank()));
    std::iota(perm.rbegin(), perm.rend(), 0);
    return call("transpose", {n[0]}, {{"perm", n.ints("perm", perm)}});
}

Results squeeze(const Node &n) {
    const Ints axes = n.has(1) ? n.ints_of(1) : n.ints("axes");
    return call("squeeze", {n[0]}, {{"axis", axes}});
}

Results unsqueeze(const Node &n) {
    Ints axes = n.has(1) ? n.ints_of(1) : n.ints("axes");
    const int rank = n[0].rank() + int(axes.size());
    for (int64_t &a : axes)
        a = from_start(a, rank);
    std::sort(axes.begin(), axes.end());
    Tensor y = n[0];
    for (const int64_t a : axes)
        y = call1("expand_dims", {y}, {{"axis", a}});
    return {y};
}

Results expand(const Node &n) {  // Both may be broadcast.
    Ints to = n.ints_of(1);
    const Ints own = extents(n[0]);
    if (to.size() < own.size()) to.insert(to.begin(), own.size() - to.size(), 1);
    for (size_t k = 0; k < own.size(); k++)
        if (int64_t &e = to[to.size() - own.size() + k]; e == 1) e = own[k];
    return call("broadcast_to", {n[0]}, {{"shape", to}});
}

Results split(const Node &n) {
    const int64_t axis = from_start(n.integer("axis", 0), n[0].rank());
    const int64_t extent = n[0].shape()[int(axis)];
    const int64_t parts = int64_t(n.results);
    Ints sizes = n.has(1) ? n.ints_of(1) : n.ints("split");
    if (sizes.empty()) {
        const int64_t most = (extent + parts - 1) / parts;
        for (int64_t left = extent, k = 0; k < parts; k++, left -= sizes.back())
            sizes.push_back(std::min(most, left));
    }
    Results all;
    Ints begin(static_cast<size_t>(n[0].rank()));
    Ints size = extents(n[0]);
    for (const int64_t s : sizes) {
        size[size_t(axis)] = s;
        all.push_back(call1("slice", {n[0]}, {{"begin", begin}, {"size", size}}));
        begin[size_t(axis)] += s;
    }
    return all;
}

Results slice(const Node &n) {
    const Ints starts = n.ints_of(1), ends = n.ints_of(2);
    const Ints steps = n.has(4) ? n.ints_of(4) : Ints(starts.size(), 1);
    Ints axes(starts.size());
    std::iota(axes.begin(), axes.end(), 0);
    if (n.has(3)) axes = n.ints_of(3);
    Tensor y = n[0];
    Ints begin(static_cast<size_t>(y.rank()));
    Ints end = extents(y);
    Ints stride(static_cast<size_t>(y.rank()), 1);
    for (size_t k = 0; k < axes.size(); k++) {
        const auto axis = size_t(from_start(axes[k], y.rank()));
        const int64_t extent = y.shape()[int(axis)];
        const int64_t step = steps[k];
        int64_t from = from_start(starts[k], int(extent));
        int64_t to = ends[k] < 0 ? ends[k] + extent : ends[k];
        if (step < 0) {  // The indices count from the other end.
            y = call1("flip", {y}, {{"dims", Ints{int64_t(axis)}}});
            from = extent - 1 - std::min(from, extent - 1);
            to = ends[k] < -extent ? extent : extent - 1 - to;
        }
        begin[axis] = std::clamp<int64_t>(from, 0, extent);
        end[axis] = std::max(begin[axis], std::clamp<int64_t>(to, 0, extent));
        stride[axis] = std::abs(step);
    }
    return call("strided_slice", {y}, {{"begin", begin}, {"end", end}, {"strides", stride}});
}

Results pad(const Node &n) {
    static const std::map<std::string, const char *> modes = {{"constant", "constant"},
                                                              {"reflect", "reflect"},
                                                              {"edge", "replicate"},
                                                              {"wrap", "circular"}};
    const Ints pads = n.has(1) ? n.ints_of(1) : n.ints("pads");
    const int rank = n[0].rank();
    Ints axes(pads.size() / 2);
    Ints begin(static_cast<size_t>(rank));
    Ints size = extents(n[0]);
    Ints padding(static_cast<size_t>(2 * rank));
    std::iota(axes.begin(), axes.end(), 0);
    if (n.has(3)) axes = n.ints_of(3);
    for (size_t k = 0; k < axes.size(); k++) {
        const int64_t axis = from_start(axes[k], rank);
        const int64_t before = pads[k];
        const int64_t after = pads[k + axes.size()];
        begin[size_t(axis)] = std::max<int64_t>(0, -before);
        size[size_t(axis)] += std::min<int64_t>(0, before) + std::min<int64_t>(0, after);
        padding[size_t(2 * (rank - 1 - axis))] = std::max<int64_t>(0, before);
        padding[size_t(2 * (rank - 1 - axis) + 1)] = std::max<int64_t>(0, after);
    }
    const std::string mode = n.text("mode", "constant");
    const double value = n.has(2) && n[2].elements() ? n[2].item() : 0;
    return call("pad", {call1("slice", {n[0]}, {{"begin", begin}, {"size", size}})},
                {{"padding", padding}, {"mode", modes.at(mode)}, {"value", value}});
}

Results one_hot(const Node &n) {
    const auto depth = int64_t(n[1].reshape({1}).item());
    const Tensor values = n[2];
    const Tensor off = values.slice(0, 0, 1).reshape({});
    const Tensor on = values.slice(0, 1, 2).reshape({});
    const Tensor given = cast(n[0], DType::i64);
    const Tensor from_end = call1("add", {given, number(double(depth), given)});
    const Tensor places = call1("select",
                                {call1("less", {given, number(0, given)}), from_end, given});
    return call("one_hot", {cast(places, DType::i32), on, off},
                {{"depth", depth}, {"axis", n.integer("axis", -1)}});
}

// ONNX's indices are i32 or i64, ours i32.
Operator indexed(const std::string &primitive, const char *theirs, const char *ours) {
    return [=](const Node &n) -> Results {
        return call(primitive, {n[0], cast(n[1], DType::i32)}, {{ours, n.integer(theirs, 0)}});
    };
}

Results trilu(const Node &n) {
    const int64_t diagonal = n.has(1) ? n.ints_of(1).at(0) : 0;
    return call(n.integer("upper", 1) ? "triu" : "tril", {n[0]}, {{"diagonal", diagonal}});
}

Results scatter_elements(const Node &n) {
    return call("tensor_scatter_elements", {n[0], cast(n[1], DType::i32), n[2]},
                {{"axis", n.integer("axis", 0)}, {"reduction", n.text("reduction", "none")}});
}

Results scatter_nd(const Node &n) {
    static const std::map<std::string, const char *> ours = {
        {"none", "update"}, {"add", "add"}, {"mul", "mul"}, {"max", "max"}, {"min", "min"}};
    return call(std::string("tensor_scatter_") + ours.at(n.text("reduction", "none")),
                {n[0], cast(n[1], DType::i32), n[2]});
}

Results gather_nd(const Node &n) {
    const int64_t batch_dims = n.integer("batch_dims", 0);
    if (batch_dims == 0) return call("gather_nd", {n[0], cast(n[1], DType::i32)});
    std::vector<Tensor> all;
    for (int64_t i = 0; i < n[0].shape()[0]; i++) {
        Node one = n;
        for (Tensor &t : one.in)
            t = t.slice(0, i, i + 1).squeeze(0);
        one.attributes["batch_dims"] = batch_dims - 1;
        all.push_back(gather_nd(one)[0]);
    }
    return {F::stack(all)};
}

Results top_k(const Node &n) {
    Results all = call("top_k", {n[0]},
                       {{"k", n.ints_of(1).at(0)},
                        {"dim", n.integer("axis", -1)},
                        {"largest", n.integer("largest", 1)}});
    all[1] = cast(all[1], DType::i64);
    return all;
}

Results space_to_depth(const Node &n) {
    const int64_t b = n.integer("blocksize", 1);
    const Shape s = n[0].shape();
    const bool depth_first = n.text("mode", "DCR") == "DCR";
    const Tensor blocks = call1("reshape", {n[0]},
                                {{"shape", Ints{s[0], s[1], s[2] / b, b, s[3] / b, b}}});
    const Tensor y = call1(
        "transpose", {blocks},
        {{"perm", depth_first ? Ints{0, 3, 5, 1, 2, 4} : Ints{0, 1, 3, 5, 2, 4}}});
    return call("reshape", {y}, {{"shape", Ints{s[0], s[1] * b * b, s[2] / b, s[3] / b}}});
}

Results depth_to_space(const Node &n) {
    const int64_t b = n.integer("blocksize", 1);
    const Shape s = n[0].shape();
    const int64_t c = s[1] / (b * b);
    const bool depth_first = n.text("mode", "DCR") == "DCR";
    const Tensor parts = call1("reshape", {n[0]},
                               {{"shape", depth_first ? Ints{s[0], b, b, c, s[2], s[3]}
                                                      : Ints{s[0], c, b, b, s[2], s[3]}}});
    const Tensor y = call1(
        "transpose", {parts},
        {{"perm", depth_first ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3}}});
    return call("reshape", {y}, {{"shape", Ints{s[0], c, s[2] * b, s[3] * b}}});
}

// These operators compute shapes rather than elements, on the host.
Results shape(const Node &n) {
    const int64_t rank = n[0].rank();
    const int64_t from = std::clamp<int64_t>(from_start(n.integer("start", 0), int(rank)), 0, rank);
    const int64_t to = std::clamp<int64_t>(from_start(n.integer("end", rank), int(rank)), from,
                                           rank);
    const Ints all = extents(n[0]);
    return {list(Ints(all.begin() + from, all.begin() + to))};
}

Results constant(const Node &n) {
    if (n.constants.count("value")) return {n.constants.at("value")};
    if (n.attributes.contains("value_int"))
        return {Tensor::scalar(double(n.integer("value_int", 0)), DType::i64)};
    if (n.attributes.contains("value_ints")) return {list(n.ints("value_ints"))};
    if (n.attributes.contains("value_float")) return {Tensor::scalar(n.real("value_float", 0))};
    n.require_covered(n.attributes.contains("value_floats"), "constants of other types");
    const auto values = n.attributes["value_floats"].get<std::vector<float>>();
    return {Tensor::from(values, {int64_t(values.size())})};
}

Results constant_of_shape(const Node &n) {
    const bool given = n.constants.count("value") > 0;
    const Tensor one = given ? n.constants.at("value") : Tensor::zeros({1});
    return call("fill", {},
                {{"dtype", one.dtype()}, {"shape", n.ints_of(0)}, {"value", one.item()}});
}

Results range(const Node &n) {
    const double start = n[0].item();
    const double delta = n[2].item();
    const double count = std::max(0.0, std::ceil((n[1].item() - start) / delta));
    const Tensor ones = Tensor::full({int64_t(count)}, delta, n[0].dtype());
    return call("add", {call1("cumsum", {ones}, {{"axis", 0}, {"exclusive", 1}}), n[0]});
}

}  // namespace

void add_movement(Operators &all) {
    all["Concat"] = [](const Node &n) -> Results {
        return {F::concat(n.in, int(n.integer("axis", 0)))};
    };
    all["Constant"] = constant;
    all["ConstantOfShape"] = constant_of_shape;
    all["Range"] = range;
    all["DepthToSpace"] = depth_to_space;
    all["SpaceToDepth"] = space_to_depth;
    all["GatherElements"] = indexed("gather_elements", "axis", "dim");
    all["GatherND"] = gather_nd;
    all["Trilu"] = trilu;
    all["TopK"] = top_k;
    all["Scatter"] = all["ScatterElements"] = scatter_elements;
    all["ScatterND"] = scatter_nd;
    all["Expand"] = expand;
    all["Flatten"] = flatten;
    all["Gather"] = indexed("gather", "axis", "axis");
    all["OneHot"] = one_hot;
    all["Pad"] = pad;
    all["Reshape"] = reshape;
    all["Shape"] = shape;
    all["Slice"] = slice;
    all["Split"] = split;
    all["Squeeze"] = squeeze;
    all["Size"] = [](const Node &n) -> Results {
        return {Tensor::scalar(double(n[0].elements()), DType::i64)};
    };
    all["Tile"] = [](const Node &n) -> Results {
        return call("tile", {n[0]}, {{"multiples", n.ints_of(1)}});
    };
    all["Transpose"] = transpose;
    all["Unsqueeze"] = unsqueeze;
}

}  // namespace halyard::onnx
