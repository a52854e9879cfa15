// Tests dense, einsum and products under other names beyond their checks: gradients, invalid
// arguments, operands that are views.
#include <gtest/gtest.h>

#include "primitives/composites/einsum.h"
#include "primitives/ops/attention.h"
#include "primitives/ops/dense.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/products.h"
#include "primitives/ops/shapes.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Tensors = std::vector<Tensor>;

// Iterates every index of every letter. Extents of 1 broadcast.
std::vector<double> naive(const std::vector<std::string> &axes, const Tensors &in,
                          const std::string &out) {
    std::map<char, int64_t> extents, at;
    for (size_t k = 0; k < in.size(); k++) {
        for (int d = 0; d < in[k].rank(); d++)
            extents[axes[k][size_t(d)]] = std::max(extents[axes[k][size_t(d)]], in[k].shape()[d]);
    }
    Shape s;
    int64_t total = 1;
    for (char letter : out)
        s.push_back(extents[letter]);
    for (auto &[letter, n] : extents)
        total *= n;
    std::vector<double> y(static_cast<size_t>(s.elements()));
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i;
        int64_t place = 0;
        for (auto &[letter, n] : extents) {
            at[letter] = rest % n;
            rest /= n;
        }
        double product = 1;
        for (size_t k = 0; k < in.size(); k++) {
            std::vector<int64_t> index;
            for (int d = 0; d < in[k].rank(); d++)
                index.push_back(in[k].shape()[d] == 1 ? 0 : at[axes[k][size_t(d)]]);
            product *= in[k].at(Shape(index));
        }
        for (size_t d = 0; d < out.size(); d++)
            place = place * s[int(d)] + at[out[d]];
        y[size_t(place)] += product;
    }
    return y;
}

void expect_einsum(const std::string &equation, const std::vector<std::string> &axes,
                   const std::string &out, const std::vector<Shape> &shapes) {
    Tensors in;
    for (const Shape &s : shapes)
        in.push_back(numbers(s, unsigned(in.size()) + 1));
    const std::vector<double> got = F::einsum(equation, in).to_vector<double>();
    const std::vector<double> want = naive(axes, in, out);
    ASSERT_EQ(got.size(), want.size()) << equation;
    for (size_t i = 0; i < got.size(); i++)
        EXPECT_NEAR(got[i], want[i], 1e-12) << equation << " [" << i << "]";
    gradient_check([&](const Tensors &t) { return F::einsum(equation, t); }, in);
}

TEST(Einsum, MatchesLoopsAndDifferences) {
    expect_einsum("ij,jk->ik", {"ij", "jk"}, "ik", {{2, 3}, {3, 4}});
    expect_einsum("ij,jk", {"ij", "jk"}, "ik", {{2, 3}, {3, 4}});
    expect_einsum("ba", {"ba"}, "ab", {{2, 3}});
    expect_einsum("bhqd,bhkd->bhqk", {"bhqd", "bhkd"}, "bhqk", {{2, 2, 3, 2}, {2, 2, 4, 2}});
    expect_einsum("bqhd, bkhd -> bhqk", {"bqhd", "bkhd"}, "bhqk", {{2, 3, 2, 2}, {2, 4, 2, 2}});
    expect_einsum("i,i->", {"i", "i"}, "", {{5}, {5}});
    expect_einsum("i,j->ji", {"i", "j"}, "ji", {{2}, {3}});
    expect_einsum("ii->i", {"ii"}, "i", {{3, 3}});
    expect_einsum("iij,j->i", {"iij", "j"}, "i", {{3, 3, 2}, {2}});
    expect_einsum("iii", {"iii"}, "", {{2, 2, 2}});
    expect_einsum("ijk->k", {"ijk"}, "k", {{2, 3, 4}});
    expect_einsum("ij,jk,kl->il", {"ij", "jk", "kl"}, "il", {{2, 3}, {3, 2}, {2, 4}});
    expect_einsum("a,ab,abc->abc", {"a", "ab", "abc"}, "abc", {{2}, {2, 3}, {2, 3, 2}});
    expect_einsum("ijm,jn->in", {"ijm", "jn"}, "in", {{2, 3, 4}, {3, 2}});
    expect_einsum("...ij,...jk->...ik", {"xij", "yxjk"}, "yxik", {{2, 2, 3}, {3, 2, 3, 2}});
    expect_einsum("...ij,jk", {"xij", "jk"}, "xik", {{2, 2, 3}, {3, 2}});
    expect_einsum("...i->...", {"xi"}, "x", {{2, 3}});
    expect_einsum("ij,ij->i", {"ij", "ij"}, "i", {{2, 1}, {2, 3}});
}

