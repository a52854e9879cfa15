// Pooling along one and three dimensions, to a given number of windows, by other norms, and undone:
// composed of avg_pool2d, max_pool2d and the kernels of adaptive pooling.
#include <algorithm>
#include <cmath>
#include <span>

#include "primitives/composites/composite.h"
#include "primitives/facts.h"
#include "primitives/operators.h"
#include "primitives/ops/adaptive_pool2d.h"
#include "primitives/ops/avg_pool2d.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/gather.h"
#include "primitives/ops/max_pool2d.h"
#include "primitives/ops/reduce.h"

namespace halyard {
namespace {

// Pools of two dimensions with a call's attributes for two of its dimensions.
class PlanarPool {
public:
    // h and w, or d and a dimension that stays.
    enum Dimensions : uint8_t { across, along_depth };

    PlanarPool(const Call &call, const Dims &f, Dimensions of)
        : kernel_size_(pair(f, "kernel_size", of)), stride_(pair(f, "stride", of)),
          dilation_(pair(f, "dilation", of)), pad_mode_(call.choice("pad_mode")),
          padding_(padding(f, of)), ceil_mode_(f.at("ceil_mode") != 0) {}

    Tensor max(const Tensor &x) const {
        return F::max_pool2d(x, kernel_size_, stride_, pad_mode_, padding_, F::DataFormat::NCHW,
                             ceil_mode_, dilation_);
    }
    Tensor max_indices(const Tensor &x) const {
        return kernel::max_pool2d_indices(x, kernel_size_, stride_, pad_mode_, padding_,
                                          F::DataFormat::NCHW, ceil_mode_, dilation_);
    }
    Tensor avg(const Tensor &x, bool count_include_pad, int64_t divisor) const {
        return F::avg_pool2d(x, kernel_size_, stride_, pad_mode_, padding_, F::DataFormat::NCHW,
                             count_include_pad, ceil_mode_, divisor);
    }

private:
    static int64_t value(const Dims &f, const std::string &name, int64_t otherwise) {
        const auto it = f.find(name);
        return it == f.end() ? otherwise : it->second;
    }
    static Ints pair(const Dims &f, const std::string &name, Dimensions of) {
        if (of == along_depth) return {value(f, name + "_d", 1), 1};
        return {value(f, name + "_h", 1), value(f, name + "_w", 1)};
    }
    static Ints padding(const Dims &f, Dimensions of) {
        if (of == along_depth) return {value(f, "front", 0), value(f, "back", 0), 0, 0};
        return {value(f, "top", 0), value(f, "bottom", 0), value(f, "left", 0),
                value(f, "right", 0)};
    }

