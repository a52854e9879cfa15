// Pooling along one and three dimensions, to a given number of windows, by other norms, and undone:
// primitives/composites/pools.cpp states these in terms of avg_pool2d, max_pool2d and the kernels
// of kernels/pooling/adaptive_pool2d.cpp.
#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/layout/composite.h"
#include "registry/base/text.h"

namespace halyard {
namespace {

// One spatial dimension: names of its extents in x and y, and of the padding before and after.
struct Line {
    std::string in, out, before, after;
};
const Line lines[] = {
    {"d", "od", "front", "back"}, {"h", "oh", "top", "bottom"}, {"w", "ow", "left", "right"}};
constexpr const char *digits[] = {"", "1d", "2d", "3d"};

// y is made of the elements of x in a window; windows are products of one interval per dimension.
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
        int64_t begin, end, places;  // of the map; places: the padding that counts included
    };
    virtual Interval interval(const Problem &p, const Line &l, int64_t i) const = 0;
    virtual double value(const Problem &p, const std::vector<double> &elements,
                         int64_t places) const = 0;

    void reference(Problem &p) const override {
        p.tensors["y"] = of_windows(p, [&](const auto &elements, const auto &, int64_t n) {
            return value(p, elements, n);
        });
    }

    // What f(elements, their places in x's plane, number of places) makes of every window.
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
            std::vector<int64_t> at{rest};  // places of the window's elements, line by line
            for (int d = 0; d < rank; d++) {
                std::vector<int64_t> finer;
                for (int64_t a : at) {
                    for (int64_t k = of[size_t(d)].begin; k < of[size_t(d)].end; k++)
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
    void per_dimension(const std::string &name, const std::string &value) {
        std::vector<std::string> parts;
        for (const Line &l : dims)
            parts.push_back(name + "_" + l.in);
        ints(name, value == "!" ? value : join(std::vector<std::string>(parts.size(), value), ","),
             parts);
    }
    static double largest(const std::vector<double> &elements) {
        double most = -INFINITY;
        for (double v : elements)
            if (v > most || std::isnan(v)) most = v;
        return most;
    }
    static double total(const std::vector<double> &elements) {
        double sum = 0;
        for (double v : elements)
            sum += v;
        return sum;
    }
};

// The windows of max_pool2d and avg_pool2d.
struct Pool : Windowed {
    Pool(const std::string &n, int r, const std::string &formula, const std::string &more = "")
        : Windowed(n, r, formula, more) {
        per_dimension("kernel_size", "1");
        per_dimension("stride", "1");
        choice("pad_mode", {"valid", "same", "pad"});
        std::vector<std::string> sides, zeros;
        for (const Line &l : dims) {
            sides.insert(sides.end(), {l.before, l.after});
            zeros.insert(zeros.end(), 2, "0");
        }
        ints("padding", join(zeros, ","), sides);
        flag("ceil_mode", false);
        std::string all;
        for (const std::string &side : sides)
            all += (all.empty() ? "" : "+") + side;
        conditions.push_back("pad_mode==pad||" + all + "==0");
        for (const Line &l : dims) {
            const std::string k = "kernel_size_" + l.in;
            const std::string s = "max(1,stride_" + l.in + ")";
            const std::string pads = "pads_" + l.in;
            const std::string full = "full_" + l.in;
            let(pads, "pad_mode==same?max(0,(cdiv(" + l.in + "," + s + ")-1)*" + s + "+" + k + "-" +
                          l.in + "):" + l.before + "+" + l.after);
            let("before_" + l.in, "pad_mode==same?" + pads + "/2:" + l.before);
            let(full, "(" + l.in + "+" + pads + "-" + k + "+ceil_mode*(" + s + "-1))/" + s + "+1");
            let(l.out, "pad_mode==same?cdiv(" + l.in + "," + s + "):" + full + "-((" + full +
                           "-1)*" + s + ">=" + l.in + "+" + l.before + ")");
            for (const std::string &c :
                 {k + ">=1", "stride_" + l.in + ">=1", l.before + ">=0", l.after + ">=0",
                  "max(" + l.before + "," + l.after + ")<" + k, k + "<=" + l.in + "+" + pads})
                conditions.push_back(c);
        }
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
        const int64_t from = i * p["stride_" + l.in] - p["before_" + l.in];
        const int64_t to = from + p["kernel_size_" + l.in];
        const int64_t n = p[l.in];
        const int64_t begin = std::max<int64_t>(from, 0);
        const int64_t end = std::min(to, n);
        const auto include = p.dims.find("count_include_pad");
        const bool all = p["pad_mode"] != 1 && include != p.dims.end() && include->second;
        return {begin, end, all ? std::min(to, n + p[l.after]) - from : end - begin};
    }
};

struct MaxPool : Pool {
    MaxPool(int r, const std::string &mindspore)
        : Pool("max_pool", r,
               "y = largest x of each window; NaN if there is one; padding never wins") {
        alias = mindspore;
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
    double value(const Problem &p, const std::vector<double> &elements,
                 int64_t places) const override {
        return total(elements) / double(p["divisor_override"] ? p["divisor_override"] : places);
    }
};

struct LpPool : Pool {
    LpPool(int r, const std::string &mindspore)
        : Pool("lp_pool", r, "y = (sum of x^norm_type over each window)^(1/norm_type)") {
        alias = mindspore;
        attrs.push_back({"norm_type", AttrKind::real, "2", {}, {}});
        let("x_least", "0");
        contract = {Contract::normwise, 16};
        samples[1] += " norm_type=3";
        samples[2] += " norm_type=1";
    }
    double value(const Problem &p, const std::vector<double> &elements, int64_t) const override {
        std::vector<double> powers;
        for (double v : elements)
            powers.push_back(std::pow(v, p.real("norm_type")));
        return std::pow(total(powers), 1 / p.real("norm_type"));
    }
};

struct Adaptive : Windowed {
    Adaptive(const std::string &n, int r, const std::string &formula)
        : Windowed(n, r,
                   formula +
                       " of window i, [floor(i h / oh), ceil((i+1) h / oh)), in each dimension h") {
        std::vector<std::string> outs;
        for (const Line &l : dims) {
            outs.push_back(l.out);
            conditions.push_back(l.out + ">=1");
        }
        ints("output_size", "!", outs);
        const std::vector<std::string> all_samples[] = {
            {"n=1 c=1 w=1 output_size=1", "n=2 c=3 w=18 output_size=6",
             "n=2 c=3 w=17 output_size=5", "n=1 c=2 w=3 output_size=7"},
            {"n=1 c=1 h=1 w=1 output_size=1,1", "n=2 c=3 h=6 w=9 output_size=2,3",
             "n=2 c=5 h=7 w=7 output_size=1,1", "n=2 c=3 h=7 w=10 output_size=3,7"},
            {"n=1 c=1 d=1 h=1 w=1 output_size=1,1,1", "n=2 c=2 d=5 h=7 w=6 output_size=3,2,3",
             "n=1 c=2 d=4 h=6 w=3 output_size=2,3,1"}};
        samples = all_samples[r - 1];
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
    AdaptiveAvg(int r, const std::string &mindspore)
        : Adaptive("adaptive_avg_pool", r, "y = mean") {
        alias = mindspore;
        contract = {Contract::normwise, 8};
    }
    double value(const Problem &, const std::vector<double> &elements,
                 int64_t places) const override {
        return total(elements) / double(places);
    }
};

struct AdaptiveMax : Adaptive {
    AdaptiveMax(int r, const std::string &mindspore)
        : Adaptive("adaptive_max_pool", r, "y = maximum") {
        alias = mindspore;
    }
    double value(const Problem &, const std::vector<double> &elements, int64_t) const override {
        return largest(elements);
    }
};

struct MaxWithIndices : Pool {
    MaxWithIndices(int r, const std::string &mindspore) : Pool("max_pool", r, "", "indices") {
        const char *places[] = {"column", "row * w + column", "(depth * h + row) * w + column"};
        doc = "y = max_pool" + std::string(digits[r]) +
              "(x); indices: where each window's first maximum is in its map, " + places[r - 1];
        alias = mindspore;
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
        ints("output_size", "!", outs);
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

HALYARD_OPS {
    ops.add<MaxPool>(1, "MaxPool1D");
    ops.add<MaxPool>(3, "MaxPool3D");
    ops.add<AvgPool>(1, "AvgPool1D");
    ops.add<AvgPool>(3, "AvgPool3D");
    ops.add<LpPool>(1, "LpPool1D");
    ops.add<LpPool>(2, "LpPool2D");
    ops.add<AdaptiveAvg>(1, "AdaptiveAvgPool1D");
    ops.add<AdaptiveAvg>(2, "AdaptiveAvgPool2D");
    ops.add<AdaptiveAvg>(3, "AdaptiveAvgPool3D");
    ops.add<AdaptiveMax>(1, "AdaptiveMaxPool1D");
    ops.add<AdaptiveMax>(2, "AdaptiveMaxPool2D");
    ops.add<AdaptiveMax>(3, "AdaptiveMaxPool3D");
    ops.add<MaxWithIndices>(1, "");
    ops.add<MaxWithIndices>(2, "MaxPoolWithArgmaxV2");
    ops.add<MaxWithIndices>(3, "MaxPool3DWithArgmax");
    ops.add<MaxUnpool>(1, "MaxUnpool1D");
    ops.add<MaxUnpool>(2, "MaxUnpool2D");
    ops.add<MaxUnpool>(3, "MaxUnpool3D");
}

}  // namespace halyard
