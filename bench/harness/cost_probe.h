// Cost probe: measures the parts of a call on this machine. The parts are each kernel that accepts
// it, the copies that its strides require, and the casts that its dtype requires if the op has no
// kernels for it.
#pragma once
#include <span>

#include "registry/dispatch/explain.h"

namespace halyard::bench {

// The casts that a caller needs for a call in a dtype that the op has no kernels for.
struct CastPlan {
    // the dtype asked for, the one used, those there are: "f16", "f32", "f32 f64"
    std::string key, instead, there;
    DType from = DType::f16;
    DType to = DType::f32;
    std::vector<size_t> inputs, outputs;  // positions of the tensors that are cast
};

// Returns the plan with the narrowest set of dtypes that holds every value of `dtype`. Throws
// DTypeError if the op has no such set.
CastPlan cast_for(const RegisteredOp &op, DType dtype);

struct CallCosts {
    // seconds of each candidate's kernel alone; 0 if it was rejected
    std::vector<double> candidates;
    std::vector<double> copies;   // seconds of each copy of the explanation
    double casts = 0;             // seconds of all casts
    double kernel = 0, call = 0;  // seconds of the dispatched kernel; of the whole call
    double best = 0;              // seconds of the fastest candidate
    double loss() const { return call / best; }
};

// Measures every part in interleaved rounds and keeps its least time; each part takes about 30 ms.
// `in` are the caller's tensors, before `cast`. Throws DispatchError if no kernel accepts the call.
CallCosts measure_costs(const Explanation &e, std::span<const Tensor> in, const Attrs &attrs,
                        const CastPlan *cast);

}  // namespace halyard::bench
