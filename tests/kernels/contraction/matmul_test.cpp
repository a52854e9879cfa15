// Tests matmul beyond the checks that tools/check runs for every op: gradients through the tape,
// MindSpore's numbers, views, exactness, errors.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>

#include "primitives/autograd/tape.h"
#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/matmul.h"
#include "registry/base/parallel.h"
#include "registry/tensor/npy.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

// Integers from -8 to 8: products and sums of a few thousand of them are exact in f32.
Tensor integers(const Shape &shape, unsigned seed = 1) {
    const Tensor t = Tensor::empty(shape, DType::f32);
    uint64_t s = seed * 0x9E3779B97F4A7C15u + 1;
    for (int64_t i = 0; i < t.elements(); i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        t.data<float>()[i] = float(int((s >> 40) % 17)) - 8;
    }
    return t;
}

std::vector<double> product(const Tensor &a, const Tensor &b) {  // Multiplies two matrices.
    const int64_t m = a.shape()[0];
    const int64_t k = a.shape()[1];
    const int64_t n = b.shape()[1];
    const auto x = a.to_vector<double>();
    const auto y = b.to_vector<double>();
    std::vector<double> z(static_cast<size_t>(m * n));
    for (int64_t i = 0; i < m; i++) {
        for (int64_t t = 0; t < k; t++) {
            for (int64_t j = 0; j < n; j++)
                z[size_t(i * n + j)] += x[size_t(i * k + t)] * y[size_t(t * n + j)];
        }
    }
    return z;
}

Tensor at(const Tensor &t, int64_t i) {  // The i-th slice along the first dimension.
    const Tensor one = t.slice(0, i, i + 1);
    return one.reshape(Shape(t.shape().begin() + 1, t.shape().end()));
}

Tensor transposed(const Tensor &t) {
    std::vector<int> order;
    for (int d = 0; d < t.rank(); d++)
        order.push_back(d);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    return t.transpose(order);
}

std::map<std::string, Tensor> golden(const std::string &name) {
    return load_npz(std::string(HALYARD_SOURCE_DIR) + "/tests/goldens/" + name + ".npz");
}

void expect_near(const std::string &what, const Tensor &got, const Tensor &want) {
    ASSERT_EQ(got.shape().text(), want.shape().text()) << what;
    const auto u = got.to_vector<double>();
    const auto v = want.to_vector<double>();
    for (size_t i = 0; i < u.size(); i++)
        ASSERT_NEAR(u[i], v[i], 4e-6 * (1 + std::fabs(v[i]))) << what << "[" << i << "]";
}

// Compares y and the gradients of sum(dy0 * y) in every input with the golden's y0 and `gradients`.
using Names = std::vector<std::string>;
void expect_golden(const std::string &name, const Names &inputs, const Names &gradients,
                   const Several &f) {
    const auto g = golden(name);
    std::vector<Tensor> x;
    for (auto &i : inputs)
        x.push_back(g.at(i));
    Tape tape;
    for (const Tensor &t : x)
        tape.watch(t);
    const Tensor y = f(x);
    const std::vector<Tensor> dx = tape.gradient(y, x, g.at("dy0"));
    expect_near(name + ".y0", y, g.at("y0"));
    for (size_t k = 0; k < x.size(); k++)
        expect_near(name + "." + gradients[k], dx[k], g.at(gradients[k]));
}

TEST(MatMul, MatchesMindSpore) {
    for (bool ta : {false, true}) {
        for (bool tb : {false, true}) {
            expect_golden("matmul_ta" + std::to_string(ta) + "_tb" + std::to_string(tb),
                          {"x0", "x1"}, {"dx0", "dx1"}, [&](const std::vector<Tensor> &x) {
                              return ops::MatMul(ta, tb)(x[0], x[1]);
                          });
        }
    }
    using In = const std::vector<Tensor> &;
    const Several plain = [](In x) { return F::matmul(x[0], x[1]); };
    const Several by_rows = [](In x) { return F::matmul(x[0], x[1], false, true); };
    expect_golden("batch_matmul", {"x0", "x1"}, {"dx0", "dx1"}, plain);
    expect_golden("batch_matmul_tb", {"x0", "x1"}, {"dx0", "dx1"}, by_rows);
    expect_golden("dense_nobias", {"x0", "p_weight"}, {"dx0", "dp_weight"}, by_rows);
    for (const char *name : {"dense_bias", "dense_3d"}) {
        expect_golden(name, {"x0", "p_weight", "p_bias"}, {"dx0", "dp_weight", "dp_bias"},
                      [&](In x) { return F::add(by_rows(x), x[2]); });
    }
}

