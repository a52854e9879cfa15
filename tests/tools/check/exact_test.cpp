// Plants a dropped tail of a reduction, the smallest of faults. The exact check finds it and, on
// its own, the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dsl/kernel.h"
#include "dsl/lower.h"
#include "primitives/library.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

using testing::AllOf, testing::Each, testing::HasSubstr, testing::IsEmpty, testing::Not;

// softmax of rows. One variant adds up full vectors only, and so loses the rest of a row if
// `dropped`.
struct BlockedSoftmax : Op {
    BlockedSoftmax(const std::string &name, bool dropped)
        : Op(name, "x[n,c] -> y[n,c]"), dropped(dropped) {
        dtypes = {"f32"};
        gpu = !dropped;
        contract = {Contract::normwise, 10};
        add({"blocks", Dim("c") >= halyard::lanes, {.algorithm = [this](const Build &build) {
                 define(this->dropped ? size("c") / build.lanes * build.lanes : size("c"));
             }}});
        add({"any", DimExpr::always()});
        // No vector divides the last two.
        samples = {"n=1 c=1", "n=2 c=64", "n=3 c=99", "n=2 c=101"};
    }
    const bool dropped;
    Func x = input("x");
    Func y = output("y");
    Func row_max{"peak"}, e{"e"}, total{"total"};
    Var j{"j"}, i{"i"}, ji{"ji"};
    RDom k, added;

    void algorithm() override { define(size("c")); }
    void define(const Expr &added_elements) {
        k = RDom(0, size("c"));
        added = RDom(0, added_elements);
        row_max(i) = math::lowest();
        row_max(i) = max(row_max(i), x(k, i));
        e(j, i) = math::exp_nonpositive(x(j, i) - row_max(i));
        total(i) += e(added, i);
        y(j, i) = e(j, i) / total(i);
    }
    void schedule(const Cpu &cpu) override {
        store().vectorize(var(0), cpu.lanes, Tail::GuardWithIf);
        for (Func f : {row_max, e, total})
            f.compute_at(store(), var(1));
    }
    void schedule(const Gpu &) override {
        store().gpu_tile(var(0), ji, 16, Tail::GuardWithIf).gpu_blocks(var(1));
        for (Func f : {row_max, total}) {
            f.compute_root().gpu_tile(i, ji, 8, Tail::GuardWithIf);
            f.update().gpu_tile(i, ji, 8, Tail::GuardWithIf);
        }
    }
    void reference(Problem &p) const override {
        for (int64_t r = 0; r < p["n"]; r++) {
            double largest = -INFINITY;
            double sum = 0;
            for (int64_t c = 0; c < p["c"]; c++)
                largest = std::max(largest, p("x")(r, c));
            for (int64_t c = 0; c < p["c"]; c++)
                sum += std::exp(p("x")(r, c) - largest);
            for (int64_t c = 0; c < p["c"]; c++)
                p("y")(r, c) = std::exp(p("x")(r, c) - largest) / sum;
        }
    }
};
struct WholeSoftmax : BlockedSoftmax {
    WholeSoftmax() : BlockedSoftmax("whole_softmax", false) {}
};
struct DroppedSoftmax : BlockedSoftmax {
    DroppedSoftmax() : BlockedSoftmax("dropped_softmax", true) {}
};

template<class T> T registered() {
    const T op;
    op_table().add<T>();
    static const OpFile file{"", {op}, {}};
    library().add({&file});
    for (auto &v : op.variants) {
        for (const char *backend : {"cpu", "opencl"}) {
            if (backend == std::string("opencl") && !op.gpu) continue;
            Instance i;
            i.backend = backend;
            i.isa = host_isa();
            i.variant = v.name;
            Kernel kernel(std::make_unique<T>(), i);
            library().add_kernel(
                {op.name, backend, "f32", v.name, i.isa, kernel.lanes, {}, kernel.load()});
        }
    }
    return T();
}

Report run(Check check, const Op &op) {
    Options o;
    o.isas = {host_isa()};
    const Report r = run_check(op, "", check, o);
    for (auto &f : r.failures)
        std::printf("    %s\n", f.c_str());
    return r;
}

TEST(Exact, FindsADroppedTail) {
    const Report r = run(check_exact, registered<DroppedSoftmax>());
    ASSERT_EQ(r.failures.size(), 2u);
    EXPECT_THAT(
        r.failures,
        Each(AllOf(
            HasSubstr("/blocks 'n="),
            HasSubstr(
                " elements differ from variant any, because this one's algorithm is another: "))));
}

TEST(Reference, FindsADroppedTail) {
    const Report r = run(check_reference, library().find("dropped_softmax")
                                              ? DroppedSoftmax()
                                              : registered<DroppedSoftmax>());
    ASSERT_EQ(r.failures.size(), 2u);
    EXPECT_THAT(r.failures,
                Each(AllOf(HasSubstr("/blocks 'n="), HasSubstr(" times the bound of 10 ulps"))));
}

