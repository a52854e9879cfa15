// Tests that proofs about loop bounds are found, and that what isn't true is not proved.
#include "dsl/integer_proof.h"

#include <gtest/gtest.h>

namespace halyard {
namespace {
using Halide::Expr;
using Halide::max;
using Halide::min;
using Halide::select;

class IntegerProof : public testing::Test {
protected:
    static Expr integer(const char *name) {
        return Halide::Internal::Variable::make(Halide::Int(32), name);
    }
    const Expr n = integer("n");
    const Expr m = integer("m");
    const Expr i = integer("i");
    const Expr t = integer("t");
};

TEST_F(IntegerProof, WholeVectorsFit) {
    EXPECT_TRUE(implies({i >= 0, i < n / 4}, 4 * i + 4 <= n));
    EXPECT_FALSE(implies({i >= 0, i < n / 4}, 4 * i + 5 <= n));
    EXPECT_FALSE(implies({i >= 0, i < (n + 3) / 4}, 4 * i + 4 <= n));
    // The vectors of a task: there are no incomplete ones.
    const Expr first = (t * m + i) * 4;
    EXPECT_TRUE(
        implies({i >= 0, i < max(min(n / 4 - t * m, m), 0)}, 3 < min(first + 4, n) - first));
}

TEST_F(IntegerProof, CasesAreDistinguished) {
    const Expr wide = n >= 16 || (n >= 8 && m < 8);
    EXPECT_TRUE(implies({wide}, n >= 8));
    EXPECT_FALSE(implies({wide}, n >= 9));
    EXPECT_TRUE(implies({wide, n < 16}, m < 8));
    EXPECT_TRUE(implies({i == select(n < m, n, m)}, i <= n && i <= m));
    EXPECT_TRUE(implies({i != n, i >= n}, i > n));
}

TEST_F(IntegerProof, DivisionsRoundDown) {
    EXPECT_TRUE(implies({i < 2 * n}, i / 2 <= n - 1));
    EXPECT_FALSE(implies({i <= 2 * n}, i / 2 <= n - 1));
    EXPECT_TRUE(implies({n % 4 == 0}, n / 4 * 4 == n));
    EXPECT_TRUE(implies({n % 4 == 0}, !(n / 4 * 4 + 1 <= n)));
    EXPECT_TRUE(implies({}, n % 4 < 4));
}

// Whole vectors of 16 are tasks of `size`, which is itself a chain of maxima. Each of those vectors
// is a loop that was split by 16 again, so nothing remains.
TEST_F(IntegerProof, ARemainderWithinAWholeVectorIsEmpty) {
    const Expr size = max(max(max(65536 / max(m, 1), 1), 1) / 16, 1);
    const Expr vector = size * t + i;
    const Expr end = min(vector * 16 + 16, n);
    const Expr whole = end / 16 - vector;
    const Expr remainder = (end + 15) / 16 - vector - max(whole, 0);
    const std::vector<Expr> facts = {n >= 1, t >= 0, i >= 0,
                                     i < max(min(n / 16 - size * t, size), 0)};
    EXPECT_TRUE(implies(facts, whole == 1));
    EXPECT_TRUE(implies(facts, remainder <= 0));
    EXPECT_FALSE(implies(facts, remainder < 0));
    EXPECT_FALSE(implies({n >= 1, t >= 0, i >= 0}, remainder <= 0));
}

TEST_F(IntegerProof, ProductsAndQuotientsHaveSigns) {
    EXPECT_TRUE(implies({n >= 0, m >= 1}, n * m >= 0));
    EXPECT_FALSE(implies({n >= 0}, n * m >= 0));
    EXPECT_FALSE(implies({n >= 0, m >= 0}, n * m >= 1));
    EXPECT_TRUE(implies({}, 32768 / max(m, 1) >= 0));
    EXPECT_FALSE(implies({}, 32768 / m >= 0));
    // Blocks of 8 rows, of tasks of a number of rows that depends on m: three rows fill none.
    const Expr rows = 32768 / max(m, 1);
    EXPECT_TRUE(implies({n < 4, t >= 0}, max(min(n - rows * t, rows) / 8, 0) <= 0));
    EXPECT_FALSE(implies({n < 9, t >= 0}, max(min(n - rows * t, rows) / 8, 0) <= 0));
}

TEST_F(IntegerProof, ContradictionsImplyAll) {
    EXPECT_TRUE(implies({n < m, m < n}, i == 7));
    EXPECT_FALSE(implies({n < m}, i == 7));
    EXPECT_FALSE(implies({}, n * n >= 0)) << "products of unknowns are unknown";
}

}  // namespace
}  // namespace halyard
