// Measures roofs. Each is the best of several tries within a few hundredths of a second, on the
// kit's own threads.
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "bench/roofs/host_memory.h"
#include "bench/roofs/peaks.h"
#include "bench/roofs/roofs.h"
#include "bench/roofs/streams.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/tensor/tensor.h"

namespace halyard::roofs {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double seconds_each = 0.02;
constexpr int least_tries = 3;
constexpr int64_t block = 1 << 18;  // bytes of one memcpy
// Bytes that each thread moves in a try, enough to make the cost of waking the pool small.
constexpr int64_t bytes_a_try = 1 << 22;

double since(Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
}

// Returns the least time of body(thread) on all threads.
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
    const int cores = std::max(1, int(std::thread::hardware_concurrency()));
    std::vector<int> all;
    for (int n = 1; n < cores; n *= 2)
        all.push_back(n);
    all.push_back(cores);
    return all;
}

constexpr int max_streams = 3;
constexpr int64_t page = 4096;
// A part of a page, so that no load waits for a store to the same offset of another page.
constexpr int64_t apart = 1024;
constexpr int64_t room_between = max_streams * (page + apart);

// The memory of one thread, aligned as tensors are, divided into streams of equal length.
class Streams {
public:
    Streams(const Tensor &memory, int count)
        : start_(static_cast<char *>(memory.raw())),
          bytes_((memory.elements() - room_between) / count / 128 * 128),
          distance_((bytes_ + page - 1) / page * page + apart) {}
    char *operator[](int k) const { return start_ + k * distance_; }
    int64_t bytes() const { return bytes_; }

private:
    char *start_;
    int64_t bytes_;
    int64_t distance_;
};

void copy_blocks(char *to, const char *from, int64_t bytes) {
    for (int64_t at = 0; at < bytes; at += block)
        std::memcpy(to + at, from + at, size_t(std::min(block, bytes - at)));
}

// Measures a level: each thread moves `working_set` bytes, divided into as many streams as the kind
// of access has.
Level measure_level(int threads, const std::string &name, int64_t capacity, int64_t working_set) {
    Level l;
    l.threads = threads;
    l.name = name;
    l.capacity = capacity;
    std::vector<Tensor> memory(static_cast<size_t>(threads));
    parallel_for(0, threads, [&](int64_t t) {
        memory[size_t(t)] = Tensor::zeros({working_set + room_between}, DType::u8);
    });
    const auto best = [&](int streams, const std::function<void(const Streams &)> &pass) {
        const int64_t moved = Streams(memory[0], streams).bytes() * streams;
        const int64_t passes = std::max<int64_t>(1, bytes_a_try / moved);
        const double seconds = least_seconds(threads, [&](int64_t t) {
            const Streams own(memory[size_t(t)], streams);
            for (int64_t k = 0; k < passes; k++)
                pass(own);
        });
        return double(moved * passes * threads) / seconds;
    };
    l.read = best(1, [](const Streams &s) {
        [[maybe_unused]] uint64_t volatile sink = read_stream(s[0], s.bytes());
    });
    l.write = best(1, [](const Streams &s) { write_stream(s[0], s.bytes()); });
    l.copy = best(2, [](const Streams &s) { copy_stream(s[1], s[0], s.bytes()); });
    l.bypass = std::max(best(2, [](const Streams &s) { copy_past_caches(s[1], s[0], s.bytes()); }),
                        best(2, [](const Streams &s) { copy_blocks(s[1], s[0], s.bytes()); }));
    l.add = best(3, [](const Streams &s) { add_stream(s[2], s[0], s[1], s.bytes()); });
    return l;
}

// Measures a level, or records why it can't be measured. A missing roof leaves a column empty; it
// doesn't end the run.
void add_level(Roofs &r, const Level &level, int64_t working_set) {
    try {
        r.levels.push_back(measure_level(level.threads, level.name, level.capacity, working_set));
    } catch (const MemoryError &e) {
        r.unmeasured.push_back(level.name + ", threads " + std::to_string(level.threads) + ": " +
                               e.what());
    }
}

// Half of a core's own caches is used, so that nothing else evicts it. For the third level, which
// cores share, the set is well above the second level and well below the third.
void measure_levels(Roofs &r, const HostMemory &host, int threads) {
    const int64_t l2_of_all = host.l2 * threads;
    add_level(r, {threads, "L1", host.l1 * threads}, host.l1 / 2);
    add_level(r, {threads, "L2", l2_of_all}, host.l2 / 2);
    if (host.l3 > l2_of_all) {
        const auto within = int64_t(std::sqrt(double(l2_of_all) * double(host.l3)));
        const int64_t all = std::min({within, int64_t{1} << 30, host.available / 8});
        if (all > l2_of_all) add_level(r, {threads, "L3", host.l3}, all / threads);
    }
    std::string reason;
    const int64_t all = memory_working_set(host, threads, reason);
    if (all == 0)
        r.unmeasured.push_back("memory, threads " + std::to_string(threads) + ": " + reason);
    else
        add_level(r, {threads, "memory", INT64_MAX}, all / threads);
}

}  // namespace

Roofs measure(const Progress &progress, const std::filesystem::path &root) {
    const int before = threads();
    Roofs r;
    r.machine = machine_key();
    r.load = load_average();
    const HostMemory host = read_host_memory(root);
    for (int n : thread_counts()) {
        const std::string on = ", threads: " + std::to_string(n);
        set_threads(n);
        progress("multiply-adds" + on);
        for (Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
            for (DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
                if (isa > active_isa() || !multiply_add(isa, t, 1)) continue;
                constexpr int64_t rounds = 40000;
                const double seconds = least_seconds(
                    n, [&](int64_t) { multiply_add(isa, t, rounds); });
                r.peaks.push_back(
                    {n, isa, t, double(multiply_add(isa, t, 1) * rounds * n) / seconds});
            }
        }
        progress("caches and memory" + on);
        measure_levels(r, host, n);
    }
    set_threads(before);
    return r;
}

}  // namespace halyard::roofs
