// Random choices and orders, which the host makes one element after the other.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "primitives/autograd/tape.h"
#include "primitives/composites/indexing/indexing.h"
#include "primitives/composites/random/draw.h"
#include "registry/tensor/pool_allocator.h"

namespace halyard {
namespace {

// Returns a permutation of 0 to n-1 (Fisher and Yates).
Tensor permutation(const Call &call, int64_t n) {
    if (n < 0 || n > INT32_MAX) {
        throw AttrError(call.op(), "n is " + std::to_string(n) + ", expected 0 to " +
                                       std::to_string(INT32_MAX));
    }
    const Random at = generator_of(call);
    Tensor order = Tensor::empty({n}, DType::i32);
    auto *const place = order.data<int32_t>();
    std::iota(place, place + n, 0);
    for (auto i = size_t(n); i > 1; i--)
        std::swap(place[i - 1], place[at.below(i, uint32_t(i))]);
    return order;
}

// Returns a number in [0, 1), in steps of 2^-53.
double uniform53(const Random &at, uint64_t k) {
    const Words w = at.block(k);
    return double(uint64_t(w[0]) << 21 | w[1] >> 11) * 0x1p-53;
}

// Fills the `places` of a row by its weights. `first` is the index of the row's first number in the
// stream.
void choose_with_replacement(const Random &at, uint64_t first, std::span<const double> weights,
                             std::span<int32_t> places) {
    PoolVector<double> sums(weights.size());
    std::partial_sum(weights.begin(), weights.end(), sums.begin());
    // upper_bound() skips running sums that don't grow, so a weight of 0 is never chosen.
    const auto last = std::lower_bound(sums.begin(), sums.end(), sums.back());
    for (size_t s = 0; s < places.size(); s++) {
        places[s] = int32_t(std::min(std::upper_bound(sums.begin(), sums.end(),
                                                      uniform53(at, first + s) * sums.back()),
                                     last) -
                            sums.begin());
    }
}
// The same without replacement, in the order of log(1 - u) / weight: Efraimidis and Spirakis,
// "Weighted random sampling with a reservoir", IPL 97, 2006.
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

struct OnHost : Drawn {
    using Drawn::Drawn;

