#include "primitives/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "nn/dense.h"
#include "nn/wrap.h"
#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/scan.h"
#include "primitives/ops/unary.h"
#include "primitives/print.h"
#include "registry/base/error.h"
#include "registry/base/log.h"
#include "registry/base/parallel.h"
#include "registry/dispatch/device.h"
#include "registry/dispatch/explain.h"
#include "registry/dispatch/reproducible.h"
#include "registry/dispatch/simulated.h"
#include "registry/tensor/memory.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

std::string text_of(const fs::path &path) {
    std::ifstream file(path);
    std::stringstream s;
    s << file.rdbuf();
    return s.str();
}

class ContextTest : public testing::Test {
protected:
    void SetUp() override { fs::create_directories(dir); }
    void TearDown() override {
        set_context({.mode = mode_before,
                     .device_target = "CPU",
                     .max_device_memory = "",
                     .save_graphs = false,
                     .print_file_path = "",
                     .enable_profiling = false,
                     .reproducible = false});
        fs::remove_all(dir);
    }
    const ExecutionMode mode_before = get_context().mode;  // HALYARD_MODE's
    fs::path dir = fs::temp_directory_path() / ("halyard_context_" + std::to_string(getpid()));
};

struct MeanSquare : nn::Cell {
    Tensor construct(const Tensor &y, const Tensor &label) const override {
        return F::reduce_mean(F::square(F::sub(y, label)));
    }
};

TEST_F(ContextTest, KeepsOptionsThatAreNotSet) {
    set_context({.mode = PYNATIVE_MODE, .device_target = "CPU", .device_id = 3});
    set_context({.precision_mode = "allow_fp32_to_fp16", .reproducible = true});
    const Context now = get_context();
    EXPECT_EQ(now.precision_mode, "allow_fp32_to_fp16");
    EXPECT_EQ(now.mode, PYNATIVE_MODE);
    EXPECT_EQ(now.device_target, "CPU");
    EXPECT_EQ(now.device_id, 3);
    EXPECT_TRUE(now.reproducible);
    EXPECT_TRUE(reproducible());
    set_context(
        {.device_id = 0, .precision_mode = "must_keep_origin_dtype", .reproducible = false});
    EXPECT_FALSE(reproducible());
}

TEST_F(ContextTest, RejectsUnknownOptions) {
    expect_error<AttrError>("[context] device_target is 'TPU', expected CPU, GPU or Ascend; this "
                            "build has kernels for CPU and GPU",
                            [] { set_context({.device_target = "TPU"}); });
    expect_error<AttrError>("[context] device_id is -1, expected 0 to 4095",
                            [] { set_context({.device_id = -1}); });
    expect_error<AttrError>("[context] device_id is 4096, expected 0 to 4095",
                            [] { set_context({.device_id = 4096}); });
    expect_error<AttrError>("[context] precision_mode is 'force_fp32', expected "
                            "must_keep_origin_dtype or allow_fp32_to_fp16",
                            [] { set_context({.precision_mode = "force_fp32"}); });
    for (const char *bad : {"2", "GB", "0GB", "-1GB", "2TB", "2 GB x", "nanGB", "1e300GB"})
        EXPECT_THROW(set_context({.max_device_memory = bad}), AttrError) << bad;
    expect_error<AttrError>(
        "[context] profiling_options is '[', expected JSON as {\"output\": \"folder\"}",
        [] { set_context({.profiling_options = "["}); });
    EXPECT_THROW(set_context({.print_file_path = dir.string()}), IoError);
    EXPECT_EQ(get_context().device_target, "CPU");
}

TEST_F(ContextTest, SelectsAnAscendChip) {
    const auto chip_of = [](const char *target) {
        set_context({.device_target = target});
        EXPECT_EQ(get_context().device_target, target);
        EXPECT_EQ(device(), "ascend");
        return simulated_device().chip();
    };
    const Tensor x = Tensor::from<float>({-1, 2});
    const RegisteredOp &relu = library().at("relu");
    for (const auto &[target, chip] : {std::pair{"Ascend310", "ascend310"},
                                       {"Ascend910B", "ascend910b"},
                                       {"Ascend910", "ascend910"},
                                       {"Ascend", "ascend910"}}) {
        EXPECT_EQ(chip_of(target), chip);
        EXPECT_EQ(F::relu(x).to_vector<float>(), (std::vector<float>{0, 2}));
        const std::string text = explain(relu, std::vector<Tensor>{x}, Attrs(relu.record));
        EXPECT_NE(text.find("-> " + std::string(chip) + " f32"), std::string::npos) << text;
    }
    expect_error<AttrError>("[context] device_target is 'Ascend311', expected Ascend (which is "
                            "Ascend910), Ascend310, Ascend910 or Ascend910B",
                            [] { set_context({.device_target = "Ascend311"}); });
}

