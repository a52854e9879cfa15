#include "registry/base/host_threads.h"

#include <memory>
#include <mutex>
#include <vector>

#include "registry/base/parallel.h"

namespace halyard {
namespace {

const Arena alone;
std::atomic<const Arena *> current = &alone;

// All arenas that there were. None is destroyed: a loop of another thread may run in it.
struct Arenas {
    std::mutex mutex;
    std::vector<std::unique_ptr<const Arena>> all;

    const Arena *with(HostLoop loop, void *host, int threads) {
        const std::lock_guard lock(mutex);
        for (const auto &a : all)
            if (a->run == loop && a->host == host && a->threads == threads) return a.get();
        all.push_back(std::unique_ptr<const Arena>(new Arena{threads, loop, host}));
        return all.back().get();
    }
};

Arenas &arenas() {
    static Arenas &a = *new Arenas;
    return a;
}

}  // namespace

void set_host_loop(HostLoop loop, void *host, int threads) {
    current = loop && threads > 1 ? arenas().with(loop, host, threads) : &alone;
}

const Arena &current_arena() {
    return *current.load(std::memory_order_acquire);
}

int threads() {
    return current_arena().threads;
}

void parallel_for(int64_t begin, int64_t end, const std::function<void(int64_t)> &body) {
    const Arena &arena = current_arena();
    if (end - begin > 1 && arena.threads > 1) return arena.loop(begin, end, body);
    for (int64_t i = begin; i < end; i++)
        body(i);
}

}  // namespace halyard