    // For references: the words of block k of the generator's stream.
    static Words block(const Problem &p, uint64_t k, uint32_t lane) {
        const auto seed = uint64_t(p["seed"]);
        const auto offset = uint64_t(p["offset"]);
        return philox_words(
            {uint32_t(k), uint32_t(k >> 32) | lane << 16, uint32_t(offset), uint32_t(offset >> 32)},
            {uint32_t(seed), uint32_t(seed >> 32)});
    }
    static double uniform53(const Problem &p, uint64_t k) {
        const Words w = block(p, k, 0);
        return double(uint64_t(w[0]) << 21 | w[1] >> 11) * 0x1p-53;
    }
    // Fisher and Yates. A word whose product is in the remainder of 2^32 / bound is drawn again
    // (Lemire).
    static std::vector<int64_t> expected_order(const Problem &p, int64_t n) {
        std::vector<int64_t> order(static_cast<size_t>(n));
        std::iota(order.begin(), order.end(), 0);
        for (uint64_t i = uint64_t(n); i > 1; i--) {
            uint32_t k = 0;
            while (uint32_t(block(p, i, k / 4)[k % 4] * i) < uint32_t(0x100000000 % i))
                k++;
            std::swap(order[i - 1], order[size_t(block(p, i, k / 4)[k % 4] * i >> 32)]);
        }
        return order;
    }
};

struct Randperm : OnHost {
    Randperm() : OnHost("randperm", "-> y[n]", "y = 0, 1, ... n-1 in random order") {
        required_at_call("n", AttrKind::integer);
        seeded();
        at_call("dtype", AttrKind::dtype, "i64");
        dtypes = {"i64", "i32"};
        samples = {"n=1 seed=1 offset=0", "n=17 seed=4294967299 offset=5",
                   "n=1009 seed=1 offset=2"};
    }
    Result compose(const Call &call) const override {
        const int64_t n = call.integer("n");
        const DType dtype = dtype_of_call(call);
        return {cast_to(permutation(call, n), dtype)};
    }
    void reference(Problem &p) const override {
        const std::vector<int64_t> order = expected_order(p, p["n"]);
        Array y({p["n"]});
        std::copy(order.begin(), order.end(), y.v.begin());
        p.tensors["y"] = y;
    }
};

struct Shuffle : OnHost {
    Shuffle() : OnHost("shuffle", "x[*] -> y[*]", "y = x with its first axis in random order") {
        other_names = {"permutation"};
        seeded();
        samples = {"d0=1 d1=1 d2=1 seed=1 offset=0", "d0=7 d1=2 d2=3 seed=2 offset=5"};
    }
    Result compose(const Call &call) const override {
        if (call[0].rank() == 0) throw ShapeError("shuffle", "x has rank 0, expected at least 1");
        const int64_t n = call[0].shape()[0];
        return {composite::gather(call[0], permutation(call, n), 0)};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const std::vector<int64_t> order = expected_order(p, x[0]);
        gather(p, x, [&](const Shape &index) {
            Shape from = index;
            from[0] = order[size_t(index[0])];
            return from;
        });
    }
};

// With replacement, draw k of row r is the first index at which the running sum of x exceeds u sum
// x. Without, indices are in the order of log(1 - u) / x, the largest first: the first has the same
// distribution, and so has each among those that are left.
struct Multinomial : OnHost {
    Multinomial()
        : OnHost("multinomial", "x[..n,c] -> y:i32[..n,num_samples]",
                 "y = places of the last axis, each with a probability in proportion to x") {
        required_at_call("num_samples", AttrKind::integer);
        at_call("replacement", AttrKind::boolean, "1");
        seeded();
        let("x_least", "0");
        dtypes = {"f32", "f64"};
        samples = {"n=3 c=7 num_samples=5 seed=1 offset=0",
                   "n=3 c=7 num_samples=7 replacement=0 seed=1 offset=3",
                   "n=1 c=1 num_samples=1 seed=0 offset=0",
                   "n=2 c=31 num_samples=9 replacement=0 seed=5 offset=1"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const int64_t count = call.integer("num_samples");
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
        const Random at = generator_of(call);
        for (size_t row = 0; row < size_t(y.elements() / count); row++) {
            const std::span<const double> w(weights.data<double>() + row * c, c);
            double sum = 0;
            for (size_t j = 0; j < c; sum += w[j++]) {
                if (!(w[j] >= 0) || std::isinf(w[j])) {
                    throw ShapeError("multinomial", "weight " + std::to_string(j) + " of row " +
                                                        std::to_string(row) + " is " +
                                                        std::to_string(w[j]) +
                                                        ", expected at least 0");
                }
            }
            if (sum == 0) {
                throw ShapeError("multinomial",
                                 "row " + std::to_string(row) + " has no weight above 0");
            }
            const std::span<int32_t> places(y.data<int32_t>() + row * size_t(count),
                                            static_cast<size_t>(count));
            if (call.integer("replacement"))
                choose_with_replacement(at, row * size_t(count), w, places);
            else
                choose_without(at, row * c, w, places);
        }
        return {y};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x");
        const int64_t c = p["c"];
        const int64_t k = p["num_samples"];
        Array y({p["n"], k});
        for (int64_t r = 0; r < p["n"]; r++) {
            std::vector<double> at(static_cast<size_t>(c));
            double sum = 0;
            for (int64_t j = 0; j < c; j++) {
                at[size_t(j)] = p["replacement"]
                                    ? sum += x(r, j)
                                    : std::log(1 - uniform53(p, uint64_t(r * c + j))) / x(r, j);
            }
            for (int64_t s = 0; s < k; s++) {
                int64_t place = 0;
                if (p["replacement"]) {
                    while (at[size_t(place)] <= uniform53(p, uint64_t(r * k + s)) * sum)
                        place++;
                } else {
                    place = std::max_element(at.begin(), at.end()) - at.begin();
                    at[size_t(place)] = -INFINITY;
                }
                y(r, s) = double(place);
            }
        }
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Randperm>();
    composites.add<Shuffle>();
    composites.add<Multinomial>();
}

}  // namespace halyard
