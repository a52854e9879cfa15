#include <gtest/gtest.h>

#include "primitives/composites/concat.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/creation.h"
#include "primitives/ops/indexing.h"
#include "primitives/ops/one_hot.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/resize.h"
#include "primitives/ops/scan.h"
#include "primitives/ops/scatter.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/tensor_formats.h"
#include "primitives/ops/triangle.h"
#include "primitives/ops/unfold.h"
#include "primitives/ops/views.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Floats = std::vector<float>;

Tensor indices(const std::vector<int32_t> &v) {
    return Tensor::from(v, {int64_t(v.size())});
}

TEST(Indexing, GatherTakesNegativeIndicesAndRejectsOthersOutOfRange) {
    const Tensor x = Tensor::from(Floats{0, 1, 2, 3, 4, 5}, {2, 3});
    EXPECT_EQ(F::gather(x, indices({2, -3}), 1).to_vector<float>(), (Floats{2, 0, 5, 3}));
    EXPECT_EQ(F::gather(x, indices({1}).reshape({1, 1}), 0).shape().text(), "[1,1,3]");
    expect_error<ShapeError>("[gather] index 1 is 2, expected -2 to 1", [&] {
        F::gather(x, indices({0, 2}), 0);
    });
    expect_error<ShapeError>("[index_select] index 0 is -4, expected -3 to 2",
                             [&] { F::index_select(x, indices({-4}), 1); });
    expect_error<ShapeError>("[embedding] index 0 is 0, expected 0 to -1", [&] {
        F::embedding(indices({0}), Tensor::zeros({0, 3}));
    });
}

TEST(Indexing, PadRejectsInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3});
    expect_error<AttrError>("[pad] padding is 3, expected at most 2 for an extent of 3", [&] {
        F::pad(x, {3, 0}, "reflect");
    });
    expect_error<AttrError>("[pad] padding is -1, expected 0 or more", [&] { F::pad(x, {-1, 0}); });
    expect_error<AttrError>(
        "[pad] padding has 3 values, expected an even number up to 4 for x[2,3]", [&] {
            F::pad(x, {1, 1, 1});
        });
    expect_error<ShapeError>("[tile] 3 elements 2147483647 times, the limit is 2147483647", [&] {
        F::tile(x, {1, 2147483647});
    });
}

TEST(Indexing, FlipsOfEveryLength) {
    for (const DType t : {DType::u8, DType::bf16, DType::i32, DType::i64}) {
        for (const int64_t n : {1, 2, 7, 15, 16, 17, 33, 64, 131}) {
            const Tensor x = F::arange(0, double(2 * n), 1, t).reshape({2, n});
            const Tensor y = F::flip(x, {1});
            for (int64_t j = 0; j < n; j++)
                ASSERT_EQ(y.at({1, j}), x.at({1, n - 1 - j})) << name_of(t) << " " << n << " " << j;
            EXPECT_EQ(F::flip(x, {0, 1}).at({0, 0}), x.at({1, n - 1}));
        }
    }
}

TEST(Indexing, OfEmptyTensors) {
    const Tensor x = Tensor::ones({2, 3});
    const Tensor none = Tensor::zeros({0, 3});
    EXPECT_EQ(F::tile(x, {0, 2}).shape().text(), "[0,6]");
    EXPECT_EQ(F::repeat_interleave(x, 0, 1).shape().text(), "[2,0]");
    EXPECT_EQ(F::flip(none, {0, 1}).shape().text(), "[0,3]");
    EXPECT_EQ(F::roll(none, {1, 1}, {0, 1}).shape().text(), "[0,3]");
    EXPECT_EQ(F::pad(none, {0, 0, 1, 1}, "constant", 7.0).to_vector<float>(), Floats(6, 7));
    EXPECT_EQ(F::gather_elements(x, Tensor::zeros({0, 3}, DType::i32), 0).shape().text(), "[0,3]");
    EXPECT_EQ(F::scatter(x, Tensor::zeros({0, 3}, DType::i32), none, 0).to_vector<float>(),
              Floats(6, 1));
    EXPECT_EQ(F::tril(none).shape().text(), "[0,3]");
    EXPECT_EQ(F::contiguous(none).shape().text(), "[0,3]");
}

