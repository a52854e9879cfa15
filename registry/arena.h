// The arena behind registry/parallel.h, for the code in this folder that starts loops itself.
#pragma once
#include <oneapi/tbb/task_arena.h>

namespace halyard {

struct Arena {
    explicit Arena(int n) : threads(n), arena(n) {}
    template<class F> void run(const F &f) const { arena.execute(f); }
    int threads;
    mutable tbb::task_arena arena;
};

// The arena of the number of threads that holds now. Throws AttrError on a bad HALYARD_THREADS.
const Arena &current_arena();

}  // namespace halyard
