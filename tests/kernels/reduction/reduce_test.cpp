// Tests of reductions beyond their records: special values, ties, empty reductions, threads,
// MindSpore's numbers.
#include "primitives/ops/argmax.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/statistics.h"
#include "registry/base/parallel.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

const float nan = NAN;
const float inf = INFINITY;

Tensor wave(int64_t n) {
    std::vector<float> v(static_cast<size_t>(n));
    for (size_t i = 0; i < v.size(); i++)
        v[i] = float(std::sin(double(i) * 0.37)) + 0.1f;
    return Tensor::from<float>(v, {n});
}

TEST(Reduce, MatchesMindSpore) {
    struct Line {
        const char *suffix;
        Ints axis;
        bool keep;
    };
    for (const char *op : {"sum", "mean", "max", "min"}) {
        for (const Line &l : {Line{"ax0_keep0", {0}, false},
                              {"ax2_3_keep0", {2, 3}, false},
                              {"axall_keep0", {}, false},
                              {"axm1_keep0", {-1}, false},
                              {"ax0_keep1", {0}, true},
                              {"ax2_3_keep1", {2, 3}, true},
                              {"axall_keep1", {}, true},
                              {"axm1_keep1", {-1}, true}}) {
            if (l.keep && std::string(op) != "mean") continue;
            const std::string name = std::string("reduce") + op + "_" + l.suffix;
            const std::string kernel = std::string("reduce_") + op;
            auto g = golden(name);
            const Given attrs = {{"axis", l.axis}, {"keep_dims", l.keep}};
            const Tensor x = g.at("x0"), dy = g.at("dy0");
            const Tensor y = run_op(kernel.c_str(), {x}, attrs);
            expect_close(y, g.at("y0"), 1e-6, name);
            const bool saves_y = kernel == "reduce_max" || kernel == "reduce_min";
            const Tensor dx = saves_y ? run_op((kernel + "_dx").c_str(), {x, y, dy}, attrs)
                                      : run_op((kernel + "_dx").c_str(), {x, dy}, attrs);
            expect_close(dx, g.at("dx0"), 1e-6, name + " dx");
        }
    }
}

TEST(Reduce, PropagatesNaNFromAnyPosition) {
    for (int64_t n : {3, 17, 64, 65, 1000, 140000}) {
        for (int64_t at : {int64_t(0), n / 2, n - 1}) {
            Tensor x = wave(n);
            x.set({at}, nan);
            EXPECT_TRUE(std::isnan(F::reduce_max(x).item())) << n << " " << at;
            EXPECT_TRUE(std::isnan(F::reduce_min(x).item())) << n << " " << at;
            EXPECT_EQ(F::argmax(x).item(), at) << n;
            EXPECT_EQ(F::argmin(x).item(), at) << n;
            EXPECT_TRUE(std::isnan(F::reduce_max(x.reshape({n, 1}), {0}).item())) << n << " " << at;
        }
    }
    const Tensor rows = Tensor::from<float>({1, nan, 3, 4, 5, 6}, {2, 3});
    EXPECT_EQ(F::reduce_max(rows, {1}).at({1}), 6);
    EXPECT_EQ(F::reduce_max(Tensor::from<float>({-inf, -inf})).item(), -inf);
    EXPECT_EQ(F::reduce_max(Tensor::from<float>({1, inf, 1e-40f})).item(), inf);
    EXPECT_TRUE(std::isnan(F::reduce_sum(Tensor::from<float>({inf, -inf})).item()));
}

TEST(Reduce, TiesShareTheGradient) {
    const Tensor x = Tensor::from<float>({1, 3, 3, 2, 5, 5, 5, 0}, {2, 4});
    const Tensor dy = Tensor::ones({2});
    const Tensor dx = run_op("reduce_max_dx", {x, F::reduce_max(x, {1}), dy}, {{"axis", Ints{1}}});
    EXPECT_EQ(dx.to_vector<float>(),
              (std::vector<float>{0, .5f, .5f, 0, 1 / 3.f, 1 / 3.f, 1 / 3.f, 0}));
    EXPECT_EQ(F::argmax(x).to_vector<int32_t>(), (std::vector<int32_t>{1, 0}));
    EXPECT_EQ(F::argmax(Tensor::full({130}, -inf)).item(), 0);
    auto g = golden("argmax_last");
    EXPECT_EQ(F::argmax(g.at("x0")).to_vector<double>(), g.at("y0").to_vector<double>());
}

