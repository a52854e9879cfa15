// The arena of a library that lives in another program (docs/export.md): loops run on the threads
// of that program, or on the calling thread. Such a library is compiled with HALYARD_HOST_THREADS
// and has tools/export/runtime/host_threads.cpp in place of parallel.cpp.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>

namespace halyard {

// A part of a loop. It never throws.
using HostTask = void (*)(void *context, int32_t index);
// Calls task(context, i) for each i in [0, count), in any order, on any threads, and returns when
// all of these calls have returned.
using HostLoop = void (*)(void *host, int32_t count, HostTask task, void *context);

struct Arena {
    // Calls body(i) for each i in [begin, end) on the host's threads. Returns when all are done,
    // and rethrows the first exception.
    template<class F> void loop(int64_t begin, int64_t end, const F &body) const {
        Work<F> work{body, begin};
        run(host, int32_t(end - begin), Work<F>::task, &work);
        if (work.first) std::rethrow_exception(work.first);
    }
    int threads = 1;
    HostLoop run = nullptr;
    void *host = nullptr;

private:
    template<class F> struct Work {
        const F &body;
        int64_t begin;
        std::atomic<bool> failed = false;
        std::exception_ptr first = nullptr;

        static void task(void *context, int32_t i) {
            Work &work = *static_cast<Work *>(context);
            try {
                work.body(work.begin + i);
            } catch (...) {
                if (!work.failed.exchange(true)) work.first = std::current_exception();
            }
        }
    };
};

// Sets the loop that the arenas of later calls run, on so many threads. One thread, the default, or
// no loop: the calling thread runs everything.
void set_host_loop(HostLoop loop, void *host, int threads);

const Arena &current_arena();

}  // namespace halyard