// Appends a matrix's extents to those of the batch.
Shape with_matrix(Shape batch, int64_t rows, int64_t columns, bool transposed) {
    batch.push_back(transposed ? columns : rows);
    batch.push_back(transposed ? rows : columns);
    return batch;
}

TEST(MatMul, GradientsOfEveryTranspositionAndBatch) {
    const std::pair<Shape, Shape> batches[] = {
        {{}, {}}, {{2}, {2}}, {{2, 3}, {2, 3}}, {{3}, {}}, {{}, {2}}, {{2, 1}, {3}}, {{1}, {2}}};
    for (bool ta : {false, true}) {
        for (bool tb : {false, true}) {
            for (auto &[before_a, before_b] : batches) {
                SCOPED_TRACE((ta ? "a transposed " : "a ") + before_a.text() +
                             (tb ? ", b transposed " : ", b ") + before_b.text());
                const Shape a = with_matrix(before_a, 3, 4, ta);
                const Shape b = with_matrix(before_b, 4, 5, tb);
                gradient_check(
                    [&](const std::vector<Tensor> &x) { return F::matmul(x[0], x[1], ta, tb); },
                    {numbers(a, 3), numbers(b, 4)});
            }
        }
    }
}

TEST(MatMul, SecondDerivatives) {  // Differentiates sum((a b)^2) in a, through the tape twice.
    gradient_check(
        [](const std::vector<Tensor> &x) {
            Tape tape;
            tape.watch(x[0]);
            const Tensor y = F::matmul(x[0], x[1], false, true);
            return tape.gradient(F::mul(y, y), {x[0]})[0];
        },
        {numbers({2, 3}, 5), numbers({4, 3}, 6)});
}

TEST(MatMul, IntegersAreExactInEveryVariant) {
    struct Case {
        int64_t m, k, n;
    };
    for (const Case &c : {Case{1, 1, 1},
                          {1, 7, 10},
                          {2, 300, 3},
                          {4, 9, 64},
                          {8, 8, 8},
                          {9, 1, 200},
                          {12, 40, 300},
                          {13, 131, 17},
                          {32, 84, 10},
                          {65, 129, 67},
                          {130, 257, 195},
                          {1, 500, 260},
                          {500, 300, 1}}) {
        for (bool ta : {false, true}) {
            for (bool tb : {false, true}) {
                const Tensor a = integers({c.m, c.k}, 1);
                const Tensor b = integers({c.k, c.n}, 2);
                const std::vector<double> want = product(a, b);
                const Tensor got = F::matmul(ta ? transposed(a).copy() : a,
                                             tb ? transposed(b).copy() : b, ta, tb);
                EXPECT_EQ(got.to_vector<double>(), want)
                    << c.m << "x" << c.k << "x" << c.n << (ta ? " ta" : "") << (tb ? " tb" : "");
            }
        }
    }
}

TEST(MatMul, StridedOffsetAndBroadcastViews) {
    const Tensor wide_a = integers({70, 90}, 3), wide_b = integers({90, 150}, 4);
    const Tensor a = wide_a.slice(0, 1, 67, 2).slice(1, 3, 83, 2);
    const Tensor b = wide_b.slice(0, 2, 42, 1).slice(1, 1, 149, 2);
    EXPECT_EQ(F::matmul(a, b).to_vector<double>(), product(a, b));
    EXPECT_EQ(F::matmul(transposed(b), transposed(a)).to_vector<double>(),
              transposed(F::matmul(a, b)).to_vector<double>());
    const Tensor x = integers({2, 1, 5, 7}, 5), y = integers({3, 7, 9}, 6);
    const Tensor z = F::matmul(x, y);
    ASSERT_EQ(z.shape().text(), Shape({2, 3, 5, 9}).text());
    for (int p = 0; p < 2; p++) {
        for (int q = 0; q < 3; q++)
            EXPECT_EQ(at(at(z, p), q).to_vector<double>(), product(at(at(x, p), 0), at(y, q)));
    }
}

