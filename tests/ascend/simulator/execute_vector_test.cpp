// Tests every instruction of the vector unit, on every type of every profile, against a plain loop:
// random masks, repeats and strides.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "tests/ascend/instruction_runner.h"

namespace halyard::dv {
namespace {

constexpr int size_of_buffer = 8192;

struct Geometry {  // The strides of one operand.
    int blk, rep;
    int64_t element(int repeat, int e, int bytes) const {
        return int64_t(repeat) * rep * 32 / bytes + int64_t(e / (32 / bytes)) * blk * 32 / bytes +
               e % (32 / bytes);
    }
};
Geometry geometry(std::mt19937 &random) {
    return {int(random() % 4), int(random() % 17)};
}

Mask mask(int lanes, std::mt19937 &random) {
    Mask m;
    if (random() % 2)
        m.count = int64_t(1 + random() % unsigned(lanes));
    else {
        m.bits = true;
        m.low = uint64_t(random()) << 32 | random() | 1;
        if (lanes > 64) m.high = uint64_t(random()) << 32 | random();
    }
    return m;
}
bool takes_part(const Mask &m, int e) {
    return m.bits ? ((e < 64 ? m.low >> e : m.high >> (e - 64)) & 1) != 0 : e < m.count.value();
}

double expected(VecOp op, double a, double b, double d, double x) {
    switch (op) {
    case VecOp::add: return a + b;
    case VecOp::sub: return a - b;
    case VecOp::mul: return a * b;
    case VecOp::div: return a / b;
    case VecOp::max: return std::max(a, b);
    case VecOp::min: return std::min(a, b);
    case VecOp::relu: return std::max(a, 0.0);
    case VecOp::exp: return std::exp(a);
    case VecOp::ln: return std::log(a);
    case VecOp::abs: return std::fabs(a);
    case VecOp::rec: return 1 / a;
    case VecOp::sqrt: return std::sqrt(a);
    case VecOp::rsqrt: return 1 / std::sqrt(a);
    case VecOp::adds: return a + x;
    case VecOp::muls: return a * x;
    case VecOp::maxs: return std::max(a, x);
    case VecOp::mins: return std::min(a, x);
    case VecOp::lrelu: return a >= 0 ? a : a * x;
    case VecOp::axpy: return d + a * x;
    case VecOp::mla: return d + a * b;
    case VecOp::dup: return x;
    default: return NAN;
    }
}

// Expects `got` to be `want` but for rounding; abs_sum is the sum of the absolute values of terms
// that may cancel.
template<class T> void near(T got, double want, double abs_sum, const std::string &what) {
    if constexpr (std::is_integral_v<T>)
        ASSERT_EQ(double(got), want) << what;
    else {
        const double v = double(float(T(float(want))));
        const double g = double(float(got));
        ASSERT_EQ(std::isnan(v), std::isnan(g)) << what;
        if (std::isnan(v)) return;
        // Sums of products round twice, hence one unit.
        const double bound = std::isinf(v)
                                 ? 0
                                 : (std::fabs(v) + abs_sum) * (sizeof(T) == 2 ? 0x1p-10 : 0x1p-22);
        ASSERT_TRUE(g == v || std::fabs(g - v) <= bound) << what << ": " << g << ", expected " << v;
    }
}

uint16_t expected_bits(VecOp op, uint16_t a, uint16_t b) {
    if (op == VecOp::and_) return a & b;
    return uint16_t(op == VecOp::or_ ? a | b : ~a);
}

// Returns the instruction on buffers d, a and b with a random mask, repeat and strides, which are
// also stored in `g`, in that order of the buffers.
Vec random_instruction(const test::InstructionRunner &runner, VecOp op, int lanes,
                       std::array<Geometry, 3> &g, std::mt19937 &random) {
    Vec v;
    v.op = op;
    v.dst = runner.ref("d");
    v.src[0] = runner.ref("a");
    v.src[1] = runner.ref("b");
    v.number.imm = 1.5;
    v.mask = mask(lanes, random);
    v.repeat = int64_t(1 + random() % 8);
    for (Geometry &operand : g)
        operand = geometry(random);
    v.dst_blk = g[0].blk;
    v.dst_rep = g[0].rep;
    for (size_t s = 0; s < 2; s++) {
        v.src_blk[s] = g[s + 1].blk;
        v.src_rep[s] = g[s + 1].rep;
    }
    return v;
}

// The destination after the instruction, as values and as 16-bit words.
struct Expected {
    std::vector<double> values;
    std::vector<uint16_t> bits;
};

// Executes the instruction as a plain loop on the buffers d, a and b.
template<class T>
Expected run_naively(const Vec &v, const std::array<Geometry, 3> &g, T *const (&buffers)[3]) {
    constexpr int bytes = sizeof(T);
    Expected want{{buffers[0], buffers[0] + size_of_buffer / bytes},
                  std::vector<uint16_t>(size_of_buffer / 2)};
    std::memcpy(want.bits.data(), buffers[0], size_of_buffer);
    for (int r = 0; r < v.repeat.value(); r++) {
        for (int e = 0; e < 256 / bytes; e++) {
            if (!takes_part(v.mask, e)) continue;
            const auto d = size_t(g[0].element(r, e, bytes));
            const int64_t a = g[1].element(r, e, bytes);
            const int64_t b = g[2].element(r, e, bytes);
            if constexpr (bytes == 2) {
                uint16_t x, y;
                std::memcpy(&x, buffers[1] + a, 2);
                std::memcpy(&y, buffers[2] + b, 2);
                want.bits[d] = expected_bits(v.op, x, y);
            }
            const double x = std::is_integral_v<T> ? 1 : 1.5;
            want.values[d] = expected(v.op, double(buffers[1][a]), double(buffers[2][b]),
                                      want.values[d], x);
            if constexpr (!std::is_integral_v<T>)
                want.values[d] = double(float(T(float(want.values[d]))));
        }
    }
    return want;
}

template<class T> int check(const std::string &profile, VecOp op, std::mt19937 &random) {
    constexpr int elements = size_of_buffer / int(sizeof(T));
    test::InstructionRunner runner(profile);
    T *buffers[3];
    const char *const names[] = {"d", "a", "b"};
    for (int k = 0; k < 3; k++) {
        buffers[k] = runner.add<T>(names[k], Scope::ub, elements);
        test::fill(buffers[k], elements, random);
    }
    std::array<Geometry, 3> g;
    const Vec v = random_instruction(runner, op, 256 / int(sizeof(T)), g, random);
    const Expected want = run_naively(v, g, buffers);
    EXPECT_TRUE(runner.run(v).empty());
    if (op == VecOp::and_ || op == VecOp::or_ || op == VecOp::not_) {
        EXPECT_EQ(std::memcmp(want.bits.data(), buffers[0], size_of_buffer), 0) << name_of(op);
        return 1;
    }
    for (int i = 0; i < elements; i++) {
        near(buffers[0][i], want.values[size_t(i)], reads_dst(op) ? 16 : 0,
             profile + " " + name_of(op) + " " + name_of(dtype_for<T>::value) + " element " +
                 std::to_string(i));
    }
    return 1;
}

int check(const std::string &profile, VecOp op, DType t, std::mt19937 &random) {
    switch (t) {
    case DType::f16: return check<float16>(profile, op, random);
    case DType::f32: return check<float>(profile, op, random);
    case DType::i32: return check<int32_t>(profile, op, random);
    default: return check<bfloat16>(profile, op, random);
    }
}

TEST(Vector, OperationsMatchPlainLoops) {
    std::mt19937 random(1);
    int cases = 0, rejected = 0;
    for (const std::string &profile : Profile::names()) {
        for (int i = 0; i < vec_op_count; i++) {
            for (const DType t : {DType::f16, DType::f32, DType::i32, DType::bf16}) {
                const VecOp op = (VecOp)i;
                if (!Profile::named(profile).takes(std::string("vec_") + name_of(op), t)) {
                    rejected++;
                    continue;
                }
                for (int n = 0; n < 6; n++)
                    cases += check(profile, op, t, random);
                if (testing::Test::HasFatalFailure()) return;
            }
        }
    }
    std::printf("%d cases, %d combinations the profiles don't have\n", cases, rejected);
}

// Conversions.

double rounded(double v, Round mode) {
    switch (mode) {
    case Round::floor: return std::floor(v);
    case Round::ceil: return std::ceil(v);
    case Round::away: return std::round(v);
    case Round::truncate: return std::trunc(v);
    default: return std::nearbyint(v);
    }
}

// Rounds v to a float of `digits` binary digits and smallest exponent `least`, in double: scales
// its last place to one, rounds, and scales back.
double rounded(double v, Round mode, int digits, int least) {
    if (v == 0 || !std::isfinite(v)) return v;
    int exponent;
    std::frexp(v, &exponent);
    const int place = std::max(exponent - digits, least);
    return std::ldexp(rounded(std::ldexp(v, -place), mode), place);
}

template<class From, class To>
int check_conversion(const std::string &profile, Round mode, std::mt19937 &random) {
    test::InstructionRunner runner(profile);
    const int n = 256 / int(std::max(sizeof(From), sizeof(To)));
    const int repeat = 3;
    From *from = runner.add<From>("a", Scope::ub, n * repeat);
    To *to = runner.add<To>("d", Scope::ub, n * repeat);
    for (int i = 0; i < n * repeat; i++) {
        if constexpr (std::is_integral_v<From>)
            from[i] = (From)random();
        else
            from[i] = From(float(std::ldexp(double(random()) / 4294967296.0 - 0.5, i % 24 - 12)));
    }
    VecConv v;
    v.round = mode;
    v.dst = runner.ref("d");
    v.src = runner.ref("a");
    v.mask.count = n;
    v.repeat = repeat;
    v.scale = std::is_same_v<From, int32_t> && std::is_same_v<To, float16> ? 0x1p-20 : 1;
    v.dst_rep = int64_t(n * sizeof(To) / 32);
    v.src_rep = int64_t(n * sizeof(From) / 32);
    EXPECT_TRUE(runner.run(v).empty());
    for (int i = 0; i < n * repeat; i++) {
        const double x = double(from[i]) * v.scale;
        double want = x;
        if constexpr (std::is_integral_v<To>) {
            want = std::clamp(rounded(x, mode), double(std::numeric_limits<To>::min()),
                              double(std::numeric_limits<To>::max()));
        } else if constexpr (std::is_same_v<To, float16>)
            want = rounded(x, mode, 11, -24);
        else if constexpr (std::is_same_v<To, bfloat16>)
            want = rounded(x, mode, 8, -133);
        else
            want = double(float(x));
        EXPECT_EQ(double(to[i]), want)
            << name_of(dtype_for<From>::value) << " to " << name_of(dtype_for<To>::value) << ", "
            << name_of(mode) << " of " << x;
        if (testing::Test::HasFailure()) return 0;
    }
    return 1;
}

TEST(Vector, ConversionsMatchInEveryMode) {
    std::mt19937 random(2);
    int cases = 0;
    for (const std::string &profile : Profile::names()) {
        for (const DType from :
             {DType::f16, DType::f32, DType::bf16, DType::i32, DType::i8, DType::u8}) {
            for (const DType to :
                 {DType::f16, DType::f32, DType::bf16, DType::i32, DType::i8, DType::u8}) {
                if (!Profile::named(profile).takes(std::string("vec_conv.") + name_of(from), to))
                    continue;
                for (int mode = 0; mode <= int(Round::truncate); mode++) {
                    visit_dtype(from, [&](auto f) {
                        visit_dtype(to, [&](auto t) {
                            if constexpr (!std::is_same_v<decltype(f), decltype(t)> &&
                                          sizeof f <= 4 && sizeof t <= 4) {
                                cases += check_conversion<decltype(f), decltype(t)>(
                                    profile, (Round)mode, random);
                            }
                        });
                    });
                }
            }
        }
    }
    std::printf("%d cases\n", cases);
}

// Reductions, comparisons, selections, transposes.

struct Reduced {
    double value;
    int index;  // The index of the extremum.
};

// Reduces the elements from `begin` to `end` as a plain loop.
template<class T> Reduced reduce_naively(ReduceOp op, const T *a, int begin, int end) {
    Reduced r{op == ReduceOp::add ? 0 : double(a[begin]), begin};
    for (int e = begin; e < end; e++) {
        const auto x = double(a[e]);
        if (op == ReduceOp::add)
            r.value += x;
        else if (op == ReduceOp::max ? x > r.value : x < r.value)
            r = {x, e};
    }
    return r;
}

template<class T>
void check_reduction(const std::string &profile, ReduceOp op, bool group, std::mt19937 &random) {
    test::InstructionRunner runner(profile);
    constexpr int lanes = 256 / sizeof(T);
    constexpr int per_block = 32 / sizeof(T);
    constexpr int repeat = 5;
    T *a = runner.add<T>("a", Scope::ub, lanes * repeat);
    T *d = runner.add<T>("d", Scope::ub, lanes);
    // Sums of these values are exact in any order.
    for (int i = 0; i < lanes * repeat; i++)
        a[i] = T(float(int(random() % 17) - 8));
    VecReduce v;
    v.op = op;
    v.group = group;
    v.index = !group && op != ReduceOp::add;
    v.dst = runner.ref("d");
    v.src = runner.ref("a");
    v.repeat = repeat;
    v.mask.count = lanes - 5;
    EXPECT_TRUE(runner.run(v).empty());
    for (int r = 0; r < repeat; r++) {
        for (int part = 0; part < (group ? 8 : 1); part++) {
            const int begin = group ? part * per_block : 0;
            const int end = std::min(group ? begin + per_block : lanes, lanes - 5);
            const Reduced want = reduce_naively(op, a + r * lanes, begin, end);
            const T *got = d + (group ? r * 8 + part : v.index ? 2 * r : r);
            EXPECT_EQ(double(*got), want.value)
                << name_of(op) << " repeat " << r << " part " << part;
            uint16_t index = 0;
            std::memcpy(&index, got + 1, 2);
            EXPECT_TRUE(!v.index || index == want.index) << index << ", expected " << want.index;
        }
    }
}

// Checks the reduction in f16 and f32, and returns how many of them the profile has.
int check_reduction(const std::string &profile, ReduceOp op, bool group, std::mt19937 &random) {
    const std::string name = std::string(group ? "vcg" : "vc") + name_of(op);
    int cases = 0;
    if (Profile::named(profile).takes(name, DType::f16)) {
        check_reduction<float16>(profile, op, group, random);
        cases++;
    }
    if (Profile::named(profile).takes(name, DType::f32)) {
        check_reduction<float>(profile, op, group, random);
        cases++;
    }
    return cases;
}

TEST(Vector, ReductionsMatchPlainLoops) {
    std::mt19937 random(3);
    int cases = 0;
    for (const std::string &profile : Profile::names()) {
        for (const ReduceOp op : {ReduceOp::add, ReduceOp::max, ReduceOp::min}) {
            for (const bool group : {false, true})
                cases += check_reduction(profile, op, group, random);
        }
    }
    std::printf("%d cases\n", cases);
}

template<class T> void check_selection(CmpOp op, std::mt19937 &random) {
    test::InstructionRunner runner("ascend910");
    constexpr int lanes = 256 / sizeof(T);
    constexpr int repeat = 3;
    constexpr int n = lanes * repeat;
    T *a = runner.add<T>("a", Scope::ub, n);
    T *b = runner.add<T>("b", Scope::ub, n);
    T *d = runner.add<T>("d", Scope::ub, n);
    runner.add<uint8_t>("bits", Scope::ub, n / 8);
    for (int i = 0; i < n; i++) {
        a[i] = T(float(random() % 5));
        b[i] = T(float(random() % 5));
    }
    VecCmp c;
    c.op = op;
    c.dst = runner.ref("bits");
    c.src[0] = runner.ref("a");
    c.src[1] = runner.ref("b");
    c.repeat = repeat;
    EXPECT_TRUE(runner.run(c).empty());
    VecSel s;
    s.dst = runner.ref("d");
    s.sel = runner.ref("bits");
    s.src[0] = runner.ref("a");
    s.mask.count = lanes;
    s.repeat = repeat;
    for (const bool number : {false, true}) {
        if (number) {
            s.src[1] = {};
            s.number.imm = -7;
        } else
            s.src[1] = runner.ref("b");
        EXPECT_TRUE(runner.run(s).empty());
        for (int i = 0; i < n; i++) {
            const double x = double(a[i]);
            const double y = double(b[i]);
            const bool is[] = {x<y, x> y, x >= y, x == y, x != y, x <= y};
            EXPECT_EQ(double(d[i]), is[int(op)] ? x
                                    : number    ? -7
                                                : y)
                << name_of(op) << " element " << i;
        }
    }
}

TEST(Vector, ComparisonsAndSelectionsMatchPlainLoops) {
    std::mt19937 random(4);
    for (int op = 0; op < 6; op++) {
        check_selection<float16>((CmpOp)op, random);
        check_selection<float>((CmpOp)op, random);
    }
}

TEST(Vector, TransposesMatchPlainLoops) {
    test::InstructionRunner runner("ascend910");
    float16 *a = runner.add<float16>("a", Scope::ub, 1024);
    float16 *d = runner.add<float16>("d", Scope::ub, 1024);
    for (int i = 0; i < 1024; i++)
        a[i] = float16(float(i));
    VecTrans v;
    v.dst = runner.ref("d");
    v.src = runner.ref("a");
    v.repeat = 2;
    v.src_rep = 2;
    EXPECT_TRUE(runner.run(v).empty());
    for (int r = 0; r < 2; r++) {
        for (int i = 0; i < 256; i++)
            EXPECT_EQ(float(d[r * 256 + i]), float(r * 512 + i % 16 * 16 + i / 16));
    }
}

}  // namespace
}  // namespace halyard::dv
