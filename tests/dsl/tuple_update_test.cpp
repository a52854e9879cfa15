// Tests updates of Tuples: every component is computed from the old values of all, in every dtype
// and on every backend, wherever they are read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "dsl/kernel.h"
#include "primitives/library.h"
#include "tools/check/check.h"

namespace halyard::check {
namespace {

using Halide::Expr, Halide::Tuple;
using State = std::array<double, 3>;
constexpr double lowest = -INFINITY;

// One update of a Tuple, as an algorithm of the old components p, the element x and its index k,
// and in double.
struct Update {
    const char *name;
    State from;
    std::function<std::vector<Expr>(const Tuple &p, const Expr &x, const Expr &k)> algorithm;
    std::function<State(const State &p, double x, double k)> reference;
};

const std::vector<Update> updates = {
    {"argmax",
     {lowest, 0, 0},
     [](const Tuple &p, const Expr &x, const Expr &k) -> std::vector<Expr> {
         return {max(p[0], x), select(x > p[0], k, p[1])};
     },
     [](const State &p, double x, double k) {
         return State{std::max(p[0], x), x > p[0] ? k : p[1], 0};
     }},
    {"place_first",
     {0, lowest, 0},
     [](const Tuple &p, const Expr &x, const Expr &k) -> std::vector<Expr> {
         return {select(x > p[1], k, p[0]), max(p[1], x)};
     },
     [](const State &p, double x, double k) {
         return State{x > p[1] ? k : p[0], std::max(p[1], x), 0};
     }},
    {"largest_three",
     {lowest, lowest, lowest},
     [](const Tuple &p, const Expr &x, const Expr &) -> std::vector<Expr> {
         return {max(p[0], x), select(x > p[0], p[0], x > p[1], x, p[1]),
                 select(x > p[0], p[1], x > p[1], p[1], x > p[2], x, p[2])};
     },
     [](const State &p, double x, double) {
         return State{std::max(p[0], x), x > p[0] ? p[0] : std::max(x, p[1]),
                      x > p[0]   ? p[1]
                      : x > p[1] ? p[1]
                                 : std::max(x, p[2])};
     }},
    {"smallest_three_backwards",
     {INFINITY, INFINITY, INFINITY},
     [](const Tuple &p, const Expr &x, const Expr &) -> std::vector<Expr> {
         return {select(x < p[2], p[1], x < p[1], p[1], x < p[0], x, p[0]),
                 select(x < p[2], p[2], x < p[1], x, p[1]), min(p[2], x)};
     },
     [](const State &p, double x, double) {
         return State{x < p[2]   ? p[1]
                      : x < p[1] ? p[1]
                                 : std::min(x, p[0]),
                      x < p[2] ? p[2] : std::min(x, p[1]), std::min(p[2], x)};
     }},
    {"online_softmax",
     {lowest, 0, 0},
     [](const Tuple &p, const Expr &x, const Expr &k) -> std::vector<Expr> {
         const Expr row_max = max(p[0], x);
         return {row_max, p[1] * exp(p[0] - row_max) + exp(x - row_max), select(x > p[0], k, p[2])};
     },
     [](const State &p, double x, double k) {
         const double row_max = std::max(p[0], x);
         return State{row_max, p[1] * std::exp(p[0] - row_max) + std::exp(x - row_max),
                      x > p[0] ? k : p[2]};
     }},
    {"crossed_calls",
     {1, 0.5, 0.25},
     [](const Tuple &p, const Expr &x, const Expr &) -> std::vector<Expr> {
         return {math::sigmoid(p[2]), abs(p[0] - x), math::sigmoid(p[1])};
     },
     [](const State &p, double x, double) {
         const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
         return State{sigmoid(p[2]), std::fabs(p[0] - x), sigmoid(p[1])};
     }},
    {"quotient",
     {1, 1, 1},
     [](const Tuple &p, const Expr &x, const Expr &) -> std::vector<Expr> {
         return {max(p[0], abs(x)), p[0] / (abs(x) + 1_r), p[1] / (abs(x) + 2_r)};
     },
     [](const State &p, double x, double) {
         return State{std::max(p[0], std::fabs(x)), p[0] / (std::fabs(x) + 1),
                      p[1] / (std::fabs(x) + 2)};
     }},
    {"plain_products",
     {1, 1, 0},
     [](const Tuple &p, const Expr &x, const Expr &) -> std::vector<Expr> {
         return {p[0] * 0.5_r + x, p[1] * 0.5_r + p[0], p[2] * 0.5_r + p[1]};
     },
     [](const State &p, double x, double) {
         return State{p[0] / 2 + x, p[1] / 2 + p[0], p[2] / 2 + p[1]};
     }},
};

// Folds rows of c elements, from the first on; the result is the Tuple after the last. Kernels with
// `scheduled` compute many rows at a time.
struct Folded : Op {
    explicit Folded(const Update &u, bool scheduled)
        : Op(std::string("folded_") + u.name + (scheduled ? "_lanes" : ""),
             "x[n,c] -> p[n] q[n] r[n]"),
          update(u), scheduled(scheduled) {
        gpu = !scheduled;
        if (scheduled) dtypes = {"f32"};
        conditions = {"c>0"};
        samples = {"n=1 c=1", "n=5 c=9", "n=37 c=10"};
        contract = {Contract::normwise, 64};
    }
    const Update &update;
    const bool scheduled;
    Func x = input("x");
    Func p = output("p"), q = output("q"), r = output("r");
    Func s{"s"};
    Var n{"n"}, ni{"ni"};
    RDom k;

