// Elements written to positions that a tensor gives. One kernel applies the updates in their order,
// so the bits don't depend on the number of threads. The ops are composed of it
// (primitives/composites/indexing/scatter.cpp).
#include <cmath>

#include "dsl/op.h"
#include "dsl/reference_product.h"
#include "kernels/indexing/indexed_updates.h"

namespace halyard {
namespace {

using Halide::Expr;

// How an update is combined with the element, in the order of the attribute's choices.
constexpr const char *reductions[] = {"none", "add", "max", "min", "mul"};
enum ReductionChoice : int { replace_element, add_update, take_max, take_min, multiply };

// Returns the element after an update that isn't a factor. NaN is beyond all numbers.
double combined(int64_t reduction, double old, double update) {
    switch (reduction) {
    case replace_element: return update;
    case add_update: return old + update;
    default: break;
    }
    if (std::isnan(old) || std::isnan(update)) return NAN;
    return reduction == take_max ? std::fmax(old, update) : std::fmin(old, update);
}

// y = x; then y[o,index[m],i] is combined with updates[o,m,i], for m = 0, 1, ... An update whose
// index is outside [0, n) is ignored.
struct Scatter : Op {
    Scatter() : Op("scatter_kernel", "x[o,n,i] index:i32[m] updates[o,m,i] -> y[o,n,i]") {
        internal = true;
        choice("reduction", {std::begin(reductions), std::end(reductions)}, "ScatterReduction");
        let("index_end", "n + 1");
        let("index_least", "-1");
        dtypes.insert(dtypes.end(), {"i64", "i32"});
        add({"columns", Dim("i") == 1, {.schedule = [this](const Cpu &cpu) {
                 schedule_columns(cpu);
             }}});
        add({"", DimExpr::always()});
        samples = {"o=1 n=1 m=1 i=1",
                   "o=2 n=3 m=5 i=7 reduction=add",
                   "o=3 n=17 m=31 i=1 reduction=max",
                   "o=1 n=5 m=9 i=65 reduction=min",
                   "o=5 n=7 m=3 i=129 reduction=mul",
                   "o=2 n=7 m=4 i=33",
                   "o=1 n=1000 m=4009 i=1 reduction=add",
                   "o=1 n=5 m=0 i=3"};
        bench = {"o=1 n=1000000 m=1000000 i=1 reduction=add",
                 "o=1 n=30522 m=4096 i=768 reduction=add"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), index = input("index"), updates = input("updates");
    Func y = output("y");
    Func result{"result"};
    Expr reduction = derived("mode", "reduction");
    Var i{"i"}, k{"k"}, o{"o"};
    RDom r;

    void algorithm() override {
        r = RDom(0, size("m"));
        const Expr at = index(r);
        const Expr place = clamp(at, 0, size("n") - 1);
        const Expr update = updates(i, r, o);
        r.where(at >= 0 && at < size("n"));
        result(i, k, o) = x(i, k, o);
        const Expr old = result(i, place, o);
        result(i, place, o) = select(reduction == int(replace_element), update,
                                     reduction == int(add_update), old + update,
                                     reduction == int(take_max), max(old, update),
                                     reduction == int(take_min), min(old, update), old * update);
        y(i, k, o) = result(i, k, o);
    }
    void schedule(const Cpu &cpu) override {
        Halide::Stage updating = schedule_by_columns(cpu, *this, result, r);
        for (int usual : {replace_element, add_update})
            updating.specialize(reduction == usual);
    }
    // For i = 1: a task is one o.
    void schedule_columns(const Cpu &cpu) {
        Func last = store();
        Var lane("lane"), vec("vec"), task("task");
        last.reorder(var(1), var(0), var(2))
            .fuse(var(0), var(2), task)
            .parallel(task)
            .split(var(1), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane);
        result.compute_at(last, task)
            .reorder_storage(k, i, o)
            .reorder(k, i, o)
            .split(k, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane);
        for (int usual : {replace_element, add_update})
            result.update().specialize(reduction == usual);
        last.specialize(last.output_buffer().dim(1).stride() == 1 &&
                        memory[0].dim(1).stride() == 1);
    }
    void reference(Problem &p) const override {
        p("y") = p("x");
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        std::vector<ReferenceProduct> products(p("y").v.size(), ReferenceProduct(p.dtype));
        std::vector<double> terms(p("y").v.size());
        for (size_t e = 0; e < abs_sum.v.size(); e++) {
            abs_sum.v[e] = std::fabs(p("x").v[e]);
            products[e].multiply(p("x").v[e]);
        }
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t b = 0; b < p["m"]; b++) {
                const auto at = int64_t(p("index")(b));
                if (at < 0 || at >= p["n"]) continue;
                for (int64_t c = 0; c < p["i"]; c++) {
                    const auto e = size_t((a * p["n"] + at) * p["i"] + c);
                    apply(p["reduction"], p("updates")(a, b, c), p("y").v[e], abs_sum.v[e],
                          products[e]);
                    terms[e]++;
                }
            }
        }
        // Every 16 terms add a rounding error.
        for (size_t e = 0; e < abs_sum.v.size(); e++)
            abs_sum.v[e] *= std::fmax(1, terms[e] / 16);
    }

private:
    // Applies an update to an element, and to the sum of its terms' absolute values, which is
    // infinite if a product may leave the range of f32.
    static void apply(int64_t reduction, double update, double &element, double &abs_sum,
                      ReferenceProduct &product) {
        if (reduction == multiply) {
            product.multiply(update);
            element = product.value();
            abs_sum = product.stays_in_range() ? std::fabs(element) : INFINITY;
            return;
        }
        element = combined(reduction, element, update);
        abs_sum = reduction == add_update ? abs_sum + std::fabs(update) : std::fabs(element);
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Scatter>();
}

}  // namespace halyard
