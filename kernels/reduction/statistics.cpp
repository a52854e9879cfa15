// Reductions of reductions: primitives/composites/statistics.cpp states them in terms of others.
// 16-bit floats are computed in f32.
#include <cmath>

#include "kernels/layout/composite.h"

namespace halyard {
namespace {

struct Statistic : Composite {
    Statistic(const std::string &n, const std::string &formula, double ulps)
        : Composite(n, "x[*] -> y[*]", formula) {
        attrs.push_back({"axis", AttrKind::ints, "", {}, {}, true});
        attrs.push_back({"keep_dims", AttrKind::boolean, "0", {}, {}, true});
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::normwise, ulps};
        samples = {"d0=1 d1=1 d2=2 axis=2", "d0=2 d1=3 d2=5", "d0=3 d1=4 d2=33 axis=0,2",
                   "d0=7 d1=2 d2=31 axis=-1 keep_dims=1"};
    }
    virtual double value(const Problem &p, const std::vector<double> &x) const = 0;

    void reference(Problem &p) const override {
        const Array x = p("x");
        const Shape axes = list(p, "axis");
        Shape kept = x.shape;
        Shape s;
        for (int d = 0; d < x.shape.rank(); d++) {
            bool reduced = axes.empty();
            for (int64_t a : axes)
                reduced |= wrapped(a, x.shape.rank()) == d;
            if (reduced) kept[d] = 1;
            if (!reduced || p["keep_dims"]) s.push_back(kept[d]);
        }
        std::vector<std::vector<double>> elements(static_cast<size_t>(kept.elements()));
        for (int64_t i = 0; i < int64_t(x.v.size()); i++) {
            int64_t rest = i;
            int64_t at = 0, stride = 1;
            for (int d = x.shape.rank(); d-- > 0;) {
                at += (kept[d] == 1 ? 0 : rest % x.shape[d]) * stride;
                rest /= x.shape[d];
                stride *= kept[d];
            }
            elements[size_t(at)].push_back(x.v[size_t(i)]);
        }
        Array y(s);
        for (size_t k = 0; k < y.v.size(); k++)
            y.v[k] = value(p, elements[k]);
        p.tensors["y"] = y;
    }
};

struct LogSumExp : Statistic {
    LogSumExp() : Statistic("logsumexp", "y = log sum exp(x), over axis", 8) {
        alias = "LogSumExp";
    }
    double value(const Problem &, const std::vector<double> &x) const override {
        double most = -INFINITY;
        double sum = 0;
        for (double v : x)
            most = std::fmax(most, v);
        for (double v : x)
            sum += std::exp(v - most);
        return most + std::log(sum);
    }
};

struct Variance : Statistic {
    const bool root;
    explicit Variance(bool is_root)
        : Statistic(is_root ? "std" : "var",
                    is_root ? "y = sqrt(var(x))" : "y = sum (x - mean x)^2 / (n - ddof), over axis",
                    16),
          root(is_root) {
        attrs.push_back({"ddof", AttrKind::integer, "0", {}, {}, true});
        samples.push_back("d0=3 d1=4 d2=5 axis=1 ddof=1");
    }
    double value(const Problem &p, const std::vector<double> &x) const override {
        double mean = 0, sum = 0;
        for (double v : x)
            mean += v / double(x.size());
        for (double v : x)
            sum += (v - mean) * (v - mean);
        const double y = sum / (double(x.size()) - double(p["ddof"]));
        return root ? std::sqrt(y) : y;
    }
};

struct Norm : Statistic {
    Norm()
        : Statistic("norm",
                    "y = (sum |x|^ord)^(1/ord), over axis; ord inf: max |x|, -inf: min |x|, 0: how "
                    "many x aren't 0",
                    16) {
        attrs.push_back({"ord", AttrKind::real, "2", {}, {}, true});
        for (const char *ord : {"1", "0", "inf", "-inf", "3"})
            samples.push_back(std::string("d0=3 d1=4 d2=5 axis=1 ord=") + ord);
    }
    double value(const Problem &p, const std::vector<double> &x) const override {
        const double ord = p.real("ord");
        double sum = 0, most = 0;
        double least = INFINITY;
        for (double v : x) {
            sum += ord == 0 ? v != 0 : std::pow(std::fabs(v), ord);
            most = std::fmax(most, std::fabs(v));
            least = std::fmin(least, std::fabs(v));
        }
        return std::isinf(ord) ? (ord > 0 ? most : least) : ord == 0 ? sum : std::pow(sum, 1 / ord);
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<LogSumExp>();
    ops.add<Variance>(false);
    ops.add<Variance>(true);
    ops.add<Norm>();
}

}  // namespace halyard
