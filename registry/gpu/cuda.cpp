#include "registry/gpu/cuda.h"

#include <map>
#include <vector>

#include "registry/base/error.h"
#include "registry/dispatch/cuda_driver.h"
#include "registry/gpu/selection.h"

namespace halyard::gpu {
namespace {

// CUresult, and what else of CUDA's driver interface is needed. Handles are only passed on.
using Result = int;
constexpr Result cuda_success = 0, cuda_out_of_memory = 2;
constexpr int attribute_multiprocessors = 16;
constexpr unsigned stream_non_blocking = 1;

// The driver's functions, by their names without cu.
struct CudaFunctions {
    Result (*init)(unsigned);
    Result (*get_error_name)(Result, const char **);
    Result (*device_get_count)(int *);
    Result (*device_get)(int *, int);
    Result (*device_get_name)(char *, int, int);
    Result (*device_get_attribute)(int *, int, int);
    Result (*context_create)(void **, unsigned, int);
    Result (*context_destroy)(void *);
    Result (*context_push)(void *);
    Result (*context_pop)(void **);
    Result (*stream_create)(void **, unsigned);
    Result (*stream_destroy)(void *);
    Result (*stream_synchronize)(void *);
    Result (*memory_allocate)(Address *, size_t);
    Result (*memory_free)(Address);
    Result (*upload)(Address, const void *, size_t, void *);
    Result (*download)(void *, Address, size_t, void *);
    Result (*copy)(Address, Address, size_t, void *);
    Result (*fill)(Address, unsigned char, size_t, void *);
    Result (*module_load)(void **, const void *);
    Result (*module_get_function)(void **, void *, const char *);
    Result (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void *, void **, void **);
};

template<class F> void find_in_cuda(F &function, const char *name) {
    function = reinterpret_cast<F>(cuda_symbol(name));
    if (!function) throw DeviceError("cuda", std::string("the driver has no function ") + name);
}

// Throws DeviceError if there is no driver.
CudaFunctions find_cuda_functions() {
    if (!cuda_symbol("cuInit")) {
        throw DeviceError("cuda", "no driver can be opened; HALYARD_CUDA_DRIVER names another than "
                                  "libcuda.so.1, such as libhalyard_cuda_model.so, a model that "
                                  "needs no GPU");
    }
    CudaFunctions f = {};
    find_in_cuda(f.init, "cuInit");
    find_in_cuda(f.get_error_name, "cuGetErrorName");
    find_in_cuda(f.device_get_count, "cuDeviceGetCount");
    find_in_cuda(f.device_get, "cuDeviceGet");
    find_in_cuda(f.device_get_name, "cuDeviceGetName");
    find_in_cuda(f.device_get_attribute, "cuDeviceGetAttribute");
    find_in_cuda(f.context_create, "cuCtxCreate_v2");
    find_in_cuda(f.context_destroy, "cuCtxDestroy_v2");
    find_in_cuda(f.context_push, "cuCtxPushCurrent_v2");
    find_in_cuda(f.context_pop, "cuCtxPopCurrent_v2");
    find_in_cuda(f.stream_create, "cuStreamCreate");
    find_in_cuda(f.stream_destroy, "cuStreamDestroy_v2");
    find_in_cuda(f.stream_synchronize, "cuStreamSynchronize");
    find_in_cuda(f.memory_allocate, "cuMemAlloc_v2");
    find_in_cuda(f.memory_free, "cuMemFree_v2");
    find_in_cuda(f.upload, "cuMemcpyHtoDAsync_v2");
    find_in_cuda(f.download, "cuMemcpyDtoHAsync_v2");
    find_in_cuda(f.copy, "cuMemcpyDtoDAsync_v2");
    find_in_cuda(f.fill, "cuMemsetD8Async");
    find_in_cuda(f.module_load, "cuModuleLoadData");
    find_in_cuda(f.module_get_function, "cuModuleGetFunction");
    find_in_cuda(f.launch, "cuLaunchKernel");
    return f;
}

// Makes a context the calling thread's current one for a while.
class CurrentContext {
public:
    CurrentContext(const CudaFunctions &functions, void *context) : functions_(functions) {
        functions_.context_push(context);
    }
    ~CurrentContext() { functions_.context_pop(nullptr); }
    CurrentContext(const CurrentContext &) = delete;
    CurrentContext &operator=(const CurrentContext &) = delete;

private:
    const CudaFunctions &functions_;
};

class CudaDriver final : public Driver {
public:
    CudaDriver() : f_(find_cuda_functions()) {
        check(f_.init(0), "cuInit");
        int count = 0;
        check(f_.device_get_count(&count), "cuDeviceGetCount");
        index_ = selected_device("cuda", "CUDA", count, [&](int k) { return multiprocessors(k); });
        check(f_.device_get(&device_, index_), "cuDeviceGet");
        check(f_.context_create(&context_, 0, device_), "cuCtxCreate");
        const Result status = f_.stream_create(&stream_, stream_non_blocking);
        f_.context_pop(nullptr);
        if (status != cuda_success) f_.context_destroy(context_);
        check(status, "cuStreamCreate");
    }
    ~CudaDriver() override {
        {
            const CurrentContext current(f_, context_);
            f_.stream_synchronize(stream_);
            f_.stream_destroy(stream_);
        }
        f_.context_destroy(context_);
    }

