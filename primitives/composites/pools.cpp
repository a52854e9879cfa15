// Compositions of pools (records: kernels/pooling/pool1d_pool3d.cpp).
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/facts.h"

namespace halyard {
namespace {

using Given = std::vector<std::pair<std::string, AttrValue>>;

// What a pool of two dimensions is given for two of a call's: h and w, or d alone beside a
// dimension that stays.
Given planar(const Attrs &a, const Dims &f, bool depth) {
    const auto value = [&](const std::string &name, int64_t otherwise) {
        const auto it = f.find(name);
        return it == f.end() ? otherwise : it->second;
    };
    const auto pair = [&](const std::string &name) {
        return depth ? Ints{value(name + "_d", 1), 1}
                     : Ints{value(name + "_h", 1), value(name + "_w", 1)};
    };
    return {{"kernel_size", pair("kernel_size")},
            {"stride", pair("stride")},
            {"pad_mode", choice(a, "pad_mode")},
            {"padding", depth ? Ints{value("front", 0), value("back", 0), 0, 0}
                              : Ints{value("top", 0), value("bottom", 0), value("left", 0),
                                     value("right", 0)}},
            {"ceil_mode", f.at("ceil_mode") != 0}};
}

Shape spatial(const Dims &f, std::initializer_list<const char *> names) {
    Shape s{f.at("n"), f.at("c")};
    for (const char *name : names)
        s.push_back(f.at(name));
    return s;
}

Given with(Given given, std::initializer_list<std::pair<std::string, AttrValue>> more) {
    given.insert(given.end(), more);
    return given;
}

Tensor max_of(const Tensor &x, const Attrs &a, const Dims &f, bool depth) {
    return run1("max_pool2d", {x}, planar(a, f, depth));
}
Tensor avg_of(const Tensor &x, const Attrs &a, const Dims &f, bool depth, int64_t divisor) {
    return run1("avg_pool2d", {x},
                with(planar(a, f, depth), {{"count_include_pad", f.at("count_include_pad") != 0},
                                           {"divisor_override", divisor}}));
}

// x[n,c,w] as maps of one line, and back.
template<class Pool> Result along_line(const Tensor &x, const Dims &f, const Pool &pool) {
    return {reshaped(pool(reshaped(x, {f.at("n"), f.at("c"), 1, f.at("w")})), spatial(f, {"ow"}))};
}

// What rounds twice, or leaves the range of 16-bit floats soon, is computed in f32.
Tensor wide(const Tensor &x) {
    return cast_to(x, bytes_of(x.dtype()) == 2 ? DType::f32 : x.dtype());
}

// Windows are products of a plane's and an interval of depth: first every plane, then planes by
// depth.
template<class Planes, class Depth>
Tensor by_planes(const Tensor &x, const Dims &f, const Planes &planes, const Depth &depth) {
    const int64_t n = f.at("n"), c = f.at("c"), d = f.at("d");
    const int64_t area = f.at("oh") * f.at("ow");
    const Tensor y = planes(reshaped(x, {n, c * d, f.at("h"), f.at("w")}));
    return reshaped(depth(reshaped(y, {n, c, d, area})), spatial(f, {"od", "oh", "ow"}));
}

Result max_pool1d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    return along_line(in[0], f, [&](const Tensor &x) { return max_of(x, a, f, false); });
}

Result max_pool3d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    return {by_planes(
        in[0], f, [&](const Tensor &x) { return max_of(x, a, f, false); },
        [&](const Tensor &x) { return max_of(x, a, f, true); })};
}

Result avg_pool1d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    return along_line(in[0], f, [&](const Tensor &x) {
        return avg_of(x, a, f, false, f.at("divisor_override"));
    });
}

