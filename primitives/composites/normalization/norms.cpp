// Norms, composed of the kernels of layer_norm and batch_norm. 16-bit floats are computed in f32.
#include "primitives/composites/composite.h"

#include <algorithm>
#include <cmath>

#include "primitives/autograd/tape.h"
#include "primitives/operators.h"
#include "primitives/ops/batch_norm_nchw.h"
#include "primitives/ops/batch_norm_nhwc.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/conv2d.h"
#include "primitives/ops/formula.h"
#include "primitives/ops/layer_norm.h"
#include "primitives/ops/loss_terms.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"

namespace halyard {
namespace {

// Returns the dtype of the arithmetic: f32 for 16-bit floats.
DType arithmetic_of(const Tensor &x) {
    return bytes_of(x.dtype()) == 2 ? DType::f32 : x.dtype();
}

// Throws ShapeError unless t, which `op` calls `name`, has `shape`.
void expect_shape(const Call &call, const char *name, const Tensor &t, const Shape &shape,
                  const Tensor &x) {
    if (!(t.shape() == shape)) {
        throw ShapeError(call.op(), std::string(name) + " has shape " + t.shape().text() +
                                        ", expected " + shape.text() + " from x" +
                                        x.shape().text());
    }
}

Shape last_dimensions(const Tensor &x, int from) {
    return Shape(x.shape().begin() + from, x.shape().end());
}

// Normalises each channel of planes[n,c,s], or of [r,c] with channels last. Returns y, mean, rest,
// variance.
std::array<Tensor, 4> by_batch(const Tensor &x, const Tensor &gamma, const Tensor &beta,
                               double epsilon) {
    return x.rank() == 3 ? kernel::batch_norm_planes(x, gamma, beta, epsilon)
                         : kernel::batch_norm_channels(x, gamma, beta, epsilon);
}

// Returns y with the epilogue of batch_norm_relu, or of batch_norm_add_relu, whose last input is z.
Tensor followed(const Tensor &y, const Call &call) {
    if (call.op() == "batch_norm") return y;
    return F::relu(call.in.size() == 6 ? y + cast_to(call[5], y.dtype()) : y);
}

// Updates the running statistics with the batch's, in place. Nothing is recorded.
void move_running(const Call &call, const Tensor &running, const Tensor &batch, double unbiased) {
    const StopTape stop;
    const double momentum = call.real("momentum");
    const auto times = [](const Tensor &t, double by) { return t * by; };
    running.assign(times(running, 1 - momentum) +
                   times(cast_to(batch, running.dtype()), momentum * unbiased));
}

// Normalises each group of channels of each image, as one channel of a single image.
Tensor by_groups(const Tensor &x, int64_t groups, const Tensor &gamma, const Tensor &beta,
                 double epsilon) {
    return reshaped(
        by_batch(reshaped(x, {1, groups, x.elements() / groups}), gamma, beta, epsilon)[0],
        x.shape());
}

int64_t channels_of(const Call &call) {
    const Tensor &x = call[0];
    if (x.rank() < 2) {
        throw ShapeError(call.op(),
                         "x has rank " + std::to_string(x.rank()) + ", expected at least 2");
    }
    expect_shape(call, "gamma", call[1], {x.shape()[1]}, x);
    expect_shape(call, "beta", call[2], {x.shape()[1]}, x);
    return x.shape()[1];
}

struct Norm : Composite {
    Norm(const std::string &n, const std::string &sig_text, const std::string &formula,
         double ulps = 16)
        : Composite(n, sig_text, formula) {
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::normwise, ulps};
    }
    // Elements with the same group(index) are normalised together.
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
    // Sets y = normal gamma + beta. gamma and beta have x's last dimensions.
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
        real("epsilon", "1e-7");
        samples = {"n=3 c=1", "n=2 c=17", "n=5 c=64"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const int norm = normal_axis("layer_norm", call.integer("begin_norm_axis"), x.rank());
        const int params = normal_axis("layer_norm", call.integer("begin_params_axis"), x.rank());
        expect_shape(call, "gamma", call[1], last_dimensions(x, params), x);
        expect_shape(call, "beta", call[2], last_dimensions(x, params), x);
        const int64_t c = last_dimensions(x, norm).elements();
        if (x.elements() == 0) return {x};
        const Tensor rows = reshaped(x, {x.elements() / c, c});
        const auto run = [&](const Tensor &gamma, const Tensor &beta) {
            return reshaped(kernel::layer_norm(rows, reshaped(gamma, {c}), reshaped(beta, {c}),
                                               call.real("epsilon")),
                            x.shape());
        };
        if (norm == params) return {run(call[1], call[2])};
        return {run1(
            "addcmul",
            {call[2], run(Tensor::ones({c}, x.dtype()), Tensor::zeros({c}, x.dtype())), call[1]})};
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
        real("epsilon", "1e-6");
        samples = {"n=3 c=1", "n=2 c=17", "n=5 c=64"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &gamma = call[1];
        if (gamma.rank() == 0 || gamma.rank() > x.rank()) {
            throw ShapeError("rms_norm", "gamma has rank " + std::to_string(gamma.rank()) +
                                             ", expected 1 to " + std::to_string(x.rank()));
        }
        expect_shape(call, "gamma", gamma, last_dimensions(x, x.rank() - gamma.rank()), x);
        const int64_t c = gamma.elements();
        if (x.elements() == 0) return {x};
        return {reshaped(kernel::rms_norm(reshaped(x, {x.elements() / c, c}), reshaped(gamma, {c}),
                                          call.real("epsilon")),
                         x.shape())};
    }
    void reference(Problem &p) const override {
        const auto c = size_t(p["c"]);
        finish(p,
               normal(p("x").v, size_t(p["n"]), p.real("epsilon"), false,
                      [&](size_t i) { return i / c; }),
               p("gamma"), nullptr);
    }
};

// The base of norms whose channels are dimension 1, as data_format NCHW says.
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
        real("epsilon", "1e-5");
        real("momentum", "0.1");
        choice<F::DataFormat>("data_format");
        let("variance_least", "1");
        contract.measure = Contract::products;  // the offset and the shortcut may cancel the rest
        samples = {"n=1 c=1 s=2", "n=2 c=3 s=7", "n=2 c=3 s=1", "n=2 c=3 s=7 is_training=1",
                   "n=3 c=17 s=1 is_training=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const bool channels_last = call.integer("data_format") == F::DataFormat::NHWC;
        if (x.rank() < 2) {
            throw ShapeError("batch_norm",
                             "x has rank " + std::to_string(x.rank()) + ", expected at least 2");
        }
        const int64_t c = x.shape()[channels_last ? x.rank() - 1 : 1];
        const char *names[] = {"x", "gamma", "beta", "mean", "variance"};
        for (size_t k = 1; k < 5; k++)
            expect_shape(call, names[k], call[k], {c}, x);
        if (call.in.size() == 6) expect_shape(call, "z", call[5], x.shape(), x);
        if (x.elements() == 0) return {x};
        const DType d = arithmetic_of(x);
        const double epsilon = call.real("epsilon");
        if (!call.integer("is_training")) {
            Shape s{c};
            for (int k = 2; k < x.rank() && !channels_last; k++)
                s.push_back(1);
            const auto of_channels = [&](const Tensor &t) { return reshaped(cast_to(t, d), s); };
            const Tensor scale = of_channels(call[1]) *
                                 F::rsqrt(of_channels(call[4]) + Tensor::scalar(epsilon, d));
            const Tensor y = kernel::normalize(cast_to(x, d), of_channels(call[3]), scale,
                                               of_channels(call[2]));
            return {cast_to(followed(y, call), x.dtype())};
        }
        const int64_t n = x.elements() / c;
        const Shape planes{x.shape()[0], c, n / x.shape()[0]};
        const bool alone = call.op() == "batch_norm";
        const bool fused = !alone && !channels_last && d == DType::f32;
        const Tensor view = reshaped(alone ? x : cast_to(x, d),
                                     channels_last ? Shape{n, c} : planes);
        const Tensor gamma = cast_to(call[1], d);
        const Tensor beta = cast_to(call[2], d);
        std::array<Tensor, 4> out;
        if (!fused)
            out = by_batch(view, gamma, beta, epsilon);
        else if (call.in.size() == 5)
            out = kernel::batch_norm_relu_planes(view, gamma, beta, epsilon);
        else {
            out = kernel::batch_norm_add_relu_planes(
                view, gamma, beta, reshaped(cast_to(call[5], d), planes), epsilon);
        }
        move_running(call, call[3], out[1], 1);
        move_running(call, call[4], out[3], n > 1 ? double(n) / double(n - 1) : 1);
        const Tensor y = reshaped(out[0], x.shape());
        return {cast_to(fused ? y : followed(y, call), x.dtype())};
    }
    void reference(Problem &p) const override {
        if (p["is_training"]) {
            solve(p, size_t(p["c"]), [](size_t, size_t c) { return c; });
            p.abs_sum["y"] = filled_with_largest(p("y"));
            return;
        }
        const auto c = size_t(p["c"]);
        const auto s = size_t(p["s"]);
        Array y = p("x");
        Array terms = y;
        for (size_t i = 0; i < y.v.size(); i++) {
            const size_t k = i / s % c;
            terms.v[i] = (std::fabs(y.v[i]) + std::fabs(p("mean").v[k])) /
                             std::sqrt(p("variance").v[k] + p.real("epsilon")) *
                             std::fabs(p("gamma").v[k]) +
                         std::fabs(p("beta").v[k]);
            y.v[i] = (y.v[i] - p("mean").v[k]) / std::sqrt(p("variance").v[k] + p.real("epsilon")) *
                         p("gamma").v[k] +
                     p("beta").v[k];
        }
        p.tensors["y"] = y;
        p.abs_sum["y"] = terms;
    }
    // The errors of a batch's statistics are relative to its largest result.
    static Array filled_with_largest(const Array &y) {
        double largest = 0;
        for (const double v : y.v)
            largest = std::max(largest, std::fabs(v));
        Array all(y.shape);
        std::ranges::fill(all.v, largest);
        return all;
    }
};

// batch_norm with the epilogue of residual networks: relu, or a shortcut and relu.
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
            const double z = shortcut ? p("z").v[i] : 0;
            const double v = y.v[i] + z;
            y.v[i] = v < 0 ? 0 : v;
            p.abs_sum["y"].v[i] += std::fabs(z);
        }
    }
};

