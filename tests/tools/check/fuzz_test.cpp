// Tests that random calls find faults that samples don't reach, and shrink them to small calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "dsl/kernel.h"
#include "kernels/elementwise/elementwise.h"
#include "primitives/library.h"
#include "tests/registry/has_kernels.h"
#include "tools/check/fills.h"
#include "tools/check/fuzz.h"

namespace halyard::check {
namespace {

// The least instruction set that this build has kernels of.
std::string least_isa() {
    return name_of(has_kernels(Isa::baseline) ? Isa::baseline : Isa::avx2);
}

// y = 2 x + 1, with a tail that is computed twice: in place, the second time reads the result of
// the first.
struct TwiceInPlace : Elementwise {
    TwiceInPlace() : Elementwise("fuzz_twice", "x[*] -> y[*]") {
        dtypes = {"f32"};
        add({"shifted", Dim("d2") >= halyard::lanes, tail(Tail::ShiftInwards)});
        add({"guarded", DimExpr::always(), tail(Tail::GuardWithIf)});
    }
    Func x = input("x");
    Func y = output("y");
    void algorithm() override { y(Halide::_) = 2_r * x(Halide::_) + 1_r; }
    Steps tail(Tail t) {
        return {.schedule = [this, t](const Cpu &cpu) {
            store().compute_root().vectorize(var(0), cpu.lanes, t);
        }};
    }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *out) { out[0] = 2 * in[0] + 1; });
    }
};

// y = x for x >= 1, else 0; the kernel is wrong at 1.
struct WrongAtOne : Elementwise {
    WrongAtOne() : Elementwise("fuzz_at_one", "x[*] -> y[*]") { dtypes = {"f32"}; }
    Func x = input("x");
    Func y = output("y");
    void algorithm() override { y(Halide::_) = select(x(Halide::_) > 1_r, x(Halide::_), 0_r); }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *out) { out[0] = in[0] >= 1 ? in[0] : 0; });
    }
};

// y = a b; the kernel is wrong where a is large.
struct WrongFarAway : Elementwise {
    WrongFarAway() : Elementwise("fuzz_far_away", "a[*] b[*] -> y[*]") { dtypes = {"f32"}; }
    Func a = input("a"), b = input("b");
    Func y = output("y");
    void algorithm() override { y(Halide::_) = min(a(Halide::_), 90_r) * b(Halide::_); }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *out) { out[0] = in[0] * in[1]; });
    }
};

// y = x; the kernel is wrong at one value, which is exact in 16 bits.
struct WrongAtOneValue : Elementwise {
    WrongAtOneValue() : Elementwise("fuzz_at_one_value", "x[*] -> y[*]") {
        dtypes = {"f32", "bf16"};
    }
    Func x = input("x");
    Func y = output("y");
    void algorithm() override { y(Halide::_) = select(x(Halide::_) == 304_r, 0_r, x(Halide::_)); }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *out) { out[0] = in[0]; });
    }
};

// Returns whether any element of a row differs from 0. The kernel skips the last one.
struct AnyButTheLast : Op {
    AnyButTheLast() : Op("fuzz_any", "x[..n,c] -> y[..n]") {
        dtypes = {"f32"};
        attr("axis", -1);
        axis = "c";
        samples = {"n=7 c=40"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x");
    Func y = output("y");
    Func found{"found"};
    Var n{"n"};
    RDom k;
    void algorithm() override {
        k = RDom(0, size("c") - 1);
        found(n) = 0_r;
        found(n) = max(found(n), select(x(k, n) == 0_r, 0_r, 1_r));
        y(n) = found(n);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t j = 0; j < p["c"]; j++)
                if (p("x")(i, j) != 0) p("y")(i) = 1;
        }
    }
};

template<class Tested>
int register_it(Isa isa, const std::string &dtypes = "f32") {  // Returns the lanes.
    int lanes = 0;
    OpFile file;
    file.ops.push_back(Tested());
    library().add({&file});
    for (auto &v : Tested().variants) {
        Instance i;
        i.isa = isa;
        i.dtypes = dtypes;
        i.variant = v.name;
        Kernel k(std::make_unique<Tested>(), i);
        library().add_kernel({Tested().name, "cpu", dtypes, v.name, isa, k.lanes, {}, k.load()});
        lanes = k.lanes;
    }
    return lanes;
}

