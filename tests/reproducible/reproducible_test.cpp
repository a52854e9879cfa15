// Tests reproducible mode: fresh processes with other instruction sets, numbers of threads and
// functions of the C library give the same bits.
#include "registry/dispatch/reproducible.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/plan.h"
#include "registry/dispatch/planner.h"
#include "tests/registry/has_kernels.h"

namespace halyard {
namespace {

std::vector<std::string> bits(const std::string &environment) {
    FILE *pipe = popen((environment + " " HALYARD_BITS).c_str(), "r");
    std::string text;
    char piece[4096];
    while (const size_t n = std::fread(piece, 1, sizeof piece, pipe))
        text.append(piece, n);
    EXPECT_EQ(pclose(pipe), 0) << environment;
    std::vector<std::string> lines;
    std::stringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

std::string differing(const std::vector<std::string> &a, const std::vector<std::string> &b) {
    std::string names;
    for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
        if (a[i] != b[i]) names += " " + a[i].substr(0, a[i].find(' '));
    return a.size() == b.size() ? names : " their number";
}

Isa planned() {
    const RegisteredOp &op = library().at("relu");
    const OperandMeta meta = meta_of(Tensor::ones({1000}));
    return make_plan(op, {&meta, 1}, Attrs(op.record)).kernel->isa;
}

TEST(Reproducible, EveryCpuGivesTheSameBits) {
    if (!has_kernels(Isa::baseline)) GTEST_SKIP() << "this build has no baseline kernels";
    const auto expected = bits("HALYARD_REPRODUCIBLE=1 HALYARD_ISA=baseline HALYARD_THREADS=1");
    ASSERT_GT(expected.size(), 200u);
    for (int isa = 0; isa <= int(host_isa()); isa++) {
        const std::string name = name_of((Isa)isa);
        EXPECT_EQ(differing(bits("HALYARD_REPRODUCIBLE=1 HALYARD_THREADS=3 HALYARD_ISA=" + name),
                            expected),
                  "")
            << name;
    }
    // Runs as on a CPU without FMA, for which the C library has other functions.
    EXPECT_EQ(
        differing(
            bits(
                "HALYARD_REPRODUCIBLE=1 GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"),
            expected),
        "");
}

TEST(Reproducible, InstructionSetsDifferWithoutIt) {
    if (!has_kernels(Isa::baseline) || planned() == Isa::baseline)
        GTEST_SKIP() << "only one instruction set here";
    EXPECT_NE(differing(bits("HALYARD_ISA=baseline"), bits("")), "");
}

TEST(Reproducible, CanBeSwitched) {
    if (!has_kernels(Isa::baseline)) GTEST_SKIP() << "this build has no baseline kernels";
    const Isa otherwise = planned();
    set_reproducible(true);
    EXPECT_TRUE(reproducible());
    EXPECT_EQ(planned(), Isa::baseline);
    set_reproducible(false);
    EXPECT_EQ(planned(), otherwise);
}

TEST(ReproducibleDeathTest, EnvironmentSwitchesIt) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto rejected = [] {
        setenv("HALYARD_REPRODUCIBLE", "maybe", 1);
        try {
            reproducible();
        } catch (const AttrError &e) {
            std::fprintf(stderr, "%s\n", e.what());
            std::exit(3);
        }
    };
    EXPECT_EXIT(rejected(), testing::ExitedWithCode(3),
                "HALYARD_REPRODUCIBLE is 'maybe', expected 0 or 1");
}

}  // namespace
}  // namespace halyard
