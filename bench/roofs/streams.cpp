// The streams are written in Highway's vectors and compiled once for each instruction set. GCC's
// own vectors of 64 bytes don't do: under AVX2 GCC 12 splits them into registers of 16 bytes, which
// copied a core's cache at two thirds of what it can do.
#include "bench/roofs/streams.h"

#include <emmintrin.h>

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/roofs/streams.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halyard::roofs {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::ScalableTag<uint64_t> words;
constexpr hn::ScalableTag<float> floats;

// The bytes of a vector. A step of a stream has two vectors, so that both of a core's units for
// loads, and for stores, are busy.
constexpr int64_t width = sizeof(hn::Vec<decltype(words)>);
constexpr int64_t step = 2 * width;

auto load(const char *from) {
    return hn::LoadU(words, reinterpret_cast<const uint64_t *>(from));
}

template<class V> void store(V v, char *to) {
    hn::StoreU(v, words, reinterpret_cast<uint64_t *>(to));
}

// Reads the two halves side by side, so that both are prefetched.
uint64_t read(const char *from, int64_t bytes) {
    const int64_t half = bytes / 2 / step * step;
    auto a = hn::Zero(words), b = a, c = a, d = a;
    for (int64_t at = 0; at < half; at += step) {
        a = hn::Add(a, load(from + at));
        b = hn::Add(b, load(from + at + width));
        c = hn::Add(c, load(from + half + at));
        d = hn::Add(d, load(from + half + at + width));
    }
    return hn::GetLane(hn::SumOfLanes(words, hn::Add(hn::Add(a, b), hn::Add(c, d))));
}

void write(char *to, int64_t bytes) {
    const auto zero = hn::Zero(words);
    int64_t at = 0;
    for (; at + step <= bytes; at += step) {
        store(zero, to + at);
        store(zero, to + at + width);
    }
    std::memset(to + at, 0, size_t(bytes - at));
}

void copy(char *to, const char *from, int64_t bytes) {
    int64_t at = 0;
    for (; at + step <= bytes; at += step) {
        const auto a = load(from + at);
        const auto b = load(from + at + width);
        store(a, to + at);
        store(b, to + at + width);
    }
    std::memcpy(to + at, from + at, size_t(bytes - at));
}

void add(char *to, const char *a, const char *b, int64_t bytes) {
    const auto load_floats = [](const char *from) {
        return hn::LoadU(floats, reinterpret_cast<const float *>(from));
    };
    for (int64_t at = 0; at < bytes; at += width) {
        const auto sum = hn::Add(load_floats(a + at), load_floats(b + at));
        hn::StoreU(sum, floats, reinterpret_cast<float *>(to + at));
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace halyard::roofs
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::roofs {
namespace {

HWY_EXPORT(read);
HWY_EXPORT(write);
HWY_EXPORT(copy);
HWY_EXPORT(add);

}  // namespace

uint64_t read_stream(const char *from, int64_t bytes) {
    return HWY_DYNAMIC_DISPATCH(read)(from, bytes);
}

void write_stream(char *to, int64_t bytes) {
    HWY_DYNAMIC_DISPATCH(write)(to, bytes);
}

void copy_stream(char *to, const char *from, int64_t bytes) {
    HWY_DYNAMIC_DISPATCH(copy)(to, from, bytes);
}

void add_stream(char *to, const char *a, const char *b, int64_t bytes) {
    HWY_DYNAMIC_DISPATCH(add)(to, a, b, bytes);
}

void copy_past_caches(char *to, const char *from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += 16)
        _mm_stream_si128((__m128i *)(to + at), _mm_loadu_si128((const __m128i *)(from + at)));
    _mm_sfence();
}

}  // namespace halyard::roofs
#endif
