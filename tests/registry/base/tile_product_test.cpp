// Tests products in tile registers against sums of products one at a time.
#include "registry/base/tile_product.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "registry/op/extension.h"
#include "registry/tensor/dtype.h"

namespace halyard {
namespace {

constexpr int columns = 32;
// Rows of a and c are farther apart than they are long, so that a wrong stride is seen.
constexpr int gap = 8;

template<class T> std::vector<T> random_integers(size_t count, int lowest, int highest, int seed) {
    std::mt19937 rng{unsigned(seed)};
    std::uniform_int_distribution<int> any(lowest, highest);
    std::vector<T> values(count);
    for (T &v : values)
        v = T(any(rng));
    return values;
}

class TileProduct : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        if (!host_has(Extension::amx)) GTEST_SKIP() << "this CPU has no tile registers";
    }
    const int rows = GetParam();
};

TEST_P(TileProduct, SumsProductsOf8BitIntegers) {
    for (const int groups : {1, 15, 16, 17, 37}) {
        const int a_stride = 4 * groups + gap;
        const auto a = random_integers<uint8_t>(size_t(rows * a_stride), 0, 255, groups);
        const auto b = random_integers<int8_t>(size_t(groups * columns * 4), -128, 127, rows);
        const auto before = random_integers<int32_t>(size_t(rows * (columns + gap)), -9, 9, 3);
        auto c = before;
        halyard_tile_product_u8i8(c.data(), 0, (columns + gap) * 4, a.data(), 0, a_stride, b.data(),
                                  0, columns * 4, rows, groups);
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns + gap; j++) {
                const size_t at = size_t(i * (columns + gap) + j);
                int32_t expected = before[at];
                for (int k = 0; j < columns && k < 4 * groups; k++) {
                    expected += a[size_t(i * a_stride + k)] *
                                b[size_t((k / 4 * columns + j) * 4 + k % 4)];
                }
                EXPECT_EQ(c[at], expected) << "row " << i << ", column " << j;
            }
        }
    }
}

// Small integers: every sum is exact, whatever its order.
TEST_P(TileProduct, SumsProductsOfBf16) {
    const auto stored = [](const std::vector<int> &values) {
        std::vector<bfloat16> numbers;
        for (const int v : values)
            numbers.push_back(bfloat16(float(v)));
        return numbers;
    };
    for (const int groups : {1, 15, 16, 17, 37}) {
        const int a_stride = 2 * groups + gap;
        const auto a = random_integers<int>(size_t(rows * a_stride), -99, 99, groups);
        const auto b = random_integers<int>(size_t(groups * columns * 2), -99, 99, rows);
        const auto stored_a = stored(a), stored_b = stored(b);
        std::vector<float> c(size_t(rows * columns), 2.0F);
        halyard_tile_product_bf16(c.data(), 0, columns * 4, stored_a.data(), 0, a_stride * 2,
                                  stored_b.data(), 0, columns * 4, rows, groups);
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) {
                int expected = 2;
                for (int k = 0; k < 2 * groups; k++) {
                    expected += a[size_t(i * a_stride + k)] *
                                b[size_t((k / 2 * columns + j) * 2 + k % 2)];
                }
                EXPECT_EQ(c[size_t(i * columns + j)], float(expected))
                    << "row " << i << ", column " << j;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, TileProduct, testing::Values(1, 15, 16, 17, 31, 32));

}  // namespace
}  // namespace halyard
