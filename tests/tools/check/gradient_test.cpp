// Tests that the check of gradients finds a wrong sign, also where an op has no kernels in f64.
#include <gtest/gtest.h>

#include "dsl/kernel.h"
#include "dsl/op.h"
#include "primitives/library.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

// y = 3 x, with kernels for f32 only.
struct Tripled : Op {
    explicit Tripled(const std::string &name) : Op(name, "x[n] -> y[n]") {
        doc = "y = 3 x";
        dtypes = {"f32"};
        samples = {"n=5"};
    }
    Func x = input("x");
    Func y = output("y");
    void algorithm() override {
        Var n("n");
        y(n) = x(n) * 3_r;
    }
    void reference(Problem &p) const override {
        for (size_t i = 0; i < p("y").v.size(); i++)
            p("y").v[i] = 3 * p("x").v[i];
    }
};

// Its gradient, times `sign` in kernel and reference alike.
struct TripledDx : Op {
    const int sign;
    TripledDx(const std::string &name, int s) : Op(name, "dy[n] -> dx[n]"), sign(s) {
        internal = true;
        dtypes = {"f32"};
        samples = {"n=5"};
    }
    Func dy = input("dy");
    Func dx = output("dx");
    void algorithm() override {
        Var n("n");
        dx(n) = (sign > 0 ? dy(n) : 0_r - dy(n)) * 3_r;
    }
    void reference(Problem &p) const override {
        for (size_t i = 0; i < p("dx").v.size(); i++)
            p("dx").v[i] = 3 * sign * p("dy").v[i];
    }
};

template<class Made, class... Args> void add_kernel(const Args &...args) {
    Instance i;
    i.isa = host_isa();
    i.variant = Made(args...).variants.back().name;
    Kernel k(std::make_unique<Made>(args...), i);
    library().add_kernel(
        {Made(args...).name, "cpu", "f32", i.variant, host_isa(), k.lanes, {}, k.load()});
}

Report checked(const std::string &name, int sign) {
    const Tripled op(name);
    OpFile file;
    file.ops = {op, TripledDx(name + "_dx", sign)};
    library().add({&file});
    add_kernel<Tripled>(name);
    add_kernel<TripledDx>(name + "_dx", sign);
    Report r;
    r.op = name;
    check_gradients(op, {}, r);
    return r;
}

TEST(CheckGradients, FindsAFlippedSignWithoutF64) {
    const Report right = checked("tripled", 1);
    EXPECT_EQ(right.passed, 1);
    EXPECT_EQ(right.failed + right.skipped, 0);
    const Report wrong = checked("tripled_wrongly", -1);
    ASSERT_EQ(wrong.failed, 1);
    EXPECT_NE(wrong.failures[0].find("finite differences give"), std::string::npos)
        << wrong.failures[0];
}

}  // namespace
}  // namespace halyard::check
