// The arena behind registry/base/parallel.h, for the code in this folder that starts loops itself.
#pragma once
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
    // body(i) for i in [begin, end), on the arena's threads; returns when all are done.
    template<class F> void loop(int64_t begin, int64_t end, const F &body) const {
#ifdef __SANITIZE_THREAD__
        // oneTBB isn't built for ThreadSanitizer, which would take its hand-over for races: plain
        // threads show ours. Who runs which index is settled before: taking the next one from a
        // counter would order bodies that nothing else orders.
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
        // An outermost loop is shared out as the one before it was, unless a thread is late: a
        // kernel finds what the last one wrote in its own core's cache. LeNet-5's step on 2 threads
        // of a Zen 5 takes 0.60x as long as with TBB's default.
        thread_local tbb::affinity_partitioner as_before;
        thread_local int depth = 0;
        struct Inside {
            Inside() { depth++; }
            ~Inside() { depth--; }
        };
        if (user.load(std::memory_order_relaxed) == 0)
            user.store(getpid(), std::memory_order_relaxed);
        arena.execute([&] {  // perhaps on another thread, when all places of the arena are taken
            if (depth > 0) return tbb::parallel_for(begin, end, body);
            const Inside caller;
            tbb::parallel_for(
                begin, end,
                [&](int64_t i) {
                    const Inside worker;
                    body(i);
                },
                as_before);
        });
#endif
    }
    int threads;
    mutable tbb::task_arena arena;
    // the process that was the first to run a loop on several threads; 0: none has
    static inline std::atomic<pid_t> user{0};
};

// The arena of the number of threads that holds now. Throws AttrError on a bad HALYARD_THREADS.
const Arena &current_arena();

}  // namespace halyard
