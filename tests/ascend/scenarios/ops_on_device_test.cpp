// Tests what ops compute on the simulated device through dispatch.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "primitives/context.h"
#include "primitives/library.h"
#include "primitives/primitive.h"
#include "registry/base/error.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/simulated.h"
#include "tools/ascend/device.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

OpPtr op_of(const std::string &name) {
    list_kit_ops();
    return op_table().make(name);
}

class OnAscend : public testing::TestWithParam<const char *> {};

// Every sample in f32 and f16 keeps the contract of the op's CPU kernels: the unit computes in f32.
TEST_P(OnAscend, KeepsTheContract) {
    const OpPtr op = op_of(GetParam());
    for (const char *dtypes : {"f32", "f16"}) {
        Options o;
        o.dtypes = dtypes;
        // The programs of its widest windows take minutes to compile.
        o.quick = op->name == "max_pool2d_dx";
        const Report r = run_check(*op, "ascend", check_ascend, o);
        for (auto &f : r.failures)
            ADD_FAILURE() << f;
        EXPECT_GT(r.passed, 0) << (r.notes.empty() ? "" : r.notes[0]);
        EXPECT_EQ(r.skipped, 0) << (r.notes.empty() ? "" : r.notes[0]);
        std::printf("%d checks of %s\n", r.passed, dtypes);
    }
}
INSTANTIATE_TEST_SUITE_P(Ops, OnAscend,
                         testing::Values("add", "relu", "exp", "sigmoid", "tanh", "erf", "silu",
                                         "softmax", "log_softmax", "softmax_dx",
                                         "layer_norm_kernel", "one_hot", "argmax", "gather_kernel",
                                         "sparse_softmax_cross_entropy",
                                         "sparse_softmax_cross_entropy_dlogits", "max_pool2d",
                                         "max_pool2d_dx", "avg_pool2d", "avg_pool2d_dx"),
                         [](const auto &p) { return std::string(p.param); });

// Tests x far from 0, on both sides. The samples' values are small, and rounding a power's exponent
// costs more the larger the exponent is.
TEST(OnAscend, FunctionsKeepTheContractInTheirTails) {
    std::vector<OpPtr> ops;
    for (const std::string name : {"gelu", "gelu_tanh", "fast_gelu", "silu", "mish", "sigmoid"}) {
        ops.push_back(op_of(name));
        ops.push_back(op_of(name + "_dx"));
    }
    for (const char *name : {"logsigmoid", "softplus", "erf", "erfc", "tanh", "exp", "exp2"}) {
        ops.push_back(op_of(name));
    }
    for (const OpPtr &op : ops) {
        if (op->sig.inputs[0].name != "x") continue;
        for (int minimum = -112; minimum <= 24; minimum += 4) {
            const std::string sample = "d0=1 d1=1 d2=2000 x_least=" + std::to_string(minimum);
            Case c(*op, sample, "f32", 3);
            c.solve(*op);
            const Force force(host_isa(), "", "ascend");
            const Tensor y = dispatch(c.registered, c.in, c.attrs)[0];
            const std::string wrong = compare(*op, op->sig.outputs[0].name, y, c.problem);
            EXPECT_EQ(wrong, "") << op->name << " from " << minimum;
        }
    }
}

// A power of 2^128 or more is infinity. Correcting its exponent gave the NaN of infinity -
// infinity.
TEST(OnAscend, PowersOverflowToInfinity) {
    const std::vector<float> bases = {2, 2, 3, 10, 0.5};
    const std::vector<float> exponents = {128, 130, 85, 39, -130};
    const Primitive pow("pow"), exp2("exp2");
    const Force force(host_isa(), "", "ascend");
    const Tensor powers = pow.run({Tensor::from(bases, {5}), Tensor::from(exponents, {5})})[0];
    for (const double y : powers.to_vector<double>())
        EXPECT_EQ(y, INFINITY);
    const Tensor x = Tensor::from<float>({128, 130, 1e6, INFINITY, -INFINITY, -1e6});
    EXPECT_EQ(exp2.run({x})[0].to_vector<double>(),
              (std::vector<double>{INFINITY, INFINITY, INFINITY, INFINITY, 0, 0}));
}