    int index() const override { return index_; }
    std::string name() const override {
        char text[256] = {};
        check(f_.device_get_name(text, sizeof text - 1, device_), "cuDeviceGetName");
        return text;
    }
    size_t alignment() const override { return 1; }

    DeviceBlock allocate(size_t bytes) override {
        const CurrentContext current(f_, context_);
        Address address = 0;
        check(f_.memory_allocate(&address, bytes), "cuMemAlloc");
        return {address, bytes, nullptr};
    }
    // Work that uses the block may still wait in the stream. An error of it is reported later.
    void release(const DeviceBlock &block) noexcept override {
        const CurrentContext current(f_, context_);
        f_.stream_synchronize(stream_);
        f_.memory_free(block.base);
    }

    // The driver may read `from` after the call if it is page-locked.
    void upload(DevicePlace to, const void *from, size_t bytes) override {
        const CurrentContext current(f_, context_);
        check(f_.upload(to.address(), from, bytes, stream_), "cuMemcpyHtoDAsync");
        check(f_.stream_synchronize(stream_), "cuStreamSynchronize");
    }
    void download(void *to, DevicePlace from, size_t bytes) override {
        const CurrentContext current(f_, context_);
        check(f_.download(to, from.address(), bytes, stream_), "cuMemcpyDtoHAsync");
        check(f_.stream_synchronize(stream_), "cuStreamSynchronize");
    }
    void copy(DevicePlace to, DevicePlace from, size_t bytes) override {
        const CurrentContext current(f_, context_);
        check(f_.copy(to.address(), from.address(), bytes, stream_), "cuMemcpyDtoDAsync");
    }
    void fill(DevicePlace to, uint8_t byte, size_t bytes) override {
        const CurrentContext current(f_, context_);
        check(f_.fill(to.address(), byte, bytes, stream_), "cuMemsetD8Async");
    }
    void synchronize() override {
        const CurrentContext current(f_, context_);
        check(f_.stream_synchronize(stream_), "cuStreamSynchronize");
    }

    void *compile(const char *text) override {
        const CurrentContext current(f_, context_);
        void *module = nullptr;
        check(f_.module_load(&module, text), "cuModuleLoadData");
        return module;
    }
    void *function(void *program, const char *entry) override {
        const CurrentContext current(f_, context_);
        void *found = nullptr;
        check(f_.module_get_function(&found, program, entry),
              std::string("cuModuleGetFunction of ") + entry);
        return found;
    }

    void launch(void *function, const Launch &launch) override {
        const size_t count = launch.arguments.size();
        std::vector<Address> addresses(count);
        std::vector<void *> values(count);
        for (size_t k = 0; k < count; k++) {
            const Argument &a = launch.arguments[k];
            addresses[k] = a.place.address();
            values[k] = a.is_place ? &addresses[k] : const_cast<void *>(a.value);
        }
        const auto &[blocks_x, blocks_y, blocks_z] = launch.blocks;
        const auto &[threads_x, threads_y, threads_z] = launch.threads;
        const CurrentContext current(f_, context_);
        check(f_.launch(function, blocks_x, blocks_y, blocks_z, threads_x, threads_y, threads_z,
                        launch.shared_bytes, stream_, values.data(), nullptr),
              std::string("the launch of ") + launch.entry + " on a grid of " +
                  std::to_string(blocks_x) + " x " + std::to_string(blocks_y) + " x " +
                  std::to_string(blocks_z) + " blocks");
    }

private:
    void check(Result status, const std::string &what) const {
        if (status == cuda_success) return;
        if (status == cuda_out_of_memory) throw OutOfMemory{};
        const char *name = nullptr;
        if (f_.get_error_name(status, &name) != cuda_success || !name) name = "CUDA error";
        throw DriverFailure{what + " failed: " + name + " (" + std::to_string(status) + ")"};
    }
    unsigned multiprocessors(int index) const {
        int device = 0, count = 0;
        check(f_.device_get(&device, index), "cuDeviceGet");
        check(f_.device_get_attribute(&count, attribute_multiprocessors, device),
              "cuDeviceGetAttribute");
        return unsigned(count);
    }

    CudaFunctions f_;
    int index_ = 0, device_ = 0;
    void *context_ = nullptr, *stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Driver> open_cuda() {
    try {
        return std::make_unique<CudaDriver>();
    } catch (const DriverFailure &failure) {
        throw DeviceError("cuda", failure.text);
    } catch (const OutOfMemory &) {
        throw DeviceError("cuda", "the driver has no memory for a context");
    }
}

}  // namespace halyard::gpu
