// Tests that the check finds a kernel that leaks one row's NaN into the others, and passes one that
// doesn't.
#include <gtest/gtest.h>

#include "dsl/kernel.h"
#include "dsl/op.h"
#include "primitives/library.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

// y = x, plus 1e-30 times the first of all elements if `leaks`, which no finite number shows.
template<bool leaks> struct Rowwise : Op {
    Rowwise() : Op(leaks ? "leaky_rows" : "tight_rows", "x[n,c] -> y[n,c]") {
        doc = "y = x";
        dtypes = {"f32"};
        samples = {"n=5 c=7"};
    }
    Func x = input("x");
    Func y = output("y");
    void algorithm() override {
        Var c("c"), n("n");
        y(c, n) = leaks ? x(c, n) + x(0, n % 1) * 1e-30_r : Expr(x(c, n));
    }
    void reference(Problem &p) const override { p("y").v = p("x").v; }
};

template<class Tested> Report checked() {
    OpFile file;
    file.ops.push_back(Tested());
    library().add({&file});
    Instance i;
    i.isa = host_isa();
    Kernel k(std::make_unique<Tested>(), i);
    library().add_kernel({Tested().name, "cpu", "f32", "", host_isa(), k.lanes, {}, k.load()});
    Options o;
    o.isas = {host_isa()};
    Report r;
    r.op = Tested().name;
    check_isolation(Tested(), o, r);
    return r;
}

TEST(Isolation, FindsALeak) {
    const Report r = checked<Rowwise<true>>();
    int leaks = 0;
    for (auto &f : r.failures) {
        leaks += f.find("NaN in x[0]: y[1], which doesn't depend on it, is nan instead of") !=
                 std::string::npos;
    }
    EXPECT_EQ(leaks, 1) << testing::PrintToString(r.failures);
}

TEST(Isolation, PassesWithoutALeak) {
    const Report r = checked<Rowwise<false>>();
    EXPECT_EQ(r.failed, 0);
    EXPECT_GT(r.passed, 0);
}

}  // namespace
}  // namespace halyard::check
