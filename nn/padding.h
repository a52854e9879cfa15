// Layers that put elements around a tensor.
#pragma once
#include <utility>
#include <vector>

#include "nn/cell.h"
#include "nn/sizes.h"

namespace halyard::nn {

// paddings: how many elements before and after each dimension of x, from the first on.
// mode: "CONSTANT" (zeros), "REFLECT" (the edge not repeated), "SYMMETRIC" (repeated). Throws AttrError, ShapeError.
class Pad : public Cell {
public:
    explicit Pad(const std::vector<std::pair<int64_t, int64_t>> &paddings, const std::string &mode = "CONSTANT");
    Tensor construct(const Tensor &x) const override;

private:
    Ints from_the_last_;
    std::string mode_;
    size_t rank_;
};

}  // namespace halyard::nn