// An element that is gathered several times gets the sum of its gradients; one that isn't gets 0.
TEST(Indexing, GradientsMatchDifferences) {
    const Tensor x = numbers({3, 4});
    auto check = [&](auto f) {
        gradient_check([&](const std::vector<Tensor> &in) { return f(in[0]); }, {x});
    };
    check([](const Tensor &t) { return F::gather(t, indices({2, 0, 2}), 0); });
    check([](const Tensor &t) { return F::pad(t, {1, 2, 2, 0}, "reflect"); });
    check([](const Tensor &t) { return F::pad(t, {1, 2}, "constant", 3.0); });
    check([](const Tensor &t) { return F::tile(t, {2, 1, 3}); });
    check([](const Tensor &t) { return F::roll(F::flip(t, {0, 1}), {1}, {1}); });
    check([](const Tensor &t) { return F::repeat_interleave(t, 2, -1); });
    check([](const Tensor &t) { return F::embedding(indices({1, 1, 0}), t); });
}

TEST(Indexing, GathersAndScattersRejectInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3});
    const Tensor wide = Tensor::from<int32_t>({0, 1, 0, 1, 0, 1, 0, 1}, {2, 4});
    expect_error<ShapeError>("[gather_elements] index 1 is 2, expected -2 to 1", [&] {
        F::gather_elements(x, Tensor::from<int32_t>({0, 2}, {1, 2}), 0);
    });
    expect_error<ShapeError>(
        "[gather_elements] index dimension 1 is 4, expected at most 3 from x[2,3]",
        [&] { F::gather_elements(x, wide, 0); });
    expect_error<ShapeError>("[gather_elements] index has rank 1, expected 2 as x",
                             [&] { F::gather_elements(x, indices({0}), 0); });
    expect_error<ShapeError>("[gather_nd] indices' last dimension is 3, expected 1 to 2 for x[2,3]",
                             [&] {
                                 F::gather_nd(x, indices({0, 0, 0}));
                             });
    expect_error<ShapeError>("[gather_nd] index 1 is -4, expected -3 to 2", [&] {
        F::gather_nd(x, indices({1, -4}));
    });
    expect_error<ShapeError>("[tensor_scatter_add] updates have shape [2], expected [1,3]", [&] {
        F::tensor_scatter_add(x, indices({0}).reshape({1, 1}), Tensor::ones({2}));
    });
    expect_error<DTypeError>("[scatter] updates are f64, expected f32 like x", [&] {
        F::scatter(x, wide.slice(1, 0, 3), Tensor::ones({2, 3}, DType::f64), 0);
    });
    expect_error<DTypeError>("[gather] indices are f32, expected i32 or i64",
                             [&] { F::gather(x, Tensor::ones({1}), 0); });
    expect_error<ShapeError>(
        "[unsorted_segment_sum] segment id 1 is 2, expected less than num_segments 2", [&] {
            F::unsorted_segment_sum(x, indices({0, 2}), 2);
        });
    expect_error<GradError>("[scatter] has no gradient for reduction mul", [&] {
        Tape tape;
        tape.watch(x);
        tape.gradient(F::tensor_scatter_mul(x, indices({0}).reshape({1, 1}), Tensor::ones({1, 3})),
                      {x});
    });
}

TEST(Indexing, OneHotAlongAnyAxis) {
    const Tensor at = Tensor::from<int32_t>({0, 2, 1, 3, 2, -1}, {2, 3});
    const Tensor on = Tensor::scalar(1), off = Tensor::scalar(0);
    const Tensor last = F::one_hot(at, on, off, 3, -1);
    EXPECT_EQ(last.to_vector<float>(),
              (Floats{1, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0}));
    for (const int axis : {0, 1, -3}) {
        const Tensor y = F::one_hot(at, on, off, 3, axis);
        EXPECT_EQ(F::movedim(y, {axis}, {-1}).to_vector<float>(), last.to_vector<float>()) << axis;
    }
}

