// Tests that the profiler's metrics add up: no pipe is busy longer than the program runs, and the
// bytes moved match the shapes.
#include "ascend/simulator/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/ascend/programs.h"

namespace halyard::dv {
namespace {

SimResult run(const Program &p) {
    test::Gm gm(p);
    const SimResult r = simulate(p, gm.bindings());
    EXPECT_TRUE(r.ok()) << to_text(r.issues);
    return r;
}

double value(const std::vector<Metric> &all, const std::string &name) {
    for (const Metric &m : all)
        if (m.name == name) return m.value;
    ADD_FAILURE() << "no metric " << name;
    return NAN;
}

TEST(Metrics, BusyCyclesAddUp) {
    int checked = 0;
    for (const Program &p :
         {test::add_relu_builder(1 << 16, 8, 2048).build(), test::softmax_builder(16, 512).build(),
          test::matmul_builder(128, 128, 128, 64, 64, 64).build()}) {
        const SimResult r = run(p);
        for (const CoreStats &s : r.stats) {
            for (const double b : s.busy) {
                EXPECT_LE(b, s.cycles);
                checked++;
            }
            EXPECT_LE(s.cycles, r.cycles);
            EXPECT_NEAR(s.vector_fp16 + s.vector_fp32 + s.vector_int32 + s.vector_misc,
                        s.busy[size_t(Pipe::v)], 1e-6);
            EXPECT_NEAR(s.cube_fp16 + s.cube_int8, s.busy[size_t(Pipe::m)], 1e-6);
            EXPECT_LE(s.gm_read, s.l2_read);
        }
        for (const Metric &m : metrics(p, r)) {
            if (m.name.find("ratio") != std::string::npos && !std::isnan(m.value)) {
                EXPECT_GE(m.value, 0) << m.name;
                EXPECT_LE(m.value, 1) << m.name;
                checked++;
            }
        }
    }
    std::printf("%d sums checked\n", checked);
}

TEST(Metrics, BytesMatchTheShapes) {
    const Program p = test::add_relu_builder(1 << 16, 8, 2048).build();
    const SimResult r = run(p);
    double read = 0, written = 0, ub_read = 0, ub_written = 0;
    for (const CoreStats &s : r.stats) {
        read += s.l2_read;
        written += s.l2_write;
        ub_read += s.read[size_t(Scope::ub)];
        ub_written += s.written[size_t(Scope::ub)];
    }
    const double tensor = 2 << 16;
    EXPECT_EQ(read, 2 * tensor);
    EXPECT_EQ(written, tensor);
    EXPECT_EQ(ub_read, 4 * tensor);     // Add reads two, relu one, the store one.
    EXPECT_EQ(ub_written, 4 * tensor);  // Loads write two, each operation one.
    const std::vector<Metric> all = metrics(p, r);
    EXPECT_NEAR(value(all, "l2_read_bw"), 2 * tensor / r.us / 1e3, 1e-6);
    EXPECT_EQ(value(all, "mac_ratio"), 0);
    EXPECT_TRUE(std::isnan(value(all, "icache_miss_rate")));
}

TEST(Metrics, MatmulReadsItsOperandsFromL2) {
    const Program p = test::matmul_builder(256, 128, 256, 128, 64, 128).build();
    const SimResult r = run(p);
    double asked = 0, from_gm = 0;
    for (const CoreStats &s : r.stats) {
        asked += s.l2_read;
        from_gm += s.gm_read;
    }
    EXPECT_EQ(asked, 2 * 2.0 * 2 * 256 * 128);     // Two tiles read each of both operands.
    EXPECT_NEAR(from_gm, 2.0 * 2 * 256 * 128, 1);  // GM is read once.
}

TEST(Metrics, WritesCsvAndTrace) {
    const Program p = test::add_relu_builder(8192, 2, 2048).build();
    const SimResult r = run(p);
    const std::string csv = metrics_csv(metrics(p, r));
    for (const char *line :
         {"group,metric,value\n", "PipeUtilization,icache_miss_rate,-\n",
          "ArithmeticUtilization,mac_fp16_ratio,0\n", "ResourceConflictRatio,vec_iq_full_ratio,"})
        EXPECT_NE(csv.find(line), std::string::npos) << line << csv;
    EXPECT_EQ(csv.find("fixpipe"), std::string::npos);  // This chip has none.
    const std::string trace = chrome_trace(p, r);
    EXPECT_EQ(std::count(trace.begin(), trace.end(), '{'),
              std::count(trace.begin(), trace.end(), '}'));
    EXPECT_NE(trace.find("\"name\": \"vec_add\", \"pid\": 0, \"tid\": 1"), std::string::npos)
        << trace;
    ASSERT_EQ(r.timelines.size(), 1u);
    // The first core runs two iterations of five instructions.
    EXPECT_EQ(r.timelines[0].size(), 2u * 5);
}

}  // namespace
}  // namespace halyard::dv
