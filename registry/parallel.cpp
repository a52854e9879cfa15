#include "registry/parallel.h"

#include <oneapi/tbb/global_control.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "registry/arena.h"
#include "registry/error.h"

namespace halyard {
namespace {

constexpr int most_threads = 1024;

// The arenas by size. They are never destroyed, so a loop can run on while another thread sets a new number.
class Arenas {
public:
    static Arenas &all() {
        static Arenas &a = *new Arenas;
        return a;
    }

    const Arena *of(int n) {
        const std::lock_guard lock(mutex_);
        auto &slot = arenas_[n];
        if (!slot) {
            if (n > allowed_) {  // more threads than cores must be asked for; of several controls the least counts, so there is one
                control_.reset();
                control_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism, (size_t)n);
                allowed_ = n;
            }
            slot = std::make_unique<Arena>(n);
        }
        return slot.get();
    }

    std::atomic<const Arena *> current{nullptr};

private:
    std::mutex mutex_;
    std::map<int, std::unique_ptr<Arena>> arenas_;
    std::unique_ptr<tbb::global_control> control_;
    int allowed_ = tbb::info::default_concurrency();
};

int start_threads() {
    const char *text = std::getenv("HALYARD_THREADS");
    if (!text || !*text) return 0;
    int n = -1;
    const std::string s = text;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (error != std::errc() || end != s.data() + s.size() || n < 0 || n > most_threads)
        throw AttrError("parallel", "HALYARD_THREADS is '" + s + "', expected a whole number from 0 to " + std::to_string(most_threads));
    return n;
}

}  // namespace

const Arena &current_arena() {
    const Arena *a = Arenas::all().current.load(std::memory_order_acquire);
    if (!a) {
        const int n = start_threads();
        const Arena *start = Arenas::all().of(n ? n : tbb::info::default_concurrency());
        a = Arenas::all().current.compare_exchange_strong(a, start) ? start : a;
    }
    return *a;
}

void set_threads(int n) {
    if (n < 0 || n > most_threads) throw AttrError("parallel", "threads is " + std::to_string(n) + ", expected 0 to " + std::to_string(most_threads));
    Arenas::all().current.store(Arenas::all().of(n ? n : tbb::info::default_concurrency()), std::memory_order_release);
}

int threads() { return current_arena().threads; }

void parallel_for(int64_t begin, int64_t end, const std::function<void(int64_t)> &body) {
    if (end - begin > 1 && threads() > 1) {
        current_arena().loop(begin, end, [&](int64_t i) { body(i); });
        return;
    }
    for (int64_t i = begin; i < end; i++) body(i);
}

}  // namespace halyard
