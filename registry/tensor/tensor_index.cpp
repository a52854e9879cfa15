#include <algorithm>
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard {
namespace {

// Returns the element that `index` selects, counted from the front.
int64_t element(const Index &index, int place, int64_t extent, const Shape &shape) {
    const int64_t i = index.from();
    if (i >= -extent && i < extent) return i < 0 ? i + extent : i;
    throw ShapeError("index", "entry " + std::to_string(place) + " is " + std::to_string(i) +
                                  (extent ? ", expected -" + std::to_string(extent) + " to " +
                                                std::to_string(extent - 1) + " in "
                                          : ", but there is no element in ") +
                                  shape.text());
}

// Returns the bound `i` of a range, counted from the front and clamped to the dimension.
int64_t bound(int64_t i, int64_t extent) {
    return std::clamp<int64_t>(i < 0 ? i + extent : i, 0, extent);
}

}  // namespace

Tensor Tensor::operator[](const Index &index) const {
    return (*this)[{index}];
}

Tensor Tensor::operator[](std::initializer_list<Index> index) const {
    if (std::ssize(index) > rank()) {
        throw ShapeError("index", std::to_string(index.size()) + " entries, expected at most " +
                                      std::to_string(rank()) + " for " + shape().text());
    }
    Tensor view = *this;
    int axis = 0;
    int place = 0;
    for (const Index &i : index) {
        const int64_t extent = view.shape()[axis];
        if (!i.is_range()) {
            const int64_t e = element(i, place++, extent, shape());
            view = view.slice(axis, e, e + 1).squeeze(axis);
            continue;
        }
        if (i.step() < 1) {
            throw ShapeError("index", "entry " + std::to_string(place) + " has step " +
                                          std::to_string(i.step()) + ", expected 1 or more");
        }
        const int64_t from = bound(i.from(), extent);
        const int64_t to = std::max(from, bound(i.to(), extent));
        const bool all = from == 0 && to == extent && i.step() == 1;
        if (!all) view = view.slice(axis, from, to, i.step());
        axis++;
        place++;
    }
    return view;
}

}  // namespace halyard