TEST(Fuzz, FindsATailThatIsWrongInPlace) {
    const auto from = std::chrono::steady_clock::now();
    Options o;
    o.isas = {host_isa()};
    const int lanes = register_it<TwiceInPlace>(host_isa());
    const TwiceInPlace op;
    Report r;
    r.op = op.name;
    check_fuzz(op, o, r);
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
    ASSERT_EQ(r.failures.size(), 1u);
    std::printf("%d calls were right, then, after %.1f s:\n    %s\n", r.passed, seconds,
                r.failures[0].c_str());
    EXPECT_LT(seconds, 10);

    const std::string before = "repeat: halyard check fuzz_twice --fuzz-case \"";
    const size_t at = r.failures[0].find(before);
    ASSERT_NE(at, std::string::npos);
    const std::string text = r.failures[0].substr(at + before.size(),
                                                  r.failures[0].size() - at - before.size() - 1);
    FuzzCase c = parse_fuzz_case(op, text);
    EXPECT_EQ(c.text(), text);
    int64_t elements = 1;
    for (auto &[name, extent] : c.sample.dims)
        elements *= extent;
    EXPECT_LE(elements, 2 * lanes);
    EXPECT_EQ(c.layouts, (std::map<std::string, std::string>{{"y", "on-x"}}));
    EXPECT_EQ(c.specials, 0);
    EXPECT_NE(run_fuzz_case(op, c), "") << "the line repeats it";
    c.layouts.clear();
    EXPECT_EQ(run_fuzz_case(op, c), "") << "it is wrong in place only";
}

// Random calls of our own ops found these faults, which are fixed. With random values, every row
// has a value other than 0 besides the last.
TEST(Fuzz, FindsAFaultInOneElement) {
    register_it<AnyButTheLast>(host_isa());
    const AnyButTheLast op;
    const std::string call = std::string("f32/") + name_of(host_isa()) + " c=40 n=7";
    EXPECT_EQ(run_fuzz_case(op, parse_fuzz_case(op, call + " seed:2")), "");
    EXPECT_EQ(run_fuzz_case(op, parse_fuzz_case(op, call + " axis0 seed:2")), "");
    const FuzzCase c = parse_fuzz_case(op, call + " lonely axis0 seed:2");
    EXPECT_EQ(parse_fuzz_case(op, c.text()).text(), c.text());
    EXPECT_NE(run_fuzz_case(op, c), "");
    Report r;
    check_views(op, {}, r);
    EXPECT_GT(r.failed, 0);
    for (auto &failure : r.failures)
        EXPECT_NE(failure.find(" lonely "), std::string::npos) << failure;
}

// Calls that were wrong once, on the best kernels of this CPU.
struct PastFault {
    const char *op, *call, *dtypes = "f32";
};
constexpr const char *channels_last = " n=2 c=3 h=6 w=7 kernel_size=2,2 stride=2,2 "
                                      "data_format=NHWC bends seed:1";
