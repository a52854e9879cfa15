// Normalisation layers: y = gamma * (x - mean) / sqrt(variance + eps) + beta. They differ in the
// elements over which mean and variance are computed.
#pragma once
#include <optional>

#include "nn/cell.h"
#include "nn/initializer.h"
#include "nn/sizes.h"

namespace halyard::nn {

struct BatchNormOptions {
    double eps = 1e-5;
    // The weight of the old running statistics, as in MindSpore. PyTorch's momentum is 1 - this.
    double momentum = 0.9;
    bool affine = true;  // if false, gamma and beta require no gradient
    Initializer gamma_init = "ones", beta_init = "zeros", moving_mean_init = "zeros",
                moving_var_init = "ones";
    // True: always the batch's statistics; false: always the running ones; empty: the batch's in
    // training, the running ones in evaluation.
    std::optional<bool> use_batch_statistics = {};
    std::string data_format = "NCHW";  // BatchNorm2d also takes "NHWC"
    std::string activation = "";       // "" or "relu", which is fused into the same kernel
};

// Normalises each channel of x[n,num_features,...] over all other dimensions. The rank of x is 2 or
// 3 (1d), 4 (2d) or 5 (3d).
//
// In training it uses the batch's mean and biased variance and updates the running statistics,
// moving = momentum * moving + (1 - momentum) * batch, with the unbiased variance. In evaluation it
// uses the running statistics. The parameters gamma, beta, moving_mean and moving_variance are
// [num_features]; the last two require no gradient.
//
// With the activation "relu" the cell also takes two inputs, x and a shortcut of the same shape,
// and computes relu(batch_norm(x) + shortcut). Throws AttrError for wrong options, ShapeError for
// an input that does not fit.
template<int N> class BatchNorm : public Cell {
public:
    explicit BatchNorm(int64_t num_features, const BatchNormOptions &options = {});
    Tensor construct(const Tensor &x) const override;
    Tensor construct(const Tensor &x, const Tensor &shortcut) const override;
    std::string cls_name() const override { return with_rank<N>("BatchNorm"); }
    std::string extend_repr() const override;

    Parameter gamma, beta, moving_mean, moving_variance;

private:
    // Returns true if the batch's statistics are used. Throws ShapeError for a rank that does not
    // fit.
    bool uses_batch_statistics(const Tensor &x) const;
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

// Normalises over the dimensions of x from begin_norm_axis on. gamma and beta have the shape
// normalized_shape: the dimensions of x from begin_params_axis on.
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
    bool affine = true;  // if false, gamma and beta require no gradient
    Initializer gamma_init = "ones", beta_init = "zeros";
};

// Normalises over each group of num_channels / num_groups channels of each image of
// x[n,num_channels,...]. gamma and beta are [num_channels].
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

// Normalises over each channel of each image of x[n,num_features,...], in training and evaluation
// alike. The rank of x is 3 (1d), 4 (2d) or 5 (3d).
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

// y = gamma * x / sqrt(mean(x^2) + epsilon), with the mean over the last dimensions of x, which are
// normalized_shape.
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
