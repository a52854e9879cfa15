// Roofline: the least time of a problem on this machine, from the work counted in the op's
// definitions and the measured roofs.
#pragma once
#include "bench/harness/problem_instance.h"
#include "bench/roofs/roofs.h"
#include "dsl/work.h"

namespace halyard::bench {

// Returns this machine's roofs from the cache. Measures them, with a note on standard error, if
// there are none or if `remeasure`.
const roofs::Roofs &machine_roofs(bool remeasure = false);

class Roofline {
public:
    // `outputs` are those of the problem's call. `cold` means that its tensors come from memory.
    Roofline(const ProblemInstance &t, const std::vector<Tensor> &outputs, bool cold = false);

    // Operations of the op as its last variant states it; 0 if they can't be counted.
    double operations() const { return operations_; }
    // The fewest operations of all variants that accept the problem: Winograd has fewer.
    double least_operations() const { return least_; }
    // Bytes of the elements that are accessed at least once.
    double bytes() const { return read_ + written_; }

    // Returns the time bound: the least operations at the peak of an ISA, or the bytes at the
    // bandwidth of the memory level that holds all tensors, whichever is longer.
    roofs::Bound bound(Isa isa, int threads) const;

private:
    double operations_ = 0, least_ = 0, read_ = 0, written_ = 0;
    int64_t held_ = 0;  // bytes of the tensors as stored
    DType arithmetic_ = DType::f32;
    bool cold_;
};

}  // namespace halyard::bench
