// The arena behind registry/parallel.h, for the code in this folder that starts loops itself.
#pragma once
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <thread>
#include <vector>

namespace halyard {

struct Arena {
    explicit Arena(int n) : threads(n), arena(n) {}
    // body(i) for i in [begin, end), on the arena's threads; returns when all are done.
    template<class F> void loop(int64_t begin, int64_t end, const F &body) const {
#ifdef __SANITIZE_THREAD__
        // oneTBB isn't built for ThreadSanitizer, which would take its hand-over for races: plain threads show ours.
        std::atomic<int64_t> next{begin};
        std::exception_ptr first;
        std::atomic<bool> failed{false};
        auto work = [&] {
            for (int64_t i; (i = next++) < end;) try {
                    body(i);
                } catch (...) {
                    if (!failed.exchange(true)) first = std::current_exception();
                }
        };
        std::vector<std::thread> others;
        for (int t = 1; t < threads && t < end - begin; t++) others.emplace_back(work);
        work();
        for (auto &t : others) t.join();
        if (first) std::rethrow_exception(first);
#else
        arena.execute([&] { tbb::parallel_for(begin, end, body); });
#endif
    }
    int threads;
    mutable tbb::task_arena arena;
};

// The arena of the number of threads that holds now. Throws AttrError on a bad HALYARD_THREADS.
const Arena &current_arena();

}  // namespace halyard
