// panel_product: c = a b for a b that is stored in panels of q columns, so that no call has to pack
// it. Graph mode packs the weights of dense layers once (graph/pack_weights.h) and calls this
// kernel. The sums have the bits of matmul's: blocks of the same size in the same order.
#include <cmath>

#include "kernels/contraction/parallel_products.h"
#include "kernels/contraction/product.h"

namespace halyard {
namespace {

using Tail = Halide::TailStrategy;

// Column p * q + j of the matrix b is column j of panel p, so c[m,p,q] is c[m,p*q].
struct PanelProduct : Op {
    PanelProduct() : Op("panel_product", "a[m,k] b[p,k,q] -> c[m,p,q]") {
        internal = true;
        doc = "c = a b, with b in panels of q columns";
        contract = {Contract::products, 16};
        add({"tiles",
             Dim("m") >= tile_rows && Dim("q") >= tile_vectors * lanes,
             {.schedule = [this](const Cpu &cpu) {
                 if (fused()) return schedule(cpu);
                 schedule_tiles(cpu);
             }}});
        add({"any", DimExpr::always()});
        samples = {"m=1 k=1 p=1 q=1",    "m=3 k=5 p=2 q=7",    "m=4 k=17 p=3 q=64",
                   "m=9 k=300 p=2 q=16", "m=13 k=31 p=1 q=67", "m=95 k=530 p=3 q=64",
                   "m=5 k=33 p=5 q=63",  "m=6 k=32 p=1 q=65",  "m=37 k=263 p=2 q=48"};
        bench = {"m=128 k=768 p=48 q=64", "m=128 k=3072 p=12 q=64", "m=16 k=768 p=16 q=48"};
    }
    static inline const Tunable tile_rows{"rows"}, tile_vectors{"cols"};
    Func a = input("a"), b = input("b");
    Func c = output("c");
    Func sum{"sum"};  // (j, i, p): column of the panel, row, panel
    Var j{"j"}, i{"i"}, p{"p"}, u{"u"};
    RDom k;
    RVar ko{"ko"}, ki{"ki"};  // block of k, element of a block

    void algorithm() override {
        k = RDom(0, size("k"), "k");
        sum(j, i, p) += a(k, i) * b(j, k, p);
        c(j, p, i) = sum(j, i, p);
    }

    // A tile of rows and columns of a panel stays in registers. The tiles of a strip of rows read
    // the same panel.
    void schedule_tiles(const Cpu &cpu) {
        const int v = cpu.lanes;
        const bool wide = cpu.has_32_registers();
        const int columns = v * cpu.pick(tile_vectors, {wide ? 4 : 3});
        const int rows = cpu.pick(tile_rows, {4});
        Func out = store();
        Var jo, ji, io, ii, strip;
        Func block_sum = sum_in_blocks(cpu, sum, k, ko, ki, u);
        out.split(var(0), jo, ji, columns, Tail::ShiftInwards)
            .split(var(2), io, ii, rows, Tail::ShiftInwards);
        out.split(io, strip, io, cpu.pick("strip", {22, 43, 11}), Tail::GuardWithIf)
            .reorder(ji, ii, io, jo, strip, var(1))
            .vectorize(ji, v)
            .unroll(ji)
            .unroll(ii);
        for (Func f : {sum, block_sum}) {
            f.bound_extent(j, columns).bound_extent(i, rows).vectorize(j, v).unroll(j).unroll(i);
            f.update().vectorize(j, v).unroll(j).unroll(i);
        }
        sum.compute_at(out, io).update().reorder(j, i, ko);
        block_sum.compute_at(sum, ko).reorder_storage(j, i, p, u).update().reorder(j, i, ki);
        const Expr in_parallel = is_worth_threads() &&
                                 may_share_tiles(*this, cpu, "m", rows, "q", columns);
        out.specialize(in_parallel).parallel(var(1)).parallel(strip);
    }

    // Takes every shape. Tiles at the edges have masked vectors.
    void schedule(const Cpu &cpu) override {
        const int v = cpu.lanes;
        Func out = store();
        Var jo, ji;
        Func block_sum = sum_in_blocks(cpu, sum, k, ko, ki, u);
        out.split(var(0), jo, ji, v, Tail::GuardWithIf)
            .reorder(ji, jo, var(1), var(2))
            .vectorize(ji, v, Tail::Predicate);
        sum.compute_at(out, jo).vectorize(j, v, Tail::RoundUp);
        sum.update().reorder(j, i, ko).vectorize(j, v, Tail::Predicate);
        block_sum.compute_at(sum, ko).reorder_storage(j, i, p, u).vectorize(j, v, Tail::RoundUp);
        block_sum.update().reorder(j, i, ki).vectorize(j, v, Tail::Predicate);
        out.specialize(is_worth_threads()).parallel(var(2));
    }

    Expr is_worth_threads() const { return has_many_products(*this, {"m", "k", "p", "q"}); }

    void reference(Problem &problem) const override {
        const Array &x = problem("a"), &panels = problem("b");
        const int64_t rows = problem["m"], inner = problem["k"];
        const int64_t panel_count = problem["p"], columns = problem["q"];
        Array sums({rows, panel_count, columns}), abs_sums = sums;
        for (int64_t r = 0; r < rows; r++) {
            for (int64_t s = 0; s < panel_count; s++) {
                for (int64_t q = 0; q < columns; q++) {
                    for (int64_t t = 0; t < inner; t++) {
                        const double product = x(r, t) * panels(s, t, q);
                        sums(r, s, q) += product;
                        if (std::isfinite(product)) abs_sums(r, s, q) += std::fabs(product);
                    }
                }
            }
        }
        problem.tensors["c"] = sums;
        problem.abs_sum["c"] = abs_sums;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<PanelProduct>();
}

}  // namespace halyard