    void algorithm() override {
        k = RDom(0, size("c"));
        std::vector<Expr> from;
        for (double v : update.from)
            from.push_back(math::number(v));
        s(n) = Tuple(from);
        std::vector<Expr> to = update.algorithm(s(n), x(k, n), math::real(k));
        while (to.size() < 3)
            to.push_back(s(n)[int(to.size())]);
        s(n) = Tuple(to);
        p(n) = s(n)[0];
        q(n) = s(n)[1];
        r(n) = s(n)[2];
    }
    void schedule(const Cpu &cpu) override {
        s.compute_root();
        if (!scheduled) return;
        s.vectorize(n, cpu.lanes, Tail::GuardWithIf)
            .update()
            .vectorize(n, cpu.lanes, Tail::GuardWithIf);
    }
    void schedule(const Gpu &) override {
        for (Func f : {p, q, r})
            f.gpu_tile(n, ni, 8, Tail::GuardWithIf);
        s.compute_root().gpu_tile(n, ni, 8, Tail::GuardWithIf);
        s.update().gpu_tile(n, ni, 8, Tail::GuardWithIf);
    }
    void reference(Problem &problem) const override {
        for (int64_t i = 0; i < problem["n"]; i++) {
            State state = update.from;
            for (int64_t j = 0; j < problem["c"]; j++) {
                const State old = state;
                state = update.reference(old, problem("x")(i, j), double(j));
            }
            problem("p")(i) = state[0];
            problem("q")(i) = state[1];
            problem("r")(i) = state[2];
        }
    }
};

// Registers the op with dispatch, with kernels of every dtype for this machine and of f32 for
// OpenCL.
void make_known(const Update &u, bool scheduled) {
    const auto make = [&u, scheduled] { return std::make_unique<Folded>(u, scheduled); };
    op_table().insert(make);
    const Folded op(u, scheduled);
    static std::vector<std::unique_ptr<OpFile>> files;
    files.push_back(std::make_unique<OpFile>(OpFile{"", {op}, {}}));
    library().add({files.back().get()});
    for (auto &dtypes : op.dtypes) {
        for (const char *backend : {"cpu", "opencl"}) {
            const bool on_host = backend == std::string("cpu");
            if (!on_host && (!op.gpu || dtypes != "f32")) continue;
            Instance i;
            i.backend = backend;
            i.dtypes = dtypes;
            i.isa = host_isa();
            Kernel kernel(make(), i);
            library().add_kernel(
                {op.name, backend, dtypes, "", i.isa, kernel.lanes, {}, kernel.load()});
        }
    }
}

class Tuples : public testing::TestWithParam<std::tuple<size_t, bool>> {};

TEST_P(Tuples, UseOldValues) {
    const auto &[at, scheduled] = GetParam();
    if (!library().find(Folded(updates[at], scheduled).name)) make_known(updates[at], scheduled);
    const Folded op(updates[at], scheduled);
    Options o;
    o.isas = {host_isa()};
    o.fuzz_cases = 0;  // the references have no NaN
    for (auto &[name, check] :
         std::vector<std::pair<std::string, Check>>{{"reference", check_reference},
                                                    {"exact", check_exact},
                                                    {"device", check_device},
                                                    {"ascend", check_ascend}}) {
        // These backends have no lanes.
        if (scheduled && (name == "device" || name == "ascend")) continue;
        if (name == "device" && !has_device("opencl")) continue;
        o.dtypes = name == "ascend" ? "f32" : "";
        const Report r = run_check(op, name, check, o);
        EXPECT_THAT(r.failures, testing::IsEmpty());
        EXPECT_GT(r.passed, 0) << name << (r.notes.empty() ? "" : ": " + r.notes[0]);
    }
}
INSTANTIATE_TEST_SUITE_P(Updates, Tuples,
                         testing::Combine(testing::Range<size_t>(0, 8), testing::Bool()),
                         [](const auto &p) {
                             return std::string(updates[std::get<0>(p.param)].name) +
                                    (std::get<1>(p.param) ? "_lanes" : "");
                         });

// The wrong quotient, as Halide made it: the first component is stored, and the others are computed
// after that. Each step is a separate point of the domain here, so the algorithm itself has this
// order.
struct InSteps : Folded {
    InSteps() : Folded(updates[6], false) {}
    void algorithm() override {
        k = RDom(0, 2, 0, size("c"));
        s(n) = Tuple(1_r, 1_r, 1_r);
        const std::vector<Expr> to = update.algorithm(s(n), x(k.y, n), math::real(k.y));
        const Expr first = k.x == 0;
        s(n) = Tuple(select(first, to[0], s(n)[0]), select(first, s(n)[1], to[1]),
                     select(first, s(n)[2], to[2]));
        p(n) = s(n)[0];
        q(n) = s(n)[1];
        r(n) = s(n)[2];
    }
};

TEST(Exact, FindsATupleUpdateThatReadsNewValues) {
    ASSERT_EQ(updates[6].name, std::string("quotient"));
    if (!library().find("folded_quotient")) make_known(updates[6], false);
    Options o;
    o.isas = {host_isa()};
    Instance i;
    i.dtypes = "exact";
    i.isa = host_isa();
    o.kernel = Kernel(std::make_unique<InSteps>(), i).load();
    const Report r = run_check(Folded(updates[6], false), "exact", check_exact, o);
    ASSERT_GE(r.failures.size(), 2u);
    EXPECT_THAT(r.failures, testing::Each(testing::HasSubstr(
                                " elements differ from the algorithm as written")));
}

}  // namespace
}  // namespace halyard::check
