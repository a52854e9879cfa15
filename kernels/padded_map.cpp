#include "kernels/padded_map.h"

#include "dsl/real.h"

namespace halyard {
using namespace Halide;

PaddedMap::PaddedMap(const std::string &name, const Func &map, const Margin &across, const Margin &down, const Expr &around)
    : f(name), pixel(0, across.extent, 0, down.extent) {
    Var x("x"), y("y"), k("k"), n("n");
    f(x, y, k, n) = around.defined() ? around : 0_r;
    f(pixel.x * across.step + across.before, pixel.y * down.step + down.before, k, n) = map(pixel.x, pixel.y, k, n);
}

void PaddedMap::compute_at(const Func &at, const VarOrRVar &v, int lanes, const Var *hoist) const {
    Func padded = f;
    if (v.is_rvar) padded.compute_at(at, v.rvar);
    else padded.compute_at(at, v.var);
    if (hoist) padded.hoist_storage(at, *hoist);
    padded.vectorize(padded.args()[0], lanes, TailStrategy::RoundUp);
    padded.update().vectorize(RVar(pixel.x), lanes, TailStrategy::GuardWithIf);
}

}  // namespace halyard
