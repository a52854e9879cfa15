// Sizes of windows with one, two or three dimensions, as MindSpore's layers take them: one number
// for all dimensions, or each.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <string>

#include "primitives/primitive.h"
#include "registry/base/error.h"

namespace halyard::nn {

template<int N> struct Numbers {
    std::array<int64_t, N> v;
    Numbers(std::integral auto all) { v.fill(int64_t(all)); }
    template<std::integral... T>
    requires(sizeof...(T) == N && N > 1) Numbers(T... each) : v{int64_t(each)...} {}
    Ints ints() const { return {v.begin(), v.end()}; }
    int64_t least() const { return *std::min_element(v.begin(), v.end()); }
    int64_t product() const {
        int64_t p = 1;
        for (const int64_t n : v)
            p *= n;
        return p;
    }
    bool any() const {
        return std::any_of(v.begin(), v.end(), [](int64_t n) { return n != 0; });
    }
};

// One per dimension: {w}, {h, w}, {d, h, w}.
template<int N> using Sizes = Numbers<N>;
using Size1 = Sizes<1>;
using Size2 = Sizes<2>;
using Size3 = Sizes<3>;

// Before and after each dimension: {left, right}, {top, bottom, left, right}, {head, tail, top,
// bottom, left, right}.
template<int N> using Paddings = Numbers<2 * N>;

// "(3, 5)", as text() of a cell has it.
inline std::string in_brackets(const Ints &v) {
    std::string out;
    for (const int64_t n : v)
        out += (out.empty() ? "(" : ", ") + std::to_string(n);
    return out + ")";
}

// "Conv" of two dimensions is Conv2d.
template<int N> std::string with_rank(const char *layer) {
    return layer + std::to_string(N) + "d";
}

// Throws AttrError unless `value` >= `least`.
inline void check_least(const std::string &layer, const char *name, int64_t value, int64_t least) {
    if (value < least) {
        throw AttrError(layer, std::string(name) + " is " + std::to_string(value) +
                                   ", expected at least " + std::to_string(least));
    }
}
template<int N> void check_least(const std::string &layer, const char *name,
                                 const Numbers<N> &value, int64_t least) {
    check_least(layer, name, value.least(), least);
}

// What layers of N dimensions call their channels-first order.
template<int N> constexpr const char *channels_first = N == 1 ? "NCW" : N == 2 ? "NCHW" : "NCDHW";
template<int N> void check_data_format(const std::string &layer, const std::string &format) {
    if (format != channels_first<N> && !(N == 2 && format == "NHWC")) {
        throw AttrError(layer, "data_format is " + format + ", expected " + channels_first<N> +
                                   (N == 2 ? " or NHWC" : ""));
    }
}

// Throws AttrError unless pad_mode is "same", "valid" or "pad", and padding 0 without "pad".
template<int N> void check_padding(const std::string &layer, const std::string &pad_mode,
                                   const Numbers<N> &padding) {
    if (pad_mode != "same" && pad_mode != "valid" && pad_mode != "pad")
        throw AttrError(layer, "pad_mode is " + pad_mode + ", expected same, valid or pad");
    if (pad_mode != "pad" && padding.any())
        throw AttrError(layer, "padding is not 0, but pad_mode is " + pad_mode + ", expected pad");
}

}  // namespace halyard::nn
