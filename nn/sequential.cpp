#include "nn/sequential.h"

namespace halyard::nn {

SequentialCell::SequentialCell(std::vector<AnyCell> cells) : cells_(std::make_shared<std::vector<AnyCell>>()) {
    for (const AnyCell &cell : cells) append(cell);
}

SequentialCell &SequentialCell::append(const AnyCell &cell) {
    cells_->push_back(child(std::to_string(size()), cell));
    return *this;
}

Tensor SequentialCell::construct(const Tensor &in) const {
    Tensor x = in;
    for (const AnyCell &cell : *cells_) x = cell(x);
    return x;
}

}  // namespace halyard::nn
