// The call that a program is made for, from a plan.
#pragma once
#include "dsl/fixed_call.h"
#include "registry/dispatch/plan.h"

namespace halyard {

inline FixedCall::Layout layout_of(const Plan::Buffer &b) {
    FixedCall::Layout l;
    for (int d = 0; d < b.rank; d++)
        l.push_back({b.dims[d].extent, b.dims[d].stride});
    return l;
}

// Returns the layouts, integer scalars and dimensions of the plan's call.
inline FixedCall fixed_call_of(const Plan &p) {
    FixedCall c;
    for (auto &b : p.inputs)
        c.inputs.push_back(layout_of(b));
    for (auto &b : p.outputs)
        c.outputs.push_back(layout_of(b));
    for (auto &s : p.scalars)
        c.integers.push_back(s.i);
    c.dims = p.dims;
    return c;
}

}  // namespace halyard
