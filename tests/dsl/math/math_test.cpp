// Compares every math function of the DSL at Float(32), compiled for four instruction sets, with
// libm in double. HALYARD_MATH_SAMPLES sets the number of float bit patterns (default 2^20; "all"
// sweeps the 2^32).
#include "dsl/math/math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "Halide.h"

namespace {

using Halide::Expr;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float least = 0x1p-149f, least_normal = 0x1p-126f, largest = 0x1.fffffep+127f;

double sigmoid(double x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double softplus(double x) {
    return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))) + (std::isnan(x) ? x : 0);
}
double at_limit(double x, double y) {
    return x == -inf ? -0.0 : y;
}  // x f(x), f(-inf) = 0

// The largest error in units of the last place of the result; below 2^-126 the unit is 2^-149.
struct Unary {
    const char *name;
    double bound;
    double (*reference)(double);
};
const Unary unary[] = {
    {"exp", 1, [](double x) { return std::exp(x); }},
    {"exp2", 2, [](double x) { return std::exp2(x); }},
    {"expm1", 2, [](double x) { return std::expm1(x); }},
    {"log", 1.5, [](double x) { return std::log(x); }},
    {"log2", 2, [](double x) { return std::log2(x); }},
    {"log10", 1.5, [](double x) { return std::log10(x); }},
    {"log1p", 2, [](double x) { return std::log1p(x); }},
    {"sqrt", 1, [](double x) { return std::sqrt(x); }},
    {"rsqrt", 1, [](double x) { return 1 / std::sqrt(x); }},
    {"reciprocal", 1, [](double x) { return 1 / x; }},
    {"sin", 2, [](double x) { return std::sin(x); }},
    {"cos", 2, [](double x) { return std::cos(x); }},
    {"tan", 4, [](double x) { return std::tan(x); }},
    {"asin", 4, [](double x) { return std::asin(x); }},
    {"acos", 4, [](double x) { return std::acos(x); }},
    {"atan", 4, [](double x) { return std::atan(x); }},
    {"sinh", 4, [](double x) { return std::sinh(x); }},
    {"cosh", 4, [](double x) { return std::cosh(x); }},
    {"tanh", 2, [](double x) { return std::tanh(x); }},
    {"asinh", 4, [](double x) { return std::asinh(x); }},
    {"acosh", 4, [](double x) { return std::acosh(x); }},
    {"atanh", 4, [](double x) { return std::atanh(x); }},
    {"erf", 2, [](double x) { return std::erf(x); }},
    {"erfc", 8, [](double x) { return std::erfc(x); }},
    {"sigmoid", 2.5, sigmoid},
    {"gelu", 5, [](double x) { return at_limit(x, 0.5 * x * std::erfc(-x * M_SQRT1_2)); }},
    {"gelu_tanh", 8,
     [](double x) {
         return at_limit(x, x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x)));
     }},
    {"fast_gelu", 4, [](double x) { return at_limit(x, x * sigmoid(1.702 * x)); }},
    {"gaussian", 3, [](double x) { return std::exp(x * x * -0.5); }},
    {"exp_minus_square", 3, [](double x) { return std::exp(-x * x); }},
    {"softplus", 4, softplus},
    {"logsigmoid", 4, [](double x) { return -softplus(-x); }},
    {"silu", 4, [](double x) { return at_limit(x, x * sigmoid(x)); }},
    {"mish", 4.5,
     [](double x) {
         const double e = std::exp(std::fmin(x, 40.0));
         const double w = e * (e + 2);
         return std::isnan(x) ? x : at_limit(x, x * (w / (w + 2)));
     }},
    {"floor", 0, [](double x) { return std::floor(x); }},
    {"ceil", 0, [](double x) { return std::ceil(x); }},
    {"round", 0, [](double x) { return std::nearbyint(x); }},
    {"trunc", 0, [](double x) { return std::trunc(x); }},
};
struct Binary {
    const char *name;
    double bound;
    double (*reference)(double, double);
};
const Binary binary[] = {
    {"pow", 4, [](double x, double y) { return std::pow(x, y); }},
    {"atan2", 4, [](double y, double x) { return std::atan2(y, x); }},
};
constexpr int unary_count = std::size(unary);
constexpr int binary_count = std::size(binary);