TEST(Einsum, IntegersAndEmptyTensors) {
    const Tensor a = Tensor::from(std::vector<int32_t>{1, 2, 3, 4}, {2, 2});
    EXPECT_EQ(F::einsum("ij,jk->ik", {a, a}).to_vector<int32_t>(),
              (std::vector<int32_t>{7, 10, 15, 22}));
    EXPECT_EQ(
        F::einsum("ij,jk->ik", {Tensor::ones({2, 0}), Tensor::ones({0, 3})}).to_vector<float>(),
        std::vector<float>(6, 0));
}

// Sums and products wrap, as in PyTorch.
TEST(Products, OfIntegers) {
    const auto integers = [](const Shape &s, int32_t factor) {
        std::vector<int32_t> v(static_cast<size_t>(s.elements()));
        for (size_t i = 0; i < v.size(); i++)
            v[i] = (int32_t(i * 7 % 23) - 11) * factor;
        return Tensor::from(v, s);
    };
    for (const auto &[m, k, n] :
         {std::array<int64_t, 3>{1, 1, 1}, {5, 7, 3}, {17, 31, 16}, {9, 4, 33}}) {
        const Tensor a = integers({m, k}, 1), b = integers({k, n}, 3);
        const std::vector<double> want = naive({"mk", "kn"}, {a, b}, "mn");
        EXPECT_EQ(F::matmul(a, b).to_vector<double>(), want);
        EXPECT_EQ(F::einsum("mk,kn->mn", {a, b}).to_vector<double>(), want);
        EXPECT_EQ(F::bmm(a.unsqueeze(0), b.unsqueeze(0)).to_vector<double>(), want);
        EXPECT_EQ(F::matmul(a, b).dtype(), DType::i32);
        const Tensor c = F::addmm(integers({m, n}, 5), a, b, 2, -3);
        ASSERT_EQ(c.dtype(), DType::i32);
        const std::vector<double> x = integers({m, n}, 5).to_vector<double>();
        for (size_t i = 0; i < x.size(); i++)
            EXPECT_EQ(c.to_vector<double>()[i], 2 * x[i] - 3 * want[i]);
    }
    const Tensor big = Tensor::full({1, 2}, 1 << 30, DType::i32);
    EXPECT_EQ(F::matmul(big, Tensor::full({2, 1}, 4, DType::i32)).item(), 0);
    EXPECT_EQ(F::mv(big, Tensor::full({2}, 1, DType::i32)).item(), -2147483648.0);
    EXPECT_EQ(
        F::outer(Tensor::from<int32_t>({2, 3}), Tensor::from<int32_t>({5})).to_vector<int32_t>(),
        (std::vector<int32_t>{10, 15}));
}