// Tests several numbers per index, i64 indices, and negative ones; the last of several updates
// stays.
TEST(Indexing, TakesIndicesOfSeveralNumbers) {
    const Tensor x = Tensor::from(Floats{0, 1, 2, 3, 4, 5}, {2, 3});
    const Tensor at = Tensor::from<int64_t>({1, 2, 0, -3, 1, -1}, {3, 2});
    EXPECT_EQ(F::gather_nd(x, at).to_vector<float>(), (Floats{5, 0, 5}));
    const Tensor updates = Tensor::from<float>({10, 20, 30});
    EXPECT_EQ(F::tensor_scatter_update(x, at, updates).to_vector<float>(),
              (Floats{20, 1, 2, 3, 4, 30}));
    EXPECT_EQ(F::tensor_scatter_add(x, at, updates).to_vector<float>(),
              (Floats{20, 1, 2, 3, 4, 45}));
    EXPECT_EQ(F::scatter_nd(at, updates, {2, 3}).to_vector<float>(), (Floats{20, 0, 0, 0, 0, 40}));
    EXPECT_EQ(F::unsorted_segment_sum(x, indices({-1, 1}), 3).to_vector<float>(),
              (Floats{0, 0, 0, 3, 4, 5, 0, 0, 0}));
    EXPECT_EQ(F::gather_elements(x, Tensor::from<int64_t>({-1, 0}, {2, 1}), 1).to_vector<float>(),
              (Floats{2, 3}));
}

TEST(Indexing, ScatterGradientsMatchDifferences) {
    const Tensor x = numbers({3, 4}), u = numbers({2, 4}, 7);
    const Tensor rows = Tensor::from<int32_t>({2, 0}, {2, 1});
    const Tensor index = Tensor::from<int32_t>({0, 2, 1, 1, 2, 2, 1, 0}, {2, 4});
    const Tensor smaller = Tensor::from<int32_t>({3, 0, 3, 3}, {2, 2});
    gradient_check(
        [&](const std::vector<Tensor> &in) { return F::gather_elements(in[0], index, 0); }, {x});
    gradient_check(
        [&](const std::vector<Tensor> &in) { return F::gather_elements(in[0], smaller, -1); }, {x});
    gradient_check([&](const std::vector<Tensor> &in) { return F::gather_nd(in[0], rows); }, {x});
    for (const char *reduction : {"none", "add", "max", "min"}) {
        gradient_check(
            [&](const std::vector<Tensor> &in) {
                return F::tensor_scatter_elements(in[0], index, in[1], 0, reduction);
            },
            {x, u});
    }
    gradient_check(
        [&](const std::vector<Tensor> &in) { return F::tensor_scatter_sub(in[0], rows, in[1]); },
        {x, u});
    gradient_check(
        [&](const std::vector<Tensor> &in) {
            return F::index_add(in[0], indices({1, 1, 0, 2, 2}), in[1], 1);
        },
        {x, numbers({3, 5}, 3)});
    gradient_check(
        [&](const std::vector<Tensor> &in) {
            return F::unsorted_segment_sum(in[0], indices({1, 0, 1}), 2);
        },
        {x});
}

