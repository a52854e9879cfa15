// Tests halyard explain and roofs: the selected kernel, reasons for rejections, costs, and the
// machine's limits.
#include <nlohmann/json.hpp>
#include <regex>

#include "registry/dispatch/device.h"
#include "tests/tools/command.h"

namespace halyard {
namespace {

using Json = nlohmann::json;

TEST_F(Command, ExplainShowsThePredicatesValues) {
    const Result r = halyard("explain softmax --shape x=40x3");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(
        r.out.find("refused: c>=4*lanes||c>=2*lanes&&n<lanes||c>=lanes&&4*n<=lanes: c is 3, "),
        std::string::npos)
        << r.out;
    EXPECT_NE(r.out.find("-> cpu f32 short "), std::string::npos) << r.out;
    EXPECT_EQ(r.out.find("x the best"), std::string::npos)
        << "nothing is measured unless asked for";
}

TEST_F(Command, ExplainCountsTheKernelsOfOtherDevices) {
    if (opencl_devices() == 0) GTEST_SKIP() << "no OpenCL device";
    const std::string matmul = "explain matmul --device opencl --shape 'g=1 m=1024 k=64 n=512'";
    const Result r = halyard(matmul);
    EXPECT_NE(r.out.find("-> opencl f32 thread_tiles: chosen"), std::string::npos) << r.out;
    EXPECT_TRUE(
        std::regex_search(r.out, std::regex("\n     cpu: [0-9]+ kernels, for calls there\n")))
        << r.out;
    EXPECT_EQ(r.out.find("runs on cpu"), std::string::npos) << r.out;
    const Result forced = halyard(matmul + " --variant thread_sums");
    EXPECT_NE(forced.out.find("-> opencl f32 thread_sums: chosen"), std::string::npos)
        << forced.out << forced.err;
    expect_rejected("explain relu --device opencl --variant x",
                    "[relu] no variant 'x' on opencl, there is only one, without a name");
}

TEST_F(Command, WindowsOf3x3WithStride1HaveAVariant) {
    for (const char *op : {"avg_pool2d", "max_pool2d"}) {
        const Result r = halyard(std::string("explain ") + op +
                                 " --shape 'n=1 c=2 h=9 w=37 kernel_size=3,3 pad_mode=pad "
                                 "padding=1,1,1,1'");
        EXPECT_NE(r.out.find("-> cpu f32 pool3x3s1 "), std::string::npos) << r.out << r.err;
    }
}

// Vectors of at most 16 floats: 4 rows of 16 lanes are not filled by 63 elements, nor are 4 of 8 by
// 31, nor 4 of 4 by 15. Many such rows share vectors.
TEST_F(Command, RowsThatFillNoAccumulatorsShareVectors) {
    for (const auto &[isa, columns] :
         {std::pair("avx512", 63), std::pair("avx2", 31), std::pair("baseline", 15)}) {
        const Result r = halyard("explain softmax --shape 'n=256 c=" + std::to_string(columns) +
                                 "' --isa " + isa);
        if (r.err.find("this CPU has up to") != std::string::npos) continue;
        const bool is_in_build = r.out.find(std::string(" ") + isa + ":") != std::string::npos;
        if (!is_in_build) continue;
        EXPECT_NE(r.out.find(std::string("-> cpu f32 short ") + isa), std::string::npos)
            << r.out << r.err;
    }
}

TEST_F(Command, ExplainTakesAProblemLikeBench) {
    const Result r = halyard("explain softmax --shape 'n=40 c=3'");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find("c=3 n=40"), std::string::npos) << r.out;
    expect_rejected("explain softmax --shape n=40",
                    "[softmax] 'n=40' doesn't say c; dimensions: n c");
    expect_rejected("bench conv2d --shape 'n=2 c=3 h=x'",
                    "[conv2d] h is 'x', expected a whole number");
    expect_rejected(
        "bench softmax --shape 'n=2 c=3 axes=0'",
        "[softmax] no dimension or attribute 'axes' in 'x[..n,c] -> y[..n,c]'; dimensions: n c");
    expect_rejected("explain softmax --shape y=40x3", "[softmax] no input 'y', expected x");
    EXPECT_NE(halyard("explain add --shape 'd0=1 d1=2 d2=5'").out.find("d2=10"), std::string::npos)
        << "one row";
}

TEST_F(Command, ExplainGivesCostsOfCandidates) {
    const Result r = halyard("explain softmax --shape x=40x100 --price --json --threads 1");
    ASSERT_EQ(r.status, 0) << r.err;
    const Json j = Json::parse(r.out);
    EXPECT_EQ(j.at("problem").at("c"), 100);
    int chosen = 0, priced = 0;
    double best = 1e30, mine = 0;
    for (auto &c : j.at("candidates")) {
        EXPECT_NE(c.contains("refused"), c.contains("seconds")) << c;
        chosen += c.at("chosen").get<bool>();
        if (!c.contains("seconds")) continue;
        priced++;
        best = std::min(best, c.at("seconds").get<double>());
        if (c.at("chosen").get<bool>()) mine = c.at("seconds").get<double>();
    }
    EXPECT_EQ(chosen, 1);
    EXPECT_GE(priced, 2) << "of softmax's variants two take every row of at most 256";
    EXPECT_GT(best, 0);
    EXPECT_DOUBLE_EQ(j.at("price").at("best_kernel").get<double>(), best);
    EXPECT_DOUBLE_EQ(j.at("price").at("call").get<double>(), mine) << "no copy, no cast";
    EXPECT_DOUBLE_EQ(j.at("price").at("loss").get<double>(), mine / best);
}

TEST_F(Command, ExplainGivesTheCostOfACast) {
    const Result r = halyard("explain momentum_ --dtype f16 --price --threads 1");
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.out.find(
                  "key f16: no kernels, there are f32 f64; dispatch refuses it, the caller casts "),
              std::string::npos)
        << r.out;
    EXPECT_NE(r.out.find(" to f32 and "), std::string::npos) << r.out;
    EXPECT_NE(r.out.find(", casts "), std::string::npos) << r.out;
    const Json j = Json::parse(
        halyard("explain momentum_ --dtype bf16 --price --json --threads 1").out);
    EXPECT_EQ(j.at("cast").at("key"), "bf16");
    EXPECT_EQ(j.at("cast").at("to"), "f32");
    EXPECT_GT(j.at("cast").at("seconds"), 0);
    EXPECT_NEAR(j.at("price").at("call").get<double>(),
                j.at("cast").at("seconds").get<double>() + j.at("price").at("kernel").get<double>(),
                1e-12);
    expect_rejected("explain momentum_ --dtype i32",
                    "[momentum_] no kernels for i32, there are f32 f64");
}

