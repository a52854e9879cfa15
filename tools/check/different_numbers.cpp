#include "tools/check/different_numbers.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "bench/harness/case.h"

namespace halyard::check {

int64_t first_different_number(const Tensor &a, const Tensor &b) {
    if (same_bits(a, b)) return -1;
    const std::vector<double> x = a.to(DType::f64).to_vector<double>();
    const std::vector<double> y = b.to(DType::f64).to_vector<double>();
    const size_t size = bytes_of(a.dtype());
    const auto *bits_of_a = static_cast<const char *>(a.bytes_to_read());
    const auto *bits_of_b = static_cast<const char *>(b.bytes_to_read());
    for (size_t k = 0; k < x.size(); k++) {
        const bool are_nan = std::isnan(x[k]) && std::isnan(y[k]);
        if (!are_nan && std::memcmp(bits_of_a + k * size, bits_of_b + k * size, size) != 0)
            return int64_t(k);
    }
    return -1;
}

}  // namespace halyard::check
