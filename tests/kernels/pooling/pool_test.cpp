// Tests pools: MindSpore's numbers, NaN, ties, NHWC, invalid attributes.
#include "primitives/primitive.h"
#include "registry/base/parallel.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

struct Line {
    const char *name;
    Ints kernel, stride;
    const char *mode;
    int64_t padding = 0;
    bool include = true;
};
const Line lines[] = {
    {"valid_k2s2", {2, 2}, {2, 2}, "valid"},
    {"valid_k2s2_odd", {2, 2}, {2, 2}, "valid"},
    {"same_k2s2_odd", {2, 2}, {2, 2}, "same"},
    {"same_k3s2_even", {3, 3}, {2, 2}, "same"},
    {"same_k3s2_odd", {3, 3}, {2, 2}, "same"},
    {"same_k3s1", {3, 3}, {1, 1}, "same"},
    {"valid_k3s1", {3, 3}, {1, 1}, "valid"},
    {"rect", {2, 3}, {1, 2}, "valid"},
    {"pad1_k3s2", {3, 3}, {2, 2}, "pad", 1},
    {"pad1_k3s2_exclude", {3, 3}, {2, 2}, "pad", 1, false},
    {"ties_const_k3s2", {3, 3}, {2, 2}, "valid"},
    {"ties_relu_k2s2", {2, 2}, {2, 2}, "valid"},
    {"negative_same_k3s2", {3, 3}, {2, 2}, "same"},
};
Given attributes(const Line &l, bool max) {
    Given a = {{"kernel_size", l.kernel},
               {"stride", l.stride},
               {"pad_mode", l.mode},
               {"padding", Ints(4, l.padding)}};
    if (!max) a.push_back({"count_include_pad", l.include});
    return a;
}

TEST(Pool, MatchesMindSpore) {
    for (const Line &l : lines) {
        for (bool max : {true, false}) {
            const std::string name = l.name;
            const std::string file = (max ? "maxpool2d_" : "avgpool2d_") + name;
            if (max ? !l.include : name.starts_with("ties") || name.starts_with("negative"))
                continue;
            auto g = golden(file);
            const Given a = attributes(l, max);
            const Tensor x = g.at("x0"), dy = g.at("dy0");
            const Tensor y = run_op(max ? "max_pool2d" : "avg_pool2d", {x}, a);
            expect_close(y, g.at("y0"), max ? 0 : 1e-6, file);
            expect_close(max ? run_op("max_pool2d_dx", {x, y, dy}, a)
                             : run_op("avg_pool2d_dx", {x, dy}, a),
                         g.at("dx0"), 1e-6, file + " dx");
        }
    }
}

TEST(Pool, NhwcMatchesNchw) {
    auto g = golden("maxpool2d_same_k3s2_even");
    const Line l = {"", {3, 3}, {2, 2}, "same"};
    const Tensor x = g.at("x0");
    const Tensor last = x.transpose({0, 2, 3, 1}).copy();
    for (bool max : {true, false}) {
        Given a = attributes(l, max);
        const char *op = max ? "max_pool2d" : "avg_pool2d";
        const Tensor y = run_op(op, {x}, a);
        a.push_back({"data_format", "NHWC"});
        expect_close(run_op(op, {last}, a).transpose({0, 3, 1, 2}).copy(), y, 0, op);
    }
}

TEST(Pool, PropagatesNaN) {
    for (const Given &a :
         {Given{{"kernel_size", Ints{2, 2}}, {"stride", Ints{2, 2}}},
          Given{{"kernel_size", Ints{3, 3}}, {"stride", Ints{3, 3}}, {"pad_mode", "same"}}}) {
        for (int64_t at = 0; at < 4; at++) {
            Tensor x = Tensor::zeros({1, 1, 2, 2});
            x.set({0, 0, at / 2, at % 2}, NAN);
            const Tensor y = run_op("max_pool2d", {x}, a);
            const Tensor dx = run_op("max_pool2d_dx", {x, y, Tensor::ones({1, 1, 1, 1})}, a);
            EXPECT_TRUE(std::isnan(y.item()));
            for (int64_t i = 0; i < 4; i++)
                EXPECT_EQ(dx.at({0, 0, i / 2, i % 2}), i == at) << at;
        }
    }
}

TEST(Pool, PaddingIsNeverTheMaximum) {
    for (int64_t stride : {2, 3}) {
        for (float value : {-INFINITY, NAN}) {
            const Given a = {{"kernel_size", Ints{3, 3}},
                             {"stride", Ints{stride, stride}},
                             {"pad_mode", "pad"},
                             {"padding", Ints{1, 1, 1, 1}}};
            Tensor x = Tensor::zeros({1, 1, 2, 2});
            for (int64_t i = 0; i < 4; i++)
                x.set({0, 0, i / 2, i % 2}, value);
            const Tensor y = run_op("max_pool2d", {x}, a);
            const Tensor dx = run_op("max_pool2d_dx", {x, y, Tensor::ones({1, 1, 1, 1})}, a);
            for (int64_t i = 0; i < 4; i++) {
                EXPECT_EQ(dx.at({0, 0, i / 2, i % 2}), i == 0)
                    << stride << " " << value << " " << i;
            }
        }
    }
}

