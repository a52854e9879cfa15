// Cells in a row.
#pragma once
#include <vector>

#include "nn/cell.h"

namespace halyard::nn {

// Children named "0", "1", ... in a row, which does nothing with them: for the construct() of the
// cell that has it.
class CellList : public Cell {
public:
    CellList(const std::vector<AnyCell> &cells = {});

    CellList &append(const AnyCell &cell);
    CellList &extend(const std::vector<AnyCell> &cells);
    size_t size() const { return cells_->size(); }
    const AnyCell &operator[](size_t i) const { return cells_->at(i); }
    auto begin() const { return cells_->cbegin(); }
    auto end() const { return cells_->cend(); }

private:
    std::shared_ptr<std::vector<AnyCell>> cells_;  // shared, as copies of a cell are one cell
};

// Each cell gets the one before's result. An empty one returns its input.
class SequentialCell : public CellList {
public:
    using CellList::CellList;
    Tensor construct(const Tensor &x) const override;
};

}  // namespace halyard::nn
