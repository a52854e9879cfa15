// Tests gradients of composites of conv2d and of pools, fused convolutions, folded batch
// normalisation, and rejected calls.
#include "primitives/ops/binary.h"
#include "primitives/ops/cast.h"
#include "primitives/ops/channels.h"
#include "primitives/ops/conv2d.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/unary.h"
#include "tests/kernels/golden.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Tensors = std::vector<Tensor>;

struct Line {
    const char *op;
    std::vector<Shape> in;
    Given attrs;
};

void check_gradients(const Line &l) {
    SCOPED_TRACE(l.op);
    Tensors x;
    for (const Shape &s : l.in)
        x.push_back(numbers(s, unsigned(x.size()) + 1));
    gradient_check([&](const Tensors &in) { return Primitive(l.op, l.attrs).run(in)[0]; }, x);
}

TEST(Convolutions, GradientsMatchDifferences) {
    for (const Line &l : {
             Line{"conv1d",
                  {{2, 4, 7}, {6, 2, 3}},
                  {{"stride", Ints{2}},
                   {"pad_mode", "pad"},
                   {"padding", Ints{1, 2}},
                   {"dilation", Ints{2}},
                   {"group", 2}}},
             Line{"conv3d",
                  {{2, 2, 4, 3, 4}, {2, 2, 2, 3, 2}},
                  {{"stride", Ints{2, 1, 1}}, {"pad_mode", "same"}}},
             Line{"conv3d",
                  {{1, 2, 5, 3, 3}, {2, 1, 2, 2, 1}},
                  {{"dilation", Ints{2, 1, 1}}, {"group", 2}}},
             Line{"conv1d_transpose",
                  {{2, 2, 5}, {2, 3, 3}},
                  {{"stride", Ints{2}}, {"pad_mode", "same"}}},
             Line{"conv2d_transpose",
                  {{2, 4, 3, 4}, {4, 1, 2, 3}},
                  {{"stride", Ints{2, 3}},
                   {"pad_mode", "pad"},
                   {"padding", Ints{1, 0, 1, 2}},
                   {"output_padding", Ints{1, 2}},
                   {"group", 2}}},
             Line{"conv3d_transpose",
                  {{1, 2, 2, 3, 2}, {2, 2, 2, 1, 3}},
                  {{"stride", Ints{2, 1, 2}},
                   {"pad_mode", "pad"},
                   {"padding", Ints{1, 0, 0, 0, 0, 1}}}},
             Line{"conv2d_bias_act", {{1, 2, 4, 3}, {3, 2, 2, 2}, {3}}, {{"activation", "tanh"}}},
             Line{"conv2d_bias_add_act",
                  {{1, 2, 3, 3}, {3, 2, 1, 1}, {3}, {1, 3, 3, 3}},
                  {{"activation", "none"}}},
         })
        check_gradients(l);
}

