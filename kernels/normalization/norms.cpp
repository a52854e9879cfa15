// Norms, stated in terms of row_norm's and batch_norm's kernels: primitives/composites/norm.cpp.
// 16-bit floats are computed in f32.
#include "kernels/layout/composite.h"

#include <cmath>

namespace halyard {
namespace {

struct Norm : Composite {
    Norm(const std::string &n, const std::string &sig_text, const std::string &formula,
         double ulps = 16)
        : Composite(n, sig_text, formula) {
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::normwise, ulps};
    }
    // The elements that are brought to one mean and variance together are those of the same
    // group(place).
    template<class Group> static std::vector<double> normal(const std::vector<double> &x,
                                                            size_t groups, double eps, bool centred,
                                                            Group group) {
        std::vector<double> count(groups), mean(groups), squares(groups);
        std::vector<double> y(x.size());
        for (size_t i = 0; i < x.size(); i++) {
            count[group(i)]++;
            mean[group(i)] += centred ? x[i] : 0;
        }
        for (size_t i = 0; i < x.size(); i++)
            squares[group(i)] += std::pow(x[i] - mean[group(i)] / count[group(i)], 2);
        for (size_t i = 0; i < x.size(); i++) {
            y[i] = (x[i] - mean[group(i)] / count[group(i)]) /
                   std::sqrt(squares[group(i)] / count[group(i)] + eps);
        }
        return y;
    }
    // y = normal gamma + beta, both of x's last dimensions.
    static void finish(Problem &p, std::vector<double> normal, const Array &gamma,
                       const Array *beta) {
        Array y(p("x").shape);
        const size_t n = gamma.v.size();
        for (size_t i = 0; i < y.v.size(); i++)
            y.v[i] = normal[i] * gamma.v[i % n] + (beta ? beta->v[i % n] : 0);
        p.tensors["y"] = y;
    }
};

struct LayerNorm : Norm {
    LayerNorm()
        : Norm("layer_norm", "x[..n,c] gamma[c] beta[c] -> y[..n,c]",
               "y = (x - mean) / sqrt(variance + epsilon) gamma + beta, over dimensions "
               "begin_norm_axis to the last; gamma and beta have those from "
               "begin_params_axis on") {
        attr("begin_norm_axis", 1);
        attr("begin_params_axis", 1);
        attrs.push_back({"epsilon", AttrKind::real, "1e-7", {}, {}});
        samples = {"n=3 c=1", "n=2 c=17", "n=5 c=64"};
    }
    void reference(Problem &p) const override {
        const auto c = size_t(p["c"]);
        finish(p,
               normal(p("x").v, size_t(p["n"]), p.real("epsilon"), true,
                      [&](size_t i) { return i / c; }),
               p("gamma"), &p("beta"));
    }
};

struct RmsNorm : Norm {
    RmsNorm()
        : Norm("rms_norm", "x[..n,c] gamma[c] -> y[..n,c]",
               "y = x / sqrt(mean x^2 + epsilon) gamma, over gamma's dimensions, x's last") {
        attrs.push_back({"epsilon", AttrKind::real, "1e-6", {}, {}});
        samples = {"n=3 c=1", "n=2 c=17", "n=5 c=64"};
    }
    void reference(Problem &p) const override {
        const auto c = size_t(p["c"]);
        finish(p,
               normal(p("x").v, size_t(p["n"]), p.real("epsilon"), false,
                      [&](size_t i) { return i / c; }),
               p("gamma"), nullptr);
    }
};

// Channels are dimension 1 here, as data_format NCHW says.
struct ChannelNorm : Norm {
    using Norm::Norm;
    void solve(Problem &p, size_t groups,
               const std::function<size_t(size_t n, size_t c)> &group) const {
        const auto c = size_t(p["c"]);
        const auto s = size_t(p["s"]);
        std::vector<double> y = normal(p("x").v, groups, p.real("epsilon"), true,
                                       [&](size_t i) { return group(i / s / c, i / s % c); });
        for (size_t i = 0; i < y.size(); i++)
            y[i] = y[i] * p("gamma").v[i / s % c] + p("beta").v[i / s % c];
        p.tensors["y"] = p("x");
        p("y").v = y;
    }
};

struct BatchNorm : ChannelNorm {
    BatchNorm()
        : BatchNorm("batch_norm", "",
                    "y = (x - mean) / sqrt(variance + epsilon) gamma + beta, of each channel; "
                    "is_training: by the batch's own statistics, and mean and "
                    "variance (unbiased) move to them: mean = (1-momentum) mean + momentum batch") {
    }
    BatchNorm(const std::string &op, const std::string &shortcut, const std::string &formula)
        : ChannelNorm(op,
                      "x[n,c,s] gamma[c] beta[c] mean[c] variance[c]" + shortcut + " -> y[n,c,s]",
                      formula) {
        flag("is_training", false);
        attrs.push_back({"epsilon", AttrKind::real, "1e-5", {}, {}});
        attrs.push_back({"momentum", AttrKind::real, "0.1", {}, {}});
        choice("data_format", {"NCHW", "NHWC"});
        let("variance_least", "1");
        samples = {"n=1 c=1 s=2", "n=2 c=3 s=7", "n=2 c=3 s=1", "n=2 c=3 s=7 is_training=1",
                   "n=3 c=17 s=1 is_training=1"};
    }
    void reference(Problem &p) const override {
        if (p["is_training"]) return solve(p, size_t(p["c"]), [](size_t, size_t c) { return c; });
        const auto c = size_t(p["c"]);
        const auto s = size_t(p["s"]);
        Array y = p("x");
        for (size_t i = 0; i < y.v.size(); i++) {
            const size_t k = i / s % c;
            y.v[i] = (y.v[i] - p("mean").v[k]) / std::sqrt(p("variance").v[k] + p.real("epsilon")) *
                         p("gamma").v[k] +
                     p("beta").v[k];
        }
        p.tensors["y"] = y;
    }
};

// With what follows it in residual networks: relu, or a shortcut and relu.
struct BatchNormRelu : BatchNorm {
    const bool shortcut;
    explicit BatchNormRelu(bool with_z)
        : BatchNorm(with_z ? "batch_norm_add_relu" : "batch_norm_relu", with_z ? " z[n,c,s]" : "",
                    std::string("y = max(batch_norm(x)") + (with_z ? " + z" : "") +
                        ", 0), in training without a pass of its own"),
          shortcut(with_z) {
        alias = with_z ? "BatchNormWithAddAndActivation" : "BatchNormWithActivation";
    }
    void reference(Problem &p) const override {
        BatchNorm::reference(p);
        Array &y = p("y");
        for (size_t i = 0; i < y.v.size(); i++) {
            const double v = y.v[i] + (shortcut ? p("z").v[i] : 0);
            y.v[i] = v < 0 ? 0 : v;
        }
    }
};

struct InstanceNorm : ChannelNorm {
    InstanceNorm()
        : ChannelNorm(
              "instance_norm", "x[n,c,s] gamma[c] beta[c] -> y[n,c,s]",
              "y = (x - mean) / sqrt(variance + epsilon) gamma + beta, of each image's channel") {
        attrs.push_back({"epsilon", AttrKind::real, "1e-5", {}, {}});
        samples = {"n=2 c=3 s=7", "n=1 c=2 s=65"};
    }
    void reference(Problem &p) const override {
        solve(p, size_t(p["n"] * p["c"]),
              [&](size_t n, size_t c) { return n * size_t(p["c"]) + c; });
    }
};

struct GroupNorm : ChannelNorm {
    GroupNorm()
        : ChannelNorm("group_norm", "x[n,c,s] gamma[c] beta[c] -> y[n,c,s]",
                      "y = (x - mean) / sqrt(variance + epsilon) gamma + beta, of num_groups "
                      "groups of channels of each image") {
        attrs.push_back({"num_groups", AttrKind::integer, "!", {}, {}});
        attrs.push_back({"epsilon", AttrKind::real, "1e-5", {}, {}});
        samples = {"n=2 c=4 s=7 num_groups=2", "n=1 c=3 s=33 num_groups=1",
                   "n=2 c=6 s=5 num_groups=6"};
    }
    void reference(Problem &p) const override {
        const auto groups = size_t(p["num_groups"]);
        const auto each = size_t(p["c"]) / groups;
        solve(p, size_t(p["n"]) * groups,
              [&](size_t n, size_t c) { return n * groups + c / each; });
    }
};

struct L2Normalize : Norm {
    L2Normalize()
        : Norm("l2_normalize", "x[n,c] -> y[n,c]",
               "y = x / sqrt(max(sum x^2, epsilon)), sums along axis") {
        attr("axis", 0);
        attrs.push_back({"epsilon", AttrKind::real, "1e-4", {}, {}});
        samples = {"n=3 c=1", "n=5 c=17", "n=2 c=33 axis=-1"};
    }
    void reference(Problem &p) const override {
        const auto c = size_t(p["c"]);
        Array y = p("x");
        std::vector<double> sums(y.v.size());
        auto group = [&](size_t i) { return p["axis"] == 0 ? i % c : i / c; };
        for (size_t i = 0; i < y.v.size(); i++)
            sums[group(i)] += y.v[i] * y.v[i];
        for (size_t i = 0; i < y.v.size(); i++)
            y.v[i] /= std::sqrt(std::fmax(sums[group(i)], p.real("epsilon")));
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<LayerNorm>();
    ops.add<RmsNorm>();
    ops.add<BatchNorm>();
    ops.add<BatchNormRelu>(false);
    ops.add<BatchNormRelu>(true);
    ops.add<InstanceNorm>();
    ops.add<GroupNorm>();
    ops.add<L2Normalize>();
}

}  // namespace halyard
