#include "nn/initializer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "nn/conv.h"
#include "nn/dense.h"
#include "primitives/ops/matmul.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"

using namespace halyard;
using namespace halyard::nn;

namespace {

struct Statistics {
    double min, max, mean, std;
};

Statistics statistics(const Tensor &t) {
    Statistics s{1e30, -1e30, 0, 0};
    const std::vector<double> v = t.to_vector<double>();
    for (const double x : v) {
        s.min = std::min(s.min, x);
        s.max = std::max(s.max, x);
        s.mean += x / double(v.size());
    }
    for (const double x : v)
        s.std += (x - s.mean) * (x - s.mean) / double(v.size());
    s.std = std::sqrt(s.std);
    return s;
}

const nlohmann::json &goldens() {
    static const nlohmann::json json = nlohmann::json::parse(
        std::ifstream(HALYARD_SOURCE_DIR "/tests/goldens/init_stats.json"));
    return json;
}

struct Case {
    const char *name;
    Initializer init;
    bool bounded;
};

}  // namespace

// Compares with MindSpore's statistics of the same initialisers: standard deviations agree to
// sampling noise, and so do the ends of bounded distributions.
TEST(Initializer, StatisticsMatchMindSpore) {
    set_seed(1);
    const std::vector<Case> cases = {
        {"TruncatedNormal_0_02", TruncatedNormal(0.02), false},
        {"XavierUniform", XavierUniform(), true},
        {"XavierNormal", XavierNormal(), false},
        {"HeUniform", HeUniform(), true},
        {"HeNormal", HeNormal(), false},
        {"HeNormal_fan_out_relu", HeNormal(0, "fan_out", "relu"), false},
        {"Normal_default", Normal(), false},
        {"Uniform_default", Uniform(), true},
        {"TruncatedNormal_default", TruncatedNormal(), false},
        {"HeUniform_sqrt5", HeUniform(std::sqrt(5.0)), true},
    };
    for (const Case &c : cases) {
        for (const auto &[suffix, shape] : {std::pair{"_conv64x32x3x3", Shape{64, 32, 3, 3}},
                                            std::pair{"_dense400x1200", Shape{400, 1200}}}) {
            SCOPED_TRACE(std::string(c.name) + suffix);
            const nlohmann::json &golden = goldens().at(std::string(c.name) + suffix);
            const Statistics s = statistics(initializer(c.init, shape));
            const double std = golden.at("std"), min = golden.at("min"), max = golden.at("max");
            const double n = double(shape.elements());
            // The standard error of the standard deviation is about std / sqrt(2n), doubled here.
            EXPECT_NEAR(s.std, std, std * 5 / std::sqrt(n));
            EXPECT_NEAR(s.mean, 0, 5 * std / std::sqrt(n));
            EXPECT_NEAR(s.min, min, c.bounded ? std * 1e-2 : std);
            EXPECT_NEAR(s.max, max, c.bounded ? std * 1e-2 : std);
        }
    }
}

TEST(Initializer, LayerDefaults) {
    set_seed(1);
    const Conv2d conv(32, 64, 3, {.has_bias = true});
    const Statistics w = statistics(conv.weight);
    const Statistics b = statistics(conv.bias);
    EXPECT_NEAR(w.max, goldens()["nn.Conv2d_default_weight_32_64_k3"]["max"].get<double>(), 1e-4);
    EXPECT_NEAR(w.std, goldens()["nn.Conv2d_default_weight_32_64_k3"]["std"].get<double>(), 4e-4);
    EXPECT_LE(b.max, 1 / std::sqrt(288.0));
    EXPECT_GT(b.max, 0.05);
    const Dense dense(1200, 400);
    const Statistics d = statistics(dense.weight);
    EXPECT_NEAR(d.max, goldens()["nn.Dense_default_weight_1200_400"]["max"].get<double>(), 1e-5);
    EXPECT_NEAR(d.std, goldens()["nn.Dense_default_weight_1200_400"]["std"].get<double>(), 1e-4);
}

TEST(Initializer, TruncationIsByValue) {
    set_seed(2);
    const Statistics wide = statistics(initializer(TruncatedNormal(0.02), {100000}));
    EXPECT_GT(wide.max, 0.06);  // This is beyond two sigma: the bounds are -2 and 2 themselves.
    const Statistics cut = statistics(initializer(TruncatedNormal(1, 0, -0.5, 1), {100000}));
    EXPECT_GE(cut.min, -0.5);
    EXPECT_LE(cut.max, 1);
    EXPECT_LT(cut.min, -0.49);
    EXPECT_GT(cut.max, 0.99);
    EXPECT_THROW(initializer(TruncatedNormal(1, 0, 5, 6), {1}), AttrError);
}

