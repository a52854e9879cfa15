// The number of threads in tests.
#pragma once
#include "registry/base/parallel.h"

namespace halyard {

struct Threads {  // Sets the number of threads for one scope.
    explicit Threads(int n) : before(threads()) { set_threads(n); }
    ~Threads() { set_threads(before); }
    Threads(const Threads &) = delete;
    Threads &operator=(const Threads &) = delete;
    const int before;
};

}  // namespace halyard