TEST(Views, GradientsMatchDifferences) {
    const Tensor x = numbers({2, 4, 4, 6}), square = numbers({3, 5});
    auto check = [&](const Tensor &t, auto f) {
        gradient_check([&](const std::vector<Tensor> &in) { return f(in[0]); }, {t});
    };
    check(x, [](const Tensor &t) { return F::space_to_depth(t, 2); });
    check(x, [](const Tensor &t) { return F::depth_to_space(t, 2); });
    check(x, [](const Tensor &t) { return F::pixel_shuffle(t, 2); });
    check(x, [](const Tensor &t) { return F::pixel_unshuffle(t, 2); });
    check(x, [](const Tensor &t) { return F::nchw_to_nc1hwc0(t); });
    check(x, [](const Tensor &t) { return F::nchw_to_fractal_z(t); });
    check(numbers({1, 1, 2, 3, 16}), [](const Tensor &t) { return F::nc1hwc0_to_nchw(t, 5); });
    check(x, [](const Tensor &t) {
        return F::rot90(F::contiguous(F::movedim(t, {0, 1}, {-1, 0})), 3, {0, 2});
    });
    check(x, [](const Tensor &t) { return F::swapaxes(F::permute(t, {3, 2, 1, 0}), 0, 2); });
    check(square, [](const Tensor &t) { return F::diagonal(t, 1); });
    check(square, [](const Tensor &t) { return F::diag(F::diag(t, -1), 2); });
    check(square, [](const Tensor &t) { return F::trace(t); });
    check(square, [](const Tensor &t) { return F::add(F::tril(t), F::triu(t, 2)); });
    check(numbers({2, 1}), [](const Tensor &t) { return F::expand(t, {3, -1, 4}); });
    check(square, [](const Tensor &t) { return F::pad(t, {2, 1, 3, 3}, "symmetric"); });
    check(square, [](const Tensor &t) {
        return F::mul(F::unstack(t, 1)[3],
                      F::unstack(F::broadcast_tensors({t, F::unbind(t)[0]})[1], 1)[0]);
    });
}

TEST(Views, FormatsOfTheCubeUnit) {
    const Tensor x = numbers({2, 17, 3, 5});
    EXPECT_EQ(F::nchw_to_nc1hwc0(x).shape(), Shape({2, 2, 3, 5, 16}));
    EXPECT_EQ(F::nc1hwc0_to_nchw(F::nchw_to_nc1hwc0(x), 17).to_vector<float>(),
              x.to_vector<float>());
    EXPECT_EQ(F::nchw_to_fractal_z(x).shape(), Shape({30, 1, 16, 16}));
    expect_error<ShapeError>("[nc1hwc0_to_nchw] x.b is 8, expected 16 for 17 channels", [&] {
        F::nc1hwc0_to_nchw(Tensor::ones({1, 2, 3, 5, 8}), 17);
    });
    expect_error<ShapeError>(
        "[nc1hwc0_to_nchw] x.a is 2, expected 576460752303423488 for 9223372036854775807 channels",
        [&] {
            F::nc1hwc0_to_nchw(Tensor::ones({1, 2, 3, 5, 16}), INT64_MAX);
        });
}

TEST(Views, RejectInvalidArguments) {
    const Tensor x = Tensor::ones({1, 6, 4, 5});
    expect_error<ShapeError>("[space_to_depth] x.w is 5, expected a multiple of 2",
                             [&] { F::space_to_depth(x, 2); });
    expect_error<ShapeError>("[pixel_shuffle] x.c is 6, expected a multiple of 4",
                             [&] { F::pixel_shuffle(x, 2); });
    expect_error<AttrError>("[depth_to_space] block_size is 0, expected 1 to 32767",
                            [&] { F::depth_to_space(x, 0); });
    expect_error<AttrError>("[movedim] source -4 is given twice", [&] {
        F::movedim(x, {0, -4}, {1, 2});
    });
    expect_error<ShapeError>("[transpose] permutation has 2 axes, expected 4", [&] {
        F::permute(x, {0, 1});
    });
    expect_error<AttrError>("[diagonal] dim1 and dim2 are both dimension 1",
                            [&] { F::diagonal(x, 0, 1, -3); });
    expect_error<AttrError>("[arange] step is 0, expected another number",
                            [&] { F::arange(0, 1, 0); });
    expect_error<AttrError>("[eye] n is -1, expected 0 or more", [&] { F::eye(-1); });
    expect_error<AttrError>("[meshgrid] indexing is 'yx', expected xy or ij",
                            [&] { F::meshgrid({x}, "yx"); });
    expect_error<ShapeError>("[meshgrid] x0 has rank 4, expected 1", [&] { F::meshgrid({x}); });
}

