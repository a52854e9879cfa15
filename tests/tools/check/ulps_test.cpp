// Tests sweeps of ops with one fault each.
#include "tools/check/ulps.h"

#include <gtest/gtest.h>

#include "dsl/kernel.h"
#include "kernels/elementwise/elementwise.h"
#include "primitives/library.h"

namespace halyard::check {
namespace {

// y = x^3, with a planted fault.
enum Fault { none, off_by_ulps, wrong_at_infinity, flushes, not_odd, wrong_zero };
template<Fault fault> struct Cube : Elementwise {
    Cube() : Elementwise("cube_" + std::to_string(int(fault)), "x[*] -> y[*]") {
        dtypes = {"f32"};
        contract = {Contract::elementwise, 4};
    }
    Func x = input("x");
    Func y = output("y");
    void algorithm() override {
        const Expr v = x(Halide::_);
        const Expr right = v * v * v;
        y(Halide::_) = fault == off_by_ulps
                           ? select(v == 1.5_r, right * math::number(1 + 0x1p-21), right)
                       : fault == wrong_at_infinity ? select(v == math::highest(), 0_r, right)
                       : fault == flushes
                           ? select(abs(right) < math::number(0x1p-126), 0_r * v, right)
                       : fault == not_odd
                           ? select(v < -1_r, right * math::number(1 + 0x1p-23), right)
                       : fault == wrong_zero ? select(v == 0_r, 0_r, right)
                                             : right;
    }
    void reference(Problem &p) const override {
        each(p, [](const double *in, double *out) { out[0] = in[0] * in[0] * in[0]; });
    }
};

template<Fault fault> Ulps swept(const UlpJob &job = {"f32", 1 << 20, 0, 1}) {
    using Op = Cube<fault>;
    if (!library().find(Op().name)) {
        OpFile file;
        file.ops.push_back(Op());
        library().add({&file});
        Instance i;
        i.isa = host_isa();
        Kernel k(std::make_unique<Op>(), i);
        library().add_kernel({Op().name, "cpu", "f32", "", host_isa(), k.lanes, {}, k.load()});
    }
    EXPECT_TRUE(has_ulps(Op()));
    return ulps_of(Op(), job, {host_isa()})[0];
}

TEST(Ulps, PassRightOps) {
    const Ulps u = swept<none>();
    EXPECT_TRUE(u.ok("cube")) << u.text("cube");
    EXPECT_GT(u.worst, 0.5);
    EXPECT_TRUE(u.odd);
    EXPECT_FALSE(u.even);
}

TEST(Ulps, FindOneWrongValue) {
    const Ulps u = swept<off_by_ulps>();
    EXPECT_FALSE(u.ok("cube"));
    EXPECT_EQ(u.x, 1.5);
    EXPECT_NEAR(u.worst, 6.75, 0.51);  // 27/8 2^-21, in units of 2^-22.
}

TEST(Ulps, CheckInfinitySubnormalsAndZero) {
    EXPECT_EQ(swept<wrong_at_infinity>().x, INFINITY);
    EXPECT_GT(swept<flushes>().worst, 1e6);
    EXPECT_EQ(swept<wrong_zero>().x, 0);
    EXPECT_FALSE(swept<wrong_zero>().ok("cube"));
}

TEST(Ulps, CheckThatOddFunctionsAreOdd) {
    const Ulps u = swept<not_odd>();
    EXPECT_FALSE(u.ok("cube"));
    EXPECT_EQ(u.text("cube").rfind("not odd", 0), 0u) << u.text("cube");
}

TEST(Ulps, PartsCoverTheSweep) {
    const Ulps whole = swept<none>();
    Ulps parts = swept<none>({"f32", 1 << 20, 0, 3});
    for (int part = 1; part < 3; part++)
        parts.add(swept<none>({"f32", 1 << 20, part, 3}));
    EXPECT_EQ(parts.worst, whole.worst);
    EXPECT_EQ(parts.x, whole.x);
}

}  // namespace
}  // namespace halyard::check
