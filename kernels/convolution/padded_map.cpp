#include "kernels/convolution/padded_map.h"

#include "dsl/real.h"

namespace halyard {
using namespace Halide;

PaddedMap::PaddedMap(const std::string &name, const Func &map, const Margin &across,
                     const Margin &down, const Expr &around)
    : f(name), pixel(0, across.extent, 0, down.extent) {
    Var x("x"), y("y"), k("k"), n("n");
    f(x, y, k, n) = around.defined() ? around : 0_r;
    f(pixel.x * across.step + across.before, pixel.y * down.step + down.before, k,
      n) = map(pixel.x, pixel.y, k, n);
}

PaddedMap PaddedMap::masked(const std::string &name, const Func &map, const Margin &across,
                            const Margin &down) {
    PaddedMap m;
    m.f = Func(name);
    m.by_rows = true;
    Var x("x"), y("y"), k("k"), n("n");
    const Expr from_x = x - across.before;
    const Expr from_y = y - down.before;
    // Masks are numbers, because an AND of a vector and a scalar in memory is one instruction.
    m.columns = Func("columns");
    m.lines = Func("lines");
    m.columns(x) = select(from_x >= 0 && from_x < across.extent, -1, 0);
    m.lines(y) = select(from_y >= 0 && from_y < down.extent, -1, 0);
    const Expr inside = (m.columns(x) & m.lines(y)) != 0;
    // TailStrategy::PredicateLoads makes the same of a load. The promise is for the bounds of
    // `map`, and is kept wherever the mask is set.
    const Expr value = map(unsafe_promise_clamped(from_x, 0, across.extent - 1),
                           unsafe_promise_clamped(from_y, 0, down.extent - 1), k, n);
    m.f(x, y, k, n) = select(inside,
                             Internal::Call::make(value.type(), Internal::Call::if_then_else,
                                                  {inside, value}, Internal::Call::PureIntrinsic),
                             0_r);
    return m;
}

void PaddedMap::compute_masks(int lanes) const {
    for (Func mask : {columns, lines})
        mask.compute_root().vectorize(mask.args()[0], lanes, TailStrategy::RoundUp);
}

void PaddedMap::compute_at(const Func &at, const VarOrRVar &v, int lanes, const Var *hoist) const {
    Func padded = f;
    if (v.is_rvar)
        padded.compute_at(at, v.rvar);
    else
        padded.compute_at(at, v.var);
    if (hoist) padded.hoist_storage(at, *hoist);
    padded.vectorize(padded.args()[0], lanes, TailStrategy::RoundUp);
    if (by_rows)
        compute_masks(lanes);
    else
        padded.update().vectorize(RVar(pixel.x), lanes, TailStrategy::GuardWithIf);
}

}  // namespace halyard