TEST(Initializer, OrthogonalRowsOrColumns) {
    set_seed(3);
    for (const Shape &shape : {Shape{5, 5}, Shape{7, 40}, Shape{40, 7}, Shape{6, 3, 3, 3}}) {
        const Tensor w = initializer(Orthogonal(2), shape).reshape({shape[0], -1});
        const bool wide = w.size(0) <= w.size(1);
        const Tensor product = wide ? F::matmul(w, w, false, true) : F::matmul(w, w, true, false);
        for (int64_t i = 0; i < product.size(0); i++) {
            for (int64_t j = 0; j < product.size(0); j++)
                EXPECT_NEAR(product.at({i, j}), i == j ? 4 : 0, 4e-6) << shape.text();
        }
    }
    // An orthogonal 1x1 matrix is a sign, and both occur.
    double sum = 0;
    for (int i = 0; i < 64; i++)
        sum += initializer("orthogonal", {1, 1}).item();
    EXPECT_LT(std::fabs(sum), 40);
    EXPECT_THROW(initializer(Orthogonal(), {3}), ShapeError);
}

TEST(Initializer, VarianceScalingHasTheVariance) {
    set_seed(4);
    const Shape shape{64, 32, 3, 3};
    const double in = 288, out = 576;
    struct Expected {
        const char *mode;
        double fan;
    };
    for (const auto &[mode, fan] :
         {Expected{"fan_in", in}, Expected{"fan_out", out}, Expected{"fan_avg", (in + out) / 2}}) {
        const double std = std::sqrt(2 / fan);
        const auto of = [&](const char *distribution) {
            const Statistics s = statistics(
                initializer(VarianceScaling(2, mode, distribution), shape));
            EXPECT_NEAR(s.std, std, std * 0.03) << mode << " " << distribution;
            EXPECT_NEAR(s.mean, 0, std * 0.03) << mode << " " << distribution;
            return s.max / std;
        };
        EXPECT_NEAR(of("uniform"), std::sqrt(3.0), 0.01);
        EXPECT_NEAR(of("truncated_normal"), 2 / 0.87962566103423978, 0.01);
        EXPECT_GT(of("untruncated_normal"), 3);
    }
    EXPECT_THROW(initializer(VarianceScaling(0), shape), AttrError);
    EXPECT_THROW(initializer(VarianceScaling(1, "fan"), shape), AttrError);
    EXPECT_THROW(initializer(VarianceScaling(1, "fan_in", "normal"), shape), AttrError);
    EXPECT_THROW(initializer("variance_scaling", {3}), ShapeError);
}

// As PyTorch's dirac_, and MindSpore's Dirac.
TEST(Initializer, DiracPassesChannelsOn) {
    const Tensor w = initializer(Dirac(2), {6, 2, 3, 4});  // three outputs in each of two groups
    for (int64_t o = 0; o < 6; o++) {
        for (int64_t c = 0; c < 2; c++) {
            for (int64_t i = 0; i < 3; i++) {
                for (int64_t j = 0; j < 4; j++) {
                    const bool one = o % 3 == c && i == 1 && j == 2;
                    EXPECT_EQ(w.at({o, c, i, j}), one ? 1 : 0) << o << c << i << j;
                }
            }
        }
    }
    set_seed(5);
    const Tensor x = initializer(Normal(1), {2, 3, 5, 7});
    const Conv2d same(3, 3, 3, {.weight_init = "Dirac"});
    const std::vector<float> expected = x.to_vector<float>(), y = same(x).to_vector<float>();
    for (size_t i = 0; i < y.size(); i++)
        EXPECT_NEAR(y[i], expected[i], 1e-5);
    EXPECT_EQ(initializer("dirac", {1, 1, 1}).item(), 1);
    EXPECT_THROW(initializer("dirac", {3, 3}), ShapeError);
    EXPECT_THROW(initializer(Dirac(2), {3, 3, 1}), AttrError);
    EXPECT_THROW(initializer(Dirac(0), {3, 3, 1}), AttrError);
}

