// The schedule of ops that add to, or replace, elements at indices: gather_kernel_dx and
// scatter_kernel.
#pragma once
#include "dsl/op.h"

namespace halyard {

// Schedules the result [o,n,i] of `op`, which reads `updated`, a Func of (i, n, o) whose update
// runs over r and writes the element of n that an index selects. A task has a range of i to itself,
// so tasks never write the same elements. Returns the update.
inline Halide::Stage schedule_by_columns(const Cpu &cpu, const Op &op, Halide::Func updated,
                                         const Halide::RVar &r) {
    using Tail = Halide::TailStrategy;
    Halide::Func last = op.store();
    Halide::Var piece("piece"), column("ii"), lane("lane"), vec("vec"), task("task");
    last.split(op.var(0), piece, column, 4 * cpu.lanes, Tail::GuardWithIf)
        .reorder(column, op.var(1), piece, op.var(2))
        .fuse(piece, op.var(2), task)
        .parallel(task);
    last.split(column, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
    const Halide::Var i = updated.args()[0];
    updated.compute_at(last, task)
        .split(i, vec, lane, cpu.lanes, Tail::GuardWithIf)
        .vectorize(lane);
    return updated.update()
        .split(i, vec, lane, cpu.lanes, Tail::GuardWithIf)
        .reorder(lane, vec, r, updated.args()[2])
        .vectorize(lane);
}

}  // namespace halyard
