// Cells in a row.
#pragma once
#include <vector>

#include "nn/cell.h"

namespace halyard::nn {

// Each cell gets the one before's result; children are named "0", "1", ... An empty one returns its input.
class SequentialCell : public Cell {
public:
    SequentialCell(std::vector<AnyCell> cells = {});
    Tensor construct(const Tensor &x) const override;

    SequentialCell &append(const AnyCell &cell);
    size_t size() const { return cells_->size(); }
    const AnyCell &operator[](size_t i) const { return cells_->at(i); }

private:
    std::shared_ptr<std::vector<AnyCell>> cells_;  // shared, as copies of a cell are one cell
};

}  // namespace halyard::nn
