// Tests softmax, its logarithm and the losses: special values, labels out of range, MindSpore's
// numbers.
#include "primitives/ops/cross_entropy.h"
#include "primitives/ops/one_hot.h"
#include "primitives/ops/softmax.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

const float nan = NAN;
const float inf = INFINITY;

TEST(Softmax, MatchesMindSpore) {  // MindSpore's own error is 1e-5 relative.
    for (const auto &[name, axis] : std::map<std::string, int>{
             {"softmax_last", -1}, {"softmax_ax1_4d", 1}, {"softmax_large", -1}}) {
        auto g = golden(name);
        const Tensor y = F::softmax(g.at("x0"), axis);
        expect_close(y, g.at("y0"), 1e-5, name);
        expect_close(run_op("softmax_dx", {y, g.at("dy0")}, {{"axis", axis}}), g.at("dx0"), 1e-5,
                     name + " dx");
    }
    auto g = golden("logsoftmax_last");
    const Tensor y = F::log_softmax(g.at("x0"));
    expect_close(y, g.at("y0"), 1e-5, "log_softmax");
    expect_close(run_op("log_softmax_dx", {y, g.at("dy0")}), g.at("dx0"), 1e-5, "log_softmax dx");
}

TEST(Softmax, NaNStaysInItsRow) {
    for (int64_t c : {3, 10, 33, 100}) {
        Tensor x = Tensor::zeros({3, c});
        x.set({1, c - 1}, nan);
        for (int64_t j = 0; j < c; j++)
            x.set({2, j}, -inf);
        for (const Tensor &y : {F::softmax(x), F::log_softmax(x)}) {
            for (int64_t j = 0; j < c; j++) {
                EXPECT_FALSE(std::isnan(y.at({0, j}))) << c;
                EXPECT_TRUE(std::isnan(y.at({1, j}))) << c;
                EXPECT_TRUE(std::isnan(y.at({2, j}))) << c;
            }
        }
    }
    const Tensor y = F::softmax(Tensor::from<float>({0, -inf, 0}));
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{.5f, 0, .5f}));
}

TEST(CrossEntropy, MatchesMindSpore) {
    auto sparse = golden("sce_sparse_none");
    const Tensor labels = sparse.at("x1").to(DType::i32);
    expect_close(F::sparse_softmax_cross_entropy(sparse.at("x0"), labels), sparse.at("y0"), 1e-5,
                 "sparse");
    expect_close(
        run_op("sparse_softmax_cross_entropy_dlogits", {sparse.at("x0"), labels, sparse.at("dy0")}),
        sparse.at("dx0"), 1e-5, "sparse dlogits");
    for (const char *name :
         {"sce_dense_none", "sce_prim", "sce_dense_zero_labels", "sce_dense_unnormalized_labels"}) {
        auto g = golden(name);
        expect_close(F::softmax_cross_entropy(g.at("x0"), g.at("x1")), g.at("y0"), 1e-5, name);
    }
    auto dense = golden("sce_dense_none");
    expect_close(
        run_op("softmax_cross_entropy_dlogits", {dense.at("x0"), dense.at("x1"), dense.at("dy0")}),
        dense.at("dx0"), 1e-5, "dense dlogits");
}

// MindSpore's gradient is softmax - labels.
TEST(CrossEntropy, UnnormalisedLabelsHaveTheTrueGradient) {
    auto g = golden("sce_dense_unnormalized_labels");
    const Tensor dx = run_op("softmax_cross_entropy_dlogits",
                             {g.at("x0"), g.at("x1"), Tensor::ones({6})});
    for (int64_t i = 0; i < 6; i++) {
        double sum = 0;
        for (int64_t j = 0; j < 10; j++)
            sum += dx.at({i, j});
        EXPECT_NEAR(sum, 0, 1e-5);  // Shifting the logits changes nothing.
    }
}

TEST(CrossEntropy, LabelsOutOfRangeHaveNoLoss) {
    const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8, 9}, {3, 3});
    const Tensor labels = Tensor::from<int32_t>({3, -1, 2});
    const Tensor loss = F::sparse_softmax_cross_entropy(x, labels);
    const Tensor dx = run_op("sparse_softmax_cross_entropy_dlogits",
                             {x, labels, Tensor::ones({3})});
    EXPECT_EQ(loss.at({0}), 0);
    EXPECT_EQ(loss.at({1}), 0);
    EXPECT_NEAR(loss.at({2}), std::log(1 + std::exp(-1) + std::exp(-2)), 1e-6);
    for (int64_t j = 0; j < 3; j++)
        EXPECT_EQ(dx.at({0, j}), 0);
    EXPECT_LT(dx.at({2, 2}), 0);
}

TEST(OneHot, MatchesMindSpore) {
    const Tensor on = Tensor::scalar(0.9), off = Tensor::scalar(0.011111111111111112);
    for (const auto &[name, axis] :
         std::map<std::string, int>{{"onehot_axm1", -1}, {"onehot_ax0", 0}}) {
        auto g = golden(name);
        expect_close(F::one_hot(g.at("x0").to(DType::i32), on, off, 10, axis), g.at("y0"), 0, name);
    }
    for (const char *name : {"onehot_out_of_range", "onehot_2d"}) {
        auto g = golden(name);
        expect_close(F::one_hot(g.at("x0").to(DType::i32), Tensor::scalar(1), Tensor::scalar(0), 4),
                     g.at("y0"), 0, name);
    }
}

}  // namespace
}  // namespace halyard
