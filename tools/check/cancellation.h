// Cancellation: a bound relative to the result can't be met if much larger terms cancel in it.
#pragma once
#include "bench/harness/case.h"

namespace halyard::check {

// Returns a hint for the failure of this output, on a line of its own, if every error is within
// what one rounding of each input does to the result. Then not the kernel is wrong, but the
// quantity that its errors are measured against. Returns "" otherwise.
std::string cancellation(const Op &op, const std::string &output, const Tensor &got,
                         const Problem &expected);

// As compare(), for inputs of any magnitudes. A formula of several numbers is badly conditioned
// somewhere, so each element may also have the error that a few roundings of each input make.
// Returns "" if the tensors are too large for finding that.
std::string compare_conditioned(const Op &op, const std::string &output, const Tensor &got,
                                const Problem &expected);

// Returns true if the op sums over a dimension that no output has, as products and convolutions do.
// Their kernels may add up numbers that cancel again (Winograd), so their errors are relative to
// the largest input, and an element of small ones isn't exact.
bool is_contraction(const Op &op);

}  // namespace halyard::check