TEST(Convolutions, GradientsOfPoolsMatchDifferences) {
    for (const Line &l : {
             Line{"max_pool1d",
                  {{2, 2, 9}},
                  {{"kernel_size", Ints{3}},
                   {"stride", Ints{2}},
                   {"pad_mode", "pad"},
                   {"padding", Ints{1, 0}},
                   {"ceil_mode", true}}},
             Line{
                 "max_pool3d",
                 {{1, 2, 4, 5, 4}},
                 {{"kernel_size", Ints{2, 3, 2}}, {"stride", Ints{2, 1, 2}}, {"pad_mode", "same"}}},
             Line{"avg_pool1d",
                  {{2, 2, 8}},
                  {{"kernel_size", Ints{3}}, {"stride", Ints{2}}, {"ceil_mode", true}}},
             Line{"avg_pool3d",
                  {{1, 2, 5, 4, 5}},
                  {{"kernel_size", Ints{3, 2, 3}},
                   {"stride", Ints{2, 3, 2}},
                   {"pad_mode", "pad"},
                   {"padding", Ints{1, 2, 0, 1, 1, 0}},
                   {"count_include_pad", false}}},
             Line{"avg_pool2d",
                  {{1, 2, 5, 5}},
                  {{"kernel_size", Ints{2, 3}},
                   {"stride", Ints{2, 2}},
                   {"ceil_mode", true},
                   {"divisor_override", 5}}},
             Line{"adaptive_avg_pool2d", {{1, 2, 7, 5}}, {{"output_size", Ints{3, 4}}}},
             Line{"adaptive_avg_pool3d", {{1, 2, 4, 5, 3}}, {{"output_size", Ints{2, 3, 1}}}},
             Line{"adaptive_max_pool1d", {{1, 2, 10}}, {{"output_size", Ints{4}}}},
             Line{"adaptive_max_pool2d", {{1, 2, 6, 6}}, {{"output_size", Ints{2, 3}}}},
             Line{"max_pool2d_with_indices",
                  {{1, 2, 5, 5}},
                  {{"kernel_size", Ints{2, 2}}, {"stride", Ints{2, 2}}}},
         })
        check_gradients(l);
    gradient_check(
        [](const Tensors &in) {
            return run_op(
                "lp_pool2d", {F::abs(in[0])},
                {{"norm_type", 3.0}, {"kernel_size", Ints{2, 2}}, {"stride", Ints{1, 2}}});
        },
        {numbers({1, 2, 4, 4})});
}

TEST(Convolutions, SecondDerivativesMatchDifferences) {
    const Tensor x = numbers({1, 2, 4, 3}, 1), weight = numbers({2, 2, 2, 2}, 2),
                 dy = numbers({1, 2, 3, 2}, 3);
    gradient_check(
        [](const Tensors &in) {
            return run_op("conv2d_dx", {in[2], in[0], in[1]});
        },
        {weight, dy, x});
    gradient_check(
        [](const Tensors &in) {
            return run_op("conv2d_dweight", {in[0], in[2], in[1]});
        },
        {x, dy, weight});
}

TEST(Convolutions, UnpoolingRestoresMaxima) {
    const Tensor x = Tensor::from<float>({1, 5, 2, 0, 3, 4, 7, 6}, {1, 2, 2, 2});
    const Given window{{"kernel_size", Ints{1, 2}}, {"stride", Ints{1, 2}}};
    const Tensors pooled = Primitive("max_pool2d_with_indices", window).run({x});
    EXPECT_EQ(pooled[1].to_vector<int32_t>(), (std::vector<int32_t>{1, 2, 1, 2}));
    EXPECT_EQ(run_op("max_unpool2d", {pooled[0], pooled[1]}, {{"output_size", Ints{2, 2}}})
                  .to_vector<float>(),
              (std::vector<float>{0, 5, 2, 0, 0, 4, 7, 0}));
    expect_error<ShapeError>("[max_unpool2d] index 1 is 2, expected 0 to 1", [&] {
        run_op("max_unpool2d", {pooled[0], pooled[1]}, {{"output_size", Ints{1, 2}}});
    });
    expect_error<ShapeError>(
        "[max_unpool1d] shape [2,3,9223372036854775806] has more than 2147483647 elements (sizes "
        "past 2^31 are not supported)",
        [] {
            run_op("max_unpool1d", {Tensor::ones({2, 3, 1}), Tensor::zeros({2, 3, 1}, DType::i32)},
                   {{"output_size", Ints{INT64_MAX - 1}}});
        });
    const Tensor indices = Tensor::from<int32_t>({3, 0}, {1, 1, 2});
    gradient_check(
        [&](const Tensors &in) {
            return run_op("max_unpool1d", {in[0], indices}, {{"output_size", Ints{5}}});
        },
        {numbers({1, 1, 2})});
}

