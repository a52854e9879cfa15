// fork() in a program whose threads call ops: what the child finds locked would stay so, as the
// thread that held it isn't there.
#pragma once
#include <mutex>

namespace halyard {

// Which mutexes a thread that holds one may still take: those further down. fork() takes them from
// the top.
enum class LockRank { outer, inner };

// From here on fork() waits until nobody holds the mutex, and the child finds it free. The mutex is
// never destroyed.
void hold_over_fork(std::mutex &mutex, LockRank rank = LockRank::inner);

bool is_forked_child();  // was this process made by fork(), and has it not called exec() since?

}  // namespace halyard