TEST_F(Command, ExplainIsStrictAboutCopies) {
    const std::string call = "explain softmax --shape x=4x64x8x8 --attr axis=1 --threads 1";
    const Json j = Json::parse(halyard(call + " --price --json").out);
    ASSERT_EQ(j.at("copies").size(), 2u) << j;
    double copies = 0;
    for (auto &c : j.at("copies"))
        copies += c.at("seconds").get<double>();
    EXPECT_GT(copies, 0);
    EXPECT_NEAR(j.at("price").at("call").get<double>(),
                copies + j.at("price").at("kernel").get<double>(), 1e-12);
    expect_rejected(call + " --strict 1", "x its best kernel's ");
    EXPECT_EQ(halyard(call + " --strict 1000000").status, 0);
    EXPECT_EQ(halyard(call + " --strict 0.5").status, 2);
}

TEST_F(Command, RoofsAreMeasuredOnce) {
    const std::string here = "XDG_CACHE_HOME='" + (dir / "cache").string() + "'";
    const Result first = halyard("roofs", here);
    const Result second = halyard("roofs", here);
    ASSERT_EQ(first.status, 0) << first.err;
    EXPECT_NE(first.err.find("measuring this machine's roofs"), std::string::npos);
    EXPECT_EQ(first.err.find('\33'), std::string::npos) << "a file isn't a terminal";
    EXPECT_EQ(second.err, "");
    EXPECT_EQ(first.out, second.out);
    for (const char *word : {"GFLOP/s", "baseline", "GB/s", "L1", "memory"})
        EXPECT_NE(first.out.find(word), std::string::npos) << first.out;

    // bench prints its times next to them.
    const Result b = halyard("bench matmul --shape 'g=1 m=64 k=32 n=48' --variant any --rounds 2 "
                             "--min-time 0.002 --threads 1 --json b.json",
                             here);
    ASSERT_EQ(b.status, 0) << b.err;
    EXPECT_NE(b.out.find("of the roof"), std::string::npos) << b.out;
    const Json run = Json::parse(text_of(dir / "b.json")).at("benchmarks").at(0);
    EXPECT_EQ(run.at("flops"), 2 * 64 * 32 * 48);
    EXPECT_EQ(run.at("bytes"), 4 * (64 * 32 + 32 * 48 + 64 * 48));
    EXPECT_GT(run.at("roof_share"), 0);
    EXPECT_GT(run.at("roof_seconds"), 0);
}

}  // namespace
}  // namespace halyard