TEST(Exact, ProvesSoundSchedulesOfCpuAndGpu) {
    const Report r = run(check_exact, registered<WholeSoftmax>());
    EXPECT_THAT(r.failures, IsEmpty());
    EXPECT_EQ(r.passed, 3 + 4 + (has_device("opencl") ? 4 : 0)) << "blocks, any, the GPU's";
}

// Computes full vectors at every length, which a condition of the variant should have prevented.
struct RoundedUp : Op {
    RoundedUp() : Op("rounded_up", "x[c] -> y[c]") {
        dtypes = {"f32"};
        variants = {{"any", ""}};
        samples = {"c=64", "c=65"};
    }
    Func x = input("x");
    Func y = output("y");
    Var j{"j"};
    void algorithm() override { y(j) = x(j) + 1_r; }
    void schedule(const Cpu &cpu) override { store().vectorize(j, cpu.lanes, Tail::RoundUp); }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["c"]; i++)
            p("y")(i) = p("x")(i) + 1;
    }
};

// Kernels in programs omit Halide's checks of their arguments (dsl/argument_checks.h); those of
// exact mode have them.
TEST(Exact, ChecksArguments) {
    const Report r = run(check_exact, registered<RoundedUp>());
    ASSERT_EQ(r.failures.size(), 1u);
    EXPECT_THAT(r.failures[0], HasSubstr("kernel failed: Input buffer x is accessed at "));
    const auto checks = [](const char *dtypes) {
        Instance i;
        i.dtypes = dtypes;
        i.isa = host_isa();
        i.variant = "any";
        Kernel k(std::make_unique<RoundedUp>(), i);
        return text_of(k, "stmt", testing::TempDir() + "rounded_up_" + dtypes)
                   .find("halide_error_access_out_of_bounds") != std::string::npos;
    };
    EXPECT_TRUE(checks("exact"));
    EXPECT_FALSE(checks("f32"));
}

// Updates whose order the evaluator must find: a scan, indices from data, a part of the domain,
// pure variables beside constants, and a domain of two dimensions that overwrites.
struct Ordered : Op {
    Ordered() : Op("ordered", "x[n,c] index:i32[c] -> y[n,c] z[n,c]") {
        dtypes = {"f32"};
        samples = {"n=1 c=1", "n=3 c=7", "n=5 c=64"};
    }
    Func x = input("x"), index = input("index");
    Func y = output("y"), z = output("z");
    Func scan{"scan"}, scattered{"scattered"}, edge{"edge"}, last{"last"};
    Var j{"j"}, i{"i"};
    void algorithm() override {
        const Expr c = size("c"), n = size("n");
        RDom k(1, max(c - 1, 0));
        RDom all(0, c);
        RDom even(0, c);
        RDom both(0, c, 0, n);
        scan(j, i) = x(j, i);
        scan(k, i) = scan(k - 1, i) * 3_r + x(k, i);
        const Expr to = clamp(index(all), 0, c - 1);
        scattered(j, i) = x(j, i);
        scattered(to, i) = scattered(all, i) / (scattered(to, i) + 2_r);
        even.where(even % 2 == 0 && x(even, 0) > 1_r);
        scattered(even, i) += 1_r;
        edge(j, i) = 1_r * x(j, i);
        edge(0, i) = edge(c - 1, i) + 5_r;
        edge(j, 0) = edge(j, n - 1) + x(0, 0);
        edge(j, i) = edge(j, i) * 2_r;
        last(j) = 0_r;
        last((both.x + both.y) % c) = last(both.x) * 7_r + x(both.x, both.y);
        y(j, i) = scan(j, i) + scattered(j, i);
        z(j, i) = edge(j, i) + last(j);
    }
    void schedule(const Cpu &) override {
        for (Func f : {scan, scattered, edge, last})
            f.compute_root();
    }
    void reference(Problem &) const override {}
};

TEST(Exact, UpdatesAreEvaluatedInOrder) {
    const Report r = run(check_exact, registered<Ordered>());
    EXPECT_THAT(r.failures, IsEmpty());
    EXPECT_EQ(r.passed, has_device("opencl") ? 6 : 3);
    EXPECT_EQ(r.skipped, 0) << r.notes[0];
}

struct Large : RoundedUp {
    Large() {
        name = "large";
        samples = {"c=9", "c=4000000"};
    }
    void schedule(const Cpu &cpu) override { store().vectorize(j, cpu.lanes, Tail::GuardWithIf); }
};

TEST(Exact, ReportsSamplesTooLargeToEvaluate) {
    const Report r = run(check_exact, registered<Large>());
    EXPECT_THAT(r.failures, IsEmpty());
    EXPECT_EQ(r.passed, has_device("opencl") ? 4 : 2);
    ASSERT_EQ(r.skipped, 1);
    EXPECT_THAT(r.notes[0], HasSubstr("'c=4000000' is too large to be evaluated, and is compared "
                                      "with the algorithm as Halide lowers it unscheduled"));
}

}  // namespace
}  // namespace halyard::check
