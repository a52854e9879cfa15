// Integer arithmetic that the standard library lacks.
#pragma once
#include <concepts>
#include <type_traits>

namespace halyard {

// Returns n / by, rounded up; `by` is positive.
template<std::integral T> constexpr T ceil_div(T n, std::type_identity_t<T> by) {
    return n > 0 ? (n - 1) / by + 1 : n / by;
}

// Returns the smallest multiple of `unit` that is at least n.
template<std::integral T> constexpr T round_up(T n, std::type_identity_t<T> unit) {
    return ceil_div(n, unit) * unit;
}

}  // namespace halyard