struct Isa {
    const char *name, *target;
    int share;  // The function gets 1 / share of the samples.
};
const Isa isas[] = {
    {"avx512", "x86-64-linux-sse41-avx-f16c-fma-avx2-avx512-avx512_skylake", 1},
    {"avx2", "x86-64-linux-sse41-avx-f16c-fma-avx2", 1},
    {"sse41", "x86-64-linux-sse41", 8},
    {"baseline", "x86-64-linux", 8},
};
bool host_runs(const Isa &isa) {
    const Halide::Target host = Halide::get_host_target();
    const Halide::Target t(isa.target);
    for (int i = 0; i < Halide::Target::FeatureEnd; i++) {
        if (t.has_feature((Halide::Target::Feature)i) &&
            !host.has_feature((Halide::Target::Feature)i))
            return false;
    }
    return true;
}

// One pipeline has all functions of one kind: compiling them separately costs several times more.
constexpr int chunk = 1 << 14;
class Kernels {
    Halide::Target target;
    Halide::Pipeline pipeline;

public:
    std::vector<Halide::ImageParam> in;
    std::vector<Halide::Buffer<float>> results;  // There is one buffer per function.

    Kernels(const std::string &isa, int arity, const std::vector<const char *> &names)
        : target(isa + "-no_asserts-no_bounds_query") {
        Halide::Var i("i");
        std::vector<Expr> args;
        for (int k = 0; k < arity; k++) {
            in.emplace_back(Halide::Float(32), 1);
            args.push_back(in[k](i));
        }
        std::vector<Halide::Func> out;
        for (const char *name : names) {
            out.emplace_back();
            out.back()(i) = halyard::math::expand(name, args);
            out.back().vectorize(i, target.natural_vector_size<float>(),
                                 Halide::TailStrategy::RoundUp);
            results.emplace_back(chunk);
        }
        pipeline = Halide::Pipeline(out);
        pipeline.compile_jit(target);
    }
    void run(const std::vector<Halide::Buffer<float>> &args) {
        for (size_t k = 0; k < args.size(); k++)
            in[k].set(args[k]);
        pipeline.realize(
            Halide::Realization(std::vector<Halide::Buffer<>>(results.begin(), results.end())),
            target);
    }
};

// Returns |got - want| in units of the last place of want: 0 for equal special values, inf for
// unequal ones.
double ulps(float got, double want) {
    const float rounded = float(want);
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : inf;
    if (std::isinf(want)) return got == rounded ? 0 : inf;
    if (want == 0 && got == 0) return std::signbit(want) == std::signbit(got) ? 0 : inf;
    const double overflow = 0x1p128;
    const double a = std::clamp(want, -overflow, overflow);
    const double b = std::isinf(got) ? std::copysign(overflow, got) : got;
    const int exponent = want == 0 ? -126 : std::clamp(std::ilogb(want), -126, 127);
    return std::fabs(a - b) / std::ldexp(1.0, exponent - 23);
}

struct Worst {
    double error = 0;
    float x = 0, y = 0, got = 0;
    double want = 0;
    void see(float x_, float y_, float got_, double want_) {
        const double e = ulps(got_, want_);
        if (e > error) *this = {e, x_, y_, got_, want_};
    }
    std::string text() const {
        char s[200];
        std::snprintf(s, sizeof s, "%.3f ulp at x = %.9g (%a), y = %.9g: %.9g, should be %.17g",
                      error, x, x, y, got, want);
        return s;
    }
};

uint32_t mixed(uint32_t v) {
    v = (v ^ (v >> 16)) * 0x7feb352du;
    v = (v ^ (v >> 15)) * 0x846ca68bu;
    return v ^ (v >> 16);
}
double fraction(uint32_t v) {
    return mixed(v) * 0x1p-32;
}

