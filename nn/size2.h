// Sizes of two-dimensional windows, as MindSpore's layers take them: one number for both dimensions, or each.
#pragma once
#include <string>

#include "primitives/primitive.h"
#include "registry/error.h"

namespace halyard::nn {

struct Size2 {
    int64_t h, w;
    Size2(int both) : h(both), w(both) {}
    Size2(int64_t both) : h(both), w(both) {}
    Size2(int64_t height, int64_t width) : h(height), w(width) {}
    Ints ints() const { return {h, w}; }
};

struct Padding2 {
    int64_t top, bottom, left, right;
    Padding2(int all) : Padding2((int64_t)all) {}
    Padding2(int64_t all) : top(all), bottom(all), left(all), right(all) {}
    Padding2(int64_t t, int64_t b, int64_t l, int64_t r) : top(t), bottom(b), left(l), right(r) {}
    Ints ints() const { return {top, bottom, left, right}; }
    bool any() const { return top || bottom || left || right; }
};

// Throws AttrError unless `value` >= `least`.
inline void check_least(const char *layer, const char *name, int64_t value, int64_t least) {
    if (value < least) throw AttrError(layer, std::string(name) + " is " + std::to_string(value) + ", expected at least " + std::to_string(least));
}
inline void check_least(const char *layer, const char *name, Size2 value, int64_t least) {
    check_least(layer, name, value.h < value.w ? value.h : value.w, least);
}

}  // namespace halyard::nn
