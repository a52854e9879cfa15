// Layers that move or drop elements.
#pragma once
#include "nn/cell.h"
#include "nn/sizes.h"

namespace halyard::nn {

// Reshapes x[n,...] to [n, product of the other extents].
class Flatten : public Cell {
public:
    Tensor construct(const Tensor &x) const override;
};

// Returns its input.
class Identity : public Cell {
public:
    Tensor construct(const Tensor &x) const override { return x; }
};

// In training, sets each element to 0 with probability p and divides the others by 1 - p. In
// evaluation it returns x. Masks come from the default generator: each call draws a new one, and
// runs with equal seeds draw equal ones. Throws AttrError unless 0 <= p < 1.
class Dropout : public Cell {
public:
    explicit Dropout(double p = 0.5);
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override;

private:
    double p_;
};

// Drops whole channels of x[n,c,...], which has N more dimensions. Throws AttrError unless
// 0 <= p < 1, ShapeError for another rank.
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