// NaN, ties and padding in windows with gaps: columns 0, 2, 4 of one line, after a column of
// padding.
TEST(Pool, DilatedWindowsSkipElements) {
    const Given a = {{"kernel_size", Ints{1, 3}},
                     {"pad_mode", "pad"},
                     {"padding", Ints{0, 0, 2, 0}},
                     {"dilation", Ints{1, 2}}};
    const auto of = [&](const std::vector<float> &line) {
        const Tensor x = Tensor::from(line, {1, 1, 1, 5});
        const Tensor y = run_op("max_pool2d", {x}, a);
        const Tensor dx = run_op("max_pool2d_dx", {x, y, Tensor::ones(y.shape())}, a);
        const Tensor indices = run_op("max_pool2d_indices", {x}, a);
        return std::vector<std::vector<float>>{y.to_vector<float>(), dx.to_vector<float>(),
                                               indices.to_vector<float>()};
    };
    using Lines = std::vector<std::vector<float>>;
    // The windows are columns 0, 2; 1, 3; 0, 2, 4.
    EXPECT_EQ(of({1, 9, 5, 2, 3}), (Lines{{5, 9, 5}, {0, 1, 2, 0, 0}, {2, 1, 2}}));
    EXPECT_EQ(of({7, 0, 7, 0, 7}), (Lines{{7, 0, 7}, {2, 1, 0, 0, 0}, {0, 1, 0}}));
    constexpr float low = -INFINITY;
    EXPECT_EQ(of({low, low, low, low, low}), (Lines{{low, low, low}, {2, 1, 0, 0, 0}, {0, 1, 0}}));
    const Lines nan = of({1, NAN, 2, 3, NAN});
    EXPECT_EQ(nan[0][0], 2);
    EXPECT_TRUE(std::isnan(nan[0][1]) && std::isnan(nan[0][2]));
    EXPECT_EQ(nan[1], (std::vector<float>{0, 1, 1, 0, 1}));
    EXPECT_EQ(nan[2], (std::vector<float>{2, 1, 4}));
    // As in PyTorch, a window between whose taps the map lies has no maximum.
    const Given gap = {{"kernel_size", Ints{1, 2}},
                       {"pad_mode", "pad"},
                       {"padding", Ints{0, 0, 2, 2}},
                       {"dilation", Ints{1, 3}}};
    const Tensor one = Tensor::ones({1, 1, 1, 1});
    EXPECT_EQ(run_op("max_pool2d", {one}, gap).to_vector<float>(), (std::vector<float>{low, low}));
    EXPECT_THROW(run_op("max_pool2d", {one}, {{"dilation", Ints{0, 1}}}), AttrError);
    EXPECT_THROW(run_op("max_pool2d", {Tensor::ones({1, 1, 4, 4})},
                        {{"kernel_size", Ints{2, 2}}, {"dilation", Ints{4, 1}}}),
                 AttrError);
    EXPECT_EQ(run_op("max_pool2d", {one}, {{"dilation", Ints{int64_t(1) << 40, 1}}}).item(), 1);
}

TEST(Pool, SameBitsForAnyNumberOfThreads) {
    auto g = golden("maxpool2d_same_k3s2_even");
    const Given a = attributes({"", {3, 3}, {2, 2}, "same"}, true);
    const Tensor x = g.at("x0");
    const Tensor y = run_op("max_pool2d", {x}, a);
    set_threads(1);
    const std::vector<float> one =
        run_op("max_pool2d_dx", {x, y, g.at("dy0")}, a).to_vector<float>();
    for (int n : {2, 3, 8}) {
        set_threads(n);
        EXPECT_EQ(run_op("max_pool2d_dx", {x, y, g.at("dy0")}, a).to_vector<float>(), one) << n;
    }
    set_threads(0);
}

TEST(Pool, RejectsInvalidArguments) {
    const Tensor x = Tensor::ones({1, 1, 4, 4});
    EXPECT_THROW(run_op("max_pool2d", {x}, {{"kernel_size", Ints{5, 5}}}), AttrError);
    EXPECT_THROW(run_op("max_pool2d", {x}, {{"kernel_size", Ints{2, 2}}, {"stride", Ints{0, 1}}}),
                 AttrError);
    EXPECT_THROW(
        run_op("avg_pool2d", {x},
               {{"kernel_size", Ints{2, 2}}, {"pad_mode", "pad"}, {"padding", Ints{2, 0, 0, 0}}}),
        AttrError);
    EXPECT_THROW(run_op("max_pool2d", {Tensor::ones({4, 4})}), ShapeError);
}

// The range of a gradient grows with strides and kernels, so kernels get none that extend beyond
// the map.
TEST(Pool, ClampsStridesAndTapsToTheMap) {
    const RegisteredOp &op = find_op("max_pool2d_dx");
    const OperandMeta x = meta_of(Tensor::empty({2, 3, 5, 17}));
    const OperandMeta y = meta_of(Tensor::empty({2, 3, 1, 1}));
    const auto most_of = [&](const Given &given) {
        const Plan plan = make_plan(op, std::vector<OperandMeta>{x, y, y}, Attrs(op.record, given));
        int most = 0;
        for (const Plan::Scalar &s : plan.scalars)
            most = std::max(most, s.i);
        return most;
    };
    EXPECT_LE(most_of({{"kernel_size", Ints{3, 3}},
                       {"stride", Ints{2147483646, 2147483646}},
                       {"pad_mode", "same"}}),
              40);
    EXPECT_LE(most_of({{"kernel_size", Ints{2147483647, 2147483647}},
                       {"stride", Ints{2147483646, 100}},
                       {"pad_mode", "same"}}),
              40);
}

TEST(Pool, RejectsEmptyMapsDespitePadding) {
    const Primitive pool(
        "max_pool2d",
        {{"kernel_size", Ints{9, 7}}, {"pad_mode", "pad"}, {"padding", Ints{8, 8, 6, 6}}});
    EXPECT_THROW(pool.run({Tensor::zeros({1, 2, 0, 17})}), ShapeError);
    EXPECT_EQ(pool.run({Tensor::zeros({0, 2, 1, 17})})[0].shape().text(), "[0,2,9,23]");
}

}  // namespace
}  // namespace halyard