const PastFault past_faults[] = {
    // b - 1 rounded to -1, for which negative a have a power.
    {"pow_da", " d0=1 d1=1 d2=40009 a:gaps b:reversed dy:still2 bends seed:1280"},
    // a^b / a overflowed before it was multiplied by a tiny b.
    {"pow_da", " d0=1 d1=1 d2=16 specials:4 seed:796"},
    // One x is near the zero of the derivative.
    {"mish_dx", " d0=1 d1=1 d2=32 dy:reversed x:still2 bends seed:158"},
    {"gelu_tanh_dx", " d0=1 d1=1 d2=2 bends seed:458"},  // The same fault.
    // a / b is no f32, and dy is 0.
    {"floor_mod_db", " d0=1 d1=1 d2=17 specials:8 seed:924"},
    // A state that no target has got -infinity plus a log-probability of infinity.
    {"ctc_kernel_dlog_probs", " c=3 n=17 s=1 t=4 specials:5 seed:841", "f64"},
    // The argument of e^x or erfc was rounded, in the kernel and in the reference.
    {"gelu", " d0=1 d1=1 d2=4300 wide seed:888", "f64"},
    {"gelu_tanh", " d0=1 d1=1 d2=43 wide seed:888", "f64"},
    {"fast_gelu", " d0=1 d1=1 d2=4300 wide seed:888", "f64"},
    // Errors of the gates were counted without those of their arguments.
    {"gru_gates", " h=1 n=588 bends seed:1"},
    // Sums that cancel were measured against the largest result.
    {"adaptive_avg_pool2d_kernel", " c=1 h=1 n=1 w=1536 output_size=1,1 seed:522"},
    // Sums of squares and variances were set to breakpoints below their least value.
    {"adagrad_", " d0=49 d1=1 d2=60 bends seed:490"},
    {"batch_norm_relu_planes_dx", " c=101 n=64 s=3 bends seed:538", "f32,f32"},
    // The factor made a tiny dy subnormal.
    {"log10_dx", " d0=1 d1=1 d2=4 specials:7 seed:114"},
    {"log2_dx", " d0=1 d1=1 d2=4 specials:7 seed:114"},
    // Halide's own conversion took NaN to infinity.
    {"cast", " d0=1 d1=1 d2=64 specials:40 seed:3", "bf16,f16"},
    // Tensors had the signature's order of dimensions.
    {"max_pool2d_indices", channels_last, "f16"},
    {"max_pool2d_dx", channels_last},
    {"avg_pool2d", channels_last, "bf16"},
    {"conv2d", " n=2 c=4 h=6 w=7 o=6 u=3 v=3 group=2 data_format=NHWC seed:1"},
    // b - 1 was rounded to an even number, in the kernel and beyond 2^53 in the reference.
    {"pow_da", " d0=1 d1=1 d2=65536 a:pitch b:pitch dy:pitch every:b seed:4", "bf16"},
    // States that no path begins with had a NaN in the reference.
    {"ctc_kernel_dlog_probs", " c=5 n=1 s=1 t=1 blank=4 specials:2 seed:78"},
    // dy is 0, and a product of the others overflowed.
    {"bce_logits_kernel_dx",
     " d0=1 d1=1 d2=65536 dy:pitch pos_weight:pitch target:pitch x:pitch every:target bends "
     "seed:5",
     "bf16"},
    // The reference didn't wrap the product.
    {"scatter_kernel", " i=1 m=70 n=1 o=2 reduction=mul seed:972", "i32"},
    // A weight that f32 can only hold as a subnormal number was 0.
    {"attention_kernel", " d=48 e=2 g=1 s=19 t=8 integers seed:463"},
};

TEST(Fuzz, PastFaultsStayFixed) {
    list_kit_ops();
    // Of two elements a and b, the second was a + (b - a).
    const OpPtr fold = op_table().make("fold_kernel");
    const std::string two = "f64/" + least_isa() +
                            " m=1 p=1 q=1 u=1 v=1 output_size=8,33 stride=2,2 specials:8 seed:99";
    EXPECT_EQ(run_fuzz_case(*fold, parse_fuzz_case(*fold, two)), "");
    for (const PastFault &f : past_faults) {
        const OpPtr op = op_table().make(f.op);
        const std::string call = std::string(f.dtypes) + "/" + name_of(host_isa()) + f.call;
        EXPECT_EQ(run_fuzz_case(*op, parse_fuzz_case(*op, call), false), "") << f.op << " " << call;
    }
}

TEST(Fuzz, SomeCallsHaveEmptyTensors) {
    list_kit_ops();
    const OpPtr op = op_table().make("add");
    Options o;
    o.fuzz_cases = 200;
    int empty = 0;
    make_random_calls(*op, o, 60, [&](const FuzzCase &c) {
        empty += std::ranges::any_of(c.sample.dims, [](auto &dim) { return dim.second == 0; });
    });
    EXPECT_GT(empty, 5);
}

TEST(Case, ChannelsMayBeLast) {
    list_kit_ops();
    const OpPtr op = op_table().make("max_pool2d");
    const Case c(*op, "n=2 c=3 h=5 w=7 data_format=NHWC", "f32", 1);
    EXPECT_EQ(c.in[0].shape(), (Shape{2, 5, 7, 3}));
    EXPECT_EQ(c.problem.tensors.at("x").shape, (Shape{2, 3, 5, 7}));
    EXPECT_EQ(c.output_shape(0), (Shape{2, 5, 7, 3}));
    EXPECT_EQ(c.in[0].at({1, 4, 6, 2}), c.problem.tensors.at("x")(1, 2, 4, 6));
}

TEST(Fuzz, FindsFaultsAtBreakpoints) {
    register_it<WrongAtOne>(host_isa());
    const WrongAtOne op;
    const std::string call = std::string("f32/") + name_of(host_isa()) + " d0=1 d1=1 d2=40";
    for (const char *still : {"", " x:still2"}) {
        EXPECT_EQ(run_fuzz_case(op, parse_fuzz_case(op, call + still + " seed:1")), "");
        const FuzzCase c = parse_fuzz_case(op, call + " d1=40" + still + " bends seed:1");
        EXPECT_EQ(parse_fuzz_case(op, c.text()).text(), c.text());
        EXPECT_NE(run_fuzz_case(op, c).find("is 0, expected 1"), std::string::npos) << c.text();
    }
}