// p is so near its step that p minus the step has a few digits.
TEST(OnAscend, UpdatesThatCancelKeepTheContract) {
    for (const char *name : {"momentum_", "sgd_", "adam_", "adam_weight_decay_", "adagrad_",
                             "rms_prop_", "ada_max_"}) {
        const OpPtr op = op_of(name);
        Case c(*op, "d0=1 d1=1 d2=2000", "f32", 3);
        c.solve(*op);
        for (int64_t i = 0; i < 2000; i++) {
            const double step = c.problem.tensors.at("p").v[size_t(i)] -
                                c.problem.tensors.at("p_out").v[size_t(i)];
            c.in[0].set({0, 0, i}, step);
        }
        c.read_input(0);
        c.solve(*op);
        for (const char *device : {"cpu", "ascend"}) {
            const Force force(host_isa(), "", device);
            const std::vector<Tensor> out = dispatch(c.registered, c.in, c.attrs);
            for (size_t k = 0; k < out.size(); k++) {
                EXPECT_EQ(compare(*op, op->sig.outputs[k].name, out[k], c.problem), "")
                    << name << " " << device;
            }
        }
    }
}

// Returns the bits of dividends and divisors: any, close ones, multiples, and each special value
// with each.
std::pair<std::vector<uint32_t>, std::vector<uint32_t>> divisions(size_t n) {
    std::vector<uint32_t> special = {0, 1, 0x80000000, 0x3f800000};  // 0, the smallest, -0, 1
    for (uint32_t bits : {0x7f7fffffu, 0x7f800000u, 0xff800000u, 0x7fc00000u})
        special.push_back(bits);
    // The values around the smallest normal ones.
    for (uint32_t bits : {0x00800000u, 0x007fffffu})
        special.push_back(bits);
    std::mt19937 rng(7);
    std::vector<uint32_t> a(n), b(n);
    for (size_t i = 0; i < n; i++) {
        a[i] = uint32_t(rng());
        b[i] = uint32_t(rng());
        const uint32_t exponent = (a[i] & 0x7f800000u) - (uint32_t(rng()) % 12u << 23);
        if (i % 2 == 1) b[i] = exponent ^ (b[i] & 0x807fffffu);
        const float multiple = std::bit_cast<float>(b[i]) * float(rng() % 5000);
        if (i % 4 == 3) a[i] = std::bit_cast<uint32_t>(multiple);
        if (i < 100) a[i] = special[i / 10];
        if (i < 100) b[i] = special[i % 10];
    }
    return {a, b};
}
void put_bits(const Tensor &t, size_t i, uint32_t bits) {
    if (t.dtype() == DType::f16)
        t.data<float16>()[i].bits = uint16_t(bits >> 16);
    else
        t.data<float>()[i] = std::bit_cast<float>(bits);
}

// Quotients of reals have up to 277 bits. The CPU computes remainders by fmod and quotients in f64,
// which past 2^24 rounds once more than the device.
TEST(OnAscend, RemaindersOfAllRealsAreExact) {
    constexpr size_t n = 60'000;
    const auto [a, b] = divisions(n);
    for (const char *dtypes : {"f32", "f16"}) {
        for (const std::string name : {"mod", "floor_mod", "floor_div"}) {
            const OpPtr op = op_of(name);
            Case c(*op, "d0=1 d1=1 d2=" + std::to_string(n), dtypes, 3);
            for (size_t i = 0; i < n; i++) {
                put_bits(c.in[0], i, a[i]);
                put_bits(c.in[1], i, b[i]);
            }
            const auto want = dispatch(c.registered, c.in, c.attrs)[0].to_vector<double>();
            const Force force(host_isa(), "", "ascend");
            const auto got = dispatch(c.registered, c.in, c.attrs)[0].to_vector<double>();
            int wrong = 0;
            for (size_t i = 0; i < n; i++) {
                const double size = std::fabs(want[i]);
                const double allowed = name == "floor_div" && size >= 0x1p24 ? size * 0x1p-23 : 0;
                const bool nans = std::isnan(got[i]) && std::isnan(want[i]);
                if (nans || got[i] == want[i] || std::fabs(got[i] - want[i]) <= allowed) continue;
                if (++wrong > 5) continue;
                const float x = std::bit_cast<float>(a[i]);
                const float y = std::bit_cast<float>(b[i]);
                ADD_FAILURE() << name << " of " << x << ", " << y << " is " << got[i];
            }
            EXPECT_EQ(wrong, 0) << name << " " << dtypes;
        }
    }
}

