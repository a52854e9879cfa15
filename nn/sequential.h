// Lists of cells.
#pragma once
#include <vector>

#include "nn/cell.h"

namespace halyard::nn {

// Holds children named "0", "1", ... without calling them; the construct() of its owner does.
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
    std::shared_ptr<std::vector<AnyCell>> cells_;  // shared by all copies of the handle
};

// Calls its cells in order, each on the result of the one before. An empty list returns its input.
class SequentialCell : public CellList {
public:
    using CellList::CellList;
    Tensor construct(const Tensor &x) const override;
};

}  // namespace halyard::nn