TEST(Views, Meshgrid) {
    const Tensor a = Tensor::from<float>({1, 2}), b = Tensor::from<float>({3, 4, 5});
    EXPECT_EQ(F::meshgrid({a, b})[0].text(), "[[1, 2], [1, 2], [1, 2]] f32[3,2]");
    EXPECT_EQ(F::meshgrid({a, b}, "ij")[1].text(), "[[3, 4, 5], [3, 4, 5]] f32[2,3]");
}

TEST(Windows, UnfoldAndFoldAreGradientsOfEachOther) {
    const Tensor x = numbers({1, 2, 5, 4}), columns = numbers({1, 12, 4}, 5);
    gradient_check(
        [](const std::vector<Tensor> &in) {
            return F::unfold(in[0], {3, 2}, {1, 2}, {1, 0}, {2, 1});
        },
        {x});
    gradient_check(
        [](const std::vector<Tensor> &in) {
            return F::fold(in[0], {5, 4}, {3, 2}, {1, 2}, {0, 1}, {2, 2});
        },
        {columns.slice(2, 0, 4)});
    expect_error<ShapeError>("[fold] x.l is 4, expected 6 windows", [&] {
        F::fold(columns, {5, 4}, {3, 2}, {1, 1}, {0, 0}, {2, 1});
    });
    expect_error<ShapeError>("[unfold] h is 5, 5 with padding, expected at least the windows' 7",
                             [&] {
                                 F::unfold(x, {4, 1}, {2, 1});
                             });
}

TEST(Resize, GradientsMatchDifferences) {
    const Tensor x = numbers({1, 2, 4, 5});
    for (const char *mode : {"nearest", "nearest_exact", "bilinear", "bicubic"}) {
        for (const Ints &size : {Ints{7, 9}, Ints{3, 2}}) {
            gradient_check(
                [&](const std::vector<Tensor> &in) { return F::interpolate(in[0], size, 0, mode); },
                {x});
        }
    }
    gradient_check(
        [](const std::vector<Tensor> &in) {
            return F::resize_bilinear(in[0], {6, 3}, true);
        },
        {x});
    expect_error<AttrError>("[interpolate] expected either size or scale_factor",
                            [&] { F::interpolate(x); });
    expect_error<AttrError>(
        "[interpolate] align_corners is for linear, bilinear, trilinear and bicubic", [&] {
            F::interpolate(x, {2, 2}, 0, "nearest", true);
        });
    expect_error<ShapeError>("[resize_bilinear] x has rank 3, expected 4 (n,c,h,w)", [&] {
        F::resize_bilinear(x.reshape({2, 4, 5}), {2, 2});
    });
}

// Volumes are resized along one axis after the other.
TEST(Resize, Volumes) {
    const Tensor x = numbers({2, 3, 4, 5, 6});
    const Shape sizes = {0, 0, 7, 3, 9};
    const auto one_by_one = [&](const std::string &mode, bool corners) {
        Tensor y = x;
        for (int d = 2; d < 5; d++) {
            const Tensor last = y.transpose({0, 1, d == 2 ? 4 : 2,
                                             d == 4   ? 3
                                             : d == 3 ? 4
                                                      : 3,
                                             d})
                                    .contiguous();
            const Shape s = last.shape();
            const Tensor line = F::interpolate(last.reshape({s[0], s[1] * s[2] * s[3], s[4]}),
                                               {sizes[d]}, 0, mode, corners);
            const Tensor back = line.reshape({s[0], s[1], s[2], s[3], sizes[d]});
            y = d == 2   ? back.transpose({0, 1, 4, 3, 2})
                : d == 3 ? back.transpose({0, 1, 2, 4, 3})
                         : back;
        }
        return y;
    };
    for (const bool corners : {false, true}) {
        const Tensor y = F::interpolate(x, {7, 3, 9}, 0, "trilinear", corners);
        const Tensor expected = one_by_one("linear", corners);
        ASSERT_EQ(y.shape(), (Shape{2, 3, 7, 3, 9}));
        const Floats a = y.to_vector<float>();
        const Floats b = expected.to_vector<float>();
        for (size_t i = 0; i < a.size(); i++)
            EXPECT_NEAR(a[i], b[i], 1e-5) << i;
    }
    for (const char *mode : {"nearest", "nearest_exact"}) {
        EXPECT_EQ(F::interpolate(x, {7, 3, 9}, 0, mode).to_vector<float>(),
                  one_by_one(mode, false).to_vector<float>())
            << mode;
    }
    EXPECT_EQ(F::interpolate(x, {}, 2, "nearest").shape(), (Shape{2, 3, 8, 10, 12}));
    EXPECT_EQ(F::interpolate(x.to(DType::f16), {7, 3, 9}, 0, "trilinear").dtype(), DType::f16);
    const Tensor small = numbers({1, 2, 2, 3, 2});
    for (const char *mode : {"nearest", "trilinear"}) {
        gradient_check(
            [&](const std::vector<Tensor> &in) {
                return F::interpolate(in[0], {3, 2, 4}, 0, mode);
            },
            {small});
    }
    expect_error<ShapeError>("[interpolate] x has rank 4, expected 5", [&] {
        F::interpolate(numbers({1, 2, 3, 4}), {2, 2, 2}, 0, "trilinear");
    });
    expect_error<ShapeError>("[interpolate] x has rank 2, expected 3, 4 or 5", [&] {
        F::interpolate(numbers({3, 4}), {2});
    });
}