// Tests tiles of many rows, which are stored in halves and whose stages reuse each other's memory,
// and planes that end within a block.
TEST(OnAscend, WholeTilesKeepTheContract) {
    for (const auto &[name, problem] : std::vector<std::pair<std::string, std::string>>{
             {"softmax", "n=512 c=1024"},
             {"log_softmax", "n=512 c=1024"},
             {"layer_norm_kernel", "n=512 c=1024"},
             {"rms_norm_kernel", "n=512 c=1000"},
             {"max_pool2d", "n=2 c=8 h=10 w=10 kernel_size=2,2 stride=2,2"}}) {
        for (const char *dtypes : {"f32", "f16"}) {
            const OpPtr op = op_of(name);
            Case c(*op, problem, dtypes, 3);
            const Force force(host_isa(), "", "ascend");
            const Tensor y = dispatch(c.registered, c.in, c.attrs)[0];
            c.solve(*op);
            EXPECT_EQ(compare(*op, "y", y, c.problem), "") << name << " " << dtypes;
        }
    }
}

// An op that rounds once has one possible result.
TEST(OnAscend, OpsThatRoundOnceMatchTheCpuBitwise) {
    for (const char *name : {"add", "sub", "mul", "div", "maximum", "abs", "relu", "square"}) {
        for (const char *dtypes : {"f32", "f16"}) {
            const OpPtr op = op_of(name);
            const Case c(*op, "d0=5 d1=7 d2=33", dtypes, 3);
            const Tensor here = dispatch(c.registered, c.in, c.attrs)[0];
            const Force force(host_isa(), "", "ascend");
            const Tensor there = dispatch(c.registered, c.in, c.attrs)[0];
            EXPECT_EQ(std::memcmp(here.raw(), there.raw(), here.bytes()), 0)
                << name << " " << dtypes;
        }
    }
}

// Every pair of these elements has a power, and products wrap.
TEST(OnAscend, PowersOfIntegersMatchTheCpu) {
    constexpr int32_t lowest = std::numeric_limits<int32_t>::min();
    constexpr int32_t highest = std::numeric_limits<int32_t>::max();
    const std::vector<int32_t> all = {lowest, -46341, -33, -3, -2, -1,    0,
                                      1,      2,      3,   31, 32, 46341, highest};
    std::vector<int32_t> a, b;
    for (const int32_t base : all) {
        for (const int32_t exponent : all) {
            a.push_back(base);
            b.push_back(exponent);
        }
    }
    const auto n = int64_t(a.size());
    const std::vector<Tensor> in = {Tensor::from(a, {n}), Tensor::from(b, {n})};
    const Primitive pow("pow");
    const std::vector<int32_t> here = pow.run(in)[0].to_vector<int32_t>();
    const Force force(host_isa(), "", "ascend");
    const std::vector<OperandMeta> metas = {meta_of(in[0]), meta_of(in[1])};
    EXPECT_TRUE(make_plan(pow.op(), metas, pow.attrs()).simulated);
    const std::vector<int32_t> there = pow.run(in)[0].to_vector<int32_t>();
    for (size_t k = 0; k < a.size(); k++)
        EXPECT_EQ(there[k], here[k]) << a[k] << "^" << b[k];
}

// Several rows are scanned by the scalar unit, which has no instruction that compares reals.
TEST(OnAscend, RunningExtremaOfSeveralRowsMatchTheCpu) {
    const std::vector<float> numbers = {0,        -0.0f,     1,      -1,      3e38f, -3e38f,
                                        INFINITY, -INFINITY, 1e-40f, -1e-40f, 2,     NAN};
    std::mt19937 rng(7);
    constexpr int64_t rows = 5, columns = 37;
    std::vector<float> x(size_t(rows * columns));
    for (size_t k = 0; k < x.size(); k++) {  // NaN stays, so it comes late in a row
        const bool late = int64_t(k) % columns > columns / 2;
        x[k] = numbers[rng() % (numbers.size() - (late ? 0 : 1))];
    }
    const std::vector<Tensor> in = {Tensor::from(x, {rows, columns})};
    for (const char *name : {"cummax", "cummin"}) {
        const Primitive op(name);
        const auto here = op.run(in);
        const Force force(host_isa(), "", "ascend");
        const std::vector<OperandMeta> metas = {meta_of(in[0])};
        EXPECT_TRUE(make_plan(op.op(), metas, op.attrs()).simulated);
        const auto there = op.run(in);
        EXPECT_EQ(there[1].to_vector<int32_t>(), here[1].to_vector<int32_t>()) << name;
        const std::vector<float> expected = here[0].to_vector<float>();
        const std::vector<float> got = there[0].to_vector<float>();
        for (size_t k = 0; k < got.size(); k++) {
            EXPECT_TRUE(got[k] == expected[k] || (std::isnan(got[k]) && std::isnan(expected[k])))
                << name << " [" << k << "] is " << got[k] << ", expected " << expected[k];
        }
    }
}