TEST(Einsum, RejectsInvalidArguments) {
    const Tensor a = Tensor::ones({2, 3}), b = Tensor::ones({4, 5});
    expect_error<ShapeError>("[einsum] 'ij,jk->ik': j is 4, expected 3", [&] {
        F::einsum("ij,jk->ik", {a, b});
    });
    expect_error<AttrError>("[einsum] 'ij->i' names 1 operands, got 2", [&] {
        F::einsum("ij->i", {a, b});
    });
    expect_error<AttrError>("[einsum] 'ijk->i' has 3 letters for operand 0 of rank 2",
                            [&] { F::einsum("ijk->i", {a}); });
    expect_error<AttrError>("[einsum] 'ij->k' has k in its result only",
                            [&] { F::einsum("ij->k", {a}); });
    expect_error<AttrError>("[einsum] 'ij->ii' has i twice in its result",
                            [&] { F::einsum("ij->ii", {a}); });
    expect_error<AttrError>("[einsum] 'i+->i' has '+', expected letters, '...', ',' and '->'",
                            [&] { F::einsum("i+->i", {a}); });
    expect_error<ShapeError>("[einsum] dimension 1 of [2,3] is 3, expected 2 as dimension 0",
                             [&] { F::einsum("ii", {a}); });
    expect_error<AttrError>("[einsum] takes at least one operand, got none",
                            [&] { F::einsum("", {}); });
    expect_error<DTypeError>("[einsum] operand 1 is f64, expected f32", [&] {
        F::einsum("ij,jk", {a, Tensor::ones({3, 2}, DType::f64)});
    });
}

TEST(Dense, GradientsMatchDifferencesAndTheFusedForm) {
    const Tensors in = {numbers({2, 3, 5}), numbers({4, 5}, 2), numbers({4}, 3)};
    for (const char *activation :
         {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"}) {
        const auto f = [&](const Tensors &t) { return F::dense(t[0], t[1], t[2], activation); };
        gradient_check(f, in);
        const std::vector<double> fused = f(in).to_vector<double>();
        Tape tape;
        EXPECT_EQ(f(in).to_vector<double>(), fused) << activation;
    }
}

TEST(Dense, TakesViewsAndRejectsInvalidArguments) {
    const Tensor x = numbers({3, 5}), weight = numbers({5, 4}, 2), bias = numbers({8}, 3);
    const Tensor y = F::dense(x, F::transpose(weight, {1, 0}), bias.slice(0, 0, 8, 2));
    const auto got = y.to_vector<double>();
    for (int64_t i = 0; i < 3; i++) {
        for (int64_t j = 0; j < 4; j++) {
            double sum = bias.at({2 * j});
            for (int64_t t = 0; t < 5; t++)
                sum += x.at({i, t}) * weight.at({t, j});
            EXPECT_NEAR(got[size_t(i * 4 + j)], sum, 1e-14);
        }
    }
    expect_error<ShapeError>("[dense] x's last extent is 5, expected 4 as weight.k",
                             [&] { F::dense(x, weight, bias); });
    expect_error<ShapeError>("[dense] bias.n is 8, expected 4 as weight.n", [&] {
        F::dense(x, F::transpose(weight, {1, 0}), bias);
    });
}

TEST(Products, GradientsMatchDifferences) {
    const Tensor x = numbers({2, 3, 4}), y = numbers({2, 4, 2}, 2), m = numbers({3, 4}, 3),
                 v = numbers({4}, 4), w = numbers({3}, 5);
    gradient_check([](const Tensors &t) { return F::bmm(t[0], t[1]); }, {x, y});
    gradient_check([](const Tensors &t) { return F::mv(t[0], t[1]); }, {m, v});
    gradient_check([](const Tensors &t) { return F::outer(t[0], t[1]); }, {w, v});
    gradient_check([](const Tensors &t) { return F::dot(t[0], t[1]); }, {x, y});
    gradient_check([](const Tensors &t) { return F::inner(t[0], t[1]); }, {x, m});
    gradient_check([](const Tensors &t) { return F::vecdot(t[0], t[1]); }, {x, m});
    gradient_check(
        [](const Tensors &t) {
            return F::tensor_dot(t[0], t[1], {1, 2}, {0, 1});
        },
        {x, m});
    gradient_check([](const Tensors &t) { return F::addmm(t[0], t[1], t[2], 0.5, -2); },
                   {numbers({2}), m, numbers({4, 2}, 7)});
    gradient_check([](const Tensors &t) { return F::addmv(t[0], t[1], t[2]); }, {w, m, v});
    gradient_check([](const Tensors &t) { return F::baddbmm(t[0], t[1], t[2]); },
                   {numbers({3, 1}), x, y});
}

TEST(Products, RejectInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3, 4}), y = Tensor::ones({3, 4, 2});
    expect_error<ShapeError>("[bmm] b.g is 3, expected 2 as a.g", [&] { F::bmm(x, y); });
    expect_error<ShapeError>("[mv] a has rank 3, expected 2", [&] { F::mv(x, y); });
    expect_error<ShapeError>("[dot] b's extent 1 is 3, expected 4 as a's extent 2",
                             [&] { F::dot(x, x); });
    expect_error<AttrError>("[tensor_dot] axes_b has 1 axes, expected 2 as axes_a", [&] {
        F::tensor_dot(x, y, {0, 1}, {0});
    });
    expect_error<AttrError>("[tensor_dot] axis -3 is given twice", [&] {
        F::tensor_dot(x, y, {0, -3}, {0, 1});
    });
}

