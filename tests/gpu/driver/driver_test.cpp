// Tests the model driver through its C functions, as Halide's run time calls them.
#include "gpu/driver/driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/gpu/run_ptx.h"

namespace halyard::ptx {
namespace {

using Address = uint64_t;
constexpr int out_of_memory = 2, invalid_value = 1, invalid_context = 201, invalid_ptx = 218;
constexpr int not_found = 500, illegal_address = 700, not_supported = 801;

class Driver : public testing::Test {
protected:
    void SetUp() override {
        setenv("HALYARD_CUDA_MODEL_MEMORY", "1000000", 1);
        library_ = dlopen(HALYARD_CUDA_MODEL, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library_, nullptr) << dlerror();
        ASSERT_EQ(call("cuInit", 0U), 0);
        ASSERT_EQ(call("cuCtxCreate_v2", &context_, 0U, 0), 0);
        findings();
    }
    void TearDown() override { EXPECT_EQ(call("cuCtxDestroy_v2", context_), 0); }

    template<class... A> int call(const char *name, A... arguments) const {
        const auto f = reinterpret_cast<int (*)(A...)>(dlsym(library_, name));
        if (!f) ADD_FAILURE() << name;
        return f ? f(arguments...) : -1;
    }
    std::string text(const char *name) const {
        return reinterpret_cast<const char *(*)()>(dlsym(library_, name))();
    }
    std::string findings() const { return text("halyard_cuda_model_findings"); }

    Address allocate(size_t bytes) const {
        Address a = 0;
        EXPECT_EQ(call("cuMemAlloc_v2", &a, bytes), 0);
        return a;
    }
    void *function(const std::string &body) const {
        void *module = nullptr, *f = nullptr;
        const std::string code = module_of(body);
        EXPECT_EQ(call("cuModuleLoadData", &module, (const void *)code.c_str()), 0);
        EXPECT_EQ(call("cuModuleGetFunction", &f, module, "kernel"), 0);
        return f;
    }
    int launch(void *f, std::vector<Address> values, unsigned threads) const {
        values.resize(4);
        void *parameters[] = {&values[0], &values[1], &values[2], &values[3]};
        return call("cuLaunchKernel", f, 1U, 1U, 1U, threads, 1U, 1U, 0U, (void *)nullptr,
                    (void **)parameters, (void **)nullptr);
    }