// Rows of the padded maps end and begin within blocks, which loads and stores move as a whole.
TEST(OnAscend, GradientsOfDilatedPoolsKeepTheContract) {
    const OpPtr op = op_of("max_pool2d_dx");
    for (const char *sample : {"n=1 c=1 h=3 w=9 kernel_size=1,2 stride=1,2 dilation=1,4 "
                               "pad_mode=pad padding=0,0,4,1 ceil_mode=1",
                               "n=1 c=1 h=3 w=9 kernel_size=2,2 stride=2,2 dilation=1,2 "
                               "pad_mode=pad padding=1,0,2,1 ceil_mode=1",
                               "n=2 c=1 h=4 w=35 kernel_size=1,2 stride=1,2 dilation=1,4 "
                               "pad_mode=pad padding=0,0,4,1 ceil_mode=1"}) {
        Case c(*op, sample, "f32", 3);
        c.fit_forward_outputs(*op);
        c.solve(*op);
        const Force force(host_isa(), "", "ascend");
        const std::vector<OperandMeta> metas = metas_of(c.in);
        EXPECT_TRUE(make_plan(c.registered, metas, c.attrs).simulated) << sample;
        const Tensor dx = dispatch(c.registered, c.in, c.attrs)[0];
        EXPECT_EQ(compare(*op, "dx", dx, c.problem), "") << sample;
    }
}

// Tests every length around blocks, repeats and tiles.
TEST(OnAscend, TailsOfAllLengthsAreRight) {
    const OpPtr op = op_of("add");
    std::vector<int> lengths = {63, 64, 65, 127, 128, 129, 255, 257, 2047, 2049, 8191, 8193, 65537};
    for (int n = 1; n <= 34; n++)
        lengths.push_back(n);
    for (const int n : lengths) {
        const Case c(*op, "d0=1 d1=1 d2=" + std::to_string(n), "f16", 3);
        const Tensor here = dispatch(c.registered, c.in, c.attrs)[0];
        const Force force(host_isa(), "", "ascend");
        const Tensor there = dispatch(c.registered, c.in, c.attrs)[0];
        EXPECT_EQ(std::memcmp(here.raw(), there.raw(), here.bytes()), 0) << n;
    }
    std::printf("%zu lengths\n", lengths.size());
}

TEST(OnAscend, BroadcastsWithoutCopies) {
    const OpPtr op = op_of("add");
    Case c(*op, "d0=1 d1=40 d2=96", "f32", 3);
    c.in[1] = Tensor::zeros({96}, DType::f32);
    for (int i = 0; i < 96; i++)
        c.in[1].data<float>()[i] = float(i);
    const Tensor here = dispatch(c.registered, c.in, c.attrs)[0];
    const Force force(host_isa(), "", "ascend");
    std::vector<OperandMeta> metas = {meta_of(c.in[0]), meta_of(c.in[1])};
    const Plan plan = make_plan(c.registered, metas, c.attrs);
    EXPECT_TRUE(plan.simulated);
    for (auto &in : plan.inputs)
        EXPECT_TRUE(in.copy_order.empty());
    const Tensor there = dispatch(c.registered, c.in, c.attrs)[0];
    EXPECT_EQ(std::memcmp(here.raw(), there.raw(), here.bytes()), 0);
}

// Odd sizes are padded on the chip only.
TEST(OnAscend, MatmulPadsOddSizes) {
    const OpPtr op = op_of("matmul");
    for (const char *sample : {"g=1 m=1 k=1 n=1", "g=3 m=37 k=37 n=37", "g=1 m=97 k=20 n=290",
                               "g=2 m=6 k=65 n=3 transpose_a=1 transpose_b=1"}) {
        Case c(*op, sample, "f16", 6);
        c.solve(*op);
        const Force force(host_isa(), "", "ascend");
        EXPECT_EQ(compare(*op, "c", dispatch(c.registered, c.in, c.attrs)[0], c.problem), "")
            << sample;
    }
}