    Ints kernel_size_, stride_, dilation_;
    F::PadMode pad_mode_;
    Ints padding_;
    bool ceil_mode_;
};

Shape spatial(const Dims &f, std::initializer_list<const char *> names) {
    Shape s{f.at("n"), f.at("c")};
    for (const char *name : names)
        s.push_back(f.at(name));
    return s;
}

// Calls `pool` on x[n,c,w] as images of one row, and returns [n,c,ow].
template<class Pool> Result along_line(const Tensor &x, const Dims &f, const Pool &pool) {
    return {reshaped(pool(reshaped(x, {f.at("n"), f.at("c"), 1, f.at("w")})), spatial(f, {"ow"}))};
}

// Returns x in f32 if it has 16 bits: for pools that would round twice, or leave the range of
// 16-bit floats.
Tensor wide(const Tensor &x) {
    return cast_to(x, bytes_of(x.dtype()) == 2 ? DType::f32 : x.dtype());
}

// Pools every plane, then along depth: a window is the product of a plane's window and an interval
// of depth.
template<class Planes, class Depth>
Tensor by_planes(const Tensor &x, const Dims &f, const Planes &planes, const Depth &depth) {
    const int64_t n = f.at("n"), c = f.at("c"), d = f.at("d");
    const int64_t area = f.at("oh") * f.at("ow");
    const Tensor y = planes(reshaped(x, {n, c * d, f.at("h"), f.at("w")}));
    return reshaped(depth(reshaped(y, {n, c, d, area})), spatial(f, {"od", "oh", "ow"}));
}

Tensor lp_of(const Tensor &given, const Call &call, const Dims &f) {
    const Tensor x = wide(given);
    const double p = call.real("norm_type");
    if (!(p > 0)) {
        throw AttrError(call.op(), "norm_type is " + std::to_string(p) + ", expected more than 0");
    }
    const auto power = [&](const Tensor &t, double exponent) {
        return F::pow(t, Tensor::scalar(exponent, t.dtype()));
    };
    const PlanarPool pool(call, f, PlanarPool::across);
    const Tensor sum = pool.avg(power(x, p), true, 1);
    return cast_to(power(sum, 1 / p), given.dtype());
}

enum class PoolKind : uint8_t { avg, max };

// Adaptive pooling. If all windows have one size, a pool of fixed windows is faster.
Tensor adaptive_of(PoolKind kind, const Tensor &x, int64_t oh, int64_t ow) {
    const bool is_mean = kind == PoolKind::avg;
    const int64_t h = x.shape()[2];
    const int64_t w = x.shape()[3];
    if (oh == 1 && ow == 1)
        return is_mean ? F::reduce_mean(x, {2, 3}, true) : F::reduce_max(x, {2, 3}, true);
    if (h % oh == 0 && w % ow == 0) {
        const Ints window{h / oh, w / ow};
        return is_mean ? F::avg_pool2d(x, window, window) : F::max_pool2d(x, window, window);
    }
    return is_mean ? kernel::adaptive_avg_pool2d(x, {oh, ow})
                   : kernel::adaptive_max_pool2d(x, {oh, ow});
}

// A spatial dimension: the names of its extents in x and y, and of the padding before and after.
struct Line {
    std::string in, out, before, after;
};
const Line lines[] = {
    {"d", "od", "front", "back"}, {"h", "oh", "top", "bottom"}, {"w", "ow", "left", "right"}};
constexpr const char *digits[] = {"", "1d", "2d", "3d"};

// The base of pools: y is a function of the elements of x in a window, the product of one interval
// for each dimension.
struct Windowed : Composite {
    const int rank;
    const std::span<const Line> dims = std::span(lines).last(size_t(rank));

    Windowed(const std::string &n, int r, const std::string &formula, const std::string &more = "")
        : Composite(n + digits[r] + (more.empty() ? "" : "_with_" + more), signature(r, more),
                    formula),
          rank(r) {
        dtypes = {"f32", "f16", "bf16", "f64"};
        for (const Line &l : dims)
            conditions.push_back(l.in + ">=1");
    }
    struct Interval {
        int64_t begin, end, places;  // Of the map. `places` includes the padding that counts.
        int64_t step = 1;
    };
    virtual Interval interval(const Problem &p, const Line &l, int64_t i) const = 0;
    virtual double value(const Problem &p, const std::vector<double> &elements,
                         int64_t places) const = 0;

    void reference(Problem &p) const override {
        p.tensors["y"] = of_windows(p, [&](const auto &elements, const auto &, int64_t n) {
            return value(p, elements, n);
        });
    }

