#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "primitives/composites/concat.h"
#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/channels.h"
#include "primitives/ops/creation.h"
#include "primitives/ops/dropout.h"
#include "primitives/ops/shapes.h"
#include "registry/dispatch/dispatch.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Tensors = std::vector<Tensor>;
using Floats = std::vector<float>;

Tensor iota(const Shape &shape) {
    Floats v(static_cast<size_t>(shape.elements()));
    std::iota(v.begin(), v.end(), 0.f);
    return Tensor::from(v, shape);
}
void expect(const Tensor &t, const Shape &shape, const Floats &v) {
    EXPECT_EQ(t.shape().text(), shape.text());
    EXPECT_EQ(t.to_vector<float>(), v);
}

TEST(Composite, Reshape) {
    const Tensor x = iota({2, 3});
    expect(F::reshape(x, {3, -1}), {3, 2}, {0, 1, 2, 3, 4, 5});
    EXPECT_EQ(F::reshape(x, {6}).raw(), x.raw());
    // No strides express this, so it is copied.
    expect(F::reshape(F::transpose(x, {1, 0}), {6}), {6}, {0, 3, 1, 4, 2, 5});
    expect(ops::Reshape()(x, {1, 6}), {1, 6}, {0, 1, 2, 3, 4, 5});
    expect_error<ShapeError>("[reshape] shape [4] has 4 elements, expected 6 from [2,3]",
                             [&] { F::reshape(x, {4}); });
}

TEST(Composite, Transpose) {
    expect(F::transpose(iota({2, 3}), {1, 0}), {3, 2}, {0, 3, 1, 4, 2, 5});
    expect_error<ShapeError>("[transpose] permutation has 1 axes, expected 2", [] {
        F::transpose(iota({2, 3}), {0});
    });
}

TEST(Composite, FlattenExpandSqueeze) {
    EXPECT_EQ(F::flatten(iota({2, 3, 4})).shape().text(), "[2,12]");
    EXPECT_EQ(F::flatten(iota({5})).shape().text(), "[5]");
    EXPECT_EQ(F::flatten(iota({2, 3, 4, 5}), 1, 2).shape().text(), "[2,12,5]");
    EXPECT_EQ(F::flatten(Tensor::zeros({0, 3, 4})).shape().text(), "[0,12]");
    EXPECT_EQ(F::expand_dims(iota({2, 3}), -1).shape().text(), "[2,3,1]");
    EXPECT_EQ(F::squeeze(iota({1, 3, 1})).shape().text(), "[3]");
    EXPECT_EQ(F::squeeze(iota({1, 3, 1}), {0}).shape().text(), "[3,1]");
    expect_error<ShapeError>("[squeeze] dimension 1 is 3, expected 1", [] {
        F::squeeze(iota({1, 3}), {1});
    });
}

TEST(Composite, BroadcastTo) {
    expect(F::broadcast_to(iota({2, 1}), {2, 2, 2}), {2, 2, 2}, {0, 0, 1, 1, 0, 0, 1, 1});
    expect(F::broadcast_to(iota({2, 1}), {-1, 2}), {2, 2}, {0, 0, 1, 1});
    expect_error<ShapeError>("[broadcast_to] dimension 0 is -1, but x[2,1] has no extent there",
                             [] {
                                 F::broadcast_to(iota({2, 1}), {-1, 2, 1});
                             });
}

TEST(Composite, Slices) {
    const Tensor x = iota({3, 4});
    expect(F::slice(x, {1, 1}, {2, 2}), {2, 2}, {5, 6, 9, 10});
    expect(F::slice(x, {2, 0}, {-1, -1}), {1, 4}, {8, 9, 10, 11});
    expect(F::strided_slice(x, {0, 0}, {3, 4}, {2, 3}), {2, 2}, {0, 3, 8, 11});
    expect(F::strided_slice(x, {-1, -2}, {100, 100}), {1, 2}, {10, 11});
    expect(F::strided_slice(x, {2, 0}, {1, 4}), {0, 4}, {});
    expect_error<ShapeError>("[slice] dimension 1 begins at 3 with size 2, expected within 0 to 4",
                             [&] {
                                 F::slice(x, {0, 3}, {1, 2});
                             });
    expect_error<ShapeError>("[slice] begin has 1 values, expected 2 for x[3,4]", [&] {
        F::slice(x, {0}, {1, 2});
    });
    expect_error<AttrError>("[strided_slice] stride 0 is -1, expected 1 or more", [&] {
        F::strided_slice(x, {0, 0}, {1, 1}, {-1, 1});
    });
}

