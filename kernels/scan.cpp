// Running sums and products along an axis.
//
// Blocks of 16 are scanned in vectors (4 steps of shifted copies: Hillis and Steele, "Data parallel algorithms", CACM 29, 1986), whose
// totals then run from block to block: the order depends on the length alone, not on the instruction set.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;

constexpr int block = 16, steps = 4, task_elements = 32768;

struct Scan : Op {
    const bool product;
    explicit Scan(bool is_product) : Op(is_product ? "cumprod" : "cumsum", "x[..n,c] -> y[..n,c]"), product(is_product) {
        doc = std::string("y = running ") + (product ? "product" : "sum") + " of x along axis; exclusive: without the element itself; reverse: from the end";
        alias = product ? "CumProd" : "CumSum";
        attr("axis", -1);
        attrs.back().at_call = true;
        axis = "c";
        dtypes.insert(dtypes.end(), {"i64", "i32"});
        samples = {"n=1 c=1",  "n=3 c=7 exclusive=1", "n=5 c=16", "n=7 c=17 reverse=1", "n=2 c=1000 exclusive=1 reverse=1", "n=33 c=31",
                   "n=2 c=15", "n=1 c=2053"};
        bench = {"n=4096 c=1024", "n=32 c=10", "n=1 c=4194304"};
        contract = {Contract::products, 4};
    }
    Func x = input("x"), y = output("y"), level[steps + 1], totals{"totals"};
    Expr exclusive = whole("exclusive"), reverse = whole("reverse");
    Var c{"c"}, n{"n"}, u{"u"}, b{"b"};
    RDom k;

    Expr whole(const char *name) {  // a flag that the kernel knows
        flag(name, false);
        return derived(name, name);
    }
    Expr start() const { return product ? 1_r : 0_r; }
    Expr combine(const Expr &a, const Expr &e) const { return product ? a * e : a + e; }

    void algorithm() override {
        const Expr last = size("c") - 1, at = b * block + u;
        const Expr place = select(reverse != 0, last - at, at) - select(exclusive == 0, 0, reverse != 0, -1, 1);  // exclusive: of the neighbour
        for (int l = 0; l <= steps; l++) level[l] = Func("step" + std::to_string(l));
        level[0](u, b, n) = select(place >= 0 && place <= last, x(clamp(place, 0, last), n), start());
        for (int l = 0; l < steps; l++) {
            const int by = 1 << l;
            level[l + 1](u, b, n) = select(u >= by, combine(level[l](max(u - by, 0), b, n), level[l](u, b, n)), level[l](u, b, n));
        }
        k = RDom(1, max(0, (size("c") + block - 1) / block - 1));
        totals(b, n) = start();
        totals(k, n) = combine(totals(k - 1, n), level[steps](block - 1, k - 1, n));
        const Expr scanned = select(reverse != 0, last - c, c);
        y(c, n) = combine(totals(scanned / block, n), level[steps](scanned % block, scanned / block, n));
    }
    void schedule(const Cpu &cpu) override {
        Func out_ = store();
        Var task("task"), row("row"), vec("vec"), lane("lane");
        out_.split(var(1), task, row, max(1, task_elements / max(1, size("c"))), Tail::GuardWithIf).parallel(task);
        out_.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
        const int v = std::min(cpu.lanes, block);
        totals.compute_at(out_, row);
        level[steps].compute_at(out_, row).bound_extent(u, block).vectorize(u, v);
        for (int l = 0; l < steps; l++) level[l].compute_at(level[steps], b).bound_extent(u, block).vectorize(u, v);
    }
    void reference(Problem &p) const override {
        Array &size = p.magnitude["y"] = Array(p("y").shape);
        const bool from_end = p["reverse"] != 0, without = p["exclusive"] != 0;
        for (int64_t i = 0; i < p["n"]; i++) {
            double run = product ? 1 : 0, terms = run, large = 1, small = 1;
            uint64_t wraps = product ? 1 : 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const int64_t at = from_end ? p["c"] - 1 - j : j;
                const double v = p("x")(i, at);
                auto put = [&] {
                    const bool in_range = !product || (large < 3e38 && small > 1e-37);
                    p("y")(i, at) = is_integer(p.dtype) ? p.dtype == DType::i32 ? (double)(int32_t)wraps : (double)(int64_t)wraps : run;
                    size(i, at) = in_range ? terms * (product ? (double)(j + 2) / 4 : 1 + (double)j / 256) : INFINITY;
                };
                if (without) put();
                run = product ? run * v : run + v;
                terms = product ? std::fabs(run) : terms + std::fabs(v);
                large *= std::fmax(std::fabs(v), 1), small *= std::fmin(std::fabs(v), 1);
                if (is_integer(p.dtype)) wraps = product ? wraps * (uint64_t)(int64_t)v : wraps + (uint64_t)(int64_t)v;
                if (!without) put();
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Scan>(false);
    ops.add<Scan>(true);
}

}  // namespace halyard
