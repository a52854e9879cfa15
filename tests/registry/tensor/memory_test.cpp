#include "registry/tensor/memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "registry/tensor/tensor.h"
#include "tests/registry/expect_error.h"

namespace halyard::memory {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif

TEST(Memory, BlocksAreAlignedLongEnoughAndDistinct) {
    const int64_t live = stats().live_blocks;
    std::vector<std::pair<unsigned char *, size_t>> blocks;
    for (size_t bytes = 0; bytes < 3000; bytes += 7)
        blocks.emplace_back((unsigned char *)allocate(bytes), bytes);
    for (int power = 12; power < 24; power++) {
        for (const int extra : {-1, 0, 1}) {
            blocks.emplace_back((unsigned char *)allocate((size_t{1} << power) + size_t(extra)),
                                (size_t{1} << power) + size_t(extra));
        }
    }
    for (size_t i = 0; i < blocks.size(); i++) {
        EXPECT_EQ(uintptr_t(blocks[i].first) % alignment, 0u);
        std::memset(blocks[i].first, int(i & 255), blocks[i].second);
    }
    for (size_t i = 0; i < blocks.size(); i++) {
        for (size_t b = 0; b < blocks[i].second; b += 61)
            ASSERT_EQ(blocks[i].first[b], i & 255) << "block " << i << " was overwritten at " << b;
    }
    EXPECT_EQ(stats().live_blocks, live + int64_t(blocks.size()));
    for (const auto &[p, bytes] : blocks)
        release(p);
    EXPECT_EQ(stats().live_blocks, live);
}

TEST(Memory, ReusesReleasedBlocks) {
    if (!pooled) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
    for (const size_t bytes : {100u, 100000u, 5000000u}) {
        void *p = allocate(bytes);
        release(p);
        const int64_t calls = stats().system_calls;
        void *q = allocate(bytes);
        EXPECT_EQ(p, q);
        release(q);
        EXPECT_EQ(stats().system_calls, calls);
    }
}

TEST(Memory, CountsBytesAndTheirPeak) {
    const Stats before = stats();
    void *a = allocate(1 << 20);
    void *b = allocate(1000);
    const Stats during = stats();
    EXPECT_GE(during.live_bytes - before.live_bytes, (1 << 20) + 1000);
    EXPECT_LE(during.live_bytes - before.live_bytes, ((1 << 20) + 1000) * 5 / 4);
    EXPECT_GE(during.peak_bytes, during.live_bytes);
    EXPECT_EQ(during.allocations, before.allocations + 2);
    release(a);
    release(b);
    const Stats after = stats();
    EXPECT_EQ(after.live_bytes, before.live_bytes);
    EXPECT_EQ(after.peak_bytes, during.peak_bytes);
    EXPECT_GE(after.pooled_bytes, pooled ? 1 << 20 : 0);
}

TEST(Memory, PeakOfOneThreadIsExact) {
    const int64_t start = stats().live_bytes;
    void *big = allocate(size_t{200} << 20);  // This is above any peak so far.
    const int64_t high = stats().live_bytes;
    void *small = allocate(64);
    release(small);
    EXPECT_EQ(stats().peak_bytes, high + 64)
        << "also when the extra block was gone before anyone looked";
    release(big);
    EXPECT_EQ(stats().live_bytes, start);
}

// A full pool of unused blocks makes room for a large block.
TEST(Memory, ReusesLargeBlocksInAFullPool) {
    if (!pooled) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
    trim();
    const int64_t elsewhere = stats().pooled_bytes;  // in the caches of other tests' threads
    const int64_t full = (int64_t{1} << 30) + elsewhere;
    std::vector<void *> old;
    for (int i = 0; i < 8; i++)
        old.push_back(allocate(size_t{128} << 20));
    for (void *p : old)
        release(p);
    EXPECT_EQ(stats().pooled_bytes, full);
    void *const first = allocate(size_t{200} << 20);
    release(first);
    const int64_t calls = stats().system_calls;
    for (int i = 0; i < 3; i++) {
        void *const p = allocate(size_t{200} << 20);
        EXPECT_EQ(p, first);
        release(p);
    }
    EXPECT_EQ(stats().system_calls, calls);
    EXPECT_LE(stats().pooled_bytes, full);
    trim();
}

// Blocks used since this one was taken stay in the pool, and this one is returned to the system.
TEST(Memory, FullPoolKeepsRecentBlocks) {
    if (!pooled) GTEST_SKIP() << "under the address sanitizer nothing is pooled";
    trim();
    void *const large = allocate(size_t{200} << 20);
    std::vector<void *> others;
    for (int i = 0; i < 8; i++)
        others.push_back(allocate(size_t{128} << 20));
    for (void *p : others)
        release(p);
    release(large);
    const int64_t calls = stats().system_calls;
    for (void *&p : others)
        p = allocate(size_t{128} << 20);
    EXPECT_EQ(stats().system_calls, calls);
    for (void *p : others)
        release(p);
    trim();
}

TEST(Memory, TrimReleasesMemory) {
    release(allocate(8 << 20));
    trim();
    EXPECT_LT(stats().pooled_bytes, 8 << 20);
}

TEST(Memory, RejectsImpossibleSizes) {
    try {
        allocate(SIZE_MAX);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const MemoryError &e) {
        EXPECT_EQ(
            std::string(e.what()).find("[memory] out of memory: 17592186044416.0 MB wanted, "), 0u)
            << e.what();
    }
    EXPECT_THROW(allocate(size_t{1} << 50), MemoryError);
    const int64_t live = stats().live_blocks;
    EXPECT_THROW(Tensor::empty({1 << 16, 1 << 16}), ShapeError);
    EXPECT_EQ(stats().live_blocks, live);
}

// Under a limit, cached blocks are released first; then calls fail and change nothing. Without the
// limit they succeed again.
TEST(Memory, RespectsItsLimit) {
    void *const held = allocate(6 << 20);
    release(allocate(9 << 20));  // The cached block hinders no other allocation.
    set_limit(16 << 20);
    const int64_t live = stats().live_bytes;
    void *const other = allocate(7 << 20);
    try {
        allocate(5 << 20);
        ADD_FAILURE() << "nothing was thrown";
    } catch (const MemoryError &e) {
        const std::string reported = e.what();
        EXPECT_TRUE(reported.starts_with(
            "[memory] out of memory: 5.0 MB wanted, 13.0 MB in use, the limit is 16.0 MB"))
            << reported;
    }
    release(other);
    release(allocate(5 << 20));
    EXPECT_EQ(stats().live_bytes, live);
    set_limit(0);
    release(allocate(32 << 20));
    release(held);
}

TEST(MemoryDeathTest, SanitizerDetectsOverruns) {
    if (pooled) GTEST_SKIP() << "needs the address sanitizer";
    const Tensor t = Tensor::zeros({5});
    EXPECT_DEATH(*(volatile float *)(t.data<float>() + 5) = 1, "heap-buffer-overflow");
    EXPECT_DEATH(*(volatile float *)(t.data<float>() - 1) = 1, "use-after-poison");
}

TEST(Memory, ThreadsExchangeBlocks) {
    const Stats before = stats();
    std::mutex mutex;
    std::vector<std::pair<unsigned char *, size_t>> shared;
    auto work = [&](unsigned seed) {
        std::mt19937 random(seed);
        for (int i = 0; i < 4000; i++) {
            const size_t bytes = size_t{1} << (random() % 18);
            auto *p = (unsigned char *)allocate(bytes);
            std::memset(p, int(bytes % 251), bytes);
            std::pair<unsigned char *, size_t> other{p, bytes};
            {
                const std::lock_guard lock(mutex);
                if (shared.size() < 50) {
                    shared.push_back(other);
                    continue;
                }
                std::swap(shared[random() % 50], other);
            }
            for (size_t b = 0; b < other.second; b += 97) {
                if (other.first[b] != other.second % 251)
                    ADD_FAILURE() << "a block of " << other.second << " bytes was overwritten";
            }
            release(other.first);
        }
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; t++)
        threads.emplace_back(work, t);
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(stats().live_blocks, before.live_blocks + int64_t(shared.size()));
    EXPECT_EQ(stats().allocations, before.allocations + 16000)
        << "also those of threads that ended";
    for (const auto &[p, bytes] : shared)
        release(p);
    EXPECT_EQ(stats().live_blocks, before.live_blocks);
    EXPECT_EQ(stats().live_bytes, before.live_bytes);
}

TEST(Memory, TensorsOutliveTheThreadThatMadeThem) {
    const int64_t live = stats().live_blocks;
    std::vector<Tensor> made(100);
    std::thread([&] {
        for (size_t i = 0; i < made.size(); i++)
            made[i] = Tensor::full({int64_t(i) + 1}, double(i));
    }).join();
    for (size_t i = 0; i < made.size(); i++)
        EXPECT_EQ(made[i].at({int64_t(i)}), double(i));
    std::thread([moved = std::move(made)]() mutable { moved.clear(); }).join();
    EXPECT_EQ(stats().live_blocks, live);
}

// It is constructed before the thread's cache of blocks, so it is destroyed after that cache.
struct Late {
    Tensor t;
};
thread_local Late late;

TEST(Memory, TensorsInThreadLocalsAreFreedAtTheEnd) {
    const int64_t live = stats().live_blocks;
    for (int i = 0; i < 3; i++)
        std::thread([] { late.t = Tensor::ones({1000}); }).join();
    EXPECT_EQ(stats().live_blocks, live);
}

}  // namespace
}  // namespace halyard::memory
