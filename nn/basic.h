// Layers that move or drop elements.
#pragma once
#include <memory>

#include "nn/cell.h"

namespace halyard::nn {

// x[n, ...] -> [n, product of the rest].
class Flatten : public Cell {
public:
    Tensor construct(const Tensor &x) const override;
};

// In training each element is 0 with probability p, else divided by 1 - p; in evaluation x itself.
// Masks come from the default generator: another mask at each call, the same ones in each run. Throws AttrError unless 0 <= p < 1.
class Dropout : public Cell {
public:
    explicit Dropout(double p = 0.5);
    Tensor construct(const Tensor &x) const override;

private:
    double p_;
};

}  // namespace halyard::nn