TEST(MatMul, EmptySumsAreZero) {
    for (bool tb : {false, true}) {
        for (const DType t : {DType::f32, DType::f16, DType::f64}) {
            const Tensor c = F::matmul(Tensor::zeros({30, 0}, t),
                                       Tensor::zeros(tb ? Shape{40, 0} : Shape{0, 40}, t), false,
                                       tb);
            ASSERT_EQ(c.shape().text(), Shape({30, 40}).text());
            for (double v : c.to_vector<double>())
                ASSERT_EQ(v, 0);
        }
    }
    EXPECT_EQ(F::matmul(Tensor::zeros({0, 3}), Tensor::zeros({3, 4})).shape().text(),
              Shape({0, 4}).text());
    EXPECT_EQ(F::matmul(Tensor::zeros({2, 3}), Tensor::zeros({3, 0})).shape().text(),
              Shape({2, 0}).text());
    EXPECT_EQ(F::matmul(Tensor::zeros({0, 2, 3}), Tensor::zeros({3, 4})).shape().text(),
              Shape({0, 2, 4}).text());
}

TEST(MatMul, ErrorsNameTheDimensionAndBothValues) {
    const Tensor a = Tensor::ones({2, 3}), b = Tensor::ones({4, 5});
    expect_error<ShapeError>("[matmul] b.k is 4, expected 3 from a[2,3] (b has shape [4,5])",
                             [&] { F::matmul(a, b); });
    expect_error<ShapeError>("[matmul] b.k is 5, expected 3 from a[2,3] (b has shape [4,5])",
                             [&] { F::matmul(a, b, false, true); });
    expect_error<ShapeError>("[matmul] a has rank 1, expected at least 2 (..g,m,k)",
                             [&] { F::matmul(Tensor::ones({3}), b); });
    EXPECT_THROW(F::matmul(Tensor::ones({2, 2, 3}), Tensor::ones({3, 3, 4})), ShapeError);
    EXPECT_THROW(F::matmul(a, Tensor::ones({3, 4}, DType::f64)), DTypeError);
    EXPECT_THROW(F::matmul(Tensor::ones({2, 3}, DType::i64), Tensor::ones({3, 4}, DType::i64)),
                 DTypeError);
}

TEST(MatMul, SameBitsForAnyNumberOfThreads) {
    const int before = threads();
    auto f32 = [](const Shape &s, unsigned seed) { return numbers(s, seed).to(DType::f32); };
    const Tensor a = f32({3, 150, 211}, 7), b = f32({3, 211, 170}, 8), tall = f32({1500, 211}, 9),
                 one = f32({211, 1}, 10);
    const Tensor columns_of_a = transposed(a).copy();
    const Tensor rows_of_b = transposed(b).copy();
    std::vector<std::vector<float>> first;
    for (int n : {1, 2, 3, 8}) {
        set_threads(n);
        std::vector<std::vector<float>> all;
        for (const Tensor &c : {F::matmul(a, b), F::matmul(a, rows_of_b, false, true),
                                F::matmul(columns_of_a, b, true), F::matmul(tall, at(b, 0)),
                                F::matmul(tall, one), F::matmul(transposed(one), transposed(tall))})
            all.push_back(c.to_vector<float>());
        if (first.empty()) first = all;
        for (size_t k = 0; k < all.size(); k++) {
            EXPECT_EQ(std::memcmp(all[k].data(), first[k].data(), all[k].size() * sizeof(float)), 0)
                << k << ", " << n;
        }
    }
    set_threads(before);
}

// Returns the largest BLAS ratio |c - exact| / (eps sum |a||b|) of c = a b. Nothing cancels here,
// so errors that grow with k are visible.
double blas_ratio(int64_t m, int64_t n, int64_t k, bool tb) {
    const Tensor a = Tensor::empty({m, k}, DType::f32);
    const Tensor b = Tensor::empty({k, n}, DType::f32);
    uint64_t s = 5;
    for (const Tensor *t : {&a, &b}) {
        for (int64_t i = 0; i < t->elements(); i++) {
            s = s * 6364136223846793005u + 1442695040888963407u;
            t->data<float>()[i] = float(s >> 40) / (1 << 24);
        }
    }
    const std::vector<double> want = product(a, b);
    const auto got = F::matmul(a, tb ? transposed(b).copy() : b, false, tb).to_vector<double>();
    double worst = 0;
    for (size_t i = 0; i < want.size(); i++)
        worst = std::max(worst, std::fabs(got[i] - want[i]) / (FLT_EPSILON * want[i]));
    return worst;
}

TEST(MatMul, ErrorStaysFlatInK) {
    for (int64_t k : {256, 4096, 65536}) {
        for (int64_t m : {1, 9}) {
            for (int64_t n : {1, 9, 70}) {
                for (bool tb : {false, true}) {
                    EXPECT_LE(blas_ratio(m, n, k, tb), 16)
                        << m << "x" << k << "x" << n << (tb ? ", b transposed" : "");
                }
            }
        }
    }
}

}  // namespace
}  // namespace halyard
