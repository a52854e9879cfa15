// Peers in Python: frameworks that bench/peers/driver.py calls, each in a process of its own, in
// our rounds and on our tensors.
#pragma once
#include "bench/harness/benchmark_case.h"
#include "bench/peers/peer.h"

namespace halyard::bench {

struct PythonPeers {
    std::vector<std::string> frameworks;  // "pytorch", "onnxruntime", "mindspore"
    std::string python = "python3";       // an interpreter that has them
};

// One subject for each framework that can do the task. Those that can't say why in `refused`; one
// that isn't installed does so on standard output, once. `copies`: calls go round so many copies of
// the tensors. `isa`: "" = no limit.
std::vector<BenchmarkCase> python_peer_cases(const PythonPeers &peers, const PeerTask &task,
                                             size_t copies, const std::string &isa,
                                             std::vector<std::string> &refused);

}  // namespace halyard::bench
