#include "tools/check/guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "registry/base/error.h"

namespace halyard::check {

struct GuardedPages {
    char *low = nullptr;    // the guard before,
    char *begin = nullptr;  // the pages between,
    char *end = nullptr;    // the guard after,
    char *high_end = nullptr;
    char *first = nullptr;               // the first byte between the guards,
    size_t bytes = 0;                    // and their number
    std::atomic<char *> fault{nullptr};  // the first access outside
    std::atomic<bool> wrote{false};

    size_t size() const { return size_t(end - begin); }
};

namespace {

// Address space only. An access that is farther off crashes, as without guards.
constexpr size_t guard_bytes = 1 << 20;
constexpr size_t max_kept = 64 << 20;  // bytes of pages kept for the next call
constexpr unsigned char canary = 0xA5;

// The signal handler reads it in any thread, without locks.
std::array<std::atomic<GuardedPages *>, 256> live{};
struct sigaction before_us;

// Bit 1 of the page fault's error code is set for a write.
bool is_write(const void *context) {
    return (static_cast<const ucontext_t *>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
}

void on_fault(int signal, siginfo_t *info, void *context) {
    char *const at = static_cast<char *>(info->si_addr);
    for (auto &slot : live) {
        GuardedPages *p = slot.load(std::memory_order_acquire);
        if (!p || at < p->low || at >= p->high_end || (at >= p->begin && at < p->end)) continue;
        char *none = nullptr;
        if (p->fault.compare_exchange_strong(none, at)) p->wrote = is_write(context);
        const bool is_low = at < p->begin;
        mprotect(is_low ? p->low : p->end, guard_bytes, PROT_READ | PROT_WRITE);
        return;  // and the access is repeated
    }
    // Not a guard: the access faults again, with the previous handler.
    sigaction(signal, &before_us, nullptr);
}

void watch_faults() {
    static const bool once = [] {
        struct sigaction mine = {};
        mine.sa_sigaction = on_fault;
        mine.sa_flags = SA_SIGINFO | SA_NODEFER;
        return sigaction(SIGSEGV, &mine, &before_us) == 0;
    }();
    (void)once;
}

// Reuses pages, because a mapping costs more than most calls.
class Pool {
public:
    GuardedPages *take(size_t bytes) {
        const size_t page = size_t(sysconf(_SC_PAGESIZE));
        const size_t size = std::max<size_t>(1, (bytes + page - 1) / page) * page;
        GuardedPages *p = nullptr;
        const std::lock_guard lock(mutex_);
        if (auto &kept = kept_[size]; !kept.empty()) {
            p = kept.back();
            kept.pop_back();
            kept_bytes_ -= size;
        } else {
            void *memory = mmap(nullptr, size + 2 * guard_bytes, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (memory == MAP_FAILED)
                throw MemoryError("guard", "can't map " + std::to_string(size) + " bytes");
            p = new GuardedPages;
            p->low = static_cast<char *>(memory);
            p->begin = p->low + guard_bytes;
            p->end = p->begin + size;
            p->high_end = p->end + guard_bytes;
            mprotect(p->begin, size, PROT_READ | PROT_WRITE);
        }
        const auto slot = std::find_if(live.begin(), live.end(),
                                       [](auto &s) { return s.load() == nullptr; });
        if (slot == live.end()) {
            throw MemoryError("guard",
                              "more than " + std::to_string(live.size()) + " tensors at once");
        }
        slot->store(p, std::memory_order_release);
        return p;
    }
    void put(GuardedPages *p) {
        const std::lock_guard lock(mutex_);
        for (auto &slot : live)
            if (slot.load() == p) slot.store(nullptr, std::memory_order_release);
        // An opened guard may have been written.
        if (p->fault.exchange(nullptr) || kept_bytes_ + p->size() > max_kept) {
            munmap(p->low, p->size() + 2 * guard_bytes);
            delete p;
            return;
        }
        kept_bytes_ += p->size();
        kept_[p->size()].push_back(p);
    }

private:
    std::mutex mutex_;
    std::map<size_t, std::vector<GuardedPages *>> kept_;
    size_t kept_bytes_ = 0;
};

Pool &pool() {
    static Pool &p = *new Pool;
    return p;
}

struct Placement {
    Tensor *tensor;
    std::string name;
    char *from, *to;  // its bytes
};

Placement placement_of(Tensor &t, const std::string &name) {
    const int64_t size = int64_t(bytes_of(t.dtype()));
    int64_t last = 0;
    for (int d = 0; d < t.rank(); d++)
        last += (t.shape()[d] - 1) * t.strides()[d];
    char *const from = static_cast<char *>(t.raw());
    return {&t, name, from, t.elements() == 0 ? from : from + (last + 1) * size};
}

bool is_intact(const char *from, const char *to) {
    return std::all_of(from, to, [](char c) { return (unsigned char)c == canary; });
}

}  // namespace

Guards::~Guards() {
    for (GuardedPages *p : pages_)
        pool().put(p);
}

void Guards::move(const Op &op, std::span<Tensor> inputs, std::span<Tensor> outputs) {
    watch_faults();
    std::vector<Placement> all;
    for (size_t k = 0; k < inputs.size(); k++)
        all.push_back(placement_of(inputs[k], "input " + op.sig.inputs[k].name));
    for (size_t k = 0; k < outputs.size(); k++)
        all.push_back(placement_of(outputs[k], "output " + op.sig.outputs[k].name));
    std::stable_sort(all.begin(), all.end(),
                     [](const Placement &a, const Placement &b) { return a.from < b.from; });
    for (size_t i = 0, next = 0; i < all.size(); i = next) {  // tensors [i, next) share memory
        char *const from = all[i].from;
        char *to = all[i].to;
        std::string names = all[i].name;
        for (next = i + 1; next < all.size() && all[next].from < to; next++) {
            to = std::max(to, all[next].to);
            names += " and " + all[next].name;
        }
        const auto bytes = size_t(to - from);
        const auto offset = side_ == before && bytes > 0 ? uintptr_t(from) % 64 : 0;
        GuardedPages *p = pool().take(bytes + offset);
        pages_.push_back(p);
        names_.push_back(names);
        p->first = side_ == before ? p->begin + offset : p->end - bytes;
        p->bytes = bytes;
        std::memset(p->begin, canary, size_t(p->first - p->begin));
        std::memset(p->first + bytes, canary, size_t(p->end - p->first) - bytes);
        if (bytes) std::memcpy(p->first, from, bytes);
        for (size_t k = i; k < next; k++) {
            Tensor &t = *all[k].tensor;
            t = Tensor::borrow(p->first + (all[k].from - from), t.shape(), t.strides(), t.dtype());
        }
    }
}

std::string Guards::finding() const {
    for (size_t k = 0; k < pages_.size(); k++) {
        const GuardedPages &p = *pages_[k];
        if (char *at = p.fault) {
            const bool past = at >= p.end;
            const int64_t away = past ? at - (p.first + p.bytes) + 1 : p.first - at;
            return std::string(p.wrote ? "it writes" : "it reads") +
                   (past ? " past the end of " : " before the beginning of ") + names_[k] +
                   " (byte " + std::to_string(away) + (past ? " after it)" : " before it)");
        }
        if (!is_intact(p.begin, p.first)) return "it writes before the beginning of " + names_[k];
        if (!is_intact(p.first + p.bytes, p.end)) return "it writes past the end of " + names_[k];
    }
    return "";
}

}  // namespace halyard::check
