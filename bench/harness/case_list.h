// Makes the benchmark cases of a problem: its kernels or its whole call, and the peers.
#pragma once
#include "bench/harness/benchmark_case.h"

namespace halyard::bench {

// Returns the kernels that accept the problem's tensors, best first, then the peers, for each
// number of threads; with the first number also the kernel of Selection::device. Each case has run
// once and its accuracy is known. Appends a line to `rejected` for each kernel that doesn't accept
// the problem. Throws DeviceError if there is no such device.
std::deque<BenchmarkCase> kernel_cases(const ProblemInstance &t, const std::string &dtypes,
                                       const Selection &s, const Expected &expected,
                                       const std::vector<Tensor> &like,
                                       std::vector<std::string> &rejected);

// Returns the op called whole, as a program calls it: planned, with new outputs, composed where it
// has no kernel. The case is labelled "call". Peers follow, for each number of threads.
std::deque<BenchmarkCase> call_cases(const ProblemInstance &t, const Selection &s,
                                     const Expected &expected, const std::vector<Tensor> &like,
                                     std::vector<std::string> &rejected);

}  // namespace halyard::bench