TEST_F(ContextTest, RejectsProfilingOptionsWithoutEffect) {
    const std::pair<const char *, const char *> all[] = {
        {R"({"outptu": "a"})",
         "no option 'outptu', expected output (or result_path, its older name)"},
        {R"({"training_trace": "on"})",
         R"(training_trace is "on", but there is nothing of that kind to trace: expected "off", or leave it out)"},
        {R"({"output": "a", "task_trace": "maybe"})",
         R"(task_trace is "maybe", but there is nothing of that kind to trace: expected "off", or leave it out)"},
        {R"({"output": 3})", "output is 3, expected the name of a folder"},
        {R"({"output": "a", "result_path": "b"})",
         "output and result_path, its older name, are 'a' and 'b', expected one folder"},
    };
    for (auto &refused : all) {
        expect_error<AttrError>(std::string("[context] profiling_options: ") + refused.second,
                                [&] { set_context({.profiling_options = refused.first}); });
    }
    EXPECT_NO_THROW(
        set_context({.profiling_options = R"({"output": ".", "training_trace": "off"})"}));
    set_context({.profiling_options = ""});
}

TEST_F(ContextTest, WarnsOfADeviceIdWithoutEffect) {
    testing::internal::CaptureStderr();
    set_context({.device_id = 3});
    const std::string reported = testing::internal::GetCapturedStderr();
    EXPECT_NE(
        reported.find("[context] device_id is 3: device_target CPU is one device; the id counts "
                      "from a change to GPU on"),
        std::string::npos)
        << reported;
    set_context({.device_id = 0});
}

TEST_F(ContextTest, WarnsOfMisspeltVariables) {
    setenv("HALYARD_MAX_DEVICE_MEMROY", "2GB", 1);
    setenv("HALYARD_OWN_NAME", "1", 1);
    testing::internal::CaptureStderr();
    set_context_from_environment();
    const std::string reported = testing::internal::GetCapturedStderr();
    unsetenv("HALYARD_MAX_DEVICE_MEMROY");
    unsetenv("HALYARD_OWN_NAME");
    EXPECT_NE(
        reported.find("HALYARD_MAX_DEVICE_MEMROY in the environment does nothing, did you mean "
                      "HALYARD_MAX_DEVICE_MEMORY?"),
        std::string::npos)
        << reported;
    EXPECT_EQ(reported.find("OWN_NAME"), std::string::npos) << reported;
}

class GpuTest : public ContextTest {
protected:
    void SetUp() override {
        ContextTest::SetUp();
        if (opencl_devices() == 0) GTEST_SKIP() << "no OpenCL device";
        set_context({.device_target = "GPU"});
    }
};

TEST_F(GpuTest, RejectsAMissingDevice) {
    const int devices = opencl_devices();
    const std::string there = "expected 0 to " + std::to_string(devices - 1) + ": OpenCL has " +
                              std::to_string(devices) + " here";
    expect_error<AttrError>("[context] device_id is 4000, " + there,
                            [] { set_context({.device_id = 4000}); });
    set_context({.device_target = "CPU"});
    set_context({.device_id = 4000});
    expect_error<AttrError>("[context] device_id is 4000, " + there,
                            [] { set_context({.device_target = "GPU"}); });
    EXPECT_EQ(get_context().device_target, "CPU");
    set_context({.device_id = 0});
    set_context({.device_target = "GPU"});
    F::relu(Tensor::ones({4}));
    EXPECT_THROW(set_device_id(devices), DeviceError) << "kernels have run on another one";
}