    void *library_ = nullptr, *context_ = nullptr;
};

const std::string doubling = R"(
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [p0];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    add.f32 %f1, %f1, %f1;
    st.global.f32 [%rd3], %f1;
)";

TEST_F(Driver, RunsAKernelAndCountsIt) {
    std::vector<float> values(64, 1.5f);
    const size_t bytes = values.size() * sizeof(float);
    const Address a = allocate(bytes), b = allocate(bytes);
    ASSERT_EQ(call("cuMemcpyHtoD_v2", a, (const void *)values.data(), bytes), 0);
    ASSERT_EQ(call("cuMemcpyDtoD_v2", b, a, bytes), 0);
    text("halyard_cuda_model_counts");
    ASSERT_EQ(launch(function(doubling), {b}, 64), 0);
    EXPECT_EQ(call("cuCtxSynchronize"), 0);
    ASSERT_EQ(call("cuMemcpyDtoH_v2", (void *)values.data(), b, bytes), 0);
    EXPECT_EQ(values, std::vector<float>(64, 3.0f));
    EXPECT_EQ(findings(), "");
    const std::string counts = text("halyard_cuda_model_counts");
    for (const char *line :
         {"launches 1\n", "warp_instructions 16\n", "lane_instructions 512\n", "global_loads 2\n",
          "load_sectors 8\n", "store_sectors 8\n", "add.f32 2 64\n"})
        EXPECT_NE(counts.find(line), std::string::npos) << line << counts;
    EXPECT_EQ(call("cuMemFree_v2", a), 0);
    EXPECT_EQ(call("cuMemFree_v2", b), 0);
}

TEST_F(Driver, AnAccessOutOfBoundsFailsWhatFollows) {
    const Address a = allocate(16);
    const std::vector<float> values(4, 1.0f);
    ASSERT_EQ(call("cuMemcpyHtoD_v2", a, (const void *)values.data(), size_t(16)), 0);
    EXPECT_EQ(launch(function(doubling), {a}, 5), 0) << "a launch only begins";
    EXPECT_EQ(call("cuCtxSynchronize"), illegal_address);
    EXPECT_EQ(call("cuMemcpyHtoD_v2", a, (const void *)values.data(), size_t(16)), illegal_address);
    EXPECT_NE(findings().find("access out of bounds in kernel, line 17 (ld.global.f32), block "
                              "(0,0,0), thread (4,0,0): 4 bytes at 16 of parameter 0"),
              std::string::npos);
    EXPECT_EQ(call("cuCtxDestroy_v2", context_), 0);
    EXPECT_EQ(call("cuCtxSynchronize"), invalid_context);
    ASSERT_EQ(call("cuCtxCreate_v2", &context_, 0U, 0), 0);
    EXPECT_EQ(call("cuCtxSynchronize"), 0);
    EXPECT_EQ(call("cuMemFree_v2", a), 0);
}

TEST_F(Driver, MemoryHasALimit) {
    Address a = 0;
    EXPECT_EQ(call("cuMemAlloc_v2", &a, size_t(1000001)), out_of_memory);
    EXPECT_NE(findings().find("1000001 bytes wanted, 0 of 1000000 in use"), std::string::npos);
    a = allocate(999999);
    Address b = 0;
    EXPECT_EQ(call("cuMemAlloc_v2", &b, size_t(2)), out_of_memory);
    EXPECT_EQ(call("cuMemFree_v2", a), 0);
    EXPECT_EQ(call("cuMemFree_v2", a), invalid_value) << "freed twice";
    EXPECT_EQ(call("cuMemAlloc_v2", &b, size_t(0)), invalid_value);
}

TEST_F(Driver, CopiesStayInBuffers) {
    const Address a = allocate(8);
    uint8_t bytes[16] = {};
    EXPECT_EQ(call("cuMemcpyHtoD_v2", a + 4, (const void *)bytes, size_t(8)), invalid_value);
    EXPECT_EQ(call("cuMemcpyDtoH_v2", (void *)bytes, a, size_t(9)), invalid_value);
    findings();
    EXPECT_EQ(call("cuMemcpyHtoD_v2", a, (const void *)bytes, size_t(5)), 0);
    EXPECT_EQ(call("cuMemcpyDtoH_v2", (void *)bytes, a, size_t(8)), 0);
    EXPECT_NE(findings().find("nobody has written byte 5 of buffer"), std::string::npos);
    EXPECT_EQ(call("cuMemFree_v2", a), 0);
}

TEST_F(Driver, RefusesPtxAndInstructionsWithTheLine) {
    void *module = nullptr, *f = nullptr;
    EXPECT_EQ(call("cuModuleLoadData", &module, (const void *)".version 7.0\n.bogus"), invalid_ptx);
    EXPECT_EQ(findings(), "[ptx] line 2: '.bogus' is not supported in a module\n");
    const std::string code = module_of("ex2.approx.f32 %f1, %f2;\n");
    ASSERT_EQ(call("cuModuleLoadData", &module, (const void *)code.c_str()), 0);
    EXPECT_EQ(call("cuModuleGetFunction", &f, module, "other"), not_found);
    EXPECT_EQ(call("cuModuleGetFunction", &f, module, "kernel"), not_supported);
    EXPECT_EQ(findings(), "[ptx] line 12: ex2.approx.f32 is not supported\n");
    EXPECT_EQ(call("cuModuleUnload", module), 0);
}

TEST_F(Driver, TheHostCanNotTouchDeviceMemory) {
    const Address a = allocate(4);
    EXPECT_DEATH((void)*reinterpret_cast<volatile int *>(a), "");
    EXPECT_EQ(call("cuMemFree_v2", a), 0);
}

}  // namespace
}  // namespace halyard::ptx