// a mean of means, or a sum of sums under a given divisor
Result avg_pool3d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const int64_t divisor = f.at("divisor_override");
    const Tensor y = by_planes(
        wide(in[0]), f, [&](const Tensor &x) { return avg_of(x, a, f, false, divisor ? 1 : 0); },
        [&](const Tensor &x) { return avg_of(x, a, f, true, divisor); });
    return {cast_to(y, in[0].dtype())};
}

Tensor lp_of(const Tensor &given, const Attrs &a, const Dims &f) {
    const Tensor x = wide(given);
    const double p = real(a, "norm_type");
    if (!(p > 0)) {
        throw AttrError(a.op().name,
                        "norm_type is " + std::to_string(p) + ", expected more than 0");
    }
    const auto power = [&](const Tensor &t, double exponent) {
        return run1("pow", {t, Tensor::scalar(exponent, t.dtype())});
    };
    const Tensor sum = run1("avg_pool2d", {power(x, p)},
                            with(planar(a, f, false), {{"divisor_override", 1}}));
    return cast_to(power(sum, 1 / p), given.dtype());
}

Result lp_pool1d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    return along_line(in[0], f, [&](const Tensor &x) { return lp_of(x, a, f); });
}

Result lp_pool2d(Tensors in, const Attrs &a) {
    return {lp_of(in[0], a, facts_of(in, a))};
}

// `kind`: "avg" or "max". Where the windows are all alike, a pool of fixed windows is the faster
// one.
Tensor adaptive_of(const std::string &kind, const Tensor &x, int64_t oh, int64_t ow) {
    const int64_t h = x.shape()[2];
    const int64_t w = x.shape()[3];
    if (oh == 1 && ow == 1) {
        return run1(kind == "avg" ? "reduce_mean" : "reduce_max", {x},
                    {{"axis", Ints{2, 3}}, {"keep_dims", true}});
    }
    if (h % oh == 0 && w % ow == 0) {
        const Ints window{h / oh, w / ow};
        return run1((kind + "_pool2d").c_str(), {x}, {{"kernel_size", window}, {"stride", window}});
    }
    return run1(("adaptive_" + kind + "_pool2d_kernel").c_str(), {x},
                {{"output_size", Ints{oh, ow}}});
}

// "adaptive_avg_pool2d" has kind "avg".
Result adaptive_pool1d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    return along_line(in[0], f, [&](const Tensor &x) {
        return adaptive_of(a.op().name.substr(9, 3), x, 1, f.at("ow"));
    });
}

Result adaptive_pool2d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    return {adaptive_of(a.op().name.substr(9, 3), in[0], f.at("oh"), f.at("ow"))};
}

Result adaptive_pool3d(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const std::string kind = a.op().name.substr(9, 3);
    const Tensor y = by_planes(
        kind == "avg" ? wide(in[0]) : in[0], f,
        [&](const Tensor &x) { return adaptive_of(kind, x, f.at("oh"), f.at("ow")); },
        [&](const Tensor &x) { return adaptive_of(kind, x, f.at("od"), x.shape()[3]); });
    return {cast_to(y, in[0].dtype())};
}

Result max_pool1d_with_indices(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const Given attrs = planar(a, f, false);
    const Tensor x = reshaped(in[0], {f.at("n"), f.at("c"), 1, f.at("w")});
    const Shape y = spatial(f, {"ow"});
    return {reshaped(run1("max_pool2d", {x}, attrs), y),
            reshaped(run1("max_pool2d_indices", {x}, attrs), y)};
}

Result max_pool2d_with_indices(Tensors in, const Attrs &a) {
    const Given attrs = planar(a, facts_of(in, a), false);
    return {run1("max_pool2d", {in[0]}, attrs), run1("max_pool2d_indices", {in[0]}, attrs)};
}