    // Returns f(elements, their indices in x's plane, number of places) of every window.
    template<class F> Array of_windows(const Problem &p, const F &f) const {
        const Array &x = p.tensors.at("x");
        Shape s{p["n"], p["c"]};
        for (const Line &l : dims)
            s.push_back(p[l.out]);
        Array y(s);
        for (size_t i = 0; i < y.v.size(); i++) {
            int64_t rest = int64_t(i);
            int64_t places = 1;
            std::vector<Interval> of(static_cast<size_t>(rank));
            for (int d = rank; d-- > 0;) {
                of[size_t(d)] = interval(p, dims[size_t(d)], rest % s[d + 2]);
                rest /= s[d + 2];
                places *= of[size_t(d)].places;
            }
            // Indices of the window's elements, dimension by dimension.
            std::vector<int64_t> at{rest};
            for (int d = 0; d < rank; d++) {
                std::vector<int64_t> finer;
                for (int64_t a : at) {
                    const Interval &line = of[size_t(d)];
                    for (int64_t k = line.begin; k < line.end; k += line.step)
                        finer.push_back(a * x.shape[d + 2] + k);
                }
                at = finer;
            }
            std::vector<double> elements;
            for (int64_t a : at)
                elements.push_back(x.v[size_t(a)]);
            for (int64_t &a : at)
                a -= rest * (x.shape.elements() / (p["n"] * p["c"]));
            y.v[i] = f(elements, at, places);
        }
        return y;
    }

protected:
    static std::string signature(int rank, const std::string &more) {
        std::string in, out;
        for (const Line &l : std::span(lines).last(size_t(rank))) {
            in += "," + l.in;
            out += "," + l.out;
        }
        return "x[n,c" + in + "] -> y[n,c" + out + "]" +
               (more.empty() ? "" : " " + more + ":i32[n,c" + out + "]");
    }
    static std::string joined(const std::vector<std::string> &parts) {
        std::string s;
        for (const std::string &p : parts)
            s += (s.empty() ? "" : ",") + p;
        return s;
    }
    void per_dimension(const std::string &name, const std::string &value) {
        std::vector<std::string> parts;
        for (const Line &l : dims)
            parts.push_back(name + "_" + l.in);
        ints(name, joined(std::vector<std::string>(parts.size(), value)), parts);
    }
    static double largest(const std::vector<double> &elements) {
        double max = -INFINITY;
        for (double v : elements)
            if (v > max || std::isnan(v)) max = v;
        return max;
    }
    static double total(const std::vector<double> &elements) {
        double sum = 0;
        for (double v : elements)
            sum += v;
        return sum;
    }
};

// The base of pools with the windows of max_pool2d and avg_pool2d. One that `dilates` has the
// attribute `dilation`.
struct Pool : Windowed {
    const bool dilates;
    Pool(const std::string &n, int r, const std::string &formula, const std::string &more = "",
         bool dilated = false)
        : Windowed(n, r, formula, more), dilates(dilated) {
        per_dimension("kernel_size", "1");
        per_dimension("stride", "1");
        choice<F::PadMode>("pad_mode");
        std::vector<std::string> sides, zeros;
        for (const Line &l : dims) {
            sides.insert(sides.end(), {l.before, l.after});
            zeros.insert(zeros.end(), 2, "0");
        }
        ints("padding", joined(zeros), sides);
        flag("ceil_mode", false);
        if (dilates) per_dimension("dilation", "1");
        std::string all;
        for (const std::string &side : sides)
            all += (all.empty() ? "" : "+") + side;
        conditions.push_back("pad_mode==pad||" + all + "==0");
        for (const Line &l : dims)
            declare(l);
        const std::vector<std::string> all_samples[] = {
            {"n=1 c=1 w=1", "n=2 c=3 w=17 kernel_size=3 stride=2 pad_mode=same",
             "n=1 c=5 w=8 kernel_size=3 stride=2 pad_mode=pad padding=1,0 ceil_mode=1"},
            {"n=1 c=1 h=1 w=1", "n=2 c=3 h=5 w=7 kernel_size=3,2 stride=2,1",
             "n=1 c=2 h=8 w=6 kernel_size=3,4 stride=2,3 ceil_mode=1"},
            {"n=1 c=1 d=1 h=1 w=1",
             "n=2 c=3 d=4 h=5 w=7 kernel_size=2,3,3 stride=2,1,2 pad_mode=same",
             "n=1 c=2 d=7 h=6 w=5 kernel_size=3,2,3 stride=2,3,2 pad_mode=pad padding=1,2,0,1,1,0 "
             "ceil_mode=1"}};
        samples = all_samples[r - 1];
    }
    Interval interval(const Problem &p, const Line &l, int64_t i) const override {
        const int64_t step = dilates ? p["dilation_" + l.in] : 1;
        const int64_t from = i * p["stride_" + l.in] - p["before_" + l.in];
        const int64_t to = from + (p["kernel_size_" + l.in] - 1) * step + 1;
        const int64_t n = p[l.in];
        const int64_t begin = from < 0 ? from + (-from + step - 1) / step * step : from;
        const int64_t end = std::min(to, n);
        const auto include = p.dims.find("count_include_pad");
        const bool all = p["pad_mode"] != F::PadMode::same && include != p.dims.end() &&
                         include->second;
        return {begin, end, all ? std::min(to, n + p[l.after]) - from : end - begin, step};
    }

private:
    // Declares the number of windows along a dimension, and what must hold of it.
    void declare(const Line &l) {
        const std::string k = "kernel_size_" + l.in;
        const std::string s = "max(1,stride_" + l.in + ")";
        const std::string reach = dilates ? "((" + k + "-1)*dilation_" + l.in + "+1)" : k;
        const std::string pads = "pads_" + l.in;
        const std::string full = "full_" + l.in;
        let(pads, "pad_mode==same?max(0,(cdiv(" + l.in + "," + s + ")-1)*" + s + "+" + reach + "-" +
                      l.in + "):" + l.before + "+" + l.after);
        let("before_" + l.in, "pad_mode==same?" + pads + "/2:" + l.before);
        let(full, "(" + l.in + "+" + pads + "-" + reach + "+ceil_mode*(" + s + "-1))/" + s + "+1");
        let(l.out, "pad_mode==same?cdiv(" + l.in + "," + s + "):" + full + "-((" + full + "-1)*" +
                       s + ">=" + l.in + "+" + l.before + ")");
        std::vector<std::string> all = {k + ">=1", "stride_" + l.in + ">=1"};
        if (dilates) all.push_back("dilation_" + l.in + ">=1");
        for (const std::string &c :
             {l.before + ">=0", l.after + ">=0", "max(" + l.before + "," + l.after + ")<" + reach,
              reach + "<=" + l.in + "+" + pads})
            all.push_back(c);
        conditions.insert(conditions.end(), all.begin(), all.end());
    }
};

struct MaxPool : Pool {
    MaxPool(int r, const std::string &mindspore)
        : Pool(
              "max_pool", r,
              "y = largest x of each window; NaN if there is one; padding never wins; the elements "
              "of a window are `dilation` apart",
              "", true) {
        alias = mindspore;
        const char *dilated[] = {" dilation=3", "", " dilation=1,2,2"};
        samples.push_back(samples[1] + dilated[r - 1]);
    }
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        const PlanarPool across(call, f, PlanarPool::across);
        const PlanarPool along_depth(call, f, PlanarPool::along_depth);
        const auto of_plane = [&](const Tensor &x) { return across.max(x); };
        if (rank == 1) return along_line(call[0], f, of_plane);
        return {
            by_planes(call[0], f, of_plane, [&](const Tensor &x) { return along_depth.max(x); })};
    }
    double value(const Problem &, const std::vector<double> &elements, int64_t) const override {
        return largest(elements);
    }
};

struct AvgPool : Pool {
    AvgPool(int r, const std::string &mindspore)
        : Pool("avg_pool", r,
               "y = sum of x over each window / its places, or / divisor_override where that isn't "
               "0; padding counts under count_include_pad") {
        alias = mindspore;
        flag("count_include_pad", true);
        attr("divisor_override", 0);
        conditions.push_back("divisor_override>=0");
        contract = {Contract::normwise, 8};
        samples.push_back(samples.back() + " count_include_pad=0");
        samples.push_back(samples.back() + " divisor_override=3");
    }
    // In three dimensions it is a mean of means, or a sum of sums if there is a divisor.
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        const int64_t divisor = f.at("divisor_override");
        const bool with_padding = f.at("count_include_pad") != 0;
        const PlanarPool across(call, f, PlanarPool::across);
        const PlanarPool along_depth(call, f, PlanarPool::along_depth);
        if (rank == 1) {
            return along_line(
                call[0], f, [&](const Tensor &x) { return across.avg(x, with_padding, divisor); });
        }
        const Tensor y = by_planes(
            wide(call[0]), f,
            [&](const Tensor &x) { return across.avg(x, with_padding, divisor ? 1 : 0); },
            [&](const Tensor &x) { return along_depth.avg(x, with_padding, divisor); });
        return {cast_to(y, call[0].dtype())};
    }
    double value(const Problem &p, const std::vector<double> &elements,
                 int64_t places) const override {
        return total(elements) / double(p["divisor_override"] ? p["divisor_override"] : places);
    }
};

