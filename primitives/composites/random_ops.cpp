// Random tensors, choices and orders (records: kernels/random/random.cpp, random_order.cpp,
// dropout.cpp).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/random.h"
#include "registry/tensor/pool_allocator.h"

namespace halyard {
namespace {

using Given = std::vector<std::pair<std::string, AttrValue>>;

// Where a call draws: what its attributes say, and the default generator where they are -1.
Random place_of(const Attrs &a) {
    const int64_t seed = integer(a, "seed");
    const int64_t offset = integer(a, "offset");
    for (const char *name : {"seed", "offset"}) {
        if (integer(a, name) < -1) {
            throw AttrError(a.op().name, std::string(name) + " is " +
                                             std::to_string(integer(a, name)) +
                                             ", expected -1 or more");
        }
    }
    if (seed >= 0 && offset >= 0) return {uint64_t(seed), uint64_t(offset)};
    const RngState next = Random::next().state();
    return {seed < 0 ? next.seed : uint64_t(seed), offset < 0 ? next.offset : uint64_t(offset)};
}

// Kernel scalars are int32; the bits are what counts.
int64_t low_word(uint64_t v) {
    return int32_t(uint32_t(v));
}
Given words_of(const Random &at, Given also) {
    const RngState &s = at.state();
    also.insert(also.end(), {{"seed_lo", low_word(s.seed)},
                             {"seed_hi", low_word(s.seed >> 32)},
                             {"offset_lo", low_word(s.offset)},
                             {"offset_hi", low_word(s.offset >> 32)}});
    return also;
}

Tensor filled(const Attrs &a, const char *kernel, const Shape &shape, Given also, DType dtype) {
    const Random at = place_of(a);
    if (shape.elements() == 0) return Tensor::empty(shape, dtype);
    also.emplace_back("n", shape.elements());
    return reshaped(run1(kernel, {}, words_of(at, std::move(also))), shape);
}
Shape shape_of(const Attrs &a, const char *name) {
    const Shape s(ints(a, name));
    bool fits = true;
    int64_t n = 1;
    for (int64_t extent : s) {
        if (extent < 0) {
            throw AttrError(a.op().name, std::string(name) + " has an extent of " +
                                             std::to_string(extent) + ", expected 0 or more");
        }
        fits &= !__builtin_mul_overflow(n, extent, &n);
    }
    if (!fits || n > INT32_MAX) {
        throw ShapeError(a.op().name, std::string(name) + " " + s.text() + " has more than " +
                                          std::to_string(INT32_MAX) + " elements");
    }
    return s;
}
DType dtype_of_call(const Attrs &a) {
    const auto dtype = (DType)integer(a, "dtype");
    std::string all;
    for (const std::string &d : a.op().dtypes) {
        if (dtype_of(d) == dtype) return dtype;
        all += (all.empty() ? "" : " or ") + d;
    }
    throw DTypeError(a.op().name, std::string("dtype is ") + name_of(dtype) + ", expected " + all);
}

Tensor uniform_tensor(const Attrs &a, const Shape &shape, double low, double high, DType dtype) {
    // The last number below `high`: what rounds up to it is taken down again.
    double most = dtype == DType::f64 ? std::nextafter(high, low)
                                      : double(std::nextafter(float(high), float(low)));
    return filled(a, "uniform_kernel", shape,
                  {{"low", low}, {"high", high}, {"most", most}, {"dtype", dtype}}, dtype);
}
Result uniform(Tensors, const Attrs &a) {
    const double low = real(a, "minval");
    const double high = real(a, "maxval");
    if (!(low <= high) || !std::isfinite(high - low)) {
        throw AttrError("uniform", "minval is " + std::to_string(low) +
                                       ", expected a number of at most maxval " +
                                       std::to_string(high));
    }
    return {uniform_tensor(a, shape_of(a, "shape"), low, high, dtype_of_call(a))};
}

double checked_stddev(const Attrs &a) {
    const double stddev = real(a, "stddev");
    if (!(stddev >= 0)) {
        throw AttrError(a.op().name,
                        "stddev is " + std::to_string(stddev) + ", expected at least 0");
    }
    return stddev;
}
Result normal(Tensors, const Attrs &a) {
    const DType dtype = dtype_of_call(a);
    return {filled(a, "normal_kernel", shape_of(a, "shape"),
                   {{"mean", real(a, "mean")}, {"stddev", checked_stddev(a)}, {"dtype", dtype}},
                   dtype)};
}
Result truncated_normal(Tensors, const Attrs &a) {
    const DType dtype = dtype_of_call(a);
    return {cast_to(filled(a, "truncated_normal_kernel", shape_of(a, "shape"),
                           {{"mean", real(a, "mean")}, {"stddev", checked_stddev(a)}}, DType::f32),
                    dtype)};
}

Result randint(Tensors, const Attrs &a) {
    const int64_t low = integer(a, "low");
    const int64_t high = integer(a, "high");
    const DType dtype = dtype_of_call(a);
    if (high <= low || uint64_t(high) - uint64_t(low) > 1ull << 32) {
        throw AttrError("randint", "high is " + std::to_string(high) + ", expected more than low " +
                                       std::to_string(low) + ", by at most 4294967296");
    }
    if (dtype == DType::i32 && (low < INT32_MIN || high - 1 > INT32_MAX)) {
        throw AttrError("randint", "low " + std::to_string(low) + " to high " +
                                       std::to_string(high) + " is out of range of i32");
    }
    const Given given = {{"low_lo", low_word(uint64_t(low))},
                         {"low_hi", low_word(uint64_t(low) >> 32)},
                         {"range_less_1", low_word(uint64_t(high) - uint64_t(low) - 1)}};
    return {cast_to(filled(a, "randint_kernel", shape_of(a, "size"), given, DType::i64), dtype)};
}

Result bernoulli(Tensors in, const Attrs &a) {
    if (!is_float(in[1].dtype())) {
        throw DTypeError("bernoulli",
                         std::string("p is ") + name_of(in[1].dtype()) + ", expected a float");
    }
    const DType dtype = in[1].dtype() == DType::f64 ? DType::f64 : DType::f32;
    const Tensor p = broadcast_view(cast_to(in[1], dtype), in[0].shape());
    return {
        cast_to(run1("less", {uniform_tensor(a, in[0].shape(), 0, 1, dtype), p}), in[0].dtype())};
}

Result dropout(Tensors in, const Attrs &a) {
    const double p = real(a, "p");
    if (!(p >= 0 && p <= 1))
        throw AttrError("dropout", "p is " + std::to_string(p) + ", expected 0 to 1");
    return Primitive("dropout_kernel", words_of(place_of(a), {{"p", p}})).run(in);
}

// Fisher and Yates.
Tensor permutation(const Attrs &a, int64_t n) {
    if (n < 0 || n > INT32_MAX) {
        throw AttrError(a.op().name, "n is " + std::to_string(n) + ", expected 0 to " +
                                         std::to_string(INT32_MAX));
    }
    const Random at = place_of(a);
    Tensor order = Tensor::empty({n}, DType::i32);
    auto *const place = order.data<int32_t>();
    std::iota(place, place + n, 0);
    for (auto i = size_t(n); i > 1; i--)
        std::swap(place[i - 1], place[at.below(i, uint32_t(i))]);
    return order;
}
Result randperm(Tensors, const Attrs &a) {
    const int64_t n = integer(a, "n");
    const DType dtype = dtype_of_call(a);
    return {cast_to(permutation(a, n), dtype)};
}
Result shuffle(Tensors in, const Attrs &a) {
    if (in[0].rank() == 0) throw ShapeError("shuffle", "x has rank 0, expected at least 1");
    const int64_t n = in[0].shape()[0];
    return {run1("gather", {in[0], permutation(a, n)}, {{"axis", 0}})};
}

// [0, 1) in steps of 2^-53.
double uniform53(const Random &at, uint64_t k) {
    const Words w = at.block(k);
    return double(uint64_t(w[0]) << 21 | w[1] >> 11) * 0x1p-53;
}

// One row: c weights, `count` places to fill. `first` is the row's first number of the stream.
void choose_with_replacement(const Random &at, uint64_t first, std::span<const double> weights,
                             std::span<int32_t> places) {
    PoolVector<double> sums(weights.size());
    std::partial_sum(weights.begin(), weights.end(), sums.begin());
    // A running sum that doesn't grow is passed over: a weight of 0 is never chosen.
    const auto last = std::lower_bound(sums.begin(), sums.end(), sums.back());
    for (size_t s = 0; s < places.size(); s++) {
        places[s] = int32_t(std::min(std::upper_bound(sums.begin(), sums.end(),
                                                      uniform53(at, first + s) * sums.back()),
                                     last) -
                            sums.begin());
    }
}
// Efraimidis and Spirakis, "Weighted random sampling with a reservoir", IPL 97, 2006: in the order
// of log(1 - u) / weight.
void choose_without(const Random &at, uint64_t first, std::span<const double> weights,
                    std::span<int32_t> places) {
    PoolVector<std::pair<double, int32_t>> keys;
    for (size_t j = 0; j < weights.size(); j++) {
        if (weights[j] > 0)
            keys.emplace_back(-std::log(1 - uniform53(at, first + j)) / weights[j], int32_t(j));
    }
    if (keys.size() < places.size()) {
        throw ShapeError("multinomial", "num_samples is " + std::to_string(places.size()) +
                                            ", expected at most the " +
                                            std::to_string(keys.size()) +
                                            " weights above 0 of a row");
    }
    std::partial_sort(keys.begin(), keys.begin() + int64_t(places.size()), keys.end());
    for (size_t s = 0; s < places.size(); s++)
        places[s] = keys[s].second;
}

Result multinomial(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const int64_t count = integer(a, "num_samples");
    if (!is_float(x.dtype())) {
        throw DTypeError("multinomial",
                         std::string("x is ") + name_of(x.dtype()) + ", expected a float");
    }
    if (x.rank() < 1) throw ShapeError("multinomial", "x has rank 0, expected at least 1");
    if (count < 1 || count > INT32_MAX) {
        throw AttrError("multinomial", "num_samples is " + std::to_string(count) +
                                           ", expected 1 to " + std::to_string(INT32_MAX));
    }
    Shape shape = x.shape();
    const size_t c = size_t(shape[x.rank() - 1]);
    shape[x.rank() - 1] = count;
    const Tensor weights = stop_gradient(x).to(DType::f64);
    const Tensor y = Tensor::empty(shape, DType::i32);
    const Random at = place_of(a);
    for (size_t row = 0; row < size_t(y.elements() / count); row++) {
        const std::span<const double> w(weights.data<double>() + row * c, c);
        double sum = 0;
        for (size_t j = 0; j < c; sum += w[j++]) {
            if (!(w[j] >= 0) || std::isinf(w[j])) {
                throw ShapeError("multinomial", "weight " + std::to_string(j) + " of row " +
                                                    std::to_string(row) + " is " +
                                                    std::to_string(w[j]) + ", expected at least 0");
            }
        }
        if (sum == 0) {
            throw ShapeError("multinomial",
                             "row " + std::to_string(row) + " has no weight above 0");
        }
        const std::span<int32_t> places(y.data<int32_t>() + row * size_t(count),
                                        static_cast<size_t>(count));
        if (integer(a, "replacement"))
            choose_with_replacement(at, row * size_t(count), w, places);
        else
            choose_without(at, row * c, w, places);
    }
    return {y};
}

}  // namespace

Family random_family() {
    static const Family::value_type all[] = {
        {"uniform", uniform},   {"normal", normal},       {"truncated_normal", truncated_normal},
        {"randint", randint},   {"bernoulli", bernoulli}, {"dropout", dropout},
        {"randperm", randperm}, {"shuffle", shuffle},     {"multinomial", multinomial}};
    return all;
}

}  // namespace halyard
