#include "registry/base/fork.h"

#include <pthread.h>

#include <atomic>
#include <vector>

namespace halyard {
namespace {

struct Held {
    std::mutex mutex;  // of the lists
    std::vector<std::mutex *> outer, inner;
};

Held &held() {
    static Held &h = *new Held;
    return h;
}

std::atomic<bool> forked = false;

void before_fork() {
    Held &h = held();
    h.mutex.lock();
    for (std::mutex *m : h.outer)
        m->lock();
    for (std::mutex *m : h.inner)
        m->lock();
}

void after_fork() {
    Held &h = held();
    for (std::mutex *m : h.inner)
        m->unlock();
    for (std::mutex *m : h.outer)
        m->unlock();
    h.mutex.unlock();
}

void in_child() {
    forked = true;
    after_fork();
}

}  // namespace

void hold_over_fork(std::mutex &mutex, LockRank rank) {
    static const bool once = pthread_atfork(before_fork, after_fork, in_child) == 0;
    (void)once;
    Held &h = held();
    const std::lock_guard lock(h.mutex);
    (rank == LockRank::outer ? h.outer : h.inner).push_back(&mutex);
}

bool is_forked_child() {
    return forked.load(std::memory_order_relaxed);
}

}  // namespace halyard
