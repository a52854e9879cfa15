// new_op: a sum of products, computed in register tiles. The example is c = a b, batched. Its
// gradients would be ops named new_op_da and new_op_db.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

struct NewOp : Op {
    NewOp() : Op("new_op", "a[..g,m,k] b[..g,k,n] -> c[..g,m,n]") {
        doc = "c = a b of the last two dimensions; the leading ones broadcast";
        // Dispatch takes the first variant whose condition holds; the last one takes every shape
        // and stride. stride(b) is that of b along n, its innermost dimension.
        const Dim m("m"), n("n");
        add({"direct",
             stride(b) == 1 && m >= 4 && n >= 2 * lanes,
             {.schedule = [this](const Cpu &cpu) { schedule_direct(cpu); }}});
        add({"any", DimExpr::always(), {.schedule = [this](const Cpu &cpu) {
                 schedule_any(cpu);
             }}});
        any_strides = true;
        contract = {Contract::products, 16};
        samples = {"g=1 m=1 k=1 n=1", "g=1 m=3 k=5 n=7", "g=3 m=37 k=37 n=37",
                   "g=1 m=200 k=19 n=97"};
        bench = {"g=1 m=512 k=512 n=512"};
    }
    Func a = input("a"), b = input("b");
    Func c = output("c");
    Func sum{"sum"};
    Var j{"j"}, i{"i"}, g{"g"}, jo, io, ji, ii;
    RDom k;

    // Algorithms are written over the reals, without a dtype. Indices are innermost first.
    void algorithm() override {
        k = RDom(0, size("k"), "k");
        sum(j, i, g) += a(k, i, g) * b(j, k, g);
        c(j, i, g) = sum(j, i, g);
    }
    // A ragged last tile of a row or column overlaps its neighbour.
    void schedule_direct(const Cpu &cpu) {
        memory[1].dim(0).set_stride(1);
        schedule_tiles(cpu, 2 * cpu.lanes, Tail::ShiftInwards, Tail::RoundUp);
    }
    // A ragged last tile is guarded.
    void schedule_any(const Cpu &cpu) {
        schedule_tiles(cpu, cpu.lanes, Tail::GuardWithIf, Tail::Predicate);
    }
    void schedule_tiles(const Cpu &cpu, int columns, Tail tile_tail, Tail vector_tail) {
        const int rows = cpu.pick("rows", {4, 8, 2});
        store()
            .tile(var(0), var(1), jo, io, ji, ii, columns, rows, tile_tail)
            .vectorize(ji, cpu.lanes, vector_tail)
            .parallel(io);
        sum.compute_at(store(), jo).vectorize(j, cpu.lanes, Tail::RoundUp);
        sum.update()
            .reorder(j, i, k)
            .vectorize(j, cpu.lanes, vector_tail)
            .unroll(i, rows, Tail::GuardWithIf);
    }
    // The reference is the naive formula in double. The contract measures errors against the sum of
    // the products' absolute values, which it therefore supplies too.
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["c"] = Array(p("c").shape);
        for (int64_t q = 0; q < p["g"]; q++) {
            for (int64_t r = 0; r < p["m"]; r++) {
                for (int64_t t = 0; t < p["k"]; t++) {
                    for (int64_t s = 0; s < p["n"]; s++) {
                        const double product = p("a")(q, r, t) * p("b")(q, t, s);
                        p("c")(q, r, s) += product;
                        if (std::isfinite(product)) abs_sum(q, r, s) += std::fabs(product);
                    }
                }
            }
        }
    }
};

}  // namespace
HALYARD_OPS {
    ops.add<NewOp>();
}
}  // namespace halyard
