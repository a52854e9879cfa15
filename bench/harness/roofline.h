// Roofline: what a problem costs at least on this machine, from the work counted in the op's
// definitions and the measured roofs.
#pragma once
#include "bench/harness/problem_instance.h"
#include "bench/roofs/roofs.h"
#include "dsl/work.h"

namespace halyard::bench {

// Those of this machine, from the cache; measured now, with a note on standard error, when there
// are none or `remeasure`.
const roofs::Roofs &machine_roofs(bool remeasure = false);

class Roofline {
public:
    // `outputs`: of the trial's call. `cold`: its tensors come from memory.
    Roofline(const ProblemInstance &t, const std::vector<Tensor> &outputs, bool cold = false);

    // of the op as its last variant states it; 0 where they can't be counted
    double operations() const { return operations_; }
    // of any variant that takes the problem: Winograd has fewer
    double least_operations() const { return least_; }
    // of the elements that are touched at least once
    double bytes() const { return read_ + written_; }

    // The least time of the least operations on an ISA, and of the bytes in the level that holds
    // all of the call's tensors.
    roofs::Bound bound(Isa isa, int threads) const;

private:
    double operations_ = 0, least_ = 0, read_ = 0, written_ = 0;
    int64_t held_ = 0;  // bytes of the tensors as they lie
    DType arithmetic_ = DType::f32;
    bool cold_;
};

}  // namespace halyard::bench
