// Compiles C99 with the machine's compiler: how it reads, what it costs, and what it gives.
#include "tools/c99/graph_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/harness/case.h"
#include "bench/harness/op_call.h"
#include "dsl/all_ops.h"
#include "dsl/c99/functions.h"
#include "dsl/kernel.h"
#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/planner.h"
#include "registry/tensor/dtype.h"
#include "tests/tools/c99/compiled.h"

namespace halyard::c99 {
namespace {

using check::Case;
using testing::HasSubstr;
using testing::Not;

void list_ops() {
    list_kit_ops();
}

Case case_of(const std::string &op, const std::string &sample, const std::string &dtypes = "f32") {
    list_ops();
    return Case(*op_table().make(op), sample, dtypes, 1);
}

CallSource source_of(const Case &c) {
    const std::vector<OperandMeta> in = metas_of(c.in);
    return c99::source_of(c.registered, in, c.attrs, "call");
}

// Expects that a call in C99 gives the bits of the kit's. Returns its source.
std::string expect_same(const std::string &op, const std::vector<std::string> &attributes,
                        const std::vector<Shape> &shapes) {
    list_ops();
    const RegisteredOp &registered = library().at(op);
    const Attrs attrs = bench::attrs_from(registered.record, attributes);
    std::vector<Tensor> in;
    std::vector<OperandMeta> metas;
    for (const Shape &shape : shapes) {
        Array values(shape);
        for (size_t i = 0; i < values.v.size(); i++)
            values.v[i] = double(i * 7919 % 127) - 60;
        in.push_back(check::tensor_of(values, DType::f32));
        metas.push_back(meta_of(in.back()));
    }
    const Tensor expected = dispatch(registered, in, attrs)[0];
    const CallSource call = c99::source_of(registered, metas, attrs, "call");
    std::string arguments;
    for (size_t k = 0; k < call.parameters.size(); k++)
        arguments += (k ? ", tensors[" : "tensors[") + std::to_string(k) + "]";
    const Compiled compiled(unit_of({call}, "") + "void entry(void **tensors) {\n    call(" +
                            arguments + ");\n}\n");
    const Tensor y = Tensor::empty(expected.shape(), expected.dtype());
    std::vector<void *> tensors;
    for (const Tensor &t : in)
        tensors.push_back(t.raw());
    tensors.push_back(y.raw());
    compiled.get<void(void **)>("entry")(tensors.data());
    EXPECT_TRUE(check::same_bits(y, expected)) << call.text;
    return call.text;
}

TEST(CallSource, ReadsLikeCodeOfAPerson) {
    EXPECT_EQ(source_of(case_of("softmax", "n=2 c=5")).text,
              "void call(const float *x, float *y) {\n"
              "    for (int32_t n = 0; n < 2; n++) {\n"
              "        float peak = -INFINITY;\n"
              "        const int32_t t = n * 5;\n"
              "        for (int32_t r = 0; r < 5; r++) {\n"
              "            peak = hy_maxf(peak, x[r + t]);\n"
              "        }\n"
              "        float total = 0.0f;\n"
              "        for (int32_t r = 0; r < 5; r++) {\n"
              "            total += expf(x[t + r] - peak);\n"
              "        }\n"
              "        for (int32_t c = 0; c < 5; c++) {\n"
              "            const int32_t t2 = t + c;\n"
              "            y[t2] = expf(x[t2] - peak) * (1.0f / total);\n"
              "        }\n"
              "    }\n"
              "}\n");
}

TEST(CallSource, HasNoNamesOfHalideAndAllocatesNothing) {
    for (const char *op : {"layer_norm_kernel", "cumsum", "conv2d", "reduce_sum", "argmax"}) {
        list_ops();
        const std::string sample = op_table().make(op)->samples[1];
        const std::string text = source_of(case_of(op, sample)).text;
        EXPECT_THAT(text, Not(HasSubstr("$"))) << op;
        EXPECT_THAT(text, Not(HasSubstr("alloc"))) << op;
        EXPECT_THAT(text, Not(HasSubstr("halide"))) << op;
    }
}

// Without the automatic schedule, each element of a row would compute the row's sum again.
TEST(CallSource, SoftmaxComputesTwoExponentialsAnElement) {
    const int64_t rows = 3, columns = 50;
    Case c = case_of("softmax", "n=3 c=50");
    std::string unit = unit_of({source_of(c)}, "");
    for (size_t at = 0; (at = unit.find("expf(", at)) != std::string::npos; at += 8)
        unit.replace(at, 5, "counted(");
    const size_t first = unit.find("static float");
    ASSERT_NE(first, std::string::npos);
    unit.insert(first, "long calls;\nstatic float counted(float x) {\n    calls++;\n    return "
                       "expf(x);\n}\n");
    const Compiled compiled(unit);
    const Tensor y = Tensor::empty({rows, columns}, DType::f32);
    compiled.get<void(const void *, void *)>("call")(c.in[0].raw(), y.raw());
    EXPECT_EQ(*compiled.get<long>("calls"), 2 * rows * columns);
}

TEST(CallSource, RealAttributesAreConstants) {
    const std::string text = source_of(case_of("layer_norm_kernel", "n=2 c=3 epsilon=0.25")).text;
    EXPECT_THAT(text, HasSubstr("0.25f"));
    EXPECT_THAT(text, Not(HasSubstr("epsilon")));
}

TEST(CallSource, SumsOfIntegersWrap) {
    const Case c = case_of("add", "d0=1 d1=1 d2=1", "i32");
    const Compiled compiled(unit_of({source_of(c)}, ""));
    const int32_t a = INT32_MAX, b = 1;
    int32_t sum = 0;
    compiled.get<void(const int32_t *, const int32_t *, int32_t *)>("call")(&a, &b, &sum);
    EXPECT_EQ(sum, INT32_MIN);
}

// Reductions over dimensions that don't lie together: the planner copies the tensor.
TEST(CallSource, CopiesTensorsIntoTheKernelsOrder) {
    EXPECT_THAT(expect_same("reduce_max", {"axis=1,2"}, {{2, 3, 4, 5}}), Not(HasSubstr("arena")));
    EXPECT_THAT(expect_same("reduce_max", {"axis=0,2"}, {{2, 3, 4, 5}}), HasSubstr("x_in_order"));
    EXPECT_THAT(expect_same("reduce_max", {"axis=0,2,4"}, {{2, 3, 2, 5, 3}}),
                HasSubstr("x_in_order"));
    EXPECT_THAT(expect_same("reduce_max", {"axis=0,2,4", "keep_dims=1"}, {{2, 3, 2, 5, 3}}),
                HasSubstr("x_in_order"));
}

// More dimensions than a kernel has: the planner loops around it.
TEST(CallSource, LoopsAroundTheKernel) {
    EXPECT_THAT(expect_same("sub", {}, {{2, 3, 4, 5, 2, 3}, {2, 1, 4, 1, 2, 1}}),
                HasSubstr("call_part("));
    expect_same("sub", {}, {{4, 1, 5}, {2, 1, 3, 1}});
    expect_same("reduce_max", {"axis=1"}, {{2, 3, 4, 5}});
}

// A composite is the calls that it makes; one that is made twice is written once.
TEST(CallSource, CompositesAreTheirCalls) {
    const Case c = case_of("layer_norm", "n=2 c=3");
    const std::string text = source_of_call(c.registered, c.in, c.attrs, "call").text;
    EXPECT_THAT(text, HasSubstr("static void call_1_layer_norm_kernel("));
    EXPECT_THAT(text, HasSubstr("    call_1_layer_norm_kernel(x, gamma, beta, y);\n}\n"));
}

TEST(CallSource, CompositesWriteTheInputsThatTheyUpdate) {
    list_ops();
    const OpPtr op = op_table().make("batch_norm");
    for (const std::string &sample : op->samples) {
        const Case c = case_of("batch_norm", sample);
        const CallSource call = source_of_call(c.registered, c.in, c.attrs, "call");
        const bool is_training = sample.find("is_training=1") != std::string::npos;
        const bool writes = prototype_of(call).find(", float *mean") != std::string::npos;
        EXPECT_EQ(writes, is_training) << sample << prototype_of(call);
    }
}

TEST(CallSource, RefusesStepsOfTheHost) {
    const Case c = case_of("gather", op_table().make("gather")->samples[0]);
    try {
        source_of_call(c.registered, c.in, c.attrs, "call");
        FAIL() << "no error";
    } catch (const Error &e) {
        EXPECT_STREQ(e.what(), "[gather] no C99 function: step places_of runs on the host");
    }
}

TEST(CallSource, RefusesWhatComputesNothing) {
    try {
        source_of(case_of("relu", "d0=0 d1=1 d2=4"));
        FAIL() << "no error";
    } catch (const Error &e) {
        EXPECT_STREQ(e.what(), "[relu] no C99 function: the call computes nothing");
    }
}

TEST(C99Kernel, IsMadeForACall) {
    list_ops();
    Instance i;
    i.backend = "c99";
    try {
        const Kernel kernel(op_table().make("relu"), i);
        FAIL() << "no error";
    } catch (const Error &e) {
        EXPECT_STREQ(e.what(), "[relu] a C99 function is made for one call: give its shape");
    }
}

// A source of helpers that aren't static.
std::string shown(std::string text) {
    for (size_t at = 0; (at = text.find("static ", at)) != std::string::npos;)
        text.erase(at, 7);
    return "#include <math.h>\n#include <stdint.h>\n" + text;
}

TEST(Helpers, ConvertEvery16BitFloat) {
    const Compiled c(
        shown(helper_texts({"hy_f32_of_f16", "hy_f16_of", "hy_f32_of_bf16", "hy_bf16_of"})));
    for (const char *type : {"f16", "bf16"}) {
        const bool is_f16 = std::string(type) == "f16";
        const auto read = c.get<float(uint16_t)>(is_f16 ? "hy_f32_of_f16" : "hy_f32_of_bf16");
        const auto write = c.get<uint16_t(double)>(is_f16 ? "hy_f16_of" : "hy_bf16_of");
        float before = 0;
        for (uint32_t bits = 0; bits < 0x10000; bits++) {
            const auto h = uint16_t(bits);
            const float x = read(h);
            const float expected = is_f16 ? float(Halide::float16_t::make_from_bits(h))
                                          : float(Halide::bfloat16_t::make_from_bits(h));
            if (std::isnan(expected)) {
                EXPECT_TRUE(std::isnan(x));
                EXPECT_TRUE(std::isnan(read(write(x))));
                before = x;
                continue;
            }
            ASSERT_EQ(x, expected) << type << " " << bits;
            ASSERT_EQ(write(x), h) << type << " " << bits;
            // Halfway to its neighbour it rounds to the even one.
            const double middle = (double(before) + double(x)) / 2;
            if (bits % 0x8000 > 0 && std::isfinite(x) && std::isfinite(before)) {
                ASSERT_EQ(write(middle), bits % 2 ? uint16_t(bits - 1) : h) << type << " " << bits;
                ASSERT_EQ(write(std::nextafter(middle, x)), h) << type << " " << bits;
            }
            before = x;
        }
    }
}

TEST(Helpers, SaturateConversionsToIntegers) {
    const Compiled c(shown(helper_texts({"hy_to_i8", "hy_to_u8", "hy_to_i32", "hy_to_i64"})));
    const double nan = std::nan(""), inf = INFINITY;
    const auto to_i8 = c.get<int8_t(double)>("hy_to_i8");
    EXPECT_EQ(to_i8(-1e9), -128);
    EXPECT_EQ(to_i8(127.9), 127);
    EXPECT_EQ(to_i8(-1.9), -1);
    EXPECT_EQ(to_i8(nan), 0);
    const auto to_u8 = c.get<uint8_t(double)>("hy_to_u8");
    EXPECT_EQ(to_u8(-0.5), 0);
    EXPECT_EQ(to_u8(255.5), 255);
    const auto to_i32 = c.get<int32_t(double)>("hy_to_i32");
    EXPECT_EQ(to_i32(2147483648.0), INT32_MAX);
    EXPECT_EQ(to_i32(-inf), INT32_MIN);
    EXPECT_EQ(to_i32(-2147483647.5), -2147483647);
    const auto to_i64 = c.get<int64_t(double)>("hy_to_i64");
    EXPECT_EQ(to_i64(inf), INT64_MAX);
    EXPECT_EQ(to_i64(-9223372036854775808.0), INT64_MIN);
    EXPECT_EQ(to_i64(9223372036854774784.0), 9223372036854774784);
}

TEST(Helpers, DivideWithANonNegativeRemainder) {
    const Compiled c(shown(helper_texts({"hy_div_i32", "hy_mod_i32"})));
    const auto divide = c.get<int32_t(int32_t, int32_t)>("hy_div_i32");
    const auto remainder = c.get<int32_t(int32_t, int32_t)>("hy_mod_i32");
    for (const int32_t a : {-7, -6, -1, 0, 1, 6, 7, INT32_MIN, INT32_MAX}) {
        for (const int32_t b : {-3, -2, 1, 2, 3, 1000}) {
            const int32_t q = divide(a, b), r = remainder(a, b);
            EXPECT_EQ(int64_t(q) * b + r, a) << a << " by " << b;
            EXPECT_GE(r, 0);
            EXPECT_LT(r, std::abs(b));
        }
        EXPECT_EQ(divide(a, 0), 0);
        EXPECT_EQ(remainder(a, 0), 0);
        EXPECT_EQ(remainder(a, -1), 0);
    }
}

}  // namespace
}  // namespace halyard::c99