TEST_F(GpuTest, LogsOpsThatFallBackToTheCpu) {
    const Tensor x = Tensor::from<float>({-1, 0, 2});
    const Tensor wide = x.to(DType::f64);
    testing::internal::CaptureStderr();
    for (int i = 0; i < 2; i++) {
        for (const DType t : {DType::f32, DType::f16, DType::bf16, DType::f64})
            EXPECT_EQ(F::relu(x.to(t)).to_vector<float>(), (std::vector<float>{0, 0, 2}));
        EXPECT_EQ(F::cumsum(wide, 0).at({2}), 1);
    }
    const std::string reported = testing::internal::GetCapturedStderr();
    const std::string why = " of f64 stays on the CPU: no opencl kernel for f64, only for ";
    EXPECT_NE(reported.find("[opencl] relu" + why + "f32 f16 bf16"), std::string::npos) << reported;
    EXPECT_EQ(reported.find("relu" + why), reported.rfind("relu" + why));
    EXPECT_NE(reported.find("cumsum" + why), std::string::npos) << reported;
    for (const char *there : {"relu of f32", "relu of f16", "relu of bf16"})
        EXPECT_EQ(reported.find(there), std::string::npos) << reported;
    const Tensor in[] = {wide};
    const RegisteredOp &op = find_op("relu");
    EXPECT_NE(explain(op, in, Attrs(op.record)).find("stays on the CPU: no opencl kernel for f64"),
              std::string::npos);
}

TEST_F(GpuTest, EmptyTensorsNeverReachTheDevice) {
    EXPECT_EQ(F::matmul(Tensor::ones({2, 0}), Tensor::ones({0, 3})).to_vector<float>(),
              std::vector<float>(6, 0));
    EXPECT_EQ(F::add(Tensor::ones({0, 3}), 1.0).shape(), Shape({0, 3}));
    EXPECT_EQ(F::reduce_sum(Tensor::ones({0, 3}), {0}).to_vector<float>(),
              std::vector<float>(3, 0));
}

TEST_F(ContextTest, RunsOpsInGraphMode) {
    set_context({.mode = GRAPH_MODE});
    EXPECT_TRUE(runs_graphs());
    EXPECT_EQ(F::add(Tensor::ones({2}), 1.0).at({1}), 2);
    set_context({.mode = PYNATIVE_MODE});
    EXPECT_FALSE(runs_graphs());
}

TEST_F(ContextTest, LogsFromItsLevelUp) {
    const LogLevel before = log_level();
    testing::internal::CaptureStderr();
    set_log_level(LogLevel::error);
    log(LogLevel::warning, "who", "not this");
    log(LogLevel::error, "who", "this");
    set_log_level(LogLevel::debug);
    log(LogLevel::debug, "who", "and this");
    set_log_level(before);
    const std::string reported = testing::internal::GetCapturedStderr();
    EXPECT_EQ(reported.find("not this"), std::string::npos);
    EXPECT_EQ(reported.substr(0, 17 + std::to_string(getpid()).size()),
              "[ERROR] HALYARD(" + std::to_string(getpid()) + ")");
    EXPECT_NE(reported.find(" [who] this\n[DEBUG] "), std::string::npos) << reported;
}

// A step that is too large is rejected with the op's name and the sizes; the next, smaller ones
// train normally.
TEST_F(ContextTest, TrainingContinuesAfterOutOfMemory) {
    const nn::Dense net(64, 4096, 0.01, 0.0);
    const nn::TrainOneStepCell step(nn::WithLossCell(net, MeanSquare()),
                                    nn::Momentum(net.trainable_params(), 0.5, 0.9));
    const auto run = [&](int64_t batch) {
        return step(Tensor::ones({batch, 64}), Tensor::full({batch, 4096}, 0.5)).item();
    };
    const double first = run(8);
    memory::trim();
    set_context({.max_device_memory = "64MB"});
    const int64_t live = memory::stats().live_bytes;
    try {
        const Tensor x = Tensor::ones({2048, 64});
        const Tensor label = Tensor::full({1, 4096}, 0.5).expand({2048, 4096});
        step(x, label);
        ADD_FAILURE() << "128 MB of activations fitted into 64 MB";
    } catch (const MemoryError &e) {
        const std::string reported = e.what();
        EXPECT_NE(reported.find("[bias_add] add: out of memory: 32.0 MB wanted, "),
                  std::string::npos)
            << reported;
        EXPECT_NE(reported.find(" in use, the limit is 64.0 MB (max_device_memory)"),
                  std::string::npos)
            << reported;
    }
    EXPECT_EQ(memory::stats().live_bytes, live);
    double last = 0;
    for (int i = 0; i < 20; i++)
        last = run(8);
    EXPECT_LT(last, first / 10);
}

