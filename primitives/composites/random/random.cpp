// Random tensors. Kernels draw them; they take seed and offset as 32-bit words.
#include <algorithm>
#include <cmath>

#include "primitives/composites/random/draw.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/random_kernels.h"

namespace halyard {
namespace {

// Returns the numbers that draw(words of seed and offset, how many) makes, in `shape`.
template<class Draw>
Tensor filled(const Call &call, const Shape &shape, DType dtype, const Draw &draw) {
    const GeneratorWords at = words_of(generator_of(call));
    if (shape.elements() == 0) return Tensor::empty(shape, dtype);
    return reshaped(draw(at, shape.elements()), shape);
}
Shape shape_of(const Call &call, const char *name) {
    const Shape s(call.ints(name));
    bool fits = true;
    int64_t n = 1;
    for (int64_t extent : s) {
        if (extent < 0) {
            throw AttrError(call.op(), std::string(name) + " has an extent of " +
                                           std::to_string(extent) + ", expected 0 or more");
        }
        fits &= !__builtin_mul_overflow(n, extent, &n);
    }
    if (!fits || n > INT32_MAX) {
        throw ShapeError(call.op(), std::string(name) + " " + s.text() + " has more than " +
                                        std::to_string(INT32_MAX) + " elements");
    }
    return s;
}

Tensor uniform_tensor(const Call &call, const Shape &shape, double low, double high, DType dtype) {
    // The last number below `high`, to which results that would round to `high` are clamped.
    double max_value = dtype == DType::f64 ? std::nextafter(high, low)
                                           : double(std::nextafter(float(high), float(low)));
    return filled(call, shape, dtype, [&](const GeneratorWords &at, int64_t n) {
        return kernel::uniform(at.seed_lo, at.seed_hi, at.offset_lo, at.offset_hi, n, low, high,
                               max_value, dtype);
    });
}
double checked_stddev(const Call &call) {
    const double stddev = call.real("stddev");
    if (!(stddev >= 0)) {
        throw AttrError(call.op(), "stddev is " + std::to_string(stddev) + ", expected at least 0");
    }
    return stddev;
}

// For references: the words of an element. Element i has word i % 64 / 16 of block i / 64 * 16 +
// i % 16, whose counter is (block, lane, offset) (kernels/random/draws.h).
struct DrawnWords {
    uint64_t first, second;  // of lanes 0 and 1
    uint32_t pair[2];        // the even word and the odd word that follows it, of lane 0
    bool is_second;          // True if `first` is the odd one.
};

// Returns a number in [0, 1): of 53 bits for f64, of 24 bits for other dtypes.
double uniform_of(const DrawnWords &w, DType dtype) {
    if (dtype == DType::f64) return double(w.first << 21 | w.second >> 11) * 0x1p-53;
    return uniform(uint32_t(w.first));
}

// A tensor of random numbers.
struct Distribution : Drawn {
    Distribution(const std::string &op_name, const std::string &signature_text,
                 const std::string &formula, std::vector<std::string> op_dtypes)
        : Drawn(op_name, signature_text, formula) {
        dtypes = std::move(op_dtypes);
    }
    // Returns block k of Philox.
    static Words block(const Problem &p, uint64_t k, uint32_t lane) {
        const auto seed = uint64_t(p["seed"]);
        const auto offset = uint64_t(p["offset"]);
        return philox_words({uint32_t(k), lane, uint32_t(offset), uint32_t(offset >> 32)},
                            {uint32_t(seed), uint32_t(seed >> 32)});
    }
    // For references: returns an array of `shape` with value(words) for each element.
    template<class Value>
    static Array reference_draw(const Problem &p, const Shape &shape, Value value) {
        Array y(shape);
        for (uint64_t i = 0; i < y.v.size(); i++) {
            const uint64_t k = i / 64 * 16 + i % 16;  // the index of the block of Philox
            const size_t w = i / 16 % 4;
            const Words first = block(p, k, 0);
            y.v[i] = value({first[w],
                            block(p, k, 1)[w],
                            {first[w / 2 * 2], first[w / 2 * 2 + 1]},
                            w % 2 != 0});
        }
        return y;
    }
};

struct Uniform : Distribution {
    Uniform()
        : Distribution("uniform", "-> y[n]", "y uniform in [minval, maxval), of `shape`",
                       {"f32", "f64"}) {
        other_names = {"rand"};
        required_at_call("shape", AttrKind::ints);
        at_call("minval", AttrKind::real, "0");
        at_call("maxval", AttrKind::real, "1");
        seeded("f32");
        contract = {Contract::normwise, 2};
        samples = {"shape=2,3 seed=7 offset=1",
                   "shape=5,7,31 minval=-2 maxval=3 seed=4294967297 offset=5"};
    }
    Result compose(const Call &call) const override {
        const double low = call.real("minval");
        const double high = call.real("maxval");
        if (!(low <= high) || !std::isfinite(high - low)) {
            throw AttrError("uniform", "minval is " + std::to_string(low) +
                                           ", expected a number of at most maxval " +
                                           std::to_string(high));
        }
        return {uniform_tensor(call, shape_of(call, "shape"), low, high, dtype_of_call(call))};
    }
    void reference(Problem &p) const override {
        const double low = p.real("minval");
        p.tensors["y"] = reference_draw(p, list(p, "shape"), [&](const DrawnWords &w) {
            return low + uniform_of(w, p.dtype) * (p.real("maxval") - low);
        });
    }
};

// A normal distribution with attributes mean and stddev.
struct NormalLike : Distribution {
    NormalLike(const std::string &op_name, const std::string &formula,
               std::vector<std::string> op_dtypes)
        : Distribution(op_name, "-> y[n]", formula, std::move(op_dtypes)) {
        required_at_call("shape", AttrKind::ints);
        at_call("mean", AttrKind::real, "0");
        at_call("stddev", AttrKind::real, "1");
        seeded("f32");
        contract = {Contract::normwise, 6};
        samples = {"shape=2,3 seed=7 offset=1",
                   "shape=5,7,31 mean=-2 stddev=3 seed=9 offset=8589934592"};
    }
    virtual double standard(const DrawnWords &w, DType dtype) const = 0;
    void reference(Problem &p) const override {
        p.tensors["y"] = reference_draw(p, list(p, "shape"), [&](const DrawnWords &w) {
            return p.real("mean") + p.real("stddev") * standard(w, p.dtype);
        });
    }
};

struct Normal : NormalLike {
    Normal()
        : NormalLike("normal", "y normal with mean and stddev, of `shape` (Box and Muller)",
                     {"f32", "f64"}) {
        other_names = {"randn"};
    }
    Result compose(const Call &call) const override {
        const DType dtype = dtype_of_call(call);
        const double stddev = checked_stddev(call);
        const auto draw = [&](const GeneratorWords &at, int64_t n) {
            return kernel::normal(at.seed_lo, at.seed_hi, at.offset_lo, at.offset_hi, n,
                                  call.real("mean"), stddev, dtype);
        };
        return {filled(call, shape_of(call, "shape"), dtype, draw)};
    }
    // Box and Muller: a pair of words gives the normals r cos t and r sin t.
    double standard(const DrawnWords &w, DType dtype) const override {
        const double exact = double(w.pair[0] >> 1 | 1) * 0x1p-31;
        const double u = dtype == DType::f64 ? exact : double(float(exact));
        const double r = std::sqrt(-2 * std::log(u));
        const double t = 6.283185307179586 * 0x1p-32 * w.pair[1];
        return r * (w.is_second ? std::sin(t) : std::cos(t));
    }
};

struct TruncatedNormal : NormalLike {
    TruncatedNormal()
        : NormalLike(
              "truncated_normal",
              "y normal with mean and stddev, no further than 2 stddev from mean, of `shape`",
              {"f32"}) {}
    Result compose(const Call &call) const override {
        const DType dtype = dtype_of_call(call);
        const double stddev = checked_stddev(call);
        const auto draw = [&](const GeneratorWords &at, int64_t n) {
            return kernel::truncated_normal(at.seed_lo, at.seed_hi, at.offset_lo, at.offset_hi, n,
                                            call.real("mean"), stddev);
        };
        return {cast_to(filled(call, shape_of(call, "shape"), DType::f32, draw), dtype)};
    }
    // z = sqrt(2) erfinv(v erf(sqrt 2)), v uniform in (-1, 1), by Newton's method: the derivative
    // of erf(z / sqrt 2) is sqrt(2 / pi) exp(-z^2 / 2).
    double standard(const DrawnWords &w, DType) const override {
        const double v = (2 * uniform(uint32_t(w.first)) - 1 + 0x1p-24) * std::erf(std::sqrt(2.0));
        double z = 0;
        for (int step = 0; step < 60; step++) {
            z -= (std::erf(z / std::sqrt(2.0)) - v) / (std::sqrt(2 / M_PI) * std::exp(-z * z / 2));
        }
        return z;
    }
};

struct Randint : Distribution {
    Randint()
        : Distribution("randint", "-> y[n]",
                       "y a whole number in [low, high), of `size`; high - low at most 2^32",
                       {"i64", "i32"}) {
        required_at_call("low", AttrKind::integer);
        required_at_call("high", AttrKind::integer);
        required_at_call("size", AttrKind::ints);
        seeded("i64");
        samples = {"low=0 high=10 size=2,3 seed=7 offset=1",
                   "low=-3 high=-2 size=5 seed=9 offset=0",
                   "low=-2147483648 high=2147483648 size=65 seed=1 offset=2"};
    }
    Result compose(const Call &call) const override {
        const int64_t low = call.integer("low");
        const int64_t high = call.integer("high");
        const DType dtype = dtype_of_call(call);
        if (high <= low || uint64_t(high) - uint64_t(low) > 1ull << 32) {
            throw AttrError("randint", "high is " + std::to_string(high) +
                                           ", expected more than low " + std::to_string(low) +
                                           ", by at most 4294967296");
        }
        if (dtype == DType::i32 && (low < INT32_MIN || high - 1 > INT32_MAX)) {
            throw AttrError("randint", "low " + std::to_string(low) + " to high " +
                                           std::to_string(high) + " is out of range of i32");
        }
        const auto draw = [&](const GeneratorWords &at, int64_t n) {
            return kernel::randint(at.seed_lo, at.seed_hi, at.offset_lo, at.offset_hi, n,
                                   low_word(uint64_t(low)), low_word(uint64_t(low) >> 32),
                                   low_word(uint64_t(high) - uint64_t(low) - 1));
        };
        return {cast_to(filled(call, shape_of(call, "size"), DType::i64, draw), dtype)};
    }
    // Computes low + floor(range w / 2^64), where w is a word of 64 bits.
    void reference(Problem &p) const override {
        const int64_t low = p["low"];
        const auto range = uint64_t(p["high"] - low);
        p.tensors["y"] = reference_draw(p, list(p, "size"), [&](const DrawnWords &w) {
            const uint64_t low_part = range * w.second >> 32;
            return double(low + int64_t((range * w.first + low_part) >> 32));
        });
    }
};

struct Bernoulli : Distribution {
    Bernoulli()
        : Distribution(
              "bernoulli", "x[*] p:U[*] -> y[*]",
              "y = 1 with probability p, else 0, of x's shape and dtype; p is broadcast to it",
              {"f32,f32", "f16,f32", "bf16,f32", "f64,f64", "i32,f32", "u8,f32", "bool,f32"}) {
        seeded();
        samples = {"d0=2 d1=3 d2=5 seed=7 offset=1"};
    }
    Result compose(const Call &call) const override {
        if (!is_float(call[1].dtype())) {
            throw DTypeError("bernoulli", std::string("p is ") + name_of(call[1].dtype()) +
                                              ", expected a float");
        }
        const DType dtype = call[1].dtype() == DType::f64 ? DType::f64 : DType::f32;
        const Tensor p = broadcast_view(cast_to(call[1], dtype), call[0].shape());
        return {cast_to(F::less(uniform_tensor(call, call[0].shape(), 0, 1, dtype), p),
                        call[0].dtype())};
    }
    void reference(Problem &p) const override {
        const DType dtype = p.dtype == DType::f64 ? DType::f64 : DType::f32;
        Array y = reference_draw(p, p("x").shape,
                                 [&](const DrawnWords &w) { return uniform_of(w, dtype); });
        for (size_t i = 0; i < y.v.size(); i++)
            y.v[i] = y.v[i] < p("p").v[i];  // samples give p the shape of x
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Uniform>();
    composites.add<Normal>();
    composites.add<TruncatedNormal>();
    composites.add<Randint>();
    composites.add<Bernoulli>();
}

}  // namespace halyard