const std::vector<float> special = {0.0f,
                                    -0.0f,
                                    inf,
                                    -inf,
                                    nan,
                                    -nan,
                                    least,
                                    -least,
                                    least_normal,
                                    -least_normal,
                                    0x1.fffffcp-127f,
                                    largest,
                                    -largest,
                                    1,
                                    -1,
                                    0.5f,
                                    -0.5f,
                                    2,
                                    -2,
                                    1 + 0x1p-23f,
                                    1 - 0x1p-24f,
                                    -1 - 0x1p-23f,
                                    -1 + 0x1p-24f,
                                    3,
                                    -3,
                                    0x1p24f,
                                    0x1p24f - 1,
                                    -0x1p24f + 1,
                                    0x1p25f,
                                    2.5f,
                                    -2.5f,
                                    3.5f,
                                    0x1p23f + 1,
                                    0x1p22f + 0.5f,
                                    0.49999997f,
                                    -0.49999997f,
                                    1.5707964f,
                                    3.1415927f,
                                    -3.1415927f,
                                    511.99997f,
                                    512,
                                    0x1.47d0fep34f,
                                    16367173.0f,
                                    88.72283f,
                                    88.72284f,
                                    88.722855f,
                                    -87.33654f,
                                    -87.33655f,
                                    -103.27893f,
                                    -103.97207f,
                                    -103.97208f,
                                    -103.97209f,
                                    -104,
                                    89.41599f,
                                    89.41600f,
                                    127.99999f,
                                    128,
                                    -126,
                                    -149,
                                    -149.5f,
                                    -150,
                                    -150.5f,
                                    -14.5f,
                                    -13,
                                    20,
                                    9.01f,
                                    -9.01f,
                                    17.4f,
                                    -17.4f,
                                    10.05f,
                                    10.06f,
                                    -0.99999994f,
                                    1e30f,
                                    -1e30f,
                                    1e-30f,
                                    -1e-30f,
                                    1e-42f};

// Returns the k-th of n inputs: the special ones, three quarters spread over all bit patterns, one
// quarter over [-110, 110] or [-8, 8].
float input(uint64_t k, uint64_t n) {
    if (k < special.size()) return special[k];
    if (n > 0xffffffffu) return std::bit_cast<float>(uint32_t(k));
    if (k % 4 == 0) return float((fraction(uint32_t(k)) * 2 - 1) * (k % 8 ? 110 : 8));
    const uint64_t width = (uint64_t(1) << 32) / n;
    return std::bit_cast<float>(uint32_t(k * width + mixed(uint32_t(k)) % width));
}
// Returns pairs: every pair of special values, then y with x^y in range, small integers, and any
// pattern.
std::pair<float, float> pair_input(uint64_t k, uint64_t n) {
    const size_t s = special.size();
    if (k < s * s) return {special[k / s], special[k % s]};
    const uint32_t h = mixed(uint32_t(k) * 5 + 1);
    float x = input(k, n);
    float y = 0;
    if (k % 4 == 1) x = float(0.25 + 4 * fraction(h + 3));
    switch (h % 4) {
    case 0: y = float(int(h >> 20) % 40 - 20); break;
    case 1: y = std::bit_cast<float>(mixed(h)); break;
    default: y = float((fraction(h) * 279 - 150) / std::log2(std::fabs(double(x))));
    }
    return {x, y};
}

uint64_t sample_count() {
    const char *text = std::getenv("HALYARD_MATH_SAMPLES");
    if (!text) return 1 << 20;
    return std::string(text) == "all" ? uint64_t(1) << 32
                                      : std::max<uint64_t>(std::strtoull(text, nullptr, 10), chunk);
}

// The largest error by function and instruction set. One pass computes the references once for all
// of them.
using Survey = std::map<std::string, std::map<std::string, Worst>>;
using KernelSet = std::vector<std::pair<const Isa *, std::unique_ptr<Kernels>>>;