TEST(Attention, GradientsMatchDifferences) {
    const Tensors in = {numbers({2, 3, 4}), numbers({2, 5, 4}, 2), numbers({2, 5, 2}, 3)};
    gradient_check(
        [](const Tensors &t) { return F::scaled_dot_product_attention(t[0], t[1], t[2], {}); }, in);
    gradient_check(
        [](const Tensors &t) {
            return F::scaled_dot_product_attention(t[0], t[1], t[2], {}, true, 0.7);
        },
        in);
    Tensors masked = in;
    masked.push_back(numbers({3, 5}, 4));
    gradient_check(
        [](const Tensors &t) { return F::scaled_dot_product_attention(t[0], t[1], t[2], t[3]); },
        masked);
}

// A query whose keys are all masked gets zeros and passes no gradient, as in PyTorch; a NaN in one
// query stays there.
TEST(Attention, MaskedKeysAndNaN) {
    const Tensor q = numbers({3, 4}), k = numbers({5, 4}, 2), v = numbers({5, 2}, 3);
    std::vector<uint8_t> seen(15, 1);
    for (size_t j = 5; j < 10; j++)
        seen[j] = 0;
    const Tensor mask = Tensor::empty({3, 5}, DType::boolean);
    std::copy(seen.begin(), seen.end(), static_cast<uint8_t *>(mask.raw()));
    const auto masked = [&](const Tensors &t) {
        return F::scaled_dot_product_attention(t[0], t[1], t[2], mask);
    };
    gradient_check(masked, {q, k, v});
    const auto y = masked({q, k, v}).to_vector<double>();
    EXPECT_EQ(y[2], 0);
    EXPECT_EQ(y[3], 0);
    Tensor spoilt = q.copy();
    spoilt.data<double>()[0] = NAN;
    const auto z = masked({spoilt, k, v}).to_vector<double>();
    EXPECT_TRUE(std::isnan(z[0]) && std::isnan(z[1]));
    for (size_t i = 2; i < 6; i++)
        EXPECT_EQ(z[i], y[i]);
}

TEST(Attention, RejectsInvalidArguments) {
    const Tensor q = Tensor::ones({3, 4}), k = Tensor::ones({5, 3}), v = Tensor::ones({6, 2});
    const auto call = [](const Tensor &a, const Tensor &b, const Tensor &c, const Tensor &m = {}) {
        F::scaled_dot_product_attention(a, b, c, m);
    };
    expect_error<ShapeError>("[scaled_dot_product_attention] key.d is 3, expected 4 as query.d",
                             [&] { call(q, k, v); });
    expect_error<ShapeError>("[scaled_dot_product_attention] value.t is 6, expected 5 as key.t",
                             [&] { call(k, k, v); });
    expect_error<ShapeError>("[scaled_dot_product_attention] query has rank 1, expected at least 2",
                             [&] { call(Tensor::ones({4}), k, v); });
}

}  // namespace
}  // namespace halyard
