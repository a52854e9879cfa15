// fork() in a program whose threads call ops. A mutex that another thread holds at the fork would
// stay locked in the child, which doesn't have that thread.
#pragma once
#include <mutex>

namespace halyard {

// The order of locking: a thread that holds an outer mutex may lock inner ones. fork() locks outer
// mutexes first.
enum class LockRank { outer, inner };

// Makes fork() wait until the mutex is free, so that it is free in the child. The mutex must never
// be destroyed.
void hold_over_fork(std::mutex &mutex, LockRank rank = LockRank::inner);

// Returns true if this process was made by fork() and has not called exec() since.
bool is_forked_child();

}  // namespace halyard
