// Opening the peer modules (bench/peers) that were built.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "bench/peers/peer.h"

namespace halyard::bench {

// What limits libraries to `isa` ("" = no limit) and lets their threads sleep between calls.
std::vector<std::pair<std::string, std::string>> peer_environment(const std::string &isa);

// All peers for a task. The first call opens the modules; before, it sets that, unless the
// environment says otherwise, and prints it.
std::vector<Peer> peers_for(const PeerTask &task, const std::string &isa);

}  // namespace halyard::bench
