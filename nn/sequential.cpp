#include "nn/sequential.h"

namespace halyard::nn {

CellList::CellList(const std::vector<AnyCell> &cells)
    : cells_(std::make_shared<std::vector<AnyCell>>()) {
    extend(cells);
}

CellList &CellList::append(const AnyCell &cell) {
    cells_->push_back(child(std::to_string(size()), cell));
    return *this;
}

CellList &CellList::extend(const std::vector<AnyCell> &cells) {
    for (const AnyCell &cell : cells)
        append(cell);
    return *this;
}

Tensor SequentialCell::construct(const Tensor &in) const {
    Tensor x = in;
    for (const AnyCell &cell : *this)
        x = cell(x);
    return x;
}

}  // namespace halyard::nn
