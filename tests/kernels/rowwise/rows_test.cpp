#include "kernels/rowwise/rows.h"

#include <gtest/gtest.h>

#include "dsl/lower.h"
#include "registry/base/temporary_folder.h"

namespace halyard {
namespace {

// One number per row: the result has the dimension (n) only. With `repeated`, the rows' dimensions
// are (m, n).
struct RowSums : Rows {
    const bool repeated;
    explicit RowSums(bool r)
        : Rows("row_sums", r ? "x[..n,c] -> y[..n,m,c]" : "x[..n,c] -> y[..n]", false),
          repeated(r) {
        doc = "y = sum x";
        gpu = true;
        dtypes = {"f32"};
        if (r) attr("m", 2);
    }
    Func x = input("x");
    Func y = output("y");
    Func sum{"sum"};
    Var m{"m"};

    void algorithm() override {
        k = RDom(0, size("c"));
        sum(n) = 0_r;
        sum(n) += x(k, n);
        if (repeated)
            y(c, m, n) = x(c, n) - sum(n);
        else
            y(n) = sum(n);
        row_reductions = {sum};
    }
    void reference(Problem &) const override {}
};

std::string loops_of(bool repeated) {
    Instance i;
    i.backend = "cuda";
    i.variant = "short";
    Kernel k(std::make_unique<RowSums>(repeated), i);
    const TemporaryFolder folder("halyard_rows");
    return text_of(k, "loops", folder.path / "scratch");
}

TEST(Rows, GpuScheduleTakesResultsOfAnyRank) {
    const std::string sums = loops_of(false);
    EXPECT_NE(sums.find("gpu_block n"), std::string::npos) << sums;
    const std::string repeated = loops_of(true);
    EXPECT_NE(repeated.find("gpu_block"), std::string::npos) << repeated;
    EXPECT_EQ(repeated.find("for m"), std::string::npos) << "a loop outside of the GPU\n"
                                                         << repeated;
}

}  // namespace
}  // namespace halyard
