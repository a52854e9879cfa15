// The arena of registry/base/parallel.h, for run-time code that starts loops itself.
#pragma once
#ifdef HALYARD_HOST_THREADS
#include "registry/base/host_threads.h"
#else
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace halyard {

struct Arena {
    explicit Arena(int n) : threads(n), arena(n) {}
    // Calls body(i) for each i in [begin, end) on the arena's threads. Returns when all are done.
    template<class F> void loop(int64_t begin, int64_t end, const F &body) const {
#ifdef __SANITIZE_THREAD__
        // ThreadSanitizer would report oneTBB's own synchronisation as races, since oneTBB isn't
        // built for it, so loops run on plain threads. Each thread's indices are fixed beforehand:
        // a shared counter would synchronise iterations and hide races between them.
        std::exception_ptr first;
        std::atomic<bool> failed{false};
        auto work = [&](int64_t from) {
            for (int64_t i = from; i < end; i += threads) {
                try {
                    body(i);
                } catch (...) {
                    if (!failed.exchange(true)) first = std::current_exception();
                }
            }
        };
        std::vector<std::thread> others;
        for (int64_t t = 1; t < threads && t < end - begin; t++)
            others.emplace_back(work, begin + t);
        work(begin);
        for (auto &t : others)
            t.join();
        if (first) std::rethrow_exception(first);
#else
        // Outermost loops are distributed over threads as the previous one was, unless a thread is
        // late, so that a kernel finds the previous kernel's results in its own core's cache
        // (docs/performance.md, "Run time").
        thread_local tbb::affinity_partitioner same_distribution;
        thread_local int depth = 0;
        struct Inside {
            Inside() { depth++; }
            ~Inside() { depth--; }
        };
        if (user.load(std::memory_order_relaxed) == 0)
            user.store(getpid(), std::memory_order_relaxed);
        arena.execute([&] {  // on another thread if all slots of the arena are taken
            if (depth > 0) return tbb::parallel_for(begin, end, body);
            const Inside caller;
            tbb::parallel_for(
                begin, end,
                [&](int64_t i) {
                    const Inside worker;
                    body(i);
                },
                same_distribution);
        });
#endif
    }
    int threads;
    mutable tbb::task_arena arena;
    // The process that first ran a loop on several threads; 0: none has.
    static inline std::atomic<pid_t> user{0};
};

// Returns the arena of the current number of threads. Throws AttrError on a bad HALYARD_THREADS.
const Arena &current_arena();

}  // namespace halyard
#endif
