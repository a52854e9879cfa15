#include "bench/harness/peers.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "registry/base/program.h"

namespace halyard::bench {
namespace {
namespace fs = std::filesystem;

void set_environment(const std::string &isa) {
    std::printf("peers run with");
    for (auto &[name, value] : peer_environment(isa)) {
        setenv(name.c_str(), value.c_str(), 0);
        std::printf(" %s=%s", name.c_str(), std::getenv(name.c_str()));
    }
    std::printf("\n");
}

std::vector<PeersOf> open_modules(const std::string &isa) {
    std::vector<PeersOf> found;
    const fs::path lib = installed("lib");
    for (const char *name : {"openblas", "onednn", "memory"}) {
        const fs::path module = lib / (std::string("libhalyard_peer_") + name + ".so");
        if (!fs::exists(module)) continue;
        if (found.empty()) set_environment(isa);
        void *handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
        const auto peers = handle ? reinterpret_cast<PeersOf>(dlsym(handle, peers_symbol))
                                  : nullptr;
        if (peers)
            found.push_back(peers);
        else
            std::fprintf(stderr, "peer %s can't be opened: %s\n", name, dlerror());
    }
    return found;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> peer_environment(const std::string &isa) {
    // A worker thread that spins after its call has returned takes a core from the next case
    // (docs/performance.md).
    std::vector<std::pair<std::string, std::string>> all = {{"OPENBLAS_THREAD_TIMEOUT", "4"},
                                                            {"OMP_WAIT_POLICY", "passive"}};
    if (isa == "avx512") {
        all.insert(all.end(),
                   {{"OPENBLAS_CORETYPE", "SkylakeX"}, {"ONEDNN_MAX_CPU_ISA", "AVX512_CORE"}});
    }
    if (isa == "avx2")
        all.insert(all.end(), {{"OPENBLAS_CORETYPE", "Haswell"}, {"ONEDNN_MAX_CPU_ISA", "AVX2"}});
    if (isa == "baseline")
        all.insert(all.end(), {{"OPENBLAS_CORETYPE", "Nehalem"}, {"ONEDNN_MAX_CPU_ISA", "SSE41"}});
    return all;
}

std::vector<Peer> peers_for(const PeerTask &task, const std::string &isa) {
    static const std::vector<PeersOf> modules = open_modules(isa);
    std::vector<Peer> peers;
    for (PeersOf m : modules)
        m(task, peers);
    return peers;
}

}  // namespace halyard::bench