// A NaN pixel makes the outputs that use it NaN; one with weight 0 has no effect.
TEST(Resize, KeepsSpecialValuesLocal) {
    const Tensor x = Tensor::from(Floats{1, NAN, INFINITY, 4}, {1, 1, 1, 4});
    const Floats same = F::interpolate(x, {1, 4}, 0, "bicubic").to_vector<float>();
    EXPECT_EQ(same[0], 1);
    EXPECT_TRUE(std::isnan(same[1]));
    EXPECT_EQ(same[2], INFINITY);
    EXPECT_EQ(same[3], 4);
}

TEST(Scan, GradientsMatchDifferences) {
    const Tensor x = numbers({3, 21});
    for (const bool exclusive : {false, true}) {
        for (const bool reverse : {false, true}) {
            gradient_check(
                [&](const std::vector<Tensor> &in) {
                    return ops::CumSum(exclusive, reverse)(in[0], 0);
                },
                {x});
            gradient_check(
                [&](const std::vector<Tensor> &in) {
                    return ops::CumProd(exclusive, reverse)(in[0], 0);
                },
                {x});
        }
    }
}

// The gradient must not divide by factors that are 0.
TEST(Scan, GradientsOfProductsWithZeros) {
    for (const int zeros : {0, 1, 2}) {
        const Tensor x = numbers({2, 5});
        for (int64_t k = 0; k < zeros; k++)
            x.set({0, 1 + 2 * k}, 0);
        gradient_check([](const std::vector<Tensor> &in) { return F::reduce_prod(in[0], {1}); },
                       {x});
        gradient_check([](const std::vector<Tensor> &in) { return F::cumprod(in[0], 1); }, {x});
    }
    const Tensor x = numbers({2, 3, 4});
    for (const Ints &axes : {Ints{}, Ints{0}, Ints{1}, Ints{2, 0}, Ints{-1}}) {
        for (const bool keep : {false, true}) {
            gradient_check(
                [&](const std::vector<Tensor> &in) { return F::reduce_prod(in[0], axes, keep); },
                {x});
        }
    }
}

TEST(Norm, GradientsMatchDifferences) {
    const Tensor x = numbers({3, 4, 5});
    gradient_check([](const std::vector<Tensor> &in) { return F::reduce_l1(in[0], {0, 2}); }, {x});
    gradient_check([](const std::vector<Tensor> &in) { return F::reduce_l2(in[0], {1}, true); },
                   {x});
    Tape tape;
    const Tensor zero = Tensor::zeros({2, 3});
    tape.watch(zero);
    EXPECT_EQ(tape.gradient(F::reduce_l2(zero, {1}), {zero})[0].to_vector<float>(),
              std::vector<float>(6, 0));
}

}  // namespace
}  // namespace halyard