// Scratch of a kernel, which is C and can't be unwound, is rejected with the same message.
TEST_F(ContextTest, ScratchCountsAgainstTheLimit) {
    const int threads_before = threads();
    set_threads(1);
    const Tensor a = Tensor::ones({512, 512}), b = Tensor::ones({512, 512});
    const Tensor c = Tensor::empty({512, 512});
    const RegisteredOp &matmul = find_op("matmul");
    const Attrs attrs(matmul.record);
    const Tensor in[] = {a, b};
    Isa isa = Isa::baseline;
    for (const KernelEntry &k : matmul.kernels)
        if (k.backend == "cpu" && k.isa <= active_isa()) isa = std::max(isa, k.isa);
    const Force force(isa, "packed");  // This kernel copies an operand into scratch.
    memory::trim();
    memory::set_limit(1);
    try {
        dispatch_into(matmul, in, attrs, {&c, 1});
        ADD_FAILURE() << "matmul found room for its scratch";
    } catch (const MemoryError &e) {
        EXPECT_TRUE(std::string(e.what()).starts_with("[matmul] out of memory: ")) << e.what();
    }
    memory::set_limit(0);
    dispatch_into(matmul, in, attrs, {&c, 1});
    EXPECT_EQ(c.at({511, 511}), 512);
    set_threads(threads_before);
}

TEST_F(ContextTest, SavesEachGraphOnce) {
    // In graph mode there would be the files of the captured graphs, too.
    set_context({.mode = PYNATIVE_MODE,
                 .save_graphs = true,
                 .save_graphs_path = (dir / "graphs").string()});
    const nn::Dense net(3, 2);
    const nn::TrainOneStepCell step(nn::WithLossCell(net, MeanSquare()),
                                    nn::Momentum(net.trainable_params(), 0.1, 0.9));
    for (int i = 0; i < 3; i++)
        step(Tensor::ones({5, 3}), Tensor::ones({5, 2}));
    std::vector<fs::path> files;
    for (auto &entry : fs::directory_iterator(dir / "graphs"))
        files.push_back(entry.path());
    ASSERT_EQ(files.size(), 1u);
    const std::string dot = text_of(files[0]);
    EXPECT_TRUE(dot.starts_with("digraph tape {\n")) << dot;
    for (const char *part :
         {"label=\"square\"", "shape=ellipse, label=\"f32[2,3]\"", "label=\"f32[5,2]\"", " -> "})
        EXPECT_NE(dot.find(part), std::string::npos) << part << dot;
    step(Tensor::ones({6, 3}), Tensor::ones({6, 2}));
    EXPECT_TRUE(fs::exists(files[0].string().replace(files[0].string().size() - 5, 1, "1")))
        << "a graph with other shapes is a new one";
}

TEST_F(ContextTest, PrintMatchesMindSpore) {
    const std::string path = (dir / "print.txt").string();
    std::ofstream(path) << "of an earlier run\n";
    set_context({.print_file_path = path});
    const std::string stamped = get_context().print_file_path;
    ASSERT_TRUE(stamped.starts_with(path + ".")) << stamped;
    testing::internal::CaptureStdout();
    ops::Print()("Print Tensor x and Tensor y:", Tensor::from<int32_t>({1, 1}).reshape({2, 1}),
                 Tensor::from<float>({0.5f, -2}), 3, true);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(
        text_of(stamped),
        "Print Tensor x and Tensor y:\nTensor(shape=[2, 1], dtype=Int32, value=\n[[1],\n [1]])\n"
        "Tensor(shape=[2], dtype=Float32, value=\n[5.00000000e-01, -2.00000000e+00])\n3\nTrue\n");
    EXPECT_EQ(text_of(path), "of an earlier run\n");
    set_context({.print_file_path = ""});
    testing::internal::CaptureStdout();
    F::print_(Tensor::from<int64_t>({9007199254740993}));  // No double has this value.
    EXPECT_EQ(testing::internal::GetCapturedStdout(),
              "Tensor(shape=[1], dtype=Int64, value=\n[9007199254740993])\n");
}

TEST_F(ContextTest, ProfilingWritesASlicePerOp) {
    set_context({.enable_profiling = true,
                 .profiling_options = "{\"result_path\": \"" + dir.string() +
                                      "\", \"training_trace\": \"off\"}"});
    F::relu(F::add(Tensor::ones({4, 5}), 1.0));
    set_context({.enable_profiling = false});
    F::tanh(Tensor::ones({2}));  // Profiling has ended.
    const nlohmann::json trace = nlohmann::json::parse(
        text_of(dir / ("op_trace_" + std::to_string(getpid()) + ".json")));
    std::vector<std::string> names;
    for (const auto &event : trace["traceEvents"]) {
        if (event["ph"] != "X") continue;
        names.push_back(event["name"]);
        EXPECT_GT(event["dur"], 0);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"add", "relu"}));
    EXPECT_EQ(trace["traceEvents"].back()["args"]["detail"], "f32[4,5]");
}

}  // namespace
}  // namespace halyard
