// Normalisation layers: y = gamma (x - mean) / sqrt(variance + eps) + beta, each with the mean and
// variance of other elements.
#pragma once
#include <optional>

#include "nn/cell.h"
#include "nn/initializer.h"
#include "nn/sizes.h"

namespace halyard::nn {

struct BatchNormOptions {
    double eps = 1e-5;
    // the weight of the old running statistics, as in MindSpore; PyTorch's is 1 - momentum
    double momentum = 0.9;
    bool affine = true;  // off: gamma and beta require no gradient
    Initializer gamma_init = "ones", beta_init = "zeros", moving_mean_init = "zeros",
                moving_var_init = "ones";
    std::optional<bool> use_batch_statistics = {};  // empty: in training; else always or never
    std::string data_format = "NCHW";               // BatchNorm2d also takes "NHWC"
    std::string activation = "";                    // "relu": without a pass over memory of its own
};

// Over all but the channels of x[n,num_features,...], whose rank is 2 or 3 (1d), 4 (2d), 5 (3d).
// In training with the batch's mean and biased variance, which then enter the running ones:
//   moving = momentum * moving + (1 - momentum) * batch, the variance unbiased;
// in evaluation with the running ones. Parameters: gamma, beta, and, which require no gradient,
// moving_mean, moving_variance; all [num_features]. With the activation "relu" a cell of two inputs
// too, x and a shortcut like x: relu(batch_norm(x) + shortcut). Throws AttrError, ShapeError.
template<int N> class BatchNorm : public Cell {
public:
    explicit BatchNorm(int64_t num_features, const BatchNormOptions &options = {});
    Tensor construct(const Tensor &x) const override;
    Tensor construct(const Tensor &x, const Tensor &shortcut) const override;
    std::string cls_name() const override { return with_rank<N>("BatchNorm"); }
    std::string extend_repr() const override;

    Parameter gamma, beta, moving_mean, moving_variance;

private:
    // what its statistics are; throws where x's rank doesn't fit
    bool of_batch(const Tensor &x) const;
    double eps_, momentum_;
    std::optional<bool> use_batch_statistics_;
    std::string data_format_, activation_;
};
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

struct LayerNormOptions {
    int64_t begin_norm_axis = -1, begin_params_axis = -1;
    Initializer gamma_init = "ones", beta_init = "zeros";
    double epsilon = 1e-7;
};

// Over the dimensions of x from begin_norm_axis on. gamma and beta have normalized_shape, x's
// dimensions from begin_params_axis on.
class LayerNorm : public Cell {
public:
    explicit LayerNorm(const Shape &normalized_shape, const LayerNormOptions &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override;

    Parameter gamma, beta;

private:
    int64_t begin_norm_axis_, begin_params_axis_;
    double epsilon_;
};

struct GroupNormOptions {
    double eps = 1e-5;
    bool affine = true;  // off: gamma and beta require no gradient
    Initializer gamma_init = "ones", beta_init = "zeros";
};

// Over each image's group of num_channels / num_groups channels of x[n,num_channels,...]. gamma and
// beta: [num_channels].
class GroupNorm : public Cell {
public:
    GroupNorm(int64_t num_groups, int64_t num_channels, const GroupNormOptions &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override;

    Parameter gamma, beta;

private:
    int64_t num_groups_;
    double eps_;
};

// Over each channel of each image of x[n,num_features,...], whose rank is 3 (1d), 4 (2d), 5 (3d),
// in training and evaluation alike.
template<int N> class InstanceNorm : public Cell {
public:
    explicit InstanceNorm(int64_t num_features, const GroupNormOptions &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("InstanceNorm"); }
    std::string extend_repr() const override;

    Parameter gamma, beta;

private:
    double eps_;
};
using InstanceNorm1d = InstanceNorm<1>;
using InstanceNorm2d = InstanceNorm<2>;
using InstanceNorm3d = InstanceNorm<3>;

// y = gamma x / sqrt(mean x^2 + epsilon) over x's last dimensions, normalized_shape.
class RMSNorm : public Cell {
public:
    explicit RMSNorm(const Shape &normalized_shape, const Initializer &gamma_init = "ones",
                     double epsilon = 1e-6);
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override;

    Parameter gamma;

private:
    double epsilon_;
};

}  // namespace halyard::nn
