// The pool has free lists of blocks in size classes, four for every power of two. A thread caches a
// few small blocks of each class. Other free blocks are in one list per class for all threads, and
// further memory comes from the system.
#include "registry/tensor/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "registry/base/error.h"
#include "registry/base/fork.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HALYARD_ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HALYARD_ASAN 1
#endif
#ifdef HALYARD_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace halyard::memory {
namespace {

#ifdef HALYARD_ASAN
// Every block comes from the system at its exact size, so that overruns are detected.
constexpr bool pooling = false;
#else
constexpr bool pooling = true;
#endif

constexpr int classes = 164;             // up to 2^48 bytes
constexpr int thread_classes = 36;       // up to 64 KiB
constexpr int64_t pool_limit = 1 << 30;  // bytes kept for reuse
// A thread reports its live bytes when they have changed by this much.
constexpr int64_t peak_grain = 64 << 10;

// The header in front of each block, 64 bytes before it. The link is here and not in the block, so
// that a stray write into a free block can't break a list.
struct Header {
    Header *next;
    size_t size;
    int class_index;
};
static_assert(sizeof(Header) <= alignment);

void *block_of(Header *h) {
    return reinterpret_cast<char *>(h) + alignment;
}
Header *header_of(void *block) {
    return reinterpret_cast<Header *>(static_cast<char *>(block) - alignment);
}

// Class c holds 64 (c+1) bytes for c < 4; then each power of two p has the sizes 5/4 p, 6/4 p, 7/4
// p and 2 p.
int class_of(size_t bytes) {
    const size_t last = bytes ? bytes - 1 : 0;
    if (last < 256) return int(last / 64);
    const int power = std::bit_width(last) - 1;
    return 4 * (power - 8) + int(last >> (power - 2));
}

constexpr size_t size_of(int c) {
    if (c < 4) return 64 * size_t(c + 1);
    const int power = c / 4 + 7;
    return (size_t(c % 4) + 5) << (power - 2);
}

// The number of blocks of each class that a thread caches.
constexpr auto thread_limits = [] {
    std::array<int, thread_classes> most{};
    for (int c = 0; c < thread_classes; c++)
        most[c] = int(std::clamp<size_t>(peak_grain / size_of(c), 4, 64));
    return most;
}();

// Adds to a counter with one writer, without a locked instruction.
void bump(std::atomic<int64_t> &a, int64_t by) {
    a.store(a.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

struct ThreadCache {
    struct List {
        Header *head = nullptr;
        int count = 0;
    };
    List lists[thread_classes];
    // Changes since the last report.
    std::atomic<int64_t> live_bytes{0}, live_blocks{0}, allocations{0}, kept_bytes{0};
    // The maximum of live_bytes since the last report.
    int64_t highest = 0;
};

struct Central {
    struct List {
        std::mutex mutex;
        Header *head = nullptr;
        // The times, in ticks of the clock, when a block was last put or taken, and last taken.
        uint64_t used = 0, taken = 0;
    };
    List lists[classes];
    std::atomic<uint64_t> clock{0};
    std::atomic<int64_t> live_bytes{0}, live_blocks{0}, allocations{0}, kept_bytes{0}, peak{0},
        system_calls{0};
    // The bytes of all blocks, and the limit of set_limit().
    std::atomic<int64_t> system_bytes{0}, limit{0};
    std::mutex caches_mutex;
    std::vector<ThreadCache *> caches;

    Central() {
        const char *given = std::getenv("HALYARD_MAX_DEVICE_MEMORY");
        limit = limit_from(given ? given : "");
    }
    void raise_peak(int64_t to) {
        int64_t now = peak.load(std::memory_order_relaxed);
        while (to > now && !peak.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
        }
    }
    void report(ThreadCache &c) {
        const int64_t change = c.live_bytes.load(std::memory_order_relaxed);
        raise_peak(live_bytes.fetch_add(change, std::memory_order_relaxed) + c.highest);
        c.live_bytes.store(0, std::memory_order_relaxed);
        c.highest = 0;
    }
};

Central &new_central() {
    Central &c = *new Central;
    for (Central::List &l : c.lists)
        hold_over_fork(l.mutex);
    hold_over_fork(c.caches_mutex);
    return c;
}
Central &central() {
    // It is never destroyed: static tensors may be destroyed after it.
    static Central &c = new_central();
    return c;
}

void to_system(Header *h) {
    central().system_bytes.fetch_sub(int64_t(h->size), std::memory_order_relaxed);
    std::free(h);
}

// Returns a list of pooled blocks to the system.
void drop(Header *list) {
    while (list) {
        central().kept_bytes.fetch_sub(int64_t(list->size), std::memory_order_relaxed);
        to_system(std::exchange(list, list->next));
    }
}

// Returns to the system the blocks of one class, the largest first, that was not used since `then`.
// Returns false if there are none.
bool evict(uint64_t then) {
    Central &all = central();
    for (int c = classes; c-- > 0;) {
        Header *list = nullptr;
        {
            const std::lock_guard lock(all.lists[c].mutex);
            if (all.lists[c].used < then) list = std::exchange(all.lists[c].head, nullptr);
        }
        if (!list) continue;
        drop(list);
        return true;
    }
    return false;
}

// Makes room for a block that is released. In a full pool it evicts classes that were not used
// since the block was taken: otherwise blocks of an earlier phase of the program would force each
// large block of this phase back to the system, to be faulted in page by page again. Classes used
// since then stay, because a program that cycles through more than the pool holds would otherwise
// never reuse a block.
bool has_room(int64_t size, Central::List &of) {
    Central &all = central();
    while (all.kept_bytes.fetch_add(size, std::memory_order_relaxed) + size > pool_limit) {
        all.kept_bytes.fetch_sub(size, std::memory_order_relaxed);
        uint64_t taken = 0;
        {
            const std::lock_guard lock(of.mutex);
            taken = of.taken;
        }
        if (size > pool_limit || !evict(taken)) return false;
    }
    return true;
}

// Moves `list` to the common lists, or to the system when the pool is full.
void give(Header *list) {
    Central &all = central();
    while (list) {
        Header *h = list;
        list = h->next;
        Central::List &to = all.lists[h->class_index];
        if (!pooling || !has_room(int64_t(h->size), to)) {
            to_system(h);
            continue;
        }
        const std::lock_guard lock(to.mutex);
        h->next = to.head;
        to.head = h;
        to.used = ++all.clock;
    }
}

void empty_cache(ThreadCache &c) {
    for (ThreadCache::List &l : c.lists) {
        give(l.head);
        l = {};
    }
    c.kept_bytes.store(0, std::memory_order_relaxed);
}

// The fast model of thread-locals, also in a shared library: there is always room for a few bytes.
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadCache *thread_cache = nullptr;
// The cache is destroyed; blocks that later destructors release go to the common lists.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_ended = false;

struct CacheOwner {
    ~CacheOwner() {
        ThreadCache *c = thread_cache;
        thread_cache = nullptr;
        thread_ended = true;
        Central &all = central();
        empty_cache(*c);
        const std::lock_guard lock(all.caches_mutex);
        all.report(*c);
        all.live_blocks += c->live_blocks;
        all.allocations += c->allocations;
        std::erase(all.caches, c);
        delete c;
    }
};

[[gnu::noinline]] ThreadCache *make_cache() {
    if (thread_ended) return nullptr;
    auto *c = new (std::nothrow) ThreadCache;
    if (!c) return nullptr;
    {
        const std::lock_guard lock(central().caches_mutex);
        central().caches.push_back(c);
    }
    thread_cache = c;
    static thread_local CacheOwner owner;
    (void)owner;
    return c;
}

inline ThreadCache *cache() {
    return thread_cache ? thread_cache : make_cache();
}

std::string megabytes(uint64_t bytes) {
    char text[48];
    if (bytes < 1 << 20)
        std::snprintf(text, sizeof text, "%llu bytes", (unsigned long long)bytes);
    else
        std::snprintf(text, sizeof text, "%.1f MB", double(bytes) / (1 << 20));
    return text;
}

[[noreturn]] void refuse(size_t bytes, size_t size) {
    std::string text = "out of memory: " + megabytes(bytes) + " wanted";
    if (size - bytes > alignment) text += " (a block of " + megabytes(size) + ")";
    text += ", " + megabytes(uint64_t(stats().live_bytes)) + " in use";
    if (const int64_t most = limit())
        text += ", the limit is " + megabytes(uint64_t(most)) + " (max_device_memory)";
    throw MemoryError("memory", text);
}

// Returns a block from the system. When the limit or the system refuses it, the pool is trimmed;
// when that doesn't help, MemoryError is thrown.
void *system_block(size_t size) {
    Central &all = central();
    for (const bool again : {false, true}) {
        if (again) trim();
        const int64_t then = all.system_bytes.fetch_add(int64_t(size), std::memory_order_relaxed) +
                             int64_t(size);
        const int64_t most = limit();
        void *p = nullptr;
        if ((!most || then <= most) && posix_memalign(&p, alignment, alignment + size) == 0)
            return p;
        all.system_bytes.fetch_sub(int64_t(size), std::memory_order_relaxed);
    }
    return nullptr;
}

Header *from_system(size_t bytes, size_t size, int class_index) {
    void *const p = system_block(size);
    if (!p) refuse(bytes, size);
    central().system_calls.fetch_add(1, std::memory_order_relaxed);
#ifdef HALYARD_ASAN
    // The unused bytes of the header are poisoned, so that a read before the block is detected like
    // one after it.
    __asan_poison_memory_region(static_cast<char *>(p) + sizeof(Header),
                                alignment - sizeof(Header));
#endif
    return new (p) Header{nullptr, size, class_index};
}

// Called when the thread has no block of this class. Takes several from the common list at once, or
// one from the system.
[[gnu::noinline]] Header *take_slow(size_t bytes, int c, ThreadCache *mine) {
    if (!pooling) return from_system(bytes, bytes, 0);
    const size_t size = size_of(c);
    Central &all = central();
    Header *first = nullptr;
    int extra = 0;
    {
        Central::List &from = all.lists[c];
        const std::lock_guard lock(from.mutex);
        from.used = from.taken = ++all.clock;
        first = from.head;
        if (first) from.head = first->next;
        if (first && mine && c < thread_classes) {
            for (const int most = thread_limits[c] / 2; extra < most && from.head; extra++) {
                Header *h = from.head;
                from.head = h->next;
                h->next = mine->lists[c].head;
                mine->lists[c].head = h;
            }
            mine->lists[c].count += extra;
        }
    }
    if (!first) return from_system(bytes, size, c);
    all.kept_bytes.fetch_sub(int64_t(size) * (extra + 1), std::memory_order_relaxed);
    if (extra) bump(mine->kept_bytes, int64_t(size) * extra);
    return first;
}

inline Header *take(size_t bytes, ThreadCache *mine) {
    if (bytes >> 47) refuse(bytes, bytes);
    const int c = class_of(bytes);
    if (pooling && mine && c < thread_classes) {
        ThreadCache::List &l = mine->lists[c];
        if (Header *h = l.head) {
            l.head = h->next;
            l.count--;
            bump(mine->kept_bytes, -int64_t(h->size));
            return h;
        }
    }
    return take_slow(bytes, c, mine);
}

// Called when the thread caches too many blocks of one class. Moves the older half to the common
// list.
[[gnu::noinline]] void shrink(ThreadCache &mine, ThreadCache::List &l) {
    Header *last = l.head;
    const int keep = l.count / 2;
    for (int i = 1; i < keep; i++)
        last = last->next;
    Header *rest = std::exchange(last->next, nullptr);
    bump(mine.kept_bytes, -int64_t(last->size) * (l.count - keep));
    l.count = keep;
    give(rest);
}

inline void put(Header *h, ThreadCache *mine) {
    if (pooling && mine && h->class_index < thread_classes) {
        ThreadCache::List &l = mine->lists[h->class_index];
        h->next = l.head;
        l.head = h;
        bump(mine->kept_bytes, int64_t(h->size));
        if (++l.count > thread_limits[h->class_index]) shrink(*mine, l);
        return;
    }
    h->next = nullptr;
    give(h);
}

}  // namespace

void *allocate(size_t bytes) {
    ThreadCache *mine = cache();
    Header *h = take(bytes, mine);
    const int64_t size = int64_t(h->size);
    if (!mine) {
        Central &all = central();
        all.raise_peak(all.live_bytes += size);
        all.live_blocks++;
        all.allocations++;
        return block_of(h);
    }
    bump(mine->live_blocks, 1);
    bump(mine->allocations, 1);
    bump(mine->live_bytes, size);
    const int64_t live = mine->live_bytes.load(std::memory_order_relaxed);
    if (live > mine->highest) mine->highest = live;
    if (live > peak_grain) central().report(*mine);
    return block_of(h);
}

void release(void *block) {
    if (!block) return;
    ThreadCache *mine = cache();
    Header *h = header_of(block);
    const int64_t size = int64_t(h->size);
    if (mine) {
        bump(mine->live_blocks, -1);
        bump(mine->live_bytes, -size);
        if (mine->live_bytes.load(std::memory_order_relaxed) < -peak_grain) central().report(*mine);
    } else {
        central().live_bytes -= size;
        central().live_blocks--;
    }
    put(h, mine);
}

int64_t limit_from(const std::string &text) {
    if (text.empty()) return 0;
    char *end = nullptr;
    const double amount = std::strtod(text.c_str(), &end);
    const std::string unit = end;
    const double factor = unit == "GB" ? 1 << 30 : unit == "MB" ? 1 << 20 : 0;
    const bool digit = text[0] == '.' || (text[0] >= '0' && text[0] <= '9');
    if (!digit || factor == 0 || !(amount * factor >= 1) || amount * factor > 0x1p62) {
        throw AttrError("context",
                        "max_device_memory is '" + text +
                            "', expected a number above 0 with GB or MB, as 2GB or 0.5GB");
    }
    return int64_t(amount * factor);
}

void set_limit(int64_t bytes) {
    central().limit = bytes;
}
int64_t limit() {
    return central().limit.load(std::memory_order_relaxed);
}

void *allocate_uncounted(size_t bytes) {
    return block_of(take(bytes, cache()));
}

void release_uncounted(void *block) {
    put(header_of(block), cache());
}

Stats stats() {
    Central &all = central();
    if (ThreadCache *mine = cache()) all.report(*mine);
    const std::lock_guard lock(all.caches_mutex);
    Stats s{all.live_bytes, all.live_blocks, 0, all.kept_bytes, all.allocations, all.system_calls};
    for (const ThreadCache *c : all.caches) {
        s.live_bytes += c->live_bytes;
        s.live_blocks += c->live_blocks;
        s.pooled_bytes += c->kept_bytes;
        s.allocations += c->allocations;
    }
    all.raise_peak(s.live_bytes);
    s.peak_bytes = all.peak;
    return s;
}

void trim() {
    Central &all = central();
    if (ThreadCache *mine = cache()) empty_cache(*mine);
    for (Central::List &l : all.lists) {
        Header *list = nullptr;
        {
            const std::lock_guard lock(l.mutex);
            list = std::exchange(l.head, nullptr);
        }
        drop(list);
    }
#ifdef __GLIBC__
    malloc_trim(0);  // free() keeps blocks below its threshold, which grows to 32 MB
#endif
}

}  // namespace halyard::memory