TEST(Reduce, EmptyRowsHaveNeutralElements) {
    const Tensor none = Tensor::empty({3, 0});
    EXPECT_EQ(F::reduce_sum(none, {1}).to_vector<float>(), (std::vector<float>{0, 0, 0}));
    EXPECT_EQ(F::reduce_sum(none).item(), 0);
    EXPECT_TRUE(std::isnan(F::reduce_mean(none, {1}).at({0})));
    EXPECT_EQ(F::reduce_max(none, {0}).elements(), 0);
    try {
        F::reduce_max(none, {1});
        FAIL() << "a maximum of nothing";
    } catch (const ShapeError &e) {
        EXPECT_STREQ(e.what(),
                     "[reduce_max] x[3,0] has no elements along axis, expected at least one");
    }
}

TEST(Reduce, SameBitsForAnyNumberOfThreads) {
    const Tensor flat = wave(1 << 20);
    const Tensor table = flat.reshape({1024, 1024});
    const Tensor tall = flat.reshape({1 << 18, 4});
    auto all = [&] {
        std::vector<float> v = {F::reduce_sum(flat).item<float>()};
        for (const Tensor &t :
             {F::reduce_sum(table, {0}), F::reduce_mean(table, {1}), F::reduce_sum(tall, {0})}) {
            for (float e : t.to_vector<float>())
                v.push_back(e);
        }
        return v;
    };
    set_threads(1);
    const std::vector<float> one = all();
    for (int n : {2, 3, 8}) {
        set_threads(n);
        EXPECT_EQ(all(), one) << n << " threads";
    }
    set_threads(0);
}

// The bound is (8 + log2 n) u sum|x|, on the hardest of sums: all terms are equal.
TEST(Reduce, ErrorGrowsOnlyWithTheDepth) {
    const int64_t n = 1 << 22;
    const Tensor x = Tensor::full({n}, 0.1);
    const double exact = double(0.1f) * double(n);
    for (const Tensor &y : {F::reduce_sum(x), F::reduce_sum(x.reshape({n, 1}), {0}),
                            F::reduce_sum(x.reshape({n / 4, 4}), {0, 1})})
        EXPECT_LE(std::fabs(y.item() - exact), (8 + 22) * 0x1p-24 * exact);
    // Each result sums many short rows.
    const Tensor rows = F::reduce_sum(Tensor::full({n / 32, 2, 32}, 0.1), {0, 2});
    for (int64_t i : {0, 1})
        EXPECT_LE(std::fabs(rows.at({i}) - exact), (8 + 22) * 0x1p-24 * exact);
}

TEST(Reduce, VarianceFarFromZero) {  // The mean is 10^4 standard deviations.
    const int64_t n = 1 << 16;
    std::vector<float> v(static_cast<size_t>(n));
    for (size_t i = 0; i < v.size(); i++)
        v[i] = 1e4f + float(std::sin(double(i) * 0.37)) * std::sqrt(2.f);
    double mean = 0, sum = 0;
    for (float e : v)
        mean += e / double(n);
    for (float e : v)
        sum += (e - mean) * (e - mean);
    const Tensor x = Tensor::from(v, {n});
    // The rounded mean is at most u |mean| off, and two passes add only its square.
    const double bound = (8 + 16) * 0x1p-24 * sum / double(n) + std::pow(16 * 0x1p-24 * 1e4, 2);
    EXPECT_LE(std::fabs(F::var(x).item() - sum / double(n)), bound);
    EXPECT_LE(std::fabs(F::var(x.reshape({n / 64, 64}), {0, 1}).item() - sum / double(n)), bound);
    const Tensor columns = F::var(x.reshape({n / 4, 4}), {0});
    for (int64_t i = 0; i < 4; i++)
        EXPECT_NEAR(columns.at({i}), 1, 1e-3);
}

TEST(Reduce, StridedOperands) {
    const Tensor x = wave(6000).reshape({20, 300});
    EXPECT_NEAR(F::reduce_sum(x.slice(1, 0, 300, 3)).item(),
                F::reduce_sum(x.slice(1, 0, 300, 3).copy()).item(), 1e-4);
    expect_close(F::reduce_sum(x.transpose({1, 0}), {1}), F::reduce_sum(x, {0}), 1e-6,
                 "transposed");
}

// Reduces tensors without elements in any number of dimensions.
TEST(Reduce, WithoutElements) {
    for (const Shape &shape :
         {Shape{0}, Shape{0, 0}, Shape{7, 0, 0}, Shape{0, 3, 0}, Shape{4, 0, 0, 7}}) {
        const Tensor x = Tensor::zeros(shape);
        EXPECT_EQ(F::reduce_sum(x).item(), 0) << shape.text();
        EXPECT_TRUE(std::isnan(F::reduce_mean(x).item())) << shape.text();
        const Tensor last = F::reduce_sum(x, {-1});
        EXPECT_EQ(last.rank(), shape.rank() - 1);
    }
    EXPECT_EQ(F::reduce_sum(Tensor::zeros({4, 0, 5}), {1}).to_vector<float>(),
              std::vector<float>(20, 0.0f));
}

}  // namespace
}  // namespace halyard