std::vector<const char *> function_names(int arity) {
    std::vector<const char *> names;
    for (int f = 0; f < (arity == 1 ? unary_count : binary_count); f++)
        names.push_back(arity == 1 ? unary[f].name : binary[f].name);
    return names;
}

KernelSet compile_for_host(int arity, const std::vector<const char *> &names) {
    KernelSet kernels;
    for (const Isa &isa : isas) {
        if (host_runs(isa))
            kernels.emplace_back(&isa, std::make_unique<Kernels>(isa.target, arity, names));
    }
    return kernels;
}

// One chunk of inputs; y is used by functions of two arguments.
struct Chunk {
    Halide::Buffer<float> x{chunk}, y{chunk};

    void fill(int arity, uint64_t start, uint64_t n) {
        for (int i = 0; i < chunk; i++) {
            if (arity == 1)
                x(i) = input(start + i, n);
            else
                std::tie(x(i), y(i)) = pair_input(start + i, n);
        }
    }
    void compute_references(int arity, size_t f, std::vector<double> &want) const {
        for (int i = 0; i < chunk; i++)
            want[i] = arity == 1 ? unary[f].reference(x(i)) : binary[f].reference(x(i), y(i));
    }
    std::vector<Halide::Buffer<float>> arguments(int arity) const {
        return arity == 1 ? std::vector{x} : std::vector{x, y};
    }
};

// Surveys all functions of one arity on the inputs of `count` of n samples.
void survey_functions(int arity, uint64_t count, uint64_t n, Survey &survey) {
    const std::vector<const char *> names = function_names(arity);
    const KernelSet kernels = compile_for_host(arity, names);
    Chunk in;
    std::vector<double> want(chunk);
    for (uint64_t start = 0, c = 0; start < count; start += chunk, c++) {
        in.fill(arity, start, n);
        for (auto &[isa, kernel] : kernels)
            if (c % isa->share == 0) kernel->run(in.arguments(arity));
        for (size_t f = 0; f < names.size(); f++) {
            in.compute_references(arity, f, want);
            for (auto &[isa, kernel] : kernels) {
                if (c % isa->share) continue;
                Worst &worst = survey[names[f]][isa->name];
                const float *got = kernel->results[f].data();
                for (int i = 0; i < chunk; i++)
                    worst.see(in.x(i), arity == 1 ? 0 : in.y(i), got[i], want[i]);
            }
        }
    }
}

Survey make_survey() {
    Survey survey;
    const uint64_t n = sample_count();
    survey_functions(1, n, n, survey);
    survey_functions(2, std::min<uint64_t>(n, 1 << 22), n, survey);
    return survey;
}
const Survey &survey() {
    static const Survey s = [] {
        try {
            return make_survey();
            // This is no std::exception, so GoogleTest would not print it.
        } catch (const Halide::Error &e) {
            throw std::runtime_error(e.what());
        }
    }();
    return s;
}

void check_bound(const char *name, double bound) {
    for (const auto &[isa, worst] : survey().at(name)) {
        std::printf("    %-10s %-8s %s\n", name, isa.c_str(), worst.text().c_str());
        EXPECT_LE(worst.error, bound) << name << " on " << isa << ": " << worst.text();
    }
}

class UnaryMath : public testing::TestWithParam<int> {};
TEST_P(UnaryMath, StaysWithinItsBound) {
    check_bound(unary[GetParam()].name, unary[GetParam()].bound);
}
INSTANTIATE_TEST_SUITE_P(Functions, UnaryMath, testing::Range(0, unary_count),
                         [](const auto &p) { return std::string(unary[p.param].name); });

class BinaryMath : public testing::TestWithParam<int> {};
TEST_P(BinaryMath, StaysWithinItsBound) {
    check_bound(binary[GetParam()].name, binary[GetParam()].bound);
}
INSTANTIATE_TEST_SUITE_P(Functions, BinaryMath, testing::Range(0, binary_count),
                         [](const auto &p) { return std::string(binary[p.param].name); });

