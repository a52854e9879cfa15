// Sizes of windows with one, two or three dimensions. As in MindSpore's layers, a size is one
// number for all dimensions or one number for each.
#pragma once
#include <algorithm>
#include <array>
#include <concepts>
#include <string>

#include "primitives/ops/conv2d.h"
#include "registry/base/error.h"

namespace halyard::nn {

template<int N> struct Numbers {
    std::array<int64_t, N> v;
    Numbers(std::integral auto all) { v.fill(int64_t(all)); }
    template<std::integral... T>
    requires(sizeof...(T) == N && N > 1) Numbers(T... each) : v{int64_t(each)...} {}
    Ints ints() const { return {v.begin(), v.end()}; }
    int64_t min() const { return *std::min_element(v.begin(), v.end()); }
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

// One number per dimension: {w}, {h, w}, {d, h, w}.
template<int N> using Sizes = Numbers<N>;
using Size1 = Sizes<1>;
using Size2 = Sizes<2>;
using Size3 = Sizes<3>;

// Two numbers per dimension, before and after it: {left, right}, {top, bottom, left, right}, {head,
// tail, top, bottom, left, right}.
template<int N> using Paddings = Numbers<2 * N>;

// Returns "(3, 5)", the form in which Cell::text() prints sizes.
inline std::string in_brackets(const Ints &v) {
    std::string out;
    for (const int64_t n : v)
        out += (out.empty() ? "(" : ", ") + std::to_string(n);
    return out + ")";
}

// Returns the name of a layer for N dimensions: "Conv" becomes "Conv2d".
template<int N> std::string with_rank(const char *layer) {
    return layer + std::to_string(N) + "d";
}

// Throws AttrError unless `value` >= `min`.
inline void check_min(const std::string &layer, const char *name, int64_t value, int64_t min) {
    if (value < min) {
        throw AttrError(layer, std::string(name) + " is " + std::to_string(value) +
                                   ", expected at least " + std::to_string(min));
    }
}
template<int N>
void check_min(const std::string &layer, const char *name, const Numbers<N> &value, int64_t min) {
    check_min(layer, name, value.min(), min);
}

// The data_format of layers with N dimensions whose channels come first.
template<int N> constexpr const char *channels_first = N == 1 ? "NCW" : N == 2 ? "NCHW" : "NCDHW";
// Throws AttrError unless `format` is channels_first<N> or, for two dimensions, NHWC.
template<int N> void check_data_format(const std::string &layer, const std::string &format) {
    if (format != channels_first<N> && !(N == 2 && format == "NHWC")) {
        throw AttrError(layer, "data_format is " + format + ", expected " + channels_first<N> +
                                   (N == 2 ? " or NHWC" : ""));
    }
}

// Throws AttrError unless pad_mode is "same", "valid" or "pad", and if padding is given without
// "pad".
template<int N> void check_padding(const std::string &layer, const F::PadMode &pad_mode,
                                   const Numbers<N> &padding) {
    if (std::ranges::count(F::PadMode::names, pad_mode.text()) == 0)
        throw AttrError(layer, "pad_mode is " + pad_mode.text() + ", expected same, valid or pad");
    if (pad_mode != F::PadMode::pad && padding.any()) {
        throw AttrError(layer,
                        "padding is not 0, but pad_mode is " + pad_mode.text() + ", expected pad");
    }
}

}  // namespace halyard::nn
