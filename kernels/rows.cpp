#include "kernels/rows.h"

namespace halyard {

Rows::Rows(const std::string &name, const std::string &signature) : Op(name, signature) {
    attr("axis", -1);
    axis = "c";
    samples = {"n=1 c=1", "n=3 c=7", "n=5 c=64", "n=2 c=1000", "n=4 c=31", "n=4 c=33", "n=70 c=17"};
    bench = {"n=1024 c=1024", "n=4096 c=1024", "n=32 c=10"};
    flops = "4*n*c";
}

// One row at a time, kept in L1; `lanes` partial totals, then one pass over them.
void Rows::schedule(const Cpu &cpu) {
    Func y = store();
    const int v = cpu.lanes, rows = cpu.pick("rows", {8, 32});
    Var block("block"), row("row");
    y.split(var(1), block, row, rows, Tail::GuardWithIf).parallel(block).vectorize(var(0), v, Tail::GuardWithIf);
    const bool lanes_first = cpu.pick("rfactor", {1, 0});
    for (Func &f : totals) {
        f.compute_at(y, row);
        if (!lanes_first) f.update().atomic().vectorize(k, v, Tail::GuardWithIf);
        else {
            RVar ko, ki;
            Var u;
            Func part = f.update().split(k, ko, ki, v, Tail::GuardWithIf).rfactor(ki, u);
            part.compute_at(y, row).vectorize(u, v).update().vectorize(u, v);
        }
    }
    for (Func &f : per_row) f.compute_at(y, row);
    for (Func &f : row_stages) f.compute_at(y, row).vectorize(c, v, Tail::GuardWithIf);
    if (fused())  // computed once per row, then read by every stage
        for (Func &f : in) f.compute_at(y, row).vectorize(f.args()[0], v, Tail::GuardWithIf);
}

void Rows::schedule(const Gpu &) {
    Var ci{"ci"};
    store().gpu_tile(var(0), ci, 64, Tail::GuardWithIf);
    store().gpu_blocks(var(1));
    for (Func &f : totals) {
        f.compute_root().gpu_tile(n, ci, 8, Tail::GuardWithIf);
        f.update().gpu_tile(n, ci, 8, Tail::GuardWithIf);
    }
}

void Rows::schedule(const Ascend &npu) {  // a row per step: c <= UB / 4 bytes / stages
    const int C = npu.pick("row", {512, 1024, 4096});
    Func gm = npu.gm;
    Var x = gm.args()[0], row = gm.args()[1];
    for (auto m : npu.memory) {
        m.dim(0).set_bounds(0, C);
        if (m.dimensions() > 1) m.dim(1).set_min(0).set_stride(C);
    }
    gm.output_buffer().dim(0).set_bounds(0, C).dim(1).set_min(0).set_stride(C);
    gm.bound(x, 0, C).parallel(row).vectorize(x);
    npu.ub(store(), row, C);
    for (Func &f : row_stages) npu.ub(f, row, C);
    for (Func &f : terms) npu.ub(f, row, C);
    for (const Func &f : npu.inputs) npu.ub(f, row, C);
    for (Func &f : totals) f.compute_at(gm, row).store_in(Halide::MemoryType::VTCM);
}

}  // namespace halyard