// The first maximum along depth names a plane's window, and that window's first maximum names the
// place.
Result max_pool3d_with_indices(Tensors in, const Attrs &a) {
    const Dims f = facts_of(in, a);
    const int64_t n = f.at("n"), c = f.at("c"), d = f.at("d");
    const int64_t area = f.at("oh") * f.at("ow");
    const int64_t plane = f.at("h") * f.at("w");
    const Given across = planar(a, f, false);
    const Given down = planar(a, f, true);
    const Tensor planes = reshaped(in[0], {n, c * d, f.at("h"), f.at("w")});
    const Tensor best = reshaped(run1("max_pool2d", {planes}, across), {n, c, d, area});
    const Tensor in_plane = reshaped(run1("max_pool2d_indices", {planes}, across),
                                     {n * c, d * area, 1});
    const Tensor y = run1("max_pool2d", {best}, down);
    const Tensor window = reshaped(run1("max_pool2d_indices", {best}, down),
                                   {n * c, f.at("od") * area, 1});
    const auto whole = [](int64_t v) { return Tensor::scalar(double(v), DType::i32); };
    const Tensor depth = run1("floor_div", {window, whole(area)});
    const Tensor place = run1("gather_elements_kernel", {in_plane, window});
    const Tensor indices = run1("add", {run1("mul", {depth, whole(plane)}), place});
    const Shape shape = spatial(f, {"od", "oh", "ow"});
    return {reshaped(y, shape), reshaped(indices, shape)};
}

// All planes are one line of elements, x is added up there at its places.
Result max_unpool(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Tensor &indices = in[1];
    facts_of(in, a);
    Shape y{x.shape()[0], x.shape()[1]};
    int64_t plane = 1;
    for (int64_t extent : ints(a, "output_size")) {
        y.push_back(extent);
        plane *= extent;
    }
    if (y.elements() > INT32_MAX) {
        throw ShapeError(a.op().name, "y" + y.text() + " has " + std::to_string(y.elements()) +
                                          " elements, the limit is " + std::to_string(INT32_MAX));
    }
    if (x.elements() == 0) return {Tensor::zeros(y, x.dtype())};
    std::vector<int32_t> at = indices.to_vector<int32_t>();
    const int64_t per_plane = x.elements() / (y[0] * y[1]);
    for (size_t k = 0; k < at.size(); k++) {
        if (at[k] < 0 || at[k] >= plane) {
            throw ShapeError(a.op().name, "index " + std::to_string(k) + " is " +
                                              std::to_string(at[k]) + ", expected 0 to " +
                                              std::to_string(plane - 1));
        }
        at[k] += int32_t(int64_t(k) / per_plane * plane);
    }
    const int64_t n = int64_t(at.size());
    const Tensor whole = Tensor::empty({1}, x.dtype()).expand({1, y.elements(), 1});
    return {reshaped(
        run1("gather_kernel_dx", {whole, Tensor::from(at, {n}), reshaped(x, {1, n, 1})}), y)};
}

}  // namespace

Family pool_family() {
    static const Family::value_type all[] = {{"max_pool1d", max_pool1d},
                                             {"max_pool3d", max_pool3d},
                                             {"avg_pool1d", avg_pool1d},
                                             {"avg_pool3d", avg_pool3d},
                                             {"lp_pool1d", lp_pool1d},
                                             {"lp_pool2d", lp_pool2d},
                                             {"adaptive_avg_pool1d", adaptive_pool1d},
                                             {"adaptive_avg_pool2d", adaptive_pool2d},
                                             {"adaptive_avg_pool3d", adaptive_pool3d},
                                             {"adaptive_max_pool1d", adaptive_pool1d},
                                             {"adaptive_max_pool2d", adaptive_pool2d},
                                             {"adaptive_max_pool3d", adaptive_pool3d},
                                             {"max_pool1d_with_indices", max_pool1d_with_indices},
                                             {"max_pool2d_with_indices", max_pool2d_with_indices},
                                             {"max_pool3d_with_indices", max_pool3d_with_indices},
                                             {"max_unpool1d", max_unpool},
                                             {"max_unpool2d", max_unpool},
                                             {"max_unpool3d", max_unpool}};
    return all;
}

}  // namespace halyard
