// Price: what the parts of a call cost, measured here and now: each kernel that takes it, the
// copies that its strides need, and the casts that its dtype needs where the op has no kernels for
// it.
#pragma once
#include <span>

#include "registry/dispatch/explain.h"

namespace halyard::bench {

// A call in a dtype that the op has no kernels for, as its caller would have to make it.
struct CastPlan {
    std::string key, instead, there;  // "f16", "f32", "f32 f64"
    DType from = DType::f16;
    DType to = DType::f32;
    std::vector<size_t> inputs, outputs;  // what is cast, there and back
};

// The call in the narrowest set of dtypes that holds every value of `dtype`. Throws DTypeError
// where the op has no such set.
CastPlan cast_for(const RegisteredOp &op, DType dtype);

struct CallCosts {
    std::vector<double> candidates;  // seconds of each candidate's kernel alone; 0 = it doesn't fit
    std::vector<double> copies;      // of each of the explanation's copies
    double casts = 0;                // of all, there and back
    double kernel = 0, call = 0;     // of the chosen kernel; of all that the call takes
    double best = 0;                 // of the fastest candidate
    double loss() const { return call / best; }
};

// In interleaved rounds, the least time of each; about 30 ms for each thing that is timed. `in`: as
// the caller has them, before `cast`. Throws DispatchError where no kernel fits.
CallCosts measure_costs(const Explanation &e, std::span<const Tensor> in, const Attrs &attrs,
                        const CastPlan *cast);

}  // namespace halyard::bench