TEST(Composite, ConcatStackSplit) {
    const Tensor a = iota({2, 1}), b = iota({2, 2});
    expect(F::concat({a, b, a}, 1), {2, 4}, {0, 0, 1, 0, 1, 2, 3, 1});
    expect(F::stack({iota({2}), iota({2})}, -1), {2, 2}, {0, 0, 1, 1});
    const Tensors parts = ops::Split{1, 2}(iota({2, 4}));
    expect(parts[1], {2, 2}, {2, 3, 6, 7});
    expect_error<ShapeError>("[concat] x1 dimension 1 is 2, expected 1", [&] {
        F::concat({a, b}, 0);
    });
    expect_error<DTypeError>("[concat] x1 is i32, expected f32", [&] {
        F::concat({a, Tensor::zeros({2, 1}, DType::i32)});
    });
    expect_error<ShapeError>("[stack] x1 has shape [2,2], expected [2,1]", [&] {
        F::stack({a, b});
    });
    expect_error<ShapeError>("[split] dimension 1 is 4, expected a multiple of output_num 3", [] {
        F::split(iota({2, 4}), 1, 3);
    });
}

TEST(Composite, Filled) {
    expect(F::zeros_like(iota({2})), {2}, {0, 0});
    expect(F::ones_like(iota({2})), {2}, {1, 1});
    const Tensor t = F::fill(DType::i32, {2, 1}, 7);
    EXPECT_EQ(t.dtype(), DType::i32);
    expect(t, {2, 1}, {7, 7});
}

TEST(Composite, BiasAdd) {
    const Tensor x = Tensor::zeros({1, 2, 2});
    expect(F::bias_add(x, Tensor::from<float>({1, 2})), {1, 2, 2}, {1, 1, 2, 2});
    expect(F::bias_add(x, Tensor::from<float>({1, 2}), "NHWC"), {1, 2, 2}, {1, 2, 1, 2});
    expect_error<ShapeError>("[bias_add] bias.c is 3, expected 2 from x[1,2,2]",
                             [&] { F::bias_add(x, Tensor::zeros({3})); });
}

TEST(Composite, GradientsMatchDifferences) {
    auto weigh = [](const Tensor &t) { return F::mul(t, numbers(t.shape(), 7)); };
    const Tensor x = numbers({2, 3, 4});
    gradient_check([&](const Tensors &v) { return weigh(F::reshape(v[0], {4, 6})); }, {x});
    gradient_check(
        [&](const Tensors &v) {
            return weigh(F::reshape(F::transpose(v[0], {2, 0, 1}), {4, 6}));
        },
        {x});
    gradient_check([&](const Tensors &v) { return weigh(F::transpose(v[0], {1, -1, 0})); }, {x});
    gradient_check(
        [&](const Tensors &v) { return weigh(F::squeeze(F::expand_dims(F::flatten(v[0]), 0))); },
        {x});
    gradient_check(
        [&](const Tensors &v) {
            return weigh(F::broadcast_to(v[0], {2, 3, 4}));
        },
        {numbers({3, 1})});
    gradient_check(
        [&](const Tensors &v) {
            return weigh(F::slice(v[0], {0, 1, 1}, {2, 2, -1}));
        },
        {x});
    gradient_check(
        [&](const Tensors &v) {
            return weigh(F::strided_slice(v[0], {1, 0, 0}, {2, 3, 4}, {1, 2, 3}));
        },
        {x});
    gradient_check(
        [&](const Tensors &v) {
            return weigh(F::concat({v[0], v[1], v[0]}, 1));
        },
        {x, numbers({2, 1, 4}, 2)});
    gradient_check(
        [&](const Tensors &v) {
            return weigh(F::stack({v[0], v[1]}, 1));
        },
        {numbers({2, 2}), numbers({2, 2}, 2)});
    gradient_check(
        [&](const Tensors &v) {
            const Tensors p = F::split(v[0], 2, 2);
            return F::add(weigh(p[0]), F::mul(p[1], p[0]));
        },
        {x});
    gradient_check([&](const Tensors &v) { return weigh(F::bias_add(v[0], v[1])); },
                   {x, numbers({3}, 2)});
    gradient_check([&](const Tensors &v) { return F::dropout(v[0], 0.25, 5, 9)[0]; }, {x});
}