struct InstanceNorm : ChannelNorm {
    InstanceNorm()
        : ChannelNorm(
              "instance_norm", "x[n,c,s] gamma[c] beta[c] -> y[n,c,s]",
              "y = (x - mean) / sqrt(variance + epsilon) gamma + beta, of each image's channel") {
        real("epsilon", "1e-5");
        samples = {"n=2 c=3 s=7", "n=1 c=2 s=65"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const int64_t n = x.shape().rank() ? x.shape()[0] : 1;
        const int64_t c = channels_of(call);
        if (x.elements() == 0) return {x};
        const auto of_images = [&](const Tensor &t) {
            return reshaped(broadcast_view(cast_to(t, arithmetic_of(x)), {n, c}), {n * c});
        };
        return {by_groups(x, n * c, of_images(call[1]), of_images(call[2]), call.real("epsilon"))};
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
        required("num_groups", AttrKind::integer);
        real("epsilon", "1e-5");
        samples = {"n=2 c=4 s=7 num_groups=2", "n=1 c=3 s=33 num_groups=1",
                   "n=2 c=6 s=5 num_groups=6"};
    }
    Result compose(const Call &call) const override {
        const int64_t c = channels_of(call);
        const int64_t groups = call.integer("num_groups");
        if (groups < 1 || c % groups) {
            throw AttrError("group_norm", "num_groups is " + std::to_string(groups) +
                                              ", expected a divisor of c, " + std::to_string(c));
        }
        if (call[0].elements() == 0) return {call[0]};
        const DType d = arithmetic_of(call[0]);
        const Tensor x = cast_to(call[0], d);
        const int64_t all = x.shape()[0] * groups;
        Shape s{c};
        for (int k = 2; k < x.rank(); k++)
            s.push_back(1);
        const Tensor normal = by_groups(x, all, Tensor::ones({all}, d), Tensor::zeros({all}, d),
                                        call.real("epsilon"));
        return {cast_to(
            F::addcmul(reshaped(cast_to(call[2], d), s), normal, reshaped(cast_to(call[1], d), s)),
            call[0].dtype())};
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
        real("epsilon", "1e-4");
        samples = {"n=3 c=1", "n=5 c=17", "n=2 c=33 axis=-1"};
    }
    Result compose(const Call &call) const override {
        const DType d = arithmetic_of(call[0]);
        const Tensor x = cast_to(call[0], d);
        const int axis = normal_axis("l2_normalize", call.integer("axis"), x.rank());
        const Tensor squares = F::reduce_sum(F::square(x), {axis}, true);
        return {cast_to(x * F::rsqrt(F::maximum(squares, Tensor::scalar(call.real("epsilon"), d))),
                        call[0].dtype())};
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

// normalize_kernel is y = (x - mean) scale + offset. Returns -scale dy. in = {scale, dy}.
Tensor minus_product(Tensors in, const RegisteredOp &, const Attrs &) {
    return -(in[0] * in[1]);
}

// Returns (x - mean) dy. in = {x, mean, dy}.
Tensor deviation_product(Tensors in, const RegisteredOp &, const Attrs &) {
    return (in[0] - in[1]) * in[2];
}

}  // namespace

HALYARD_COMPOSITES {
    composites.add<LayerNorm>();
    composites.add<RmsNorm>();
    composites.add<BatchNorm>();
    composites.add<BatchNormRelu>(false);
    composites.add<BatchNormRelu>(true);
    composites.add<InstanceNorm>();
    composites.add<GroupNorm>();
    composites.add<L2Normalize>();
    composites.gradient({"normalize_kernel", "x", {"scale", "dy"}, product_gradient});
    composites.gradient({"normalize_kernel", "mean", {"scale", "dy"}, minus_product});
    composites.gradient({"normalize_kernel", "scale", {"x", "mean", "dy"}, deviation_product});
    composites.gradient({"normalize_kernel", "offset", {"dy"}, pass_gradient});
}

}  // namespace halyard