// In f32 one kernel replaces several ops, and its gradients differ from theirs only by rounding.
TEST(Convolutions, FusedMatchesSeparateOps) {
    const auto f32 = [](const Shape &s, unsigned seed) {
        return F::cast(numbers(s, seed), DType::f32);
    };
    for (const char *activation : {"none", "relu", "relu6", "silu"}) {
        const Tensors in = {f32({2, 3, 6, 7}, 1), f32({5, 3, 3, 2}, 2), f32({5}, 3),
                            f32({2, 5, 4, 6}, 4)};
        const auto gradients = [&](const Several &f) {
            Tape tape;
            for (const Tensor &t : in)
                tape.watch(t);
            const Tensor y = f(in);
            Tensors all = tape.gradient(y, in, f32(y.shape(), 5));
            all.push_back(y);
            return all;
        };
        const Tensors fused = gradients([&](const Tensors &t) {
            return run_op("conv2d_bias_add_act", {t[0], t[1], t[2], t[3]},
                          {{"activation", activation}});
        });
        const Tensors parts = gradients([&](const Tensors &t) {
            const Tensor sum = F::add(F::bias_add(F::conv2d(t[0], t[1]), t[2]), t[3]);
            return std::string(activation) == "none" ? sum : run_op(activation, {sum});
        });
        for (size_t k = 0; k < fused.size(); k++)
            expect_close(fused[k], parts[k], 1e-6, activation);
    }
}

TEST(Convolutions, FoldedBatchNormMatches) {
    const Tensor x = numbers({2, 3, 5, 4}, 1), weight = numbers({4, 3, 2, 2}, 2),
                 bias = numbers({4}, 3), gamma = numbers({4}, 4), beta = numbers({4}, 5);
    const Tensor mean = numbers({4}, 6);
    const Tensor variance = F::square(numbers({4}, 7));
    const Tensors folded = Primitive("fold_batch_norm", {{"eps", 1e-3}})
                               .run({weight, bias, gamma, beta, mean, variance});
    const auto channels = [](const Tensor &t) { return F::reshape(t, {4, 1, 1}); };
    const Tensor y = F::bias_add(F::conv2d(x, weight), bias);
    const Tensor root = F::sqrt(F::add(variance, 1e-3));
    const Tensor expected = F::add(
        F::mul(F::div(F::sub(y, channels(mean)), channels(root)), channels(gamma)), channels(beta));
    expect_close(F::bias_add(F::conv2d(x, folded[0]), folded[1]), expected, 1e-14,
                 "conv2d of folded weights");
}

TEST(Convolutions, RejectsInvalidArguments) {
    const Tensor x = Tensor::ones({1, 3, 5});
    expect_error<ShapeError>(
        "[conv1d] weight.c/group is 2, expected 3 from x[1,3,5] (weight has shape [4,2,3])", [&] {
            run_op("conv1d", {x, Tensor::ones({4, 2, 3})});
        });
    expect_error<AttrError>("[conv1d] needs stride_w>=1: stride_w is 0", [&] {
        run_op("conv1d", {x, Tensor::ones({4, 3, 3})}, {{"stride", Ints{0}}});
    });
    expect_error<ShapeError>("[conv3d] x has rank 3, expected 5 (n,c,d,h,w)", [&] {
        run_op("conv3d", {x, Tensor::ones({4, 3, 3, 1, 1})});
    });
    expect_error<AttrError>(
        "[conv1d_transpose] needs output_padding_w<stride_w: output_padding_w is 1, stride_w is 1",
        [&] {
            run_op("conv1d_transpose", {x, Tensor::ones({3, 2, 3})},
                   {{"pad_mode", "pad"}, {"output_padding", Ints{1}}});
        });
    expect_error<AttrError>("[adaptive_avg_pool1d] needs ow>=1: ow is 0", [&] {
        run_op("adaptive_avg_pool1d", {x}, {{"output_size", Ints{0}}});
    });
    expect_error<AttrError>("[adaptive_max_pool3d] needs ow<=2147483647: ow is 9223372036854775806",
                            [&] {
                                run_op("adaptive_max_pool3d", {Tensor::ones({1, 1, 2, 2, 2})},
                                       {{"output_size", Ints{1, 2, INT64_MAX - 1}}});
                            });
}

}  // namespace
}  // namespace halyard
