#include "registry/dispatch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "primitives/library.h"
#include "primitives/ops.h"

namespace halyard {
namespace {

TEST(Dispatch, AddsWithBroadcasting) {
    const Tensor a = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}), b = Tensor::from<float>({10, 20, 30}, {3});
    const Tensor y = F::add(a, b);
    EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{11, 22, 33, 14, 25, 36}));
    EXPECT_EQ(F::add(a.transpose({1, 0}), 1).to_vector<float>(), (std::vector<float>{2, 5, 3, 6, 4, 7}));
}

TEST(Dispatch, SoftmaxAlongAnyAxis) {
    const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
    for (int axis : {0, 1, -1}) {
        const Tensor y = F::softmax(x, axis);
        const int n = axis == 0 ? 2 : 3;
        for (int i = 0; i < (axis == 0 ? 3 : 2); i++) {
            double sum = 0;
            for (int j = 0; j < n; j++) sum += axis == 0 ? y.at({j, i}) : y.at({i, j});
            EXPECT_NEAR(sum, 1, 1e-6);
        }
    }
    EXPECT_THROW(F::softmax(x, 2), ShapeError);
}

TEST(Dispatch, ACachedAddIsCheap) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's time says nothing";
#endif
    const Tensor a = Tensor::ones({16}), b = Tensor::ones({16});
    double best = 1e9;
    for (int round = 0; round < 20; round++) {
        const auto from = std::chrono::steady_clock::now();
        for (int i = 0; i < 1000; i++) F::add(a, b);
        best = std::min(best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - from).count() / 1000);
    }
    RecordProperty("nanoseconds", (int)best);
    std::printf("add of 16 elements: %.0f ns\n", best);
    EXPECT_LT(best, 2000);
}

TEST(Explain, NamesTheChoiceAndTheRefused) {
    const Tensor a = Tensor::ones({16});
    const Tensor in[] = {a, a};
    const RegisteredOp &op = library().at("add");
    const std::string text = explain(op, in, Attrs(op.record));
    EXPECT_NE(text.find("-> cpu f32"), std::string::npos) << text;
    std::printf("%s", text.c_str());
}

}  // namespace
}  // namespace halyard
