// Normalisation layers: y = gamma (x - mean) / sqrt(variance + eps) + beta, each with the mean and variance of other elements.
#pragma once
#include <optional>

#include "nn/cell.h"
#include "nn/initializer.h"
#include "nn/sizes.h"

namespace halyard::nn {

struct BatchNormOptions {
    double eps = 1e-5;
    double momentum = 0.9;  // the weight of the old running statistics, as in MindSpore; PyTorch's is 1 - momentum
    bool affine = true;     // off: gamma and beta require no gradient
    Initializer gamma_init = "ones", beta_init = "zeros", moving_mean_init = "zeros", moving_var_init = "ones";
    std::optional<bool> use_batch_statistics = {};  // empty: in training; else always or never
    std::string data_format = "NCHW";               // BatchNorm2d also takes "NHWC"
};

// Over all but the channels of x[n,num_features,...], whose rank is 2 or 3 (1d), 4 (2d), 5 (3d).
// In training with the batch's mean and biased variance, which then enter the running ones:
//   moving = momentum * moving + (1 - momentum) * batch, the variance unbiased;
// in evaluation with the running ones. Parameters: gamma, beta, and, which require no gradient, moving_mean, moving_variance;
// all [num_features]. Throws AttrError, ShapeError.
template<int N> class BatchNorm : public Cell {
public:
    explicit BatchNorm(int64_t num_features, const BatchNormOptions &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("BatchNorm"); }

    Parameter gamma, beta, moving_mean, moving_variance;

private:
    double eps_, momentum_;
    std::optional<bool> use_batch_statistics_;
    std::string data_format_;
};
using BatchNorm1d = BatchNorm<1>;
using BatchNorm2d = BatchNorm<2>;
using BatchNorm3d = BatchNorm<3>;

struct LayerNormOptions {
    int64_t begin_norm_axis = -1, begin_params_axis = -1;
    Initializer gamma_init = "ones", beta_init = "zeros";
    double epsilon = 1e-7;
};

// Over the dimensions of x from begin_norm_axis on. gamma and beta have normalized_shape, x's dimensions from begin_params_axis on.
class LayerNorm : public Cell {
public:
    explicit LayerNorm(const Shape &normalized_shape, const LayerNormOptions &options = {});
    Tensor construct(const Tensor &x) const override;

    Parameter gamma, beta;

private:
    int64_t begin_norm_axis_, begin_params_axis_;
    double epsilon_;
};

}  // namespace halyard::nn
