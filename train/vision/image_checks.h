// Checks of image operations' arguments. They throw ShapeError, DTypeError or AttrError with the
// op.
#pragma once
#include <string>

#include "registry/base/error.h"
#include "registry/tensor/tensor.h"

namespace halyard::dataset {

inline void check_image(const char *op, const Tensor &t) {
    if (t.rank() != 3)
        throw ShapeError(op, "image has rank " + std::to_string(t.rank()) + ", expected [h,w,c]");
}

inline void check_u8_image(const char *op, const Tensor &t) {
    check_image(op, t);
    if (t.dtype() != DType::u8)
        throw DTypeError(op, std::string("image is ") + name_of(t.dtype()) + ", expected u8");
}

inline void check_rgb(const char *op, const Tensor &t) {
    check_u8_image(op, t);
    if (t.size(2) != 3) throw ShapeError(op, "c is " + std::to_string(t.size(2)) + ", expected 3");
}

inline void check_size(const char *op, int64_t height, int64_t width) {
    if (height < 1 || width < 1) {
        throw AttrError(op, "size is " + std::to_string(height) + " x " + std::to_string(width) +
                                ", expected at least 1 x 1");
    }
}

inline void check_probability(const char *op, double prob) {
    if (!(prob >= 0 && prob <= 1))
        throw AttrError(op, "prob is " + std::to_string(prob) + ", expected 0 to 1");
}

}  // namespace halyard::dataset