// Philox4x32-10 as Random123 defines it; the test below has its known answer for counter 0 and key
// 0.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c, std::array<uint32_t, 2> k) {
    for (int r = 0; r < 10; r++) {
        const uint64_t p = 0xD2511F53ull * c[0];
        const uint64_t q = 0xCD9E8D57ull * c[2];
        c = {uint32_t(q >> 32) ^ c[1] ^ k[0], uint32_t(q), uint32_t(p >> 32) ^ c[3] ^ k[1],
             uint32_t(p)};
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
    return c;
}

TEST(Dropout, UsesPhilox) {
    EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
              (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    const int n = 5000;
    for (int64_t seed : {int64_t{0}, int64_t{0x123456789abcdef}}) {
        for (int64_t offset : {int64_t{0}, int64_t{0xfedcba9876}}) {
            for (double p : {0.25, 0.5}) {
                const auto [y, mask] = F::dropout(Tensor::ones({n}), p, seed, offset);
                for (int i = 0; i < n; i++) {
                    const auto words = philox({uint32_t(i / 64 * 16 + i % 16), 0, uint32_t(offset),
                                               uint32_t(offset >> 32)},
                                              {uint32_t(seed), uint32_t(seed >> 32)});
                    const bool kept = double(words[size_t(i / 16 % 4)] >> 8) * 0x1p-24 >= p;
                    ASSERT_EQ(mask.data<bool>()[i], kept) << i;
                    ASSERT_FLOAT_EQ(y.data<float>()[i], kept ? float(1 / (1 - p)) : 0.f) << i;
                }
            }
        }
    }
}

TEST(Dropout, SameBitsForAnyDtypeAndShape) {
    const auto bits = [](const Shape &s, DType d) {
        return F::dropout(Tensor::ones(s, d), 0.5, 3, 4)[1].to_vector<float>();
    };
    const Floats first = bits({1200}, DType::f32);
    EXPECT_EQ(bits({1200}, DType::f64), first);
    EXPECT_EQ(bits({1200}, DType::f16), first);
    EXPECT_EQ(bits({30, 40}, DType::f32), first);
}

TEST(Dropout, SameBitsOnEveryIsa) {
    const auto bits = [] {
        return F::dropout(Tensor::ones({70000}), 0.5, 3, 4)[1].to_vector<float>();
    };
    const Floats first = bits();
    std::vector<Isa> built;
    for (const KernelEntry &k : library().at("dropout_kernel").kernels)
        if (k.dtypes == "f32" && k.backend == "cpu" && k.isa <= host_isa()) built.push_back(k.isa);
    ASSERT_FALSE(built.empty());
    for (Isa isa : built) {
        const Force force(isa, "");
        EXPECT_EQ(bits(), first) << name_of(isa);
    }
}

// Rows of a view drew the same numbers, each from the first on.
TEST(Dropout, ViewsDrawAsTheirCopies) {
    const Tensor wide = Tensor::ones({4, 100});
    for (const Tensor &view : {wide.slice(1, 0, 64), wide.transpose({1, 0})}) {
        EXPECT_EQ(F::dropout(view, 0.5, 3, 4)[1].to_vector<float>(),
                  F::dropout(view.copy(), 0.5, 3, 4)[1].to_vector<float>());
    }
}

TEST(Dropout, EdgeCasesAndSuccessiveCalls) {
    const Tensor x = Tensor::full({1000}, 3);
    EXPECT_EQ(F::dropout(x, 0.0)[0].to_vector<float>(), Floats(1000, 3));
    EXPECT_EQ(F::dropout(x, 1.0)[0].to_vector<float>(), Floats(1000, 0));
    EXPECT_NE(F::dropout(x, 0.5)[1].to_vector<float>(), F::dropout(x, 0.5)[1].to_vector<float>());
    expect_error<AttrError>("[dropout] p is 1.500000, expected 0 to 1",
                            [&] { F::dropout(x, 1.5); });
}

}  // namespace
}  // namespace halyard
