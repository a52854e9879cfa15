// Opens the peer modules (bench/peers) that were built.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "bench/peers/peer.h"

namespace halyard::bench {

// Returns environment variables that limit libraries to `isa` ("" is no limit) and let their
// threads sleep between calls.
std::vector<std::pair<std::string, std::string>> peer_environment(const std::string &isa);

// Returns all peers for a task. The first call sets peer_environment(isa), except for variables
// that are set already, prints it, and opens the modules.
std::vector<Peer> peers_for(const PeerTask &task, const std::string &isa);

}  // namespace halyard::bench