TEST(Math, OddFunctionsAreOddBitwise) {
    const std::vector<const char *> names = {"sin",  "tan",   "asin",  "atan", "sinh",
                                             "tanh", "asinh", "atanh", "erf"};
    for (const Isa &isa : isas) {
        if (!host_runs(isa)) continue;
        Kernels kernel(isa.target, 1, names);
        Halide::Buffer<float> x(chunk);
        for (int i = 0; i < chunk; i++)
            x(i) = i % 2 ? -x(i - 1) : input(uint64_t(i) * 31, uint64_t(chunk) * 31);
        kernel.run({x});
        for (size_t f = 0; f < names.size(); f++) {
            int uneven = 0;
            for (int i = 0; i < chunk; i += 2) {
                const float a = kernel.results[f](i);
                const float b = kernel.results[f](i + 1);
                uneven += std::isnan(a) ? !std::isnan(b)
                                        : std::bit_cast<uint32_t>(a) !=
                                              (std::bit_cast<uint32_t>(b) ^ 0x80000000u);
            }
            EXPECT_EQ(uneven, 0) << names[f] << " on " << isa.name;
        }
    }
}

TEST(Math, ExpOfNonPositiveIsWithinItsBoundAndFlushes) {
    for (const Isa &isa : isas) {
        if (!host_runs(isa)) continue;
        Kernels kernel(isa.target, 1, {"exp_nonpositive"});
        Halide::Buffer<float> x(chunk);
        Worst worst;
        for (uint64_t start = 0; start < 64 * chunk; start += chunk) {
            for (int i = 0; i < chunk; i++)
                x(i) = std::copysign(input(start + i, 64 * chunk), -1.0f);
            kernel.run({x});
            for (int i = 0; i < chunk; i++) {
                worst.see(x(i), 0, kernel.results[0](i),
                          x(i) < -87.3365f ? 0 : std::exp(double(x(i))));
            }
        }
        EXPECT_LE(worst.error, 1.25) << isa.name << ": " << worst.text();
    }
}

double double_input(int i) {
    if (i < 2) return i ? -0.0 : 0.0;
    return i == 2 ? nan : (fraction(i) - 0.4) * (i % 3 ? 2 : 60);
}

void expect_like_libm(const Unary &u, double x, double got) {
    const double want = u.reference(x);
    if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got)) << u.name << " " << x;
    else if (std::isinf(want))
        EXPECT_EQ(got, want) << u.name << " " << x;
    else
        EXPECT_NEAR(got, want, 4e-15 * (1 + x * x) * std::fabs(want)) << u.name << " " << x;
}

TEST(Math, DoublesMatchLibm) {
    for (const Unary &u : unary) {
        Halide::Buffer<double> x(64), y(64);
        for (int i = 0; i < 64; i++)
            x(i) = double_input(i);
        Halide::Var i("i");
        Halide::ImageParam in(Halide::Float(64), 1);
        Halide::Func f;
        f(i) = halyard::math::expand(u.name, {in(i)});
        f.vectorize(i, 4);
        in.set(x);
        f.realize(y);
        for (int k = 0; k < 64; k++)
            expect_like_libm(u, x(k), y(k));
    }
}

TEST(Math, AliasesAndDeviceFunctionsAreCalls) {
    const Expr x = Halide::Var("x") * 1.5f;
    auto called = [&](const Expr &e) {
        return e.as<Halide::Internal::Call>() ? e.as<Halide::Internal::Call>()->name
                                              : std::string();
    };
    EXPECT_EQ(called(halyard::math::expand("exp", {x}, false)), "exp_f32");
    EXPECT_EQ(called(halyard::math::expand("sqrt", {x}, false)), "sqrt_f32");
    EXPECT_EQ(called(halyard::math::expand("lgamma", {x})), "lgamma_f32");
    EXPECT_EQ(called(halyard::math::expand("lgamma", {Halide::cast<double>(x)})), "lgamma_f64");
}

}  // namespace