struct LpPool : Pool {
    LpPool(int r, const std::string &mindspore)
        : Pool("lp_pool", r, "y = (sum of x^norm_type over each window)^(1/norm_type)") {
        alias = mindspore;
        real("norm_type", "2");
        let("x_least", "0");
        contract = {Contract::normwise, 16};
        samples[1] += " norm_type=3";
        samples[2] += " norm_type=1";
    }
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        if (rank == 2) return {lp_of(call[0], call, f)};
        return along_line(call[0], f, [&](const Tensor &x) { return lp_of(x, call, f); });
    }
    double value(const Problem &p, const std::vector<double> &elements, int64_t) const override {
        std::vector<double> powers;
        for (double v : elements)
            powers.push_back(std::pow(v, p.real("norm_type")));
        return std::pow(total(powers), 1 / p.real("norm_type"));
    }
};

struct Adaptive : Windowed {
    const PoolKind kind;
    Adaptive(PoolKind pool, int r, const std::string &formula)
        : Windowed(pool == PoolKind::avg ? "adaptive_avg_pool" : "adaptive_max_pool", r,
                   formula +
                       " of window i, [floor(i h / oh), ceil((i+1) h / oh)), in each dimension h"),
          kind(pool) {
        std::vector<std::string> outs;
        for (const Line &l : dims) {
            outs.push_back(l.out);
            conditions.push_back(l.out + ">=1");
            conditions.push_back(l.out + "<=2147483647");  // products of two stay in range
        }
        required("output_size", AttrKind::ints, outs);
        const std::vector<std::string> all_samples[] = {
            {"n=1 c=1 w=1 output_size=1", "n=2 c=3 w=18 output_size=6",
             "n=2 c=3 w=17 output_size=5", "n=1 c=2 w=3 output_size=7"},
            {"n=1 c=1 h=1 w=1 output_size=1,1", "n=2 c=3 h=6 w=9 output_size=2,3",
             "n=2 c=5 h=7 w=7 output_size=1,1", "n=2 c=3 h=7 w=10 output_size=3,7"},
            {"n=1 c=1 d=1 h=1 w=1 output_size=1,1,1", "n=2 c=2 d=5 h=7 w=6 output_size=3,2,3",
             "n=1 c=2 d=4 h=6 w=3 output_size=2,3,1"}};
        samples = all_samples[r - 1];
    }
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        if (rank == 1) {
            return along_line(call[0], f,
                              [&](const Tensor &x) { return adaptive_of(kind, x, 1, f.at("ow")); });
        }
        if (rank == 2) return {adaptive_of(kind, call[0], f.at("oh"), f.at("ow"))};
        const Tensor y = by_planes(
            kind == PoolKind::avg ? wide(call[0]) : call[0], f,
            [&](const Tensor &x) { return adaptive_of(kind, x, f.at("oh"), f.at("ow")); },
            [&](const Tensor &x) { return adaptive_of(kind, x, f.at("od"), x.shape()[3]); });
        return {cast_to(y, call[0].dtype())};
    }
    Interval interval(const Problem &p, const Line &l, int64_t i) const override {
        const int64_t n = p[l.in];
        const int64_t out = p[l.out];
        const int64_t begin = i * n / out;
        const int64_t end = ((i + 1) * n + out - 1) / out;
        return {begin, end, end - begin};
    }
};