TEST(Fuzz, FormulasOfSeveralNumbersGetWideMagnitudes) {
    register_it<WrongFarAway>(host_isa());
    Options o;
    o.isas = {host_isa()};
    Report r;
    check_views(WrongFarAway(), o, r);
    EXPECT_GT(r.failed, 0);
    for (auto &failure : r.failures)
        EXPECT_NE(failure.find(" wide "), std::string::npos) << failure;
}

TEST(Fuzz, EveryValueOf16BitsIsChecked) {
    register_it<WrongAtOneValue>(host_isa(), "bf16");
    const WrongAtOneValue op;
    const std::string call = std::string("bf16/") + name_of(host_isa()) + " d0=1 d1=1 d2=65536";
    EXPECT_EQ(run_fuzz_case(op, parse_fuzz_case(op, call + " seed:1")), "");
    const FuzzCase c = parse_fuzz_case(op, call + " every seed:1");
    EXPECT_EQ(parse_fuzz_case(op, c.text()).text(), c.text());
    EXPECT_NE(run_fuzz_case(op, c).find("is 0, expected 304"), std::string::npos);
    Options o;
    o.isas = {host_isa()};
    o.dtypes = "bf16";
    Report r;
    check_views(op, o, r);
    EXPECT_TRUE(std::ranges::any_of(
        r.failures, [](auto &failure) { return failure.find(" every ") != std::string::npos; }));
}

// e^(-x^2) is the product of two exponentials, because an error of one ulp in x^2 would be x^2
// ulps. Where x is broadcast LLVM joined them to one.
TEST(Fuzz, ExponentialsOfScalarsAreNotJoined) {
    list_kit_ops();
    const OpPtr op = op_table().make("erfc_dx");
    const std::string call = "f64/" + least_isa() + " d0=1 d1=300 d2=7 x:still2 wide seed:700";
    EXPECT_EQ(run_fuzz_case(*op, parse_fuzz_case(*op, call)), "");
}

// LLVM took no f16 for a NaN where the processor converts them.
TEST(Fuzz, NanBecomesTheInteger0) {
    list_kit_ops();
    const OpPtr op = op_table().make("cast");
    int calls = 0;
    for (const std::string from : {"f16", "bf16", "f32", "f64"}) {
        for (const std::string to : {"i8", "u8", "i32", "i64"}) {
            const std::string dtypes = from + "," + to;
            if (std::ranges::count(op->dtypes, dtypes) == 0) continue;
            for (const std::string n : {"1", "5", "37"}) {
                const std::string call = dtypes + "/" + name_of(host_isa()) + " d0=1 d1=2 d2=" + n +
                                         " x:pitch specials:60 seed:1";
                EXPECT_EQ(run_fuzz_case(*op, parse_fuzz_case(*op, call)), "") << call;
                calls++;
            }
        }
    }
    EXPECT_GE(calls, 24);
}

// Each product is the same, so that roundings add up: a is constant along k, and b is constant.
TEST(Fuzz, ConstantInputsHaveEqualTerms) {
    list_kit_ops();
    const OpPtr op = op_table().make("matmul");
    const std::string call = "f32/" + least_isa() +
                             " g=1 k=300 m=9 n=33 transpose_b=1 a:still2 "
                             "b:reversed bends seed:4";
    EXPECT_EQ(run_fuzz_case(*op, parse_fuzz_case(*op, call)), "");
    if (host_isa() == Isa::baseline) return;
    const std::string fused = "f32/avx2" + call.substr(call.find(' '));
    EXPECT_EQ(run_fuzz_case(*op, parse_fuzz_case(*op, fused)), "");
}

TEST(Fills, TinyNumbersAreSubnormalOrNearly) {
    std::mt19937 rng(3);
    const Tensor filled = Tensor::empty({4, 50}, DType::f32);
    fill_tiny(filled, rng);
    for (const double v : filled.to_vector<double>()) {
        EXPECT_NE(v, 0);
        EXPECT_LT(std::fabs(v), 0x1p-116);
    }
}

TEST(Fills, IntegersAreExactIn16Bits) {
    std::mt19937 rng(3);
    for (const DType t : {DType::f16, DType::bf16, DType::f32}) {
        const Tensor filled = Tensor::empty({4, 50}, t);
        fill_integers(filled, rng);
        for (const double v : filled.to_vector<double>())
            EXPECT_TRUE(v == std::trunc(v) && std::fabs(v) <= 3) << v;
    }
}

}  // namespace
}  // namespace halyard::check
