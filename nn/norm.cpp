#include "nn/norm.h"

#include <sstream>

#include "primitives/ops/norms.h"

namespace halyard::nn {
namespace {

std::string repr(const char *name, int64_t features, const char *eps_name, double eps) {
    std::ostringstream out;
    out << name << "=" << features << ", " << eps_name << "=" << eps;
    return out.str();
}
std::string repr(const Shape &shape, double eps) {
    std::ostringstream out;
    out << "normalized_shape=" << shape.text() << ", epsilon=" << eps;
    return out.str();
}

}  // namespace

template<int N> BatchNorm<N>::BatchNorm(int64_t num_features, const BatchNormOptions &o)
    : eps_(o.eps), momentum_(o.momentum), use_batch_statistics_(o.use_batch_statistics),
      data_format_(o.data_format), activation_(o.activation) {
    const std::string layer = with_rank<N>("BatchNorm");
    check_min(layer, "num_features", num_features, 1);
    if (!(o.momentum >= 0 && o.momentum <= 1)) {
        throw AttrError(layer, "momentum is " + std::to_string(o.momentum) +
                                   ", expected 0 <= momentum <= 1");
    }
    if (!(o.eps >= 0))
        throw AttrError(layer, "eps is " + std::to_string(o.eps) + ", expected at least 0");
    if (o.data_format != "NCHW" && !(N == 2 && o.data_format == "NHWC")) {
        throw AttrError(layer, "data_format is " + o.data_format + ", expected NCHW" +
                                   (N == 2 ? " or NHWC" : ""));
    }
    if (!o.activation.empty() && o.activation != "relu")
        throw AttrError(layer, "activation is " + o.activation + ", expected relu or none");
    const Shape shape{num_features};
    moving_mean = parameter("moving_mean", initializer(o.moving_mean_init, shape), false);
    moving_variance = parameter("moving_variance", initializer(o.moving_var_init, shape), false);
    gamma = parameter("gamma", initializer(o.gamma_init, shape), o.affine);
    beta = parameter("beta", initializer(o.beta_init, shape), o.affine);
}

template<int N> bool BatchNorm<N>::uses_batch_statistics(const Tensor &x) const {
    if (x.rank() != N + 2 && !(N == 1 && x.rank() == 2)) {
        throw ShapeError(cls_name(), "x's rank is " + std::to_string(x.rank()) + ", expected " +
                                         (N == 1 ? "2 or 3" : std::to_string(N + 2)));
    }
    return use_batch_statistics_.value_or(training());
}

template<int N> Tensor BatchNorm<N>::construct(const Tensor &x) const {
    const auto norm = activation_.empty() ? F::batch_norm : F::batch_norm_relu;
    return norm(x, gamma, beta, moving_mean, moving_variance, uses_batch_statistics(x), eps_,
                1 - momentum_, data_format_);
}

template<int N> Tensor BatchNorm<N>::construct(const Tensor &x, const Tensor &shortcut) const {
    if (activation_.empty()) {
        throw ShapeError(
            cls_name(), "got 2 tensors, expected 1: a shortcut is added only before an activation");
    }
    return F::batch_norm_add_relu(x, gamma, beta, moving_mean, moving_variance, shortcut,
                                  uses_batch_statistics(x), eps_, 1 - momentum_, data_format_);
}

template<int N> std::string BatchNorm<N>::extend_repr() const {
    return repr("num_features", gamma.shape()[0], "eps", eps_);
}

LayerNorm::LayerNorm(const Shape &normalized_shape, const LayerNormOptions &o)
    : begin_norm_axis_(o.begin_norm_axis), begin_params_axis_(o.begin_params_axis),
      epsilon_(o.epsilon) {
    if (normalized_shape.rank() < 1)
        throw AttrError("LayerNorm", "normalized_shape has no dimension, expected at least one");
    gamma = parameter("gamma", initializer(o.gamma_init, normalized_shape));
    beta = parameter("beta", initializer(o.beta_init, normalized_shape));
}

Tensor LayerNorm::construct(const Tensor &x) const {
    return F::layer_norm(x, computed(gamma), computed(beta), begin_norm_axis_, begin_params_axis_,
                         epsilon_);
}

std::string LayerNorm::extend_repr() const {
    return repr(gamma.shape(), epsilon_);
}

GroupNorm::GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions &o)
    : num_groups_(num_groups), eps_(o.eps) {
    check_min("GroupNorm", "num_groups", num_groups, 1);
    check_min("GroupNorm", "num_channels", num_channels, 1);
    if (num_channels % num_groups) {
        throw AttrError("GroupNorm", "num_channels is " + std::to_string(num_channels) +
                                         ", expected a multiple of num_groups " +
                                         std::to_string(num_groups));
    }
    gamma = parameter("gamma", initializer(o.gamma_init, {num_channels}), o.affine);
    beta = parameter("beta", initializer(o.beta_init, {num_channels}), o.affine);
}

Tensor GroupNorm::construct(const Tensor &x) const {
    return F::group_norm(x, computed(gamma), computed(beta), num_groups_, eps_);
}
std::string GroupNorm::extend_repr() const {
    return "num_groups=" + std::to_string(num_groups_) + ", " +
           repr("num_channels", gamma.shape()[0], "eps", eps_);
}

template<int N> InstanceNorm<N>::InstanceNorm(int64_t num_features, const GroupNormOptions &o)
    : eps_(o.eps) {
    check_min(with_rank<N>("InstanceNorm"), "num_features", num_features, 1);
    gamma = parameter("gamma", initializer(o.gamma_init, {num_features}), o.affine);
    beta = parameter("beta", initializer(o.beta_init, {num_features}), o.affine);
}

template<int N> Tensor InstanceNorm<N>::construct(const Tensor &x) const {
    if (x.rank() != N + 2) {
        throw ShapeError(cls_name(), "x's rank is " + std::to_string(x.rank()) + ", expected " +
                                         std::to_string(N + 2));
    }
    return F::instance_norm(x, computed(gamma), computed(beta), eps_);
}
template<int N> std::string InstanceNorm<N>::extend_repr() const {
    return repr("num_features", gamma.shape()[0], "eps", eps_);
}

RMSNorm::RMSNorm(const Shape &normalized_shape, const Initializer &gamma_init, double epsilon)
    : epsilon_(epsilon) {
    if (normalized_shape.rank() < 1)
        throw AttrError("RMSNorm", "normalized_shape has no dimension, expected at least one");
    gamma = parameter("gamma", initializer(gamma_init, normalized_shape));
}

Tensor RMSNorm::construct(const Tensor &x) const {
    return F::rms_norm(x, computed(gamma), epsilon_);
}
std::string RMSNorm::extend_repr() const {
    return repr(gamma.shape(), epsilon_);
}

template class InstanceNorm<1>;
template class InstanceNorm<2>;
template class InstanceNorm<3>;
template class BatchNorm<1>;
template class BatchNorm<2>;
template class BatchNorm<3>;

}  // namespace halyard::nn