// Tests programs with several algorithms for different calls, statistics and sums that outputs of
// several shapes share, and random words, quotients and remainders of the scalar unit. All samples
// that have a program are right, and their number does not shrink.
TEST(OnAscend, ProgramsOfSeveralAlgorithmsKeepTheContract) {
    for (const auto &[name, dtypes, minimum] :
         std::vector<std::tuple<const char *, const char *, int>>{
             {"integer_product", "i32", 5},
             {"batch_norm_planes", "f32,f32", 12},
             {"batch_norm_channels_dx", "f32,f32", 9},
             {"layer_norm_kernel_dx", "f16", 12},
             {"rms_norm_kernel_dx", "f32", 8},
             {"dropout_kernel", "f32", 8},
             {"uniform_kernel", "f32", 4},
             {"mod", "i32", 3},
             {"mod", "f32", 5},
             {"mod_db", "f16", 5},
             {"floor_mod", "f16", 5},
             {"floor_mod_db", "f32", 5},
             {"floor_div", "f32", 5},
             {"floor_div", "i32", 3},
             {"left_shift", "i32", 3},
             {"resize_kernel", "f32", 5},
             {"resize_kernel", "f16", 5},
             {"ctc_kernel", "f32", 4},
             {"truncated_normal_kernel", "f32", 4}}) {
        const OpPtr op = op_of(name);
        Options o;
        o.dtypes = dtypes;
        o.quick = true;
        const Report r = run_check(*op, "ascend", check_ascend, o);
        for (auto &f : r.failures)
            ADD_FAILURE() << f;
        EXPECT_GE(r.passed, minimum) << name << (r.notes.empty() ? "" : r.notes[0]);
    }
}

// A core whose part is one column reads rows of one element, which are not contiguous; it must not
// add neighbours.
TEST(OnAscend, SumsOneColumnOverRows) {
    for (const char *name : {"rms_norm_kernel_dx", "layer_norm_kernel_dx"}) {
        const OpPtr op = op_of(name);
        Case c(*op, "n=70 c=17", "f32", 3);
        c.solve(*op);
        const Force force(host_isa(), "", "ascend");
        const std::vector<Tensor> out = dispatch(c.registered, c.in, c.attrs);
        for (size_t k = 0; k < out.size(); k++)
            EXPECT_EQ(compare(*op, op->sig.outputs[k].name, out[k], c.problem), "") << name;
    }
}

// A call that computes nothing needs no program: it is planned for the CPU, and the device is not
// used.
TEST(OnAscend, EmptyCallsNeedNoProgram) {
    for (const auto &[name, sample] :
         std::vector<std::pair<const char *, const char *>>{{"exp", "d0=1 d1=3 d2=0"},
                                                            {"add", "d0=0 d1=3 d2=4"},
                                                            {"softmax", "n=0 c=7"},
                                                            {"matmul", "g=1 m=3 k=5 n=0"}}) {
        const OpPtr op = op_of(name);
        const Case c(*op, sample, "f32", 3);
        const Force force(host_isa(), "", "ascend");
        const std::vector<OperandMeta> metas = metas_of(c.in);
        const Plan plan = make_plan(c.registered, metas, c.attrs);
        EXPECT_FALSE(plan.simulated) << name;
        EXPECT_EQ(dispatch(c.registered, c.in, c.attrs)[0].elements(), 0) << name;
        EXPECT_THROW(ascend::programs_of(plan, "f32"), DispatchError) << name;
    }
}

// Storing a block of 32 bytes past a core's last element would overwrite another core's results. No
// program does that.
TEST(OnAscend, CoresDoNotOverwriteEachOther) {
    for (const char *dtypes : {"i8", "u8"}) {
        const OpPtr op = op_of("gather_kernel");
        Options o;
        o.dtypes = dtypes;
        const Report r = run_check(*op, "ascend", check_ascend, o);
        for (auto &f : r.failures)
            ADD_FAILURE() << f;
        EXPECT_GT(r.passed, 0) << dtypes;
    }
}

