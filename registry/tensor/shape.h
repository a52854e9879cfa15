// Shape: extents (or strides) of a tensor, outermost first, at most eight of them, without an
// allocation.
#pragma once
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "registry/base/error.h"

namespace halyard {

inline constexpr int max_rank = 8;

class Shape {
public:
    Shape() = default;
    Shape(std::initializer_list<int64_t> d) { assign(d.begin(), d.end()); }
    Shape(const std::vector<int64_t> &d) { assign(d.begin(), d.end()); }
    template<class It> Shape(It first, It last) { assign(first, last); }

    int rank() const { return rank_; }
    size_t size() const { return size_t(rank_); }
    bool empty() const { return rank_ == 0; }
    int64_t &operator[](int i) { return d_[i]; }
    int64_t operator[](int i) const { return d_[i]; }
    int64_t *begin() { return d_; }
    int64_t *end() { return d_ + rank_; }
    const int64_t *begin() const { return d_; }
    const int64_t *end() const { return d_ + rank_; }
    int64_t back() const { return d_[rank_ - 1]; }

    void push_back(int64_t v) { insert(rank_, v); }
    void insert(int at, int64_t v) {
        if (rank_ == max_rank) throw ShapeError("shape", "rank is 9, the limit is 8");
        for (int i = rank_; i > at; i--)
            d_[i] = d_[i - 1];
        d_[at] = v;
        rank_++;
    }
    void erase(int at) {
        for (int i = at; i + 1 < rank_; i++)
            d_[i] = d_[i + 1];
        rank_--;
    }
    friend bool operator==(const Shape &a, const Shape &b) {
        return a.rank_ == b.rank_ && std::equal(a.begin(), a.end(), b.begin());
    }

    // the product; shapes that exist were checked for overflow when they were made
    int64_t elements() const {
        int64_t n = 1;
        for (int64_t v : *this)
            n *= v;
        return n;
    }
    std::vector<int64_t> vec() const { return {begin(), end()}; }
    std::string text() const {  // "[2,3]"
        std::string s = "[";
        for (int i = 0; i < rank_; i++) {
            if (i) s += ',';
            s += std::to_string(d_[i]);
        }
        return s += ']';
    }

private:
    template<class It> void assign(It first, It last) {
        for (; first != last; ++first)
            push_back(int64_t(*first));
    }
    int64_t d_[max_rank] = {};
    int rank_ = 0;
};

// Row-major strides of a dense tensor, in elements.
inline Shape dense_strides(const Shape &s) {
    Shape t = s;
    int64_t n = 1;
    for (int i = s.rank(); i-- > 0;) {
        t[i] = n;
        n *= s[i] > 0 ? s[i] : 1;
    }
    return t;
}

// "axis" counted from the front, from either end as given; throws ShapeError naming `op`, the axis
// and the rank.
inline int normal_axis(const char *op, int64_t axis, int rank) {
    if (axis < -rank || axis >= rank) {
        throw ShapeError(op, "axis is " + std::to_string(axis) +
                                 (rank ? ", expected -" + std::to_string(rank) + " to " +
                                             std::to_string(rank - 1)
                                       : ", but a scalar has none"));
    }
    return int(axis < 0 ? axis + rank : axis);
}

// The number of elements; throws ShapeError naming `op` on a negative extent, and on more than
// 2^31-1 elements or extents that multiply past it beside a zero: kernels index with 32 bits.
int64_t checked_elements(const char *op, const Shape &shape);

// NumPy's broadcasting of two shapes; throws ShapeError naming `op`, the dimension and both
// extents.
Shape broadcast(const char *op, const Shape &a, const Shape &b);

}  // namespace halyard