TEST(Initializer, IdentityAndSparseMatrices) {
    EXPECT_EQ(initializer("Identity", {2, 3}).to_vector<float>(),
              (std::vector<float>{1, 0, 0, 0, 1, 0}));
    EXPECT_THROW(initializer("identity", {2}), ShapeError);
    EXPECT_THROW(initializer("identity", {2, 2, 2}), ShapeError);
    set_seed(6);
    const Tensor t = initializer(Sparse(0.25, 2), {17, 1001});
    double square = 0;
    std::vector<int> zeros_of_row(17);
    for (int64_t c = 0; c < 1001; c++) {
        int zeros = 0;
        for (int64_t r = 0; r < 17; r++) {
            const double v = t.at({r, c});
            zeros += v == 0;
            zeros_of_row[size_t(r)] += v == 0;
            square += v * v;
        }
        EXPECT_EQ(zeros, 5);  // a quarter of 17, rounded up
    }
    EXPECT_NEAR(std::sqrt(square / (12 * 1001)), 2, 0.1);
    for (const int zeros : zeros_of_row)
        EXPECT_NEAR(zeros, 5 * 1001 / 17, 80);
    EXPECT_EQ(statistics(initializer(Sparse(1), {5, 3})).max, 0);
    EXPECT_THROW(initializer(Sparse(1.5), {2, 2}), AttrError);
    EXPECT_THROW(initializer(Sparse(0.5), {2, 2, 2}), ShapeError);
}

TEST(Initializer, SameBitsForAnyNumberOfThreads) {
    std::vector<float> first;
    for (const int n : {1, 2, 3, 8}) {
        set_threads(n);
        set_seed(9);
        (void)initializer(Uniform(), {5});
        const std::vector<float> v = initializer(Normal(), {1003}).to_vector<float>();
        if (first.empty()) first = v;
        EXPECT_EQ(v, first);
    }
    set_threads(0);
    // It is drawn from the next stream.
    EXPECT_NE(initializer(Normal(), {1003}).to_vector<float>(), first);
}

// initializer("HeNormal") works as in MindSpore, which looks up class names in lower case.
TEST(Initializer, AcceptsMindSporesNames) {
    const std::pair<const char *, const char *> spellings[] = {
        {"he_normal", "HeNormal"}, {"he_uniform", "HeUniform"},
        {"normal", "Normal"},      {"orthogonal", "Orthogonal"},
        {"uniform", "UNIFORM"},    {"xavier_normal", "XavierNormal"},
        {"ones", "One"},           {"truncated_normal", "TruncatedNormal"},
        {"zeros", "Zero"},         {"xavier_uniform", "XavierUniform"},
        {"zeros", "zero"},         {"ones", "Ones"},
        {"dirac", "Dirac"},        {"variance_scaling", "VarianceScaling"},
        {"identity", "Identity"},
    };
    for (const auto &[ours, mindspores] : spellings) {
        EXPECT_EQ(Initializer(ours).any().index(), Initializer(mindspores).any().index())
            << mindspores;
    }
    EXPECT_EQ(initializer("One", {2}).to_vector<float>(), (std::vector<float>{1, 1}));
    EXPECT_EQ(initializer("Zero", {2}).to_vector<float>(), (std::vector<float>{0, 0}));
    EXPECT_THROW(Initializer("HeNorma"), AttrError);
    EXPECT_THROW(Initializer("normals"), AttrError);
}

TEST(Initializer, AcceptsNamesNumbersAndTensors) {
    EXPECT_EQ(initializer("ones", {3}).to_vector<float>(), (std::vector<float>{1, 1, 1}));
    EXPECT_EQ(initializer("zeros", {2}).to_vector<float>(), (std::vector<float>{0, 0}));
    EXPECT_EQ(initializer(0.5, {2}, DType::f64).to_vector<double>(),
              (std::vector<double>{0.5, 0.5}));
    const Tensor t = Tensor::from<float>({1, 2});
    const Tensor copy = initializer(t, {2});
    EXPECT_EQ(copy.to_vector<float>(), t.to_vector<float>());
    EXPECT_FALSE(copy.overlaps(t));
    EXPECT_THROW(initializer(t, {3}), ShapeError);
    EXPECT_THROW(initializer(HeUniform(), {3}), ShapeError);
    EXPECT_THROW(initializer(HeNormal(0, "fan_both"), {3, 3}), AttrError);
    try {
        (void)Initializer("xavier");
        FAIL();
    } catch (const AttrError &e) {
        EXPECT_NE(std::string(e.what()).find("initialiser is xavier, expected one of dirac"),
                  std::string::npos)
            << e.what();
    }
}
