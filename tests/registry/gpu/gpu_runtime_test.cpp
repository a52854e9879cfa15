// Tests the run time of GPUs: through its classes and through the functions that Halide's kernels
// call, on OpenCL where a device answers, and on the model driver of CUDA.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "HalideRuntimeCuda.h"
#include "HalideRuntimeOpenCL.h"
#include "registry/base/error.h"
#include "registry/base/runtime.h"
#include "registry/dispatch/cuda_driver.h"
#include "registry/dispatch/device.h"
#include "registry/gpu/gpu.h"

// Halide's headers don't declare these.
extern "C" {
int halide_device_and_host_malloc(void *, halide_buffer_t *, const halide_device_interface_t *);
void halide_device_free_as_destructor(void *, void *);
void halide_device_and_host_free_as_destructor(void *, void *);
}

namespace halyard::gpu {
namespace {

using Numbers = std::vector<float>;

const char *const opencl_text = R"(
__kernel void nothing(int x) {}
__kernel void scale(__global float *x, float by, __local int *shared)
{
    x[get_global_id(0)] *= by;
}
)";

const char *const cuda_text = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 p0, .param .f32 p1)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    .reg .f32 %f<4>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [p0];
    ld.param.f32 %f2, [p1];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    mul.rn.f32 %f1, %f1, %f2;
    st.global.f32 [%rd3], %f1;
    ret;
}
)";