struct AdaptiveAvg : Adaptive {
    AdaptiveAvg(int r, const std::string &mindspore) : Adaptive(PoolKind::avg, r, "y = mean") {
        alias = mindspore;
        contract = {Contract::normwise, 8};
    }
    double value(const Problem &, const std::vector<double> &elements,
                 int64_t places) const override {
        return total(elements) / double(places);
    }
};

struct AdaptiveMax : Adaptive {
    AdaptiveMax(int r, const std::string &mindspore) : Adaptive(PoolKind::max, r, "y = maximum") {
        alias = mindspore;
    }
    double value(const Problem &, const std::vector<double> &elements, int64_t) const override {
        return largest(elements);
    }
};

struct MaxWithIndices : Pool {
    MaxWithIndices(int r, const std::string &mindspore) : Pool("max_pool", r, "", "indices", true) {
        const char *places[] = {"column", "row * w + column", "(depth * h + row) * w + column"};
        doc = "y = max_pool" + std::string(digits[r]) +
              "(x); indices: where each window's first maximum is in its map, " + places[r - 1];
        alias = mindspore;
        const char *dilated[] = {" dilation=3", " dilation=2,3", " dilation=1,2,2"};
        samples.push_back(samples[1] + dilated[r - 1]);
    }
    Result compose(const Call &call) const override {
        const Dims f = facts_of(call.in, call.attrs);
        if (rank == 3) return of_volumes(call, f);
        const PlanarPool pool(call, f, PlanarPool::across);
        if (rank == 2) return {pool.max(call[0]), pool.max_indices(call[0])};
        const Tensor x = reshaped(call[0], {f.at("n"), f.at("c"), 1, f.at("w")});
        const Shape y = spatial(f, {"ow"});
        return {reshaped(pool.max(x), y), reshaped(pool.max_indices(x), y)};
    }
    double value(const Problem &, const std::vector<double> &elements, int64_t) const override {
        return largest(elements);
    }
    void reference(Problem &p) const override {
        Pool::reference(p);
        p.tensors["indices"] = of_windows(p, [](const std::vector<double> &elements,
                                                const std::vector<int64_t> &at, int64_t) {
            return double(
                at[size_t(std::max_element(elements.begin(), elements.end()) - elements.begin())]);
        });
    }

private:
    // The first maximum along depth selects a plane's window, and that window's first maximum is
    // the result.
    static Result of_volumes(const Call &call, const Dims &f) {
        const int64_t n = f.at("n"), c = f.at("c"), d = f.at("d");
        const int64_t area = f.at("oh") * f.at("ow");
        const int64_t plane = f.at("h") * f.at("w");
        const PlanarPool across(call, f, PlanarPool::across);
        const PlanarPool along_depth(call, f, PlanarPool::along_depth);
        const Tensor planes = reshaped(call[0], {n, c * d, f.at("h"), f.at("w")});
        const Tensor best = reshaped(across.max(planes), {n, c, d, area});
        const Tensor in_plane = reshaped(across.max_indices(planes), {n * c, d * area, 1});
        const Tensor y = along_depth.max(best);
        const Tensor window = reshaped(along_depth.max_indices(best),
                                       {n * c, f.at("od") * area, 1});
        const auto whole = [](int64_t v) { return Tensor::scalar(double(v), DType::i32); };
        const Tensor depth = F::floor_div(window, whole(area));
        const Tensor place = kernel::gather_elements(in_plane, window);
        const Tensor indices = depth * whole(plane) + place;
        const Shape shape = spatial(f, {"od", "oh", "ow"});
        return {reshaped(y, shape), reshaped(indices, shape)};
    }
};

