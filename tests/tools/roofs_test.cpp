// Roofs: what is measured is what kernels meet, and what is kept on disk is this machine's or nothing.
#include "tools/roofs/roofs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "primitives/library.h"
#include "registry/dispatch.h"
#include "registry/parallel.h"
#include "tools/roofs/peaks.h"
#include "tools/roofs/streams.h"

namespace halyard {
namespace {

namespace fs = std::filesystem;

double seconds(const std::function<void()> &run) {
    const auto from = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();
}

// The copy op beside the streams that are the roof, on the same tensors: the roof's least time over the op's, less what a call costs
// that moves next to nothing (a twentieth of the time of 256 KiB, which is no bandwidth). Only one processor's time counts, so that a
// neighbour does little harm; where it does, a later try is better.
double copy_share(int64_t bytes) {
    const Tensor x = Tensor::zeros({bytes / 4}), y = Tensor::zeros({bytes / 4}), a = Tensor::zeros({16}), b = Tensor::zeros({16});
    const RegisteredOp &op = library().at("copy");
    const Attrs attrs(op.record);
    const int64_t passes = std::max<int64_t>(1, (4 << 20) / bytes);
    const auto each = [&](const std::function<void()> &run) {
        return seconds([&] {
            for (int64_t k = 0; k < passes; k++) run();
        });
    };
    double roof = 1e30, copy = 1e30, call = 1e30;
    for (int round = 0; round < 12; round++) {
        call = std::min(call, each([&] { dispatch_into(op, {&a, 1}, attrs, {&b, 1}); }));
        copy = std::min(copy, each([&] { dispatch_into(op, {&x, 1}, attrs, {&y, 1}); }));
        roof = std::min(roof, each([&] { roofs::copy_stream((char *)y.raw(), (const char *)x.raw(), bytes); }));
    }
    std::printf("  a call costs %.1f %% of the roof's time\n", 100 * call / roof);
    return roof / (copy - call);
}

TEST(Roofs, CopyIsAtTheRoof) {
    const int before = threads();
    set_threads(1);
    for (int64_t bytes : {int64_t{256} << 10, int64_t{32} << 20}) {  // of a core's own cache, of memory
        double share = 0;
        for (int tries = 0; tries < 20 && !(share >= 0.90 && share <= 1.05); tries++) {
            if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for a neighbour's burst to end
            share = copy_share(bytes);
        }
        std::printf("copy of %lld KiB: %.1f %% of the roof\n", (long long)bytes >> 10, 100 * share);
        if (!(share >= 0.90 && share <= 1.05) && roofs::load_average() > 1.5 * std::thread::hardware_concurrency())
            GTEST_SKIP() << "the machine is busy (load average " << roofs::load_average() << "), nothing can be said of bandwidth";
        EXPECT_GE(share, 0.90) << bytes;
        EXPECT_LE(share, 1.05) << bytes;
    }
    set_threads(before);
}

roofs::Roofs some() {
    roofs::Roofs r;
    r.machine = roofs::machine_key(), r.load = 0.5;
    for (int n : {1, 4}) {
        r.levels.push_back({n, "L1", 32 * 1024 * n, 4e11 * n, 2e11 * n, 3e11 * n, 3e11 * n, 1e11});
        r.levels.push_back({n, "memory", INT64_MAX, 4e10, 2e10, 3e10, 3e10, 5e10});
        for (DType t : {DType::f32, DType::f64}) r.peaks.push_back({n, Isa::avx2, t, (t == DType::f32 ? 1e11 : 5e10) * n});
    }
    return r;
}

TEST(Roofs, TheLevelHoldsAllBytesAndThreadsRoundUp) {
    const roofs::Roofs r = some();
    EXPECT_EQ(r.level(1, 1000).name, "L1");
    EXPECT_EQ(r.level(1, 32 * 1024 + 1).name, "memory");
    EXPECT_EQ(r.level(3, 32 * 1024 + 1).name, "L1");
    EXPECT_EQ(r.level(3, 1000).threads, 4);
    EXPECT_EQ(r.level(16, 1000).threads, 4);
    EXPECT_EQ(r.level(1, INT64_MAX).name, "memory");
    EXPECT_EQ(r.peak(1, Isa::avx2, DType::bf16), 1e11);
    EXPECT_EQ(r.peak(4, Isa::avx2, DType::f64), 2e11);
    EXPECT_EQ(r.peak(1, Isa::avx512, DType::f32), 0) << "not measured";
}

TEST(Roofs, TheHigherTimeBinds) {
    const roofs::Roofs r = some();
    constexpr int64_t nowhere = INT64_MAX;                                                   // cached
    const roofs::Bound moves = r.bound({1e6, 5e6, 2e6, nowhere, DType::f32}, 1, Isa::avx2);  // 2 MB copied, 3 MB read
    EXPECT_EQ(moves.by, "memory");
    EXPECT_FLOAT_EQ((float)moves.seconds, (float)(4e6 / 3e10 + 3e6 / 4e10));
    const roofs::Bound computes = r.bound({1e9, 5e6, 2e6, nowhere, DType::f32}, 1, Isa::avx2);
    EXPECT_EQ(computes.by, "f32 avx2");
    EXPECT_FLOAT_EQ((float)computes.seconds, 1e-2f);
    EXPECT_FLOAT_EQ((float)r.bound({1e9, 0, 0, nowhere, DType::f64}, 1, Isa::avx2).seconds, 2e-2f);
    EXPECT_FLOAT_EQ((float)r.bound({0, 0, 6e6, nowhere, DType::f32}, 1, Isa::avx2).seconds, (float)(6e6 / 2e10)) << "all written";
    EXPECT_FLOAT_EQ((float)r.bound({0, 1e4, 0, 10000, DType::f32}, 1, Isa::avx2).seconds, (float)(1e4 / 4e11)) << "of L1";
}

TEST(Roofs, ASmallerLevelMayHaveKeptAPart) {
    const int64_t twice = 2 * 32 * 1024;
    const roofs::Bound b = some().bound({0, (double)twice, 0, twice, DType::f32}, 1, Isa::avx2);
    EXPECT_EQ(b.by, "memory");
    EXPECT_DOUBLE_EQ(b.seconds, 32 * 1024 / 4e11 + 32 * 1024 / 4e10);
}

TEST(Roofs, TheFileIsThisMachinesAndWhole) {
    const fs::path file = fs::temp_directory_path() / ("halyard_roofs_" + std::to_string(getpid()));
    roofs::Roofs r = some(), read;
    save(r, file);
    ASSERT_TRUE(load(read, file));
    EXPECT_EQ(read.machine, r.machine);
    EXPECT_EQ(read.levels.size(), r.levels.size());
    EXPECT_EQ(read.level(4, INT64_MAX).copy, 3e10);
    EXPECT_EQ(read.peak(4, Isa::avx2, DType::f64), 2e11);
    std::ifstream in(file);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    for (const std::string &damaged : {text.substr(0, text.size() / 2), text.substr(0, text.size() - 4), std::string("level 1 L1"), std::string()}) {
        std::ofstream(file) << damaged;
        roofs::Roofs none;
        EXPECT_FALSE(load(none, file));
        EXPECT_TRUE(none.levels.empty());
    }
    std::string wrong = text;
    wrong.replace(wrong.find("avx2 f32"), 8, "avx2 f33");
    std::ofstream(file) << wrong;
    EXPECT_FALSE(load(read, file));
    r.machine = "another machine";
    save(r, file);
    EXPECT_FALSE(load(read, file));
    fs::remove(file);
    EXPECT_FALSE(load(read, file));
}

TEST(Roofs, WiderVectorsComputeMore) {
    EXPECT_EQ(roofs::multiply_add(Isa::baseline, DType::f32, 10), 10 * 12 * 4 * 2);
    EXPECT_EQ(roofs::multiply_add(Isa::baseline, DType::f16, 10), 0) << "no instruction converts it";
    if (host_isa() < Isa::avx2) GTEST_SKIP() << "no AVX2";
    EXPECT_EQ(roofs::multiply_add(Isa::avx2, DType::f64, 10), 10 * 12 * 4 * 2);
    // Twice as wide and one instruction instead of two: about twice as fast, if both are what they say.
    double wide = 1e30, narrow = 1e30;
    for (int k = 0; k < 10; k++) {
        wide = std::min(wide, seconds([] { roofs::multiply_add(Isa::avx2, DType::f32, 20000); }));
        narrow = std::min(narrow, seconds([] { roofs::multiply_add(Isa::baseline, DType::f32, 40000); }));
    }
    EXPECT_LT(wide, 0.8 * narrow);
}

}  // namespace
}  // namespace halyard
