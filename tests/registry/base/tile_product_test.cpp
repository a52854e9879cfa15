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
constexpr int before = 3;  // what c holds

std::vector<int> random_integers(int count, int lowest, int highest) {
    std::mt19937 rng(1);
    std::uniform_int_distribution<int> any(lowest, highest);
    std::vector<int> values(static_cast<size_t>(count));
    for (int &v : values)
        v = any(rng);
    return values;
}

// a[rows][k] b[k / group][columns][group], in integers.
struct Operands {
    int rows, groups, group, lowest_a, highest_a, lowest_b, highest_b;
    int a_stride = group * groups + gap;
    std::vector<int> a = random_integers(rows * a_stride, lowest_a, highest_a);
    std::vector<int> b = random_integers(groups * columns * group, lowest_b, highest_b);

    int sum(int row, int column) const {
        int total = before;
        for (int k = 0; k < group * groups; k++) {
            const int at = (k / group * columns + column) * group + k % group;
            total += a.at(size_t(row) * size_t(a_stride) + size_t(k)) * b.at(size_t(at));
        }
        return total;
    }
};

using Function = int (*)(void *, int64_t, int64_t, const void *, int64_t, int64_t, const void *,
                         int64_t, int64_t, int, int);

// Small integers: every sum is exact, whatever its order and type.
template<class A, class B, class C> void expect_sums(const Operands &o, Function function) {
    const std::vector<A> a(o.a.begin(), o.a.end());
    const std::vector<B> b(o.b.begin(), o.b.end());
    constexpr int c_stride = columns + gap;
    std::vector<C> c(size_t(o.rows * c_stride), C(before));
    function(c.data(), 0, c_stride * int(sizeof(C)), a.data(), 0, o.a_stride * int(sizeof(A)),
             b.data(), 0, columns * 4, o.rows, o.groups);
    for (int i = 0; i < o.rows; i++) {
        for (int j = 0; j < c_stride; j++) {
            EXPECT_EQ(c[size_t(i * c_stride + j)], C(j < columns ? o.sum(i, j) : before))
                << "row " << i << ", column " << j;
        }
    }
}

class TileProduct : public testing::TestWithParam<int> {
protected:
    void SetUp() override {
        if (!host_has(Extension::amx)) GTEST_SKIP() << "this CPU has no tile registers";
    }
};

TEST_P(TileProduct, SumsProductsOf8BitIntegers) {
    for (const int groups : {1, 15, 16, 17, 37}) {
        expect_sums<uint8_t, int8_t, int32_t>({GetParam(), groups, 4, 0, 255, -128, 127},
                                              halyard_tile_product_u8i8);
    }
}

TEST_P(TileProduct, SumsProductsOfBf16) {
    for (const int groups : {1, 15, 16, 17, 37}) {
        expect_sums<bfloat16, bfloat16, float>({GetParam(), groups, 2, -99, 99, -99, 99},
                                               halyard_tile_product_bf16);
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, TileProduct, testing::Values(1, 15, 16, 17, 31, 32, 33, 64, 80));

}  // namespace
}  // namespace halyard
