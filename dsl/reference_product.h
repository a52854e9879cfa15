// Products of many numbers, for references.
#pragma once
#include <cmath>
#include <cstdint>

#include "registry/tensor/dtype.h"

namespace halyard {

// The product of some numbers of dtype t: of floats in double, of integers as i32 or i64 wraps,
// which doubles can't follow beyond 2^53.
class ReferenceProduct {
public:
    explicit ReferenceProduct(DType t) : dtype_(t) {}

    void multiply(double v) {
        value_ *= v;
        large_ *= std::fmax(std::fabs(v), 1);
        small_ *= v == 0 ? 1 : std::fmin(std::fabs(v), 1);
        if (is_integer(dtype_)) wrapped_ *= static_cast<uint64_t>(static_cast<int64_t>(v));
    }
    double value() const {
        if (!is_integer(dtype_)) return value_;
        return dtype_ == DType::i32 ? static_cast<int32_t>(wrapped_)
                                    : static_cast<double>(static_cast<int64_t>(wrapped_));
    }
    // Returns false if the product of some of the numbers may overflow f32, or be subnormal. Zeros
    // make it neither.
    bool stays_in_range() const { return large_ < 3e38 && small_ > 1e-37; }

private:
    DType dtype_;
    double value_ = 1;
    double large_ = 1, small_ = 1;  // the products of the numbers above 1 and of those below
    uint64_t wrapped_ = 1;
};

}  // namespace halyard
