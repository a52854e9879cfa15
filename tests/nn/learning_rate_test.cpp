#include "nn/learning_rate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "tests/registry/expect_error.h"

namespace halyard::nn {
namespace {

// MindSpore's lists are in double; its schedules compute in f32.
void expect_lr(const std::string &golden, const LearningRate &lr, double tolerance) {
    static const auto all = load_npz(HALYARD_SOURCE_DIR "/tests/goldens/lr.npz");
    const std::vector<double> want = all.at(golden).to_vector<double>();
    ASSERT_FALSE(want.empty());
    for (size_t step = 0; step < want.size(); step++)
        EXPECT_NEAR(lr.at(int64_t(step)), want[step], tolerance) << golden << " of step " << step;
}

TEST(LearningRate, ListsMatchMindSpore) {
    constexpr double tolerance = 1e-16;
    expect_lr("cosine_decay_lr__min0.01_max0.1_total6_spe2_decay2",
              cosine_decay_lr(0.01, 0.1, 6, 2, 2), tolerance);
    expect_lr("cosine_decay_lr__min0_max0.1_total20_spe4_decay5", cosine_decay_lr(0, 0.1, 20, 4, 5),
              tolerance);
    expect_lr("cosine_decay_lr__min1e-5_max0.1_total24_spe4_decay5",
              cosine_decay_lr(1e-5, 0.1, 24, 4, 5), tolerance);
    expect_lr("warmup_lr__lr0.1_total8_spe2_warm3", warmup_lr(0.1, 8, 2, 3), tolerance);
    expect_lr("exponential_decay_lr__lr0.1_rate0.9_total8_spe2_decay1",
              exponential_decay_lr(0.1, 0.9, 8, 2, 1), tolerance);
    expect_lr("exponential_decay_lr_stair__lr0.1_rate0.9_total8_spe2_decay2",
              exponential_decay_lr(0.1, 0.9, 8, 2, 2, true), tolerance);
    expect_lr("natural_exp_decay_lr__lr0.1_rate0.9_total8_spe2_decay2",
              natural_exp_decay_lr(0.1, 0.9, 8, 2, 2), tolerance);
    expect_lr("inverse_decay_lr__lr0.1_rate0.5_total8_spe1_decay1",
              inverse_decay_lr(0.1, 0.5, 8, 1, 1), tolerance);
    expect_lr("polynomial_decay_lr__lr0.1_end0.01_total8_spe2_decay2_pow0.5",
              polynomial_decay_lr(0.1, 0.01, 8, 2, 2, 0.5), tolerance);
    expect_lr("polynomial_decay_lr_update__lr0.1_end0.01_total12_spe2_decay2_pow0.5",
              polynomial_decay_lr(0.1, 0.01, 12, 2, 2, 0.5, true), tolerance);
    expect_lr("piecewise_constant_lr__m2_5_10_r0.1_0.05_0.01",
              piecewise_constant_lr({2, 5, 10}, {0.1, 0.05, 0.01}), 0);
}

TEST(LearningRate, SchedulesMatchMindSpore) {
    constexpr double tolerance = 2e-8;
    expect_lr("CosineDecayLR__min0.01_max0.1_steps4", CosineDecayLR(0.01, 0.1, 4), tolerance);
    expect_lr("WarmUpLR__lr0.1_warm3", WarmUpLR(0.1, 3), tolerance);
    expect_lr("ExponentialDecayLR__lr0.1_rate0.9_steps4", ExponentialDecayLR(0.1, 0.9, 4),
              tolerance);
    expect_lr("PolynomialDecayLR__lr0.1_end0.01_steps4_pow0.5",
              PolynomialDecayLR(0.1, 0.01, 4, 0.5), tolerance);
    expect_lr("InverseDecayLR__lr0.1_rate0.9_steps4", InverseDecayLR(0.1, 0.9, 4), tolerance);
    expect_lr("NaturalExpDecayLR__lr0.1_rate0.9_steps4", NaturalExpDecayLR(0.1, 0.9, 4), tolerance);
}

TEST(LearningRate, StairsLastOneDecayPeriod) {
    const auto inverse = inverse_decay_lr(0.1, 0.5, 8, 2, 2, true);
    const auto natural = natural_exp_decay_lr(0.1, 0.5, 8, 2, 2, true);
    EXPECT_EQ(inverse[3], 0.1);
    EXPECT_DOUBLE_EQ(inverse[4], 0.1 / 1.5);
    EXPECT_EQ(natural[3], 0.1);
    EXPECT_DOUBLE_EQ(natural[4], 0.1 * std::exp(-1.0));
}

TEST(LearningRate, RejectsInvalidArguments) {
    expect_error<AttrError>("[cosine_decay_lr] min_lr is 0.100000, max_lr 0.100000, expected less",
                            [] { cosine_decay_lr(0.1, 0.1, 6, 2, 2); });
    expect_error<AttrError>("[cosine_decay_lr] total_step is 0, expected at least 1",
                            [] { cosine_decay_lr(0, 0.1, 0, 2, 2); });
    expect_error<AttrError>("[exponential_decay_lr] decay_rate is nan, expected more than 0",
                            [] { exponential_decay_lr(0.1, NAN, 6, 2, 2); });
    expect_error<AttrError>("[warmup_lr] learning_rate is -1.000000, expected at least 0",
                            [] { warmup_lr(-1, 6, 2, 2); });
    expect_error<AttrError>("[warmup_lr] the warm-up's length is 0, expected at least 1",
                            [] { WarmUpLR(0.1, 0); });
    expect_error<AttrError>("[piecewise_constant_lr] milestone[1] is 1, expected at least 2", [] {
        piecewise_constant_lr({2, 1}, {0.1, 0.2});
    });
    expect_error<AttrError>(
        "[piecewise_constant_lr] 1 milestones and 0 learning rates, expected as many",
        [] { piecewise_constant_lr({2}, {}); });
}

}  // namespace
}  // namespace halyard::nn
