// Peers: other libraries on the same problem and the same tensors. Each is a module that `halyard
// bench` opens if it was built; nothing links it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/op/signature.h"
#include "registry/tensor/tensor.h"

namespace halyard {

struct PeerTask {
    const RegisteredOp &op;
    const Attrs &attrs;
    const Dims &dims;                // of the problem, with attributes and lets
    const std::vector<Tensor> &in;   // dense
    const std::vector<Tensor> &out;  // dense, of the op's dtypes and shapes
    int threads;
};

struct Peer {
    std::string name;  // "OpenBLAS 0.3.21"
    // Fills `out`, unless `computes` is false. Keeps handles of the tensors but nothing else of the
    // task.
    std::function<void()> run;
    bool computes = true;  // false: it only moves the same number of bytes
};

// Every module defines this function, as `extern "C"`. It appends nothing for an op, a dtype or an
// attribute that it doesn't support. `isa` limited the library through its environment before the
// module was opened.
using PeersOf = void (*)(const PeerTask &task, std::vector<Peer> &peers);
inline constexpr const char *peers_symbol = "halyard_peers";

}  // namespace halyard
