// Index: one entry of an indexing expression, `x[2]` or `x[{range(1, 3), 0}]`.
#pragma once
#include <concepts>
#include <cstdint>

namespace halyard {

// The end of a range that reaches the last element.
inline constexpr int64_t to_end = INT64_MAX;

// An integer selects one element and removes its dimension; a range keeps the dimension. Negative
// numbers count from the end, as in NumPy.
class Index {
public:
    template<std::integral T> Index(T element) : from_(static_cast<int64_t>(element)) {}

    bool is_range() const { return is_range_; }
    int64_t from() const { return from_; }  // an integer's element, or a range's first
    int64_t to() const { return to_; }      // the end of a range, exclusive
    int64_t step() const { return step_; }

private:
    Index(int64_t from, int64_t to, int64_t step)
        : from_(from), to_(to), step_(step), is_range_(true) {}
    friend Index range(int64_t from, int64_t to, int64_t step);

    int64_t from_, to_ = 0, step_ = 1;
    bool is_range_ = false;
};

// Returns elements from, from + step, ... before `to`; ends past the extent are clamped to it.
Index range(int64_t from, int64_t to, int64_t step = 1);

inline Index range(int64_t from, int64_t to, int64_t step) {
    return {from, to, step};
}

// Returns the whole dimension.
inline Index range() {
    return range(0, to_end);
}

}  // namespace halyard
