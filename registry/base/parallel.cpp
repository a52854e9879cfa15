#include "registry/base/parallel.h"

#include <oneapi/tbb/global_control.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "registry/base/error.h"
#include "registry/base/fork.h"
#include "registry/base/log.h"
#include "registry/tensor/arena.h"

namespace halyard {
namespace {

constexpr int most_threads = 1024;

// Returns how many more threads the system allows this process, up to `wanted`. oneTBB ends the
// process if it fails to start one.
int threads_to_be_had(int wanted) {
    struct Gate {
        std::mutex mutex;
        std::condition_variable opened;
        bool open = false;
    } gate;
    const auto wait = [](void *at) -> void * {
        Gate &g = *static_cast<Gate *>(at);
        std::unique_lock lock(g.mutex);
        g.opened.wait(lock, [&] { return g.open; });
        return nullptr;
    };
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    // The same stack size as oneTBB's, which matters if address space is limited.
    pthread_attr_setstacksize(&attributes, 4 << 20);
    std::vector<pthread_t> all;
    for (pthread_t t = 0;
         int(all.size()) < wanted && pthread_create(&t, &attributes, wait, &gate) == 0;)
        all.push_back(t);
    pthread_attr_destroy(&attributes);
    {
        const std::lock_guard lock(gate.mutex);
        gate.open = true;
    }
    gate.opened.notify_all();
    for (const pthread_t t : all)
        pthread_join(t, nullptr);
    return int(all.size());
}

// The arenas by number of threads. They are never destroyed, so that a loop can go on while another
// thread sets a new number.
class Arenas {
public:
    Arenas() { hold_over_fork(mutex_); }
    static Arenas &all() {
        static Arenas &a = *new Arenas;
        return a;
    }

    // Returns the arena of n threads, or of as many as the system allows.
    const Arena *of(int n) {
        const std::lock_guard lock(mutex_);
        n = granted(n);
        auto &slot = arenas_[n];
        if (!slot) {
            if (n > allowed_) allow(n);  // oneTBB must be told to start more threads than cores
            slot = std::make_unique<Arena>(n);
        }
        return slot.get();
    }

    // Returns an arena of one thread in a process that was forked from one whose loops ran on
    // several threads: oneTBB would wait for those. Returns null otherwise.
    const Arena *of_forked_child() const {
        static const Arena &alone = *new Arena(1);
        const pid_t user = is_forked_child() ? Arena::user.load(std::memory_order_relaxed) : 0;
        return user && user != getpid() ? &alone : nullptr;
    }

    std::atomic<const Arena *> current{nullptr};

private:
    int granted(int n) {
        if (n <= proven_) return n;
        // One is kept in reserve: threads that have just ended may still be counted.
        const int wanted = n - 1;
        const int there = threads_to_be_had(wanted + 1);
        if (there > wanted) {
            proven_ = n;
            return n;
        }
        const int most = std::max(proven_, std::max(there - 1, 0) + 1);
        if (!std::exchange(said_, true)) {
            log(LogLevel::warning, "parallel",
                std::to_string(n) + " threads are wanted, the system allows " +
                    std::to_string(most) + ": loops run on these");
        }
        if (most < allowed_) allow(most);
        return most;
    }
    void allow(int n) {  // of several controls the least counts, so there is one
        control_.reset();
        control_ = std::make_unique<tbb::global_control>(
            tbb::global_control::max_allowed_parallelism, size_t(n));
        allowed_ = n;
    }

    std::mutex mutex_;
    std::map<int, std::unique_ptr<Arena>> arenas_;
    std::unique_ptr<tbb::global_control> control_;
    int allowed_ = tbb::info::default_concurrency();
    int proven_ = 1;     // so many threads there can be
    bool said_ = false;  // that there are fewer than wanted
};

int start_threads() {
    const char *text = std::getenv("HALYARD_THREADS");
    if (!text || !*text) return 0;
    int n = -1;
    const std::string s = text;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (error != std::errc() || end != s.data() + s.size() || n < 0 || n > most_threads) {
        throw AttrError("parallel", "HALYARD_THREADS is '" + s +
                                        "', expected a whole number from 0 to " +
                                        std::to_string(most_threads));
    }
    return n;
}

}  // namespace

const Arena &current_arena() {
    if (is_forked_child())
        if (const Arena *alone = Arenas::all().of_forked_child()) return *alone;
    const Arena *a = Arenas::all().current.load(std::memory_order_acquire);
    if (!a) {
        const int n = start_threads();
        const Arena *start = Arenas::all().of(n ? n : tbb::info::default_concurrency());
        a = Arenas::all().current.compare_exchange_strong(a, start) ? start : a;
    }
    return *a;
}

void set_threads(int n) {
    if (n < 0 || n > most_threads) {
        throw AttrError("parallel", "threads is " + std::to_string(n) + ", expected 0 to " +
                                        std::to_string(most_threads));
    }
    if (Arenas::all().of_forked_child()) {
        log(LogLevel::warning, "parallel",
            "this process was forked from one with threads: its loops run on one, not on " +
                std::to_string(n));
        return;
    }
    Arenas::all().current.store(Arenas::all().of(n ? n : tbb::info::default_concurrency()),
                                std::memory_order_release);
}

int threads() {
    return current_arena().threads;
}

void parallel_for(int64_t begin, int64_t end, const std::function<void(int64_t)> &body) {
    if (end - begin > 1 && threads() > 1) {
        current_arena().loop(begin, end, [&](int64_t i) { body(i); });
        return;
    }
    for (int64_t i = begin; i < end; i++)
        body(i);
}

}  // namespace halyard