// An op without a program in f32 is computed in f16 if that is allowed, with f16's bits.
TEST(OnAscend, PrecisionModeComputesF32OnTheCube) {
    for (const char *name : {"conv2d", "conv2d_dx", "conv2d_dweight"}) {
        const OpPtr op = op_of(name);
        const Case c(*op, op->samples[1], "f32", 3);
        const std::vector<OperandMeta> metas = metas_of(c.in);
        set_context({.device_target = "Ascend", .precision_mode = "allow_fp32_to_fp16"});
        const Plan plan = make_plan(c.registered, metas, c.attrs);
        ASSERT_TRUE(plan.converted && plan.converted->simulated) << name;
        const Tensor y = dispatch(c.registered, c.in, c.attrs)[0];
        std::vector<Tensor> halves;
        for (const Tensor &t : c.in)
            halves.push_back(t.to(DType::f16));
        const Tensor of_halves = dispatch(c.registered, halves, c.attrs)[0].to(DType::f32);
        EXPECT_EQ(y.dtype(), DType::f32) << name;
        EXPECT_EQ(y.to_vector<float>(), of_halves.to_vector<float>()) << name;
        set_context({.precision_mode = "must_keep_origin_dtype"});
        const Plan kept = make_plan(c.registered, metas, c.attrs);
        EXPECT_FALSE(kept.converted || kept.simulated) << name;
        set_context({.device_target = "CPU"});
    }
    EXPECT_THROW(set_context({.precision_mode = "force_fp16"}), AttrError);
}

// A sum over no terms is 0, also in f16, whose products the cube unit computes.
TEST(OnAscend, EmptySumsAreZero) {
    const OpPtr op = op_of("matmul");
    for (const char *dtypes : {"f32", "f16"}) {
        Case c(*op, "g=2 m=3 k=0 n=7", dtypes, 3);
        c.solve(*op);
        const Force force(host_isa(), "", "ascend");
        EXPECT_EQ(compare(*op, "c", dispatch(c.registered, c.in, c.attrs)[0], c.problem), "")
            << dtypes;
    }
}

// Tests every sample in f16: borders, strides, dilation, groups, odd channels.
TEST(OnAscend, ConvolutionsKeepTheContract) {
    for (const auto &[name, passed] : std::vector<std::pair<const char *, int>>{
             {"conv2d", 33}, {"conv2d_dx", 32}, {"conv2d_dweight", 33}}) {
        const OpPtr op = op_of(name);
        Options o;
        o.dtypes = "f16";
        const Report r = run_check(*op, "ascend", check_ascend, o);
        for (auto &f : r.failures)
            ADD_FAILURE() << f;
        EXPECT_GE(r.passed, passed) << name << (r.notes.empty() ? "" : r.notes[0]);
    }
}

// Indices are computed and squares transposed without the scalar unit.
TEST(OnAscend, UsesNoScalarUnit) {
    const std::string window = " kernel_size=2,2 stride=2,2";
    for (auto &[name, sample] : std::vector<std::pair<std::string, std::string>>{
             {"one_hot", "n=7 depth=16"},
             {"max_pool2d", "n=2 c=16 h=8 w=8" + window},
             {"max_pool2d_dx", "n=2 c=16 h=8 w=8" + window},
             {"avg_pool2d", "n=2 c=16 h=8 w=8" + window},
             {"avg_pool2d_dx", "n=2 c=16 h=8 w=8" + window}}) {
        const OpPtr op = op_of(name);
        const Case c(*op, sample, "f16", 6);
        const Force force(host_isa(), "", "ascend");
        const std::vector<OperandMeta> metas = metas_of(c.in);
        const auto &warnings =
            ascend::programs_of(make_plan(c.registered, metas, c.attrs), "f16").lowered.warnings;
        EXPECT_TRUE(warnings.empty()) << name << ": " << warnings[0];
    }
}

// An op without a program runs on the CPU, and the plan gives the reason.
TEST(OnAscend, UnsupportedOpsRunOnTheCpu) {
    const OpPtr op = op_of("relu");
    const Case c(*op, "d0=1 d1=1 d2=31", "f64", 3);
    const Force force(host_isa(), "", "ascend");
    const std::vector<OperandMeta> metas = {meta_of(c.in[0])};
    const Plan plan = make_plan(c.registered, metas, c.attrs, true);
    EXPECT_FALSE(plan.simulated);
    ASSERT_FALSE(plan.candidates.empty());
    EXPECT_NE(plan.candidates[0].rejection.find("no Ascend kernels for f64"), std::string::npos)
        << plan.candidates[0].rejection;
}

}  // namespace
}  // namespace halyard::check