// Returns the message of the Error that f() throws.
template<class E> std::string message_of(const std::function<void()> &f) {
    try {
        f();
    } catch (const E &e) {
        return e.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return "";
}

// A device, and a module with the function scale(x, by), which multiplies each element.
class GpuRuntime : public testing::TestWithParam<const char *> {
protected:
    static constexpr size_t model_memory = 64 << 20;

    void SetUp() override {
        if (is_cuda()) {
            setenv("HALYARD_CUDA_MODEL_MEMORY", std::to_string(model_memory).c_str(), 1);
            use_model_cuda_driver();
        } else if (opencl_devices() == 0) {
            GTEST_SKIP() << "no OpenCL device";
        }
        device_ = &gpu(GetParam());
    }
    void TearDown() override {
        release_devices();
        keep_released_blocks(true);
    }

    static bool is_cuda() { return std::string(GetParam()) == "cuda"; }

    Address block_of(const Numbers &values) const {
        const Address block = device_->allocate(values.size() * sizeof(float));
        device_->upload(block, values.data(), values.size() * sizeof(float));
        return block;
    }
    Numbers values_at(Address place, size_t n) const {
        Numbers values(n);
        device_->download(values.data(), place, n * sizeof(float));
        return values;
    }

    // Multiplies n elements from x on, in one group of threads. Returns the status.
    int scale(Address x, float by, int n, const char *entry = "scale", int blocks = 1) {
        const bool cuda = is_cuda();
        const int initialized =
            cuda ? halide_cuda_initialize_kernels(nullptr, &module_, cuda_text, 0)
                 : halide_opencl_initialize_kernels(nullptr, &module_, opencl_text, 0);
        EXPECT_EQ(initialized, 0);
        halide_buffer_t buffer = {};
        buffer.device = x;
        buffer.device_interface = device_->interface();
        size_t sizes[] = {sizeof(uint64_t), sizeof by, 0};
        void *values[] = {&buffer, &by, nullptr};
        int8_t are_buffers[] = {1, 0, 0};
        const auto run = cuda ? halide_cuda_run : halide_opencl_run;
        return run(nullptr, module_, entry, blocks, 1, 1, n, 1, 1, 0, sizes, values, are_buffers);
    }

    Gpu *device_ = nullptr;
    void *module_ = nullptr;
};

TEST_P(GpuRuntime, CopiesToAndFromAnyPlace) {
    const Address block = block_of({1, 2, 3, 4, 5, 6, 7, 8});
    EXPECT_EQ(values_at(block + 8, 3), (Numbers{3, 4, 5}));
    const float seventy = 70;
    device_->upload(block + 4, &seventy, sizeof seventy);
    EXPECT_EQ(values_at(block, 3), (Numbers{1, 70, 3}));
    const Address other = block_of({0, 0, 0, 0});
    device_->copy(other + 4, block + 20, 8);
    EXPECT_EQ(values_at(other, 4), (Numbers{0, 6, 7, 0}));
    device_->fill(block + 4, 0, 8);
    EXPECT_EQ(values_at(block, 4), (Numbers{1, 0, 0, 4}));
    device_->release(block);
    device_->release(other);
}

TEST_P(GpuRuntime, RefusesPlacesOutsideOfBlocks) {
    const Address block = device_->allocate(256);
    char bytes[512] = {};
    EXPECT_THROW(device_->upload(block + 8, bytes, 256), DeviceError);
    EXPECT_THROW(device_->download(bytes, block - 1, 1), DeviceError);
    device_->release(block);
    EXPECT_NE(
        message_of<DeviceError>([&] {
            device_->upload(block, bytes, 1);
        }).find("1 bytes at address " + std::to_string(block) + " are in no block of the device"),
        std::string::npos);
    device_->release(block);
    EXPECT_EQ(device_->counters().live_bytes, 0) << "a second release does nothing";
}

TEST_P(GpuRuntime, NothingIsFine) {
    const Address a = device_->allocate(0);
    const Address b = device_->allocate(0);
    EXPECT_NE(a, 0U);
    EXPECT_NE(a, b);
    const Counters before = device_->counters();
    device_->upload(a, nullptr, 0);
    device_->download(nullptr, a, 0);
    device_->copy(b, a, 0);
    device_->fill(b, 1, 0);
    device_->upload(0, nullptr, 0);
    EXPECT_EQ(scale(0, 1, 4, "scale", 0), 0) << "a launch without blocks";
    const Counters after = device_->counters();
    EXPECT_EQ(after.uploads + after.downloads + after.copies + after.launches,
              before.uploads + before.downloads + before.copies + before.launches);
}

TEST_P(GpuRuntime, UsesReleasedBlocksAgain) {
    const Address first = device_->allocate(5000);
    device_->release(first);
    const Counters before = device_->counters();
    EXPECT_EQ(before.live_bytes, 0);
    EXPECT_EQ(before.kept_bytes, 5120);
    EXPECT_EQ(device_->allocate(4800), first);
    const Counters after = device_->counters();
    EXPECT_EQ(after.driver_allocations, before.driver_allocations);
    EXPECT_EQ(after.live_bytes, 5120);
    EXPECT_EQ(after.kept_bytes, 0);
    EXPECT_NE(device_->allocate(4800), first);
    EXPECT_EQ(device_->counters().driver_allocations, before.driver_allocations + 1);
}

TEST_P(GpuRuntime, KeepsNothingIfToldSo) {
    keep_released_blocks(false);
    const Address block = device_->allocate(5000);
    EXPECT_EQ(device_->counters().live_bytes, 5000);
    device_->release(block);
    EXPECT_EQ(device_->counters().kept_bytes, 0);
    char byte = 0;
    EXPECT_THROW(device_->download(&byte, block, 1), DeviceError);
}

TEST_P(GpuRuntime, LaunchesAndCounts) {
    const Counters before = device_->counters();
    const Address x = block_of({1, 2, 3, 4});
    ASSERT_EQ(scale(x, 10, 4), 0) << last_kernel_error();
    ASSERT_EQ(scale(x, 0.5F, 2), 0) << last_kernel_error();
    EXPECT_EQ(values_at(x, 4), (Numbers{5, 10, 30, 40}));
    const Counters after = device_->counters();
    EXPECT_EQ(after.launches - before.launches, 2);
    EXPECT_EQ(after.uploads - before.uploads, 1);
    EXPECT_EQ(after.uploaded_bytes - before.uploaded_bytes, 16);
    EXPECT_EQ(after.downloads - before.downloads, 1);
    EXPECT_EQ(after.downloaded_bytes - before.downloaded_bytes, 16);
    EXPECT_EQ(after.copies, before.copies);
}

TEST_P(GpuRuntime, LaunchesAtAlignedPlacesWithinABlock) {
    const size_t step = std::max<size_t>(device_->alignment() / sizeof(float), 4);
    Numbers values(2 * step, 1);
    const Address x = block_of(values);
    ASSERT_EQ(scale(x + step * sizeof(float), 3, 4), 0) << last_kernel_error();
    std::fill_n(values.begin() + std::ptrdiff_t(step), 4, 3.0F);
    EXPECT_EQ(values_at(x, 2 * step), values);
}

TEST_P(GpuRuntime, RefusesWhatAlignmentExcludes) {
    const Address x = block_of({1, 2, 3, 4});
    const int status = scale(x + 4, 3, 2);
    if (device_->alignment() == 1) {
        EXPECT_EQ(status, 0) << last_kernel_error();
        EXPECT_EQ(values_at(x, 4), (Numbers{1, 6, 9, 4}));
        return;
    }
    EXPECT_EQ(status, halide_error_code_gpu_device_error);
    EXPECT_EQ(std::string(last_kernel_error()),
              "[opencl] a tensor of scale begins at byte 4 of its block, expected a multiple of " +
                  std::to_string(device_->alignment()));
}

TEST_P(GpuRuntime, NamesAMissingFunction) {
    const Address x = block_of({1});
    EXPECT_EQ(scale(x, 1, 1, "absent"), halide_error_code_gpu_device_error);
    EXPECT_NE(std::string(last_kernel_error()).find("of absent failed: "), std::string::npos)
        << last_kernel_error();
}

TEST_P(GpuRuntime, OpensAgainAfterARelease) {
    const Address x = block_of({1, 2});
    ASSERT_EQ(scale(x, 2, 2), 0) << last_kernel_error();
    const int64_t opening = device_->opening();
    const Counters before = device_->counters();
    release_devices();
    EXPECT_EQ(device_->counters().live_bytes, 0);
    EXPECT_EQ(device_->counters().driver_allocations, before.driver_allocations);
    device_->release(x);
    const Address y = block_of({3, 4});
    EXPECT_EQ(device_->opening(), opening + 1);
    ASSERT_EQ(scale(y, 2, 2), 0) << "the module is compiled anew: " << last_kernel_error();
    EXPECT_EQ(values_at(y, 2), (Numbers{6, 8}));
}

#ifndef __SANITIZE_THREAD__  // it has locks of its own and does not support forks with threads
TEST_P(GpuRuntime, AForkedChildIsRefused) {
    const Address x = block_of({1, 2});
    const pid_t child = fork();
    if (child == 0) {
        const std::string text = message_of<DeviceError>([&] { values_at(x, 2); });
        device_->release(x);
        release_devices();
        _exit(text.find("this process was made by fork()") != std::string::npos ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(values_at(x, 2), (Numbers{1, 2}));
}
#endif

TEST_P(GpuRuntime, RejectsAMissingDevice) {
    EXPECT_THROW(set_device_id(4000), DeviceError) << "another one is open";
    release_devices();
    set_device_id(4000);
    const std::string text = message_of<DeviceError>([] { gpu(GetParam()); });
    set_device_id(-1);
    EXPECT_EQ(text.find(std::string("[") + GetParam() + "] device_id is 4000, expected 0 to "), 0U)
        << text;
    EXPECT_NE(text.find(" here"), std::string::npos) << text;
    EXPECT_NO_THROW(gpu(GetParam()));
}

TEST_P(GpuRuntime, ThreadsShareIt) {
    ASSERT_EQ(scale(0, 1, 1, "scale", 0), 0) << "sets the module";
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int t = 0; t < 4; t++) {
        threads.emplace_back([&, t] {
            for (int k = 0; k < 20; k++) {
                const Address x = block_of({float(t), float(k)});
                if (scale(x, 2, 2) == 0 && values_at(x, 2) == Numbers{2.0F * t, 2.0F * k}) right++;
                device_->release(x);
            }
        });
    }
    for (std::thread &t : threads)
        t.join();
    EXPECT_EQ(right, 80);
    EXPECT_EQ(device_->counters().live_bytes, 0);
}

TEST_P(GpuRuntime, CopiesTheElementsOfABufferOnly) {
    Numbers host = {1, 2, 3, 4, 5, 6, 7, 8};
    halide_dimension_t dims[] = {{0, 2, 1, 0}, {0, 2, 4, 0}};  // elements 0, 1, 4 and 5
    halide_buffer_t buffer = {};
    buffer.host = reinterpret_cast<uint8_t *>(host.data());
    buffer.type = halide_type_of<float>();
    buffer.dimensions = 2;
    buffer.dim = dims;
    buffer.set_host_dirty();
    ASSERT_EQ(halide_copy_to_device(nullptr, &buffer, device_->interface()), 0);
    EXPECT_FALSE(buffer.host_dirty());
    const Counters before = device_->counters();
    EXPECT_EQ(halide_copy_to_device(nullptr, &buffer, device_->interface()), 0);
    EXPECT_EQ(device_->counters().uploads, before.uploads) << "the host wrote nothing";
    ASSERT_EQ(scale(buffer.device, 10, 2), 0) << last_kernel_error();
    EXPECT_EQ(halide_device_sync(nullptr, &buffer), 0);
    host.assign(8, 0);
    buffer.set_device_dirty();
    ASSERT_EQ(halide_copy_to_host(nullptr, &buffer), 0);
    EXPECT_EQ(host, (Numbers{10, 20, 0, 0, 5, 6, 0, 0}));
    EXPECT_EQ(halide_device_free(nullptr, &buffer), 0);
    EXPECT_EQ(buffer.device, 0U);
    EXPECT_EQ(device_->counters().live_bytes, 0);
}

// Returns a buffer of one dimension without memory.
halide_buffer_t row_of_floats(halide_dimension_t &dim) {
    halide_buffer_t buffer = {};
    buffer.type = halide_type_of<float>();
    buffer.dimensions = 1;
    buffer.dim = &dim;
    return buffer;
}

TEST_P(GpuRuntime, TakesBuffersWithoutElements) {
    halide_dimension_t dim = {0, 0, 1, 0};
    halide_buffer_t buffer = row_of_floats(dim);
    buffer.set_host_dirty();
    EXPECT_EQ(halide_copy_to_device(nullptr, &buffer, device_->interface()), 0);
    EXPECT_NE(buffer.device, 0U);
    buffer.set_device_dirty();
    EXPECT_EQ(halide_copy_to_host(nullptr, &buffer), 0);
    halide_device_free_as_destructor(nullptr, &buffer);
    EXPECT_EQ(device_->counters().live_bytes, 0);
}

TEST_P(GpuRuntime, HasScratchMemoryOnBothSides) {
    halide_dimension_t dim = {0, 10, 1, 0};
    halide_buffer_t buffer = row_of_floats(dim);
    ASSERT_EQ(halide_device_and_host_malloc(nullptr, &buffer, device_->interface()), 0);
    ASSERT_NE(buffer.host, nullptr);
    EXPECT_EQ(device_->counters().live_bytes, 256);
    halide_device_and_host_free_as_destructor(nullptr, &buffer);
    EXPECT_EQ(buffer.host, nullptr);
    EXPECT_EQ(device_->counters().live_bytes, 0);
}

INSTANTIATE_TEST_SUITE_P(, GpuRuntime, testing::Values("opencl", "cuda"),
                         [](const auto &backend) { return std::string(backend.param); });

// What only the model driver does for certain.
class CudaRuntime : public GpuRuntime {
protected:
    void SetUp() override {
        GpuRuntime::SetUp();
        if (!cuda_symbol("halyard_cuda_model_findings")) GTEST_SKIP() << "another CUDA driver";
    }
};

TEST_P(CudaRuntime, GivesKeptBlocksBackBeforeItFails) {
    const size_t most = model_memory / 4;
    const Address kept = device_->allocate(3 * most);
    device_->release(kept);
    const Address large = device_->allocate(most * 2);
    EXPECT_EQ(device_->counters().kept_bytes, 0) << "the kept block left no room";
    const std::string text = message_of<MemoryError>([&] { device_->allocate(3 * most); });
    EXPECT_EQ(text, "[cuda] out of memory: " + std::to_string(3 * most) + " bytes wanted, " +
                        std::to_string(2 * most) +
                        " in use; 0 that were kept have been returned to the driver");
    device_->release(large);
    EXPECT_NO_THROW(device_->allocate(3 * most));

    halide_dimension_t dim = {0, int(model_memory), 1, 0};
    halide_buffer_t buffer = row_of_floats(dim);
    EXPECT_EQ(halide_device_malloc(nullptr, &buffer, device_->interface()),
              halide_error_code_out_of_memory);
    EXPECT_EQ(std::string(last_kernel_error()).find("[cuda] out of memory: "), 0U);
}

TEST_P(CudaRuntime, NamesTheKernelsBeforeAFailure) {
    keep_released_blocks(false);
    const Address x = block_of({1, 2});
    ASSERT_EQ(scale(x, 2, 2), 0);
    ASSERT_EQ(scale(x, 2, 3), 0) << "a launch only begins";
    EXPECT_EQ(message_of<DeviceError>([&] { values_at(x, 2); }),
              "[cuda] cuMemcpyDtoHAsync failed: CUDA_ERROR_ILLEGAL_ADDRESS (700); launched since "
              "the last synchronisation: scale, scale");
    EXPECT_EQ(scale(x, 2, 2), halide_error_code_gpu_device_error) << "until the device is released";
    release_devices();
    const Address y = block_of({5});
    EXPECT_EQ(scale(y, 2, 1), 0) << last_kernel_error();
    EXPECT_EQ(values_at(y, 1), (Numbers{10}));
}

TEST_P(CudaRuntime, SynchronizesEachLaunchOnRequest) {
    keep_released_blocks(false);
    release_devices();
    setenv("HALYARD_DEVICE_SYNC", "1", 1);
    const Address x = block_of({1, 2});
    unsetenv("HALYARD_DEVICE_SYNC");
    EXPECT_EQ(scale(x, 2, 2), 0);
    EXPECT_EQ(scale(x, 2, 3), halide_error_code_gpu_device_error);
    EXPECT_EQ(std::string(last_kernel_error()),
              "[cuda] cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700); launched since "
              "the last synchronisation: scale");
}

TEST_P(CudaRuntime, RefusesAnotherValueForThat) {
    release_devices();
    setenv("HALYARD_DEVICE_SYNC", "yes", 1);
    EXPECT_EQ(message_of<AttrError>([&] { device_->allocate(1); }),
              "[device] HALYARD_DEVICE_SYNC is 'yes', expected 0 or 1");
    unsetenv("HALYARD_DEVICE_SYNC");
    device_->release(device_->allocate(1));
}

INSTANTIATE_TEST_SUITE_P(, CudaRuntime, testing::Values("cuda"));

TEST(GpuBackends, HaveNames) {
    EXPECT_EQ(message_of<DeviceError>([] { gpu("vulkan"); }),
              "[vulkan] the backend 'vulkan' has no GPU, expected opencl or cuda");
}

}  // namespace
}  // namespace halyard::gpu
