// Layers that move or drop elements.
#pragma once
#include "nn/cell.h"
#include "nn/sizes.h"

namespace halyard::nn {

// x[n, ...] -> [n, product of the rest].
class Flatten : public Cell {
public:
    Tensor construct(const Tensor &x) const override;
};

// x.
class Identity : public Cell {
public:
    Tensor construct(const Tensor &x) const override { return x; }
};

// In training each element is 0 with probability p, else divided by 1 - p; in evaluation x itself.
// Masks come from the default generator: another mask at each call, the same ones in each run.
// Throws AttrError unless 0 <= p < 1.
class Dropout : public Cell {
public:
    explicit Dropout(double p = 0.5);
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override;

private:
    double p_;
};

// Dropout of whole channels of x[n,c,...], which has N dimensions more. Throws AttrError,
// ShapeError.
template<int N> class ChannelDropout : public Cell {
public:
    explicit ChannelDropout(double p = 0.5);
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("Dropout"); }
    std::string extend_repr() const override;

private:
    double p_;
};
using Dropout1d = ChannelDropout<1>;
using Dropout2d = ChannelDropout<2>;
using Dropout3d = ChannelDropout<3>;

}  // namespace halyard::nn
