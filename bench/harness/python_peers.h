// Peers in Python: frameworks that bench/peers/driver.py calls, each in its own process, in the
// same rounds and on the same tensors.
#pragma once
#include "bench/harness/benchmark_case.h"
#include "bench/peers/peer.h"

namespace halyard::bench {

struct PythonPeers {
    std::vector<std::string> frameworks;  // "pytorch", "onnxruntime", "mindspore"
    std::string python = "python3";       // an interpreter that has them
};

// Returns a case for each framework that can do the task. Appends the reason to `rejected` for
// those that can't. Prints once which ones aren't installed. Calls cycle through `copies` copies of
// the tensors. `isa` limits the frameworks; "" does not.
std::vector<BenchmarkCase> python_peer_cases(const PythonPeers &peers, const PeerTask &task,
                                             size_t copies, const std::string &isa,
                                             std::vector<std::string> &rejected);

}  // namespace halyard::bench
