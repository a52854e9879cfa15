#include "ascend/simulator/memory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <new>

namespace halyard::dv {

struct Memory::Pool {
    std::mutex mutex;
    std::map<const Profile *, std::vector<Banks>> free;
};
Memory::Pool &Memory::pool() {
    static Pool all;
    return all;
}

Memory::Memory(const Profile &chip, std::vector<Binding> gm, bool reuse)
    : chip_(chip), reuse_(reuse), gm_(std::move(gm)) {
    if (reuse) {
        const std::lock_guard lock(pool().mutex);
        std::vector<Banks> &free = pool().free[&chip];
        if (!free.empty()) {
            banks_ = std::move(free.back());
            free.pop_back();
            return;
        }
    }
    for (int s = 1; s < scope_count; s++) {
        const size_t size = size_t(chip.bytes(static_cast<Scope>(s)));
        for (Zeros *zeros : {&banks_.bytes[s], &banks_.shadow[s]}) {
            zeros->reset(static_cast<uint8_t *>(std::calloc(std::max<size_t>(size, 1), 1)));
            if (!*zeros) throw std::bad_alloc();
        }
    }
}

Memory::~Memory() {
    if (!reuse_ || !banks_.bytes[1]) return;  // it has been moved from
    forget_all();
    for (int s = 1; s < scope_count; s++)
        std::memset(banks_.bytes[s].get(), 0, size_t(ever_[s]));
    constexpr size_t max_free = 64;  // more than there are threads
    const std::lock_guard lock(pool().mutex);
    std::vector<Banks> &free = pool().free[&chip_];
    if (free.size() < max_free) free.push_back(std::move(banks_));
}

int64_t Memory::unwritten(Scope s, const Run &r) const {
    if (s == Scope::gm) return -1;
    const uint8_t *first = banks_.shadow[int(s)].get() + r.begin;
    const void *hole = std::memchr(first, 0, size_t(r.bytes));
    return hole ? r.begin + (static_cast<const uint8_t *>(hole) - first) : -1;
}

void Memory::wrote(Scope s, const Run &r) {
    if (s == Scope::gm) return;
    std::memset(banks_.shadow[int(s)].get() + r.begin, 1, size_t(r.bytes));
    written_[int(s)] = std::max(written_[int(s)], r.begin + r.bytes);
    ever_[int(s)] = std::max(ever_[int(s)], r.begin + r.bytes);
}

void Memory::forget(Scope s, int64_t begin, int64_t bytes) {
    const int64_t known = std::min(begin + bytes, written_[int(s)]) - begin;
    if (s != Scope::gm && known > 0)
        std::memset(banks_.shadow[int(s)].get() + begin, 0, size_t(known));
}

void Memory::forget_all() {
    for (int s = 1; s < scope_count; s++) {
        std::memset(banks_.shadow[s].get(), 0, size_t(written_[s]));
        written_[s] = 0;
    }
}

void execute(const Step &s, Memory &m) {
    std::visit(
        [&](const auto &op) {
            if constexpr (requires { execute(op, s, m); }) execute(op, s, m);
        },
        s.op);
}

double scalar_load(const Step &s, Memory &m) {
    const void *from = m.at(s.locations[0]);
    return visit_dtype(s.locations[0].dtype, [&](auto t) {
        decltype(t) v;
        std::memcpy(&v, from, sizeof v);
        return double(v);
    });
}

void execute(const ScalarSt &, const Step &s, Memory &m) {
    void *to = m.at(s.locations[0]);
    visit_dtype(s.locations[0].dtype, [&](auto t) {
        using T = decltype(t);
        T v;
        if constexpr (std::is_integral_v<T> || std::is_same_v<T, double>)
            v = (T)s.number;
        else
            v = T(float(s.number));
        std::memcpy(to, &v, sizeof v);
    });
}

}  // namespace halyard::dv