struct MaxUnpool : Composite {
    MaxUnpool(int rank, const std::string &mindspore)
        : Composite("max_unpool" + std::string(digits[rank]), signature(rank), "") {
        doc = "y = 0 but for y[index] = x, an index being a place in a plane of output_size; where "
              "indices are equal, the sum";
        alias = mindspore;
        std::vector<std::string> outs;
        std::string places = "1";
        for (const Line &l : std::span(lines).last(size_t(rank))) {
            outs.push_back(l.out);
            places += "*" + l.out;
            conditions.push_back(l.out + ">=1");
        }
        required("output_size", AttrKind::ints, outs);
        let("indices_end", places);
        dtypes = {"f32", "f64"};
        contract = {Contract::normwise, 8};
        const std::vector<std::string> all_samples[] = {
            {"n=1 c=1 w=1 output_size=1", "n=2 c=3 w=5 output_size=11"},
            {"n=1 c=1 h=1 w=1 output_size=1,1", "n=2 c=3 h=2 w=4 output_size=5,7"},
            {"n=1 c=1 d=1 h=1 w=1 output_size=1,1,1", "n=2 c=2 d=2 h=2 w=3 output_size=5,4,7"}};
        samples = all_samples[rank - 1];
    }
    static std::string signature(int rank) {
        std::string in, out;
        for (const Line &l : std::span(lines).last(size_t(rank))) {
            in += "," + l.in;
            out += "," + l.out;
        }
        return "x[n,c" + in + "] indices:i32[n,c" + in + "] -> y[n,c" + out + "]";
    }
    // All planes are one row of elements, to which x is added at its indices.
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &indices = call[1];
        facts_of(call.in, call.attrs);
        Shape y{x.shape()[0], x.shape()[1]};
        for (int64_t extent : call.ints("output_size"))
            y.push_back(extent);
        const int64_t elements = checked_elements(call.op().c_str(), y);
        if (x.elements() == 0) return {Tensor::zeros(y, x.dtype())};
        const int64_t plane = elements / (y[0] * y[1]);
        std::vector<int32_t> at = indices.to_vector<int32_t>();
        const int64_t per_plane = x.elements() / (y[0] * y[1]);
        for (size_t k = 0; k < at.size(); k++) {
            if (at[k] < 0 || at[k] >= plane) {
                throw ShapeError(call.op(), "index " + std::to_string(k) + " is " +
                                                std::to_string(at[k]) + ", expected 0 to " +
                                                std::to_string(plane - 1));
            }
            at[k] += int32_t(int64_t(k) / per_plane * plane);
        }
        const int64_t n = int64_t(at.size());
        const Tensor whole = Tensor::empty({1}, x.dtype()).expand({1, y.elements(), 1});
        return {
            reshaped(kernel::gather_dx(whole, Tensor::from(at, {n}), reshaped(x, {1, n, 1})), y)};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &indices = p("indices");
        Shape s{p["n"], p["c"]};
        const Shape size = list(p, "output_size");
        for (int64_t e : size)
            s.push_back(e);
        Array y(s);
        const int64_t in = int64_t(x.v.size()) / (p["n"] * p["c"]);
        for (size_t i = 0; i < x.v.size(); i++)
            y.v[size_t(int64_t(i) / in * size.elements() + int64_t(indices.v[i]))] += x.v[i];
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<MaxPool>(1, "MaxPool1D");
    composites.add<MaxPool>(3, "MaxPool3D");
    composites.add<AvgPool>(1, "AvgPool1D");
    composites.add<AvgPool>(3, "AvgPool3D");
    composites.add<LpPool>(1, "LpPool1D");
    composites.add<LpPool>(2, "LpPool2D");
    composites.add<AdaptiveAvg>(1, "AdaptiveAvgPool1D");
    composites.add<AdaptiveAvg>(2, "AdaptiveAvgPool2D");
    composites.add<AdaptiveAvg>(3, "AdaptiveAvgPool3D");
    composites.add<AdaptiveMax>(1, "AdaptiveMaxPool1D");
    composites.add<AdaptiveMax>(2, "AdaptiveMaxPool2D");
    composites.add<AdaptiveMax>(3, "AdaptiveMaxPool3D");
    composites.add<MaxWithIndices>(1, "");
    composites.add<MaxWithIndices>(2, "MaxPoolWithArgmaxV2");
    composites.add<MaxWithIndices>(3, "MaxPool3DWithArgmax");
    composites.add<MaxUnpool>(1, "MaxUnpool1D");
    composites.add<MaxUnpool>(2, "MaxUnpool2D");
    composites.add<MaxUnpool>(3, "MaxUnpool3D");
}

}  // namespace halyard
