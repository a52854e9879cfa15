// Compares the bytes counted in lowered statements with schedules of obvious traffic and with the
// counts of an OpenCL simulator.
#include "dsl/traffic.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "dsl/all_ops.h"
#include "registry/tensor/npy.h"

namespace halyard {
namespace {

// y = 2 x in vectors of 8, with a tail of the test's choice.
struct Doubled : Op {
    const Tail tail;
    explicit Doubled(Tail t) : Op("doubled", "x[n] -> y[n]"), tail(t) {}
    Func x = input("x");
    Func y = output("y");
    Var i{"i"}, vec{"vec"}, lane{"lane"};
    void algorithm() override { y(i) = x(i) + x(i); }
    void schedule(const Cpu &) override { y.split(i, vec, lane, 8, tail).vectorize(lane); }
    void reference(Problem &) const override {}
};

Traffic doubled(Halide::TailStrategy tail, int64_t n) {
    Kernel k(std::make_unique<Doubled>(tail), {});
    return traffic_of(k, {{"n", n}});
}

TEST(Traffic, CountsTails) {
    using Tail = Halide::TailStrategy;
    const Traffic guarded = doubled(Tail::GuardWithIf, 13);
    const Traffic overlapping = doubled(Tail::ShiftInwards, 13);
    const Traffic masked = doubled(Tail::Predicate, 13);
    EXPECT_EQ(guarded.tensors.at("x").loaded, 13 * 4) << "one load serves both terms";
    EXPECT_EQ(guarded.tensors.at("y").stored, 13 * 4);
    EXPECT_EQ(overlapping.tensors.at("x").loaded, 16 * 4);
    EXPECT_EQ(overlapping.tensors.at("y").stored, 16 * 4);
    EXPECT_EQ(masked.tensors.at("x").loaded, 13 * 4);
    EXPECT_EQ(masked.tensors.at("y").stored, 13 * 4);
    EXPECT_EQ(doubled(Tail::GuardWithIf, 1'000'000).total().loaded, 4'000'000);
    EXPECT_EQ(guarded.tensors.at("x").stored, 0);
}

// A stage whose scratch another stage reads twice.
struct Staged : Op {
    Staged() : Op("staged", "x[n] -> y[n]") {}
    Func x = input("x");
    Func y = output("y");
    Func stage{"stage"};
    Var i{"i"};
    void algorithm() override {
        stage(i) = x(i) * x(i);
        y(i) = stage(i) + stage(max(i - 1, 0));
    }
    void schedule(const Cpu &) override { stage.compute_root(); }
    void reference(Problem &) const override {}
};

TEST(Traffic, CountsScratchSeparately) {
    Kernel k(std::make_unique<Staged>(), {});
    const Traffic t = traffic_of(k, {{"n", 100}});
    EXPECT_EQ(t.tensors.at("x").loaded, 400);
    EXPECT_EQ(t.tensors.at("y").stored, 400);
    ASSERT_EQ(t.scratch.size(), 1u);
    EXPECT_EQ(t.scratch.begin()->first, "stage");
    EXPECT_EQ(t.scratch.begin()->second.stored, 400);
    EXPECT_EQ(t.scratch.begin()->second.loaded, 800);
}

// Sums an instruction histogram's bytes of global memory.
Traffic::Bytes global_bytes(const std::string &histogram) {
    Traffic::Bytes sum;
    const std::regex line("(load|store) global \\((\\d+) bytes\\)");
    for (std::sregex_iterator m(histogram.begin(), histogram.end(), line), end; m != end; ++m)
        ((*m)[1] == "load" ? sum.loaded : sum.stored) += std::stoll((*m)[2]);
    return sum;
}

TEST(Traffic, MatchesASimulatorForSoftmaxOnAGpu) {
    namespace fs = std::filesystem;
    if (std::system("oclgrind --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no oclgrind";
    list_kit_ops();
    const fs::path dir = fs::temp_directory_path() /
                         ("halyard_traffic_" + std::to_string(getpid()));
    fs::create_directories(dir);
    // Partial blocks, then full ones.
    for (auto [n, c] : {std::pair<int64_t, int64_t>{13, 100}, {8, 64}, {3, 65}}) {
        Instance i;
        i.backend = "opencl";
        i.variant = "short";
        Kernel k(op_table().make("softmax"), i);
        const Traffic::Bytes counted = traffic_of(k, {{"n", n}, {"c", c}}).total();
        save_npy((dir / "x.npy").string(), Tensor::ones({n, c}));
        const std::string command =
            "cd '" + dir.string() +
            "' && oclgrind --inst-counts --build-options -cl-opt-disable '" HALYARD_COMMAND
            "' run softmax --in x=x.npy --device opencl --out-dir o > out.txt 2>&1";
        ASSERT_EQ(std::system(command.c_str()), 0);
        std::ifstream file(dir / "out.txt");
        const Traffic::Bytes simulated = global_bytes(
            std::string(std::istreambuf_iterator<char>(file), {}));
        EXPECT_GT(simulated.loaded, 0) << n << " x " << c;
        EXPECT_EQ(counted.loaded, simulated.loaded) << n << " x " << c;
        EXPECT_EQ(counted.stored, simulated.stored) << n << " x " << c;
    }
    fs::remove_all(dir);
}

}  // namespace
}  // namespace halyard
