#include "registry/base/host_threads.h"

#include "registry/base/parallel.h"

namespace halyard {
namespace {

const Arena alone;
std::atomic<const Arena *> current = &alone;

}  // namespace

// The former arena is not destroyed: a loop of another thread may run in it.
void set_host_loop(HostLoop loop, void *host, int threads) {
    current = loop && threads > 1 ? new Arena{threads, loop, host} : &alone;
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
