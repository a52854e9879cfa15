// Measuring roofs: each is the best of several tries within a few hundredths of a second, on the kit's own threads.
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>

#include "registry/parallel.h"
#include "registry/tensor.h"
#include "tools/roofs/peaks.h"
#include "tools/roofs/roofs.h"
#include "tools/roofs/streams.h"

namespace halyard::roofs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double seconds_each = 0.02;
constexpr int least_tries = 3;
constexpr int64_t block = 1 << 18;        // bytes of one memcpy
constexpr int64_t bytes_a_try = 1 << 22;  // moved by each thread, so that waking the pool costs little

double since(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

// The least time of body(thread) on all threads.
double least_seconds(int threads, const std::function<void(int64_t)> &body) {
    double best = 1e30;
    const auto start = Clock::now();
    for (int tries = 0; tries < least_tries || since(start) < seconds_each; tries++) {
        const auto from = Clock::now();
        parallel_for(0, threads, body);
        best = std::min(best, since(from));
    }
    return best;
}

std::vector<int> thread_counts() {  // 1, 2, 4, ... and all cores
    const int cores = std::max(1, (int)std::thread::hardware_concurrency());
    std::vector<int> all;
    for (int n = 1; n < cores; n *= 2) all.push_back(n);
    all.push_back(cores);
    return all;
}

// Of the first core's data. Not sysconf(): on AMD it adds up the last caches of a whole socket, of which a core reaches one.
int64_t cache_bytes(int level, int64_t otherwise) {
    for (int index = 0; index < 8; index++) {
        const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        std::ifstream level_file(folder + "level"), type_file(folder + "type"), size_file(folder + "size");
        int found = 0;
        int64_t size = 0;
        std::string type;
        char unit = 0;
        if (!(level_file >> found) || !(type_file >> type) || !(size_file >> size >> unit) || found != level || type == "Instruction") continue;
        return unit == 'M' ? size << 20 : size << 10;  // "32768K"
    }
    return otherwise;
}

// Three streams of one thread, in the memory that tensors have, a part of a page apart in their offsets, so that no load waits for a
// store to the same place of another page.
class Streams {
public:
    explicit Streams(int64_t bytes) : bytes_(bytes / 128 * 128) {
        for (Tensor &m : memory_) m = Tensor::zeros({bytes_ + 2 * apart}, DType::u8);
    }
    char *operator[](int k) const { return (char *)memory_[k].raw() + k * apart; }
    int64_t bytes() const { return bytes_; }

private:
    static constexpr int64_t apart = 1024;
    int64_t bytes_;
    Tensor memory_[3];
};

void copy_blocks(char *to, const char *from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += block) std::memcpy(to + at, from + at, (size_t)std::min(block, bytes - at));
}

// `working_set` bytes per thread lie in as many streams as each way of moving them has.
Level measure_level(int threads, const std::string &name, int64_t capacity, int64_t working_set) {
    Level l;
    l.threads = threads, l.name = name, l.capacity = capacity;
    std::vector<std::unique_ptr<Streams>> own((size_t)threads);
    const auto best = [&](int streams, const std::function<void(const Streams &)> &pass) {
        parallel_for(0, threads, [&](int64_t t) { own[(size_t)t] = std::make_unique<Streams>(working_set / streams); });
        const int64_t moved = own[0]->bytes() * streams, passes = std::max<int64_t>(1, bytes_a_try / moved);
        const double seconds = least_seconds(threads, [&](int64_t t) {
            for (int64_t k = 0; k < passes; k++) pass(*own[(size_t)t]);
        });
        return (double)(moved * passes * threads) / seconds;
    };
    l.read = best(1, [](const Streams &s) { [[maybe_unused]] uint64_t volatile sink = read_stream(s[0], s.bytes()); });
    l.write = best(1, [](const Streams &s) { write_stream(s[0], s.bytes()); });
    l.copy = best(2, [](const Streams &s) { copy_stream(s[1], s[0], s.bytes()); });
    l.bypass = std::max(best(2, [](const Streams &s) { copy_past_caches(s[1], s[0], s.bytes()); }),
                        best(2, [](const Streams &s) { copy_blocks(s[1], s[0], s.bytes()); }));
    l.add = best(3, [](const Streams &s) { add_stream(s[2], s[0], s[1], s.bytes()); });
    return l;
}

}  // namespace

Roofs measure(const std::function<void(const std::string &)> &progress) {
    const int before = threads();
    Roofs r;
    r.machine = machine_key(), r.load = load_average();
    const int64_t l1 = cache_bytes(1, 32 << 10), l2 = cache_bytes(2, 512 << 10), l3 = cache_bytes(3, 0);  // not every machine has a third
    for (int n : thread_counts()) {
        const std::string on = ", threads: " + std::to_string(n);
        set_threads(n);
        progress("multiply-adds" + on);
        for (Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512})
            for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
                if (isa > active_isa() || !multiply_add(isa, t, 1)) continue;
                constexpr int64_t rounds = 40000;
                const double seconds = least_seconds(n, [&](int64_t) { multiply_add(isa, t, rounds); });
                r.peaks.push_back({n, isa, t, (double)(multiply_add(isa, t, 1) * rounds * n) / seconds});
            }
        progress("caches and memory" + on);
        // Half of what a core's own caches hold, so that nothing else pushes it out; well past the second and well within the third,
        // which others use too; of memory eight times the last cache, of which the
        // cores may have several.
        r.levels.push_back(measure_level(n, "L1", l1 * n, l1 / 2));
        r.levels.push_back(measure_level(n, "L2", l2 * n, l2 / 2));
        if (l3 > l2 * n) r.levels.push_back(measure_level(n, "L3", l3, (int64_t)std::sqrt((double)(l2 * n) * (double)l3) / n));
        r.levels.push_back(measure_level(n, "memory", INT64_MAX, std::max<int64_t>(8 * std::max(l2 * n, l3), 64 << 20) / n));
    }
    set_threads(before);
    return r;
}

}  // namespace halyard::roofs
