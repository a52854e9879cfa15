// Random choices and orders: primitives/composites/random_ops.cpp makes them on the host, element
// after element.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dsl/math/philox.h"
#include "kernels/layout/composite.h"

namespace halyard {
namespace {

struct Choice : Composite {
    Choice(const std::string &n, const std::string &sig_text, const std::string &formula)
        : Composite(
              n, sig_text,
              formula +
                  "; a function of (seed, offset, place), -1: those of the default generator") {}
    void finish() {
        at_call("seed", AttrKind::integer, "-1");
        at_call("offset", AttrKind::integer, "-1");
    }
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
    // Fisher and Yates; a word whose product falls into the remainder of 2^32 / bound is drawn
    // again (Lemire).
    static std::vector<int64_t> permutation(const Problem &p, int64_t n) {
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

struct Randperm : Choice {
    Randperm() : Choice("randperm", "-> y[n]", "y = 0, 1, ... n-1 in random order") {
        attrs.push_back({"n", AttrKind::integer, "!", {}, {}, true});
        finish();
        at_call("dtype", AttrKind::dtype, "i64");
        dtypes = {"i64", "i32"};
        samples = {"n=1 seed=1 offset=0", "n=17 seed=4294967299 offset=5",
                   "n=1009 seed=1 offset=2"};
    }
    void reference(Problem &p) const override {
        const std::vector<int64_t> order = permutation(p, p["n"]);
        Array y({p["n"]});
        std::copy(order.begin(), order.end(), y.v.begin());
        p.tensors["y"] = y;
    }
};

struct Shuffle : Choice {
    Shuffle() : Choice("shuffle", "x[*] -> y[*]", "y = x with its first axis in random order") {
        other_names = {"permutation"};
        finish();
        samples = {"d0=1 d1=1 d2=1 seed=1 offset=0", "d0=7 d1=2 d2=3 seed=2 offset=5"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const std::vector<int64_t> order = permutation(p, x[0]);
        gather(p, x, [&](const Shape &index) {
            Shape from = index;
            from[0] = order[size_t(index[0])];
            return from;
        });
    }
};

// With replacement draw k of row r is the first place at which the running sum of x exceeds u sum
// x; without, places in the order of log(1 - u) / x, the largest first: the first of them is
// distributed alike, and so is each among those that are left.
struct Multinomial : Choice {
    Multinomial()
        : Choice("multinomial", "x[..n,c] -> y:i32[..n,num_samples]",
                 "y = places of the last axis, each with a probability in proportion to x") {
        attrs.push_back({"num_samples", AttrKind::integer, "!", {}, {}, true});
        attrs.push_back({"replacement", AttrKind::boolean, "1", {}, {}, true});
        finish();
        let("x_least", "0");
        dtypes = {"f32", "f64"};
        samples = {"n=3 c=7 num_samples=5 seed=1 offset=0",
                   "n=3 c=7 num_samples=7 replacement=0 seed=1 offset=3",
                   "n=1 c=1 num_samples=1 seed=0 offset=0",
                   "n=2 c=31 num_samples=9 replacement=0 seed=5 offset=1"};
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

HALYARD_OPS {
    ops.add<Randperm>();
    ops.add<Shuffle>();
    ops.add<Multinomial>();
}

}  // namespace halyard
