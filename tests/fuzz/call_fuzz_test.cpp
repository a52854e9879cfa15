// Calls every op at random, as callers do: attributes in and out of range, all dtypes, tensors that
// are strided, broadcast, undefined or without elements, results in place, gradients.
//
//   HALYARD_FUZZ       number of calls on the CPU (5000; `make fuzz`: 400,000); devices get a
// hundredth
//   HALYARD_FUZZ_SEED  selects other calls
//   HALYARD_FUZZ_OP    calls only this op
//   HALYARD_FUZZ_CALL  "cpu 1000000007": makes this one call in this process, for a debugger
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <set>
#include <sstream>

#include "HalideRuntime.h"
#include "primitives/library.h"
#include "registry/tensor/memory.h"
#include "tests/fuzz/check_call.h"
#include "tests/fuzz/run_calls.h"

namespace halyard::fuzz {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr double slower = 6;
#else
constexpr double slower = 1;
#endif

uint64_t number_in(const char *variable, uint64_t otherwise) {
    const char *text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Returns the ops of the library before a test added its own.
const std::vector<const RegisteredOp *> &all_ops() {
    static const std::vector<const RegisteredOp *> ops = library().ops();
    return ops;
}

std::string again(const std::string &device, uint64_t number) {
    return "\n    repeat: HALYARD_FUZZ_CALL='" + device + " " + std::to_string(number) +
           "' call_fuzz_test";
}

void expect_good_ends(const std::string &device, uint64_t count, double seconds) {
    if (count == 0) GTEST_SKIP() << "HALYARD_FUZZ doesn't say how many calls";
    if (std::getenv("HALYARD_FUZZ_CALL")) GTEST_SKIP() << "one call was asked for";
    std::vector<const RegisteredOp *> ops = all_ops();
    CallOptions o;
    o.device = device;
    o.seconds = seconds * slower;
    o.first = number_in("HALYARD_FUZZ_SEED", 1) * 1'000'000'000;
    o.count = count;
    Outcome all;
    if (const char *name = std::getenv("HALYARD_FUZZ_OP")) {
        const auto at = std::ranges::find(ops, name, [](auto *op) { return op->record.name; });
        ASSERT_NE(at, ops.end()) << "no op " << name;
        o.stride = ops.size();
        o.first += ops.size() - o.first % ops.size() + uint64_t(at - ops.begin());
    }
    all = run_calls(ops, o);
    for (const Failure &f : all.failures) ADD_FAILURE() << f.what << again(device, f.number);
    std::printf("%s: %llu calls of %zu ops, %llu of them refused\n", device.c_str(),
                (unsigned long long)all.calls, ops.size(), (unsigned long long)all.rejected);
}

bool answers(const std::string &device) {
    try {
        set_device(device);
    } catch (const DeviceError &) {
        return false;
    }
    set_device("cpu");
    return true;
}

TEST(CallFuzz, OnTheCpu) { expect_good_ends("cpu", number_in("HALYARD_FUZZ", 5000), 10); }

TEST(CallFuzz, OnOpenCl) {
    if (!in_a_child([] { return answers("opencl"); })) GTEST_SKIP() << "no OpenCL device";
    expect_good_ends("opencl", number_in("HALYARD_FUZZ", 0) / 100, 60);
}

TEST(CallFuzz, OnAscend) {
    if (!in_a_child([] { return answers("ascend"); }))
        GTEST_SKIP() << "no library of the simulated device";
    expect_good_ends("ascend", number_in("HALYARD_FUZZ", 0) / 100, 60);
}

TEST(CallFuzz, RunsOneCall) {
    const char *which = std::getenv("HALYARD_FUZZ_CALL");
    if (!which) GTEST_SKIP() << "HALYARD_FUZZ_CALL asks for none";
    std::istringstream words(which);
    std::string device;
    uint64_t number = 0;
    ASSERT_TRUE(words >> device >> number)
        << "HALYARD_FUZZ_CALL is '" << which << "', expected 'cpu 17'";
    set_device(device);
    memory::set_limit(memory_limit);
    const RandomCall call = random_call(all_ops(), number);
    std::printf("%s\n", call.text().c_str());
    const CallResult v = check_call(call);
    EXPECT_EQ(v.wrong, "");
    std::printf("%s\n", v.rejected ? "refused" : "done");
}

TEST(RandomCalls, AreDeterminedByTheirNumber) {
    std::set<std::string> different;
    for (uint64_t number = 0; number < 1000; number++) {
        const std::string text = random_call(all_ops(), number).text();
        EXPECT_EQ(text, random_call(all_ops(), number).text());
        different.insert(text);
    }
    EXPECT_GT(different.size(), 900u);
}

// Kernels with one fault each, all of ops y = 2 x.
struct Elements {
    explicit Elements(void *argument) : buffer(*static_cast<halide_buffer_t *>(argument)) {}
    int extent(int d) const { return d < buffer.dimensions ? buffer.dim[d].extent : 1; }
    int stride(int d) const { return d < buffer.dimensions ? buffer.dim[d].stride : 0; }
    float &at(int i, int j, int k) const {
        float *const first = reinterpret_cast<float *>(buffer.host);
        return first[i * stride(0) + j * stride(1) + k * stride(2)];
    }
    const halide_buffer_t &buffer;
};

// AddressSanitizer would end the process at the planted fault.
__attribute__((no_sanitize("address"))) int doubled(void **args, bool x_is_dense) {
    const Elements x(args[0]);
    const Elements y(args[1]);
    for (int k = 0; k < y.extent(2); k++) {
        for (int j = 0; j < y.extent(1); j++) {
            for (int i = 0; i < y.extent(0); i++)
                y.at(i, j, k) = 2 * (x_is_dense ? (&x.at(0, j, k))[i] : x.at(i, j, k));
        }
    }
    return 0;
}
int right(void **args) { return doubled(args, false); }
int takes_x_for_dense(void **args) { return doubled(args, true); }
int writes_its_input(void **args) {
    const int status = right(args);
    Elements(args[0]).at(0, 0, 0) += 1;
    return status;
}
int crashes(void **args) {
    if (Elements(args[1]).extent(0) == 5) {
        signal(SIGSEGV, SIG_DFL);  // a sanitizer has a handler, which reports and exits
        raise(SIGSEGV);
    }
    return right(args);
}
int hangs(void **args) {
    for (volatile bool forever = Elements(args[1]).extent(0) == 7; forever;) {
    }
    return right(args);
}
int fails(void **) { return -1; }

Outcome outcome_of(const char *name, KernelFn kernel) {
    OpFile file;
    OpRecord record;
    record.name = name;
    record.signature = "x[*] -> y[*]";
    record.form = Form::elementwise;
    record.dtypes = {"f32"};
    record.samples = {"d0=1 d1=1 d2=5", "d0=1 d1=1 d2=7", "d0=2 d1=3 d2=4"};
    record.any_strides = true;
    file.name = name;
    file.ops = {record};
    file.kernels = {{name, "cpu", "f32", "", Isa::baseline, 4, {}, kernel}};
    all_ops();
    library().add({&file});
    CallOptions o;
    o.count = 300;
    o.seconds = 0.5;
    o.max_failures = 3;
    return run_calls({&library().at(name)}, o);
}

std::string first_failure(const char *name, KernelFn kernel) {
    const Outcome all = outcome_of(name, kernel);
    return all.failures.empty() ? "" : all.failures[0].what;
}

TEST(CallFuzz, FindsFaultsOfKernels) {
    const auto has = [](const std::string &text, const char *part) {
        return text.find(part) != std::string::npos;
    };
    EXPECT_EQ(first_failure("planted_right", right), "");
    EXPECT_TRUE(has(first_failure("planted_dense", takes_x_for_dense),
                    " as of dense tensors of full size"));
    EXPECT_TRUE(has(first_failure("planted_writes", writes_its_input), "it wrote into input 0"));
    EXPECT_TRUE(has(first_failure("planted_crash", crashes), "died of signal 11"));
    EXPECT_TRUE(has(first_failure("planted_hang", hangs), "no end after 0.5 s of processor time"));
    EXPECT_TRUE(
        has(first_failure("planted_fails", fails), "the error speaks of what no caller knows"));
}

}  // namespace
}  // namespace halyard::fuzz
