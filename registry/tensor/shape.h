// Shape: up to eight extents or strides of a tensor, outermost first, stored without an allocation.
#pragma once
#include <algorithm>
#include <concepts>
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
    // Dimensions may be int or size_t, so that callers need no casts.
    template<std::integral I> int64_t &operator[](I i) { return d_[i]; }
    template<std::integral I> int64_t operator[](I i) const { return d_[i]; }
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

    // Returns the product of the extents. Tensors' shapes were checked for overflow.
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

// Returns the row-major strides of a dense tensor, in elements.
inline Shape dense_strides(const Shape &s) {
    Shape t = s;
    int64_t n = 1;
    for (int i = s.rank(); i-- > 0;) {
        t[i] = n;
        n *= s[i] > 0 ? s[i] : 1;
    }
    return t;
}

// Returns the axis counted from the front; a negative one counts from the end. Throws ShapeError
// naming `op`, the axis and the rank.
inline int normal_axis(const char *op, int64_t axis, int rank) {
    if (axis < -rank || axis >= rank) {
        throw ShapeError(op, "axis is " + std::to_string(axis) +
                                 (rank ? ", expected -" + std::to_string(rank) + " to " +
                                             std::to_string(rank - 1)
                                       : ", but a scalar has none"));
    }
    return int(axis < 0 ? axis + rank : axis);
}

// Returns the number of elements. Throws ShapeError naming `op` on a negative extent, and on more
// than 2^31-1 elements, not counting extents of 0: kernels index with 32 bits.
int64_t checked_elements(const char *op, const Shape &shape);

// Returns the broadcast of two shapes, as in NumPy. Throws ShapeError naming `op`, the dimension
// and both extents.
Shape broadcast(const char *op, const Shape &a, const Shape &b);

}  // namespace halyard
