// Opening the peer modules (bench/peers) that were built.
#pragma once
#include <string>
#include <vector>

#include "bench/peers/peer.h"

namespace halyard::command {

// All peers for a task. The first call opens the modules; before, it sets what limits the libraries to `isa` ("" = no limit)
// and lets their threads sleep between calls, unless the environment says otherwise. It prints what it set.
std::vector<Peer> peers_for(const PeerTask &task, const std::string &isa);

}  // namespace halyard::command
