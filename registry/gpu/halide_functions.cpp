// The functions of Halide's run time for devices. Kernels call them; they replace Halide's weak
// ones. A failure is a status other than 0, and last_kernel_error() has the text:
// halide_error_code_out_of_memory stands for a MemoryError, halide_error_code_gpu_device_error for
// a DeviceError. Strides of buffers are not negative.
#include <algorithm>
#include <exception>
#include <new>
#include <vector>

#include "HalideRuntime.h"
#include "HalideRuntimeCuda.h"
#include "HalideRuntimeOpenCL.h"
#include "registry/base/error.h"
#include "registry/gpu/buffer_rows.h"
#include "registry/gpu/devices.h"

// Kernels call these as well, but Halide's headers don't declare them.
extern "C" {
int halide_device_and_host_malloc(void *user_context, halide_buffer_t *buf,
                                  const halide_device_interface_t *device_interface);
int halide_device_and_host_free(void *user_context, halide_buffer_t *buf);
void halide_device_and_host_free_as_destructor(void *user_context, void *obj);
}

namespace halyard::gpu {
namespace {

// Calls f. No exception passes, because kernels are C code.
template<class F> int halide_status_of(void *user_context, F f) noexcept {
    try {
        f();
        return halide_error_code_success;
    } catch (const MemoryError &e) {
        halide_error(user_context, e.what());
    } catch (const std::bad_alloc &) {
        halide_error(user_context, "[memory] out of memory");
    } catch (const std::exception &e) {
        halide_error(user_context, e.what());
        return halide_error_code_gpu_device_error;
    }
    return halide_error_code_out_of_memory;
}

Device &device_of(const halide_device_interface_t *interface) {
    if (!interface) throw DeviceError("device", "a buffer of a kernel is on no device");
    return interface == halide_cuda_device_interface() ? cuda_device() : opencl_device();
}

// Throws DeviceError if the buffer is on another device.
void require_device(const halide_buffer_t &buffer, const halide_device_interface_t *interface) {
    if (buffer.device && buffer.device_interface != interface)
        throw DeviceError("device", "a buffer of a kernel is on another backend's device");
}

void allocate_on_device(halide_buffer_t &buffer, const halide_device_interface_t *interface) {
    require_device(buffer, interface);
    if (buffer.device) return;
    buffer.device = device_of(interface).allocate(span_of(buffer));
    buffer.device_interface = interface;
}

void release_on_device(halide_buffer_t &buffer) {
    if (buffer.device) device_of(buffer.device_interface).release(buffer.device);
    buffer.device = 0;
    buffer.device_interface = nullptr;
    buffer.set_device_dirty(false);
}

void upload_buffer(halide_buffer_t &buffer, const halide_device_interface_t *interface) {
    if (!interface) interface = buffer.device_interface;
    allocate_on_device(buffer, interface);
    if (!buffer.host_dirty()) return;
    if (buffer.device_dirty())
        throw DeviceError("device", "both the host and the device have written a kernel's buffer");
    Device &device = device_of(interface);
    for_each_row(buffer, [&](size_t offset, size_t bytes) {
        device.upload(buffer.device + offset, buffer.host + offset, bytes);
    });
    buffer.set_host_dirty(false);
}

void download_buffer(halide_buffer_t &buffer) {
    if (!buffer.device_dirty()) return;
    Device &device = device_of(buffer.device_interface);
    for_each_row(buffer, [&](size_t offset, size_t bytes) {
        device.download(buffer.host + offset, buffer.device + offset, bytes);
    });
    buffer.set_device_dirty(false);
}

// Sets the state of a kernel object's functions, which is null until the first call of any thread.
int initialize_kernels(void *user_context, Device &device, void **state, const char *text) {
    return halide_status_of(user_context, [&] {
        const std::atomic_ref<void *> module(*state);
        void *none = nullptr;
        if (!module.load(std::memory_order_acquire))
            module.compare_exchange_strong(none, &device.add_module(text));
    });
}

// Halide's parameters of a launch. A 0 ends arg_sizes; an argument that is a buffer is a
// halide_buffer_t.
struct HalideArguments {
    const size_t *sizes;
    void *const *values;
    const int8_t *are_buffers;

    std::vector<Device::LaunchArgument> list() const {
        std::vector<Device::LaunchArgument> all;
        for (size_t k = 0; sizes[k] != 0; k++) {
            const void *value = values[k];
            if (are_buffers[k]) value = &static_cast<const halide_buffer_t *>(value)->device;
            all.push_back({sizes[k], value, are_buffers[k] != 0});
        }
        return all;
    }
};

int run_kernel(void *user_context, Device &device, void *state, const Launch &launch,
               const HalideArguments &arguments) {
    return halide_status_of(user_context, [&] {
        device.launch(*static_cast<Module *>(state), launch, arguments.list());
    });
}

// The functions that are left out would be called by Halide's, of which none is used.
halide_device_interface_t halide_functions() {
    halide_device_interface_t table = {};
    table.device_malloc = halide_device_malloc;
    table.device_free = halide_device_free;
    table.device_sync = halide_device_sync;
    table.device_release = halide_device_release;
    table.copy_to_host = halide_copy_to_host;
    table.copy_to_device = halide_copy_to_device;
    table.device_and_host_malloc = halide_device_and_host_malloc;
    table.device_and_host_free = halide_device_and_host_free;
    return table;
}

}  // namespace
}  // namespace halyard::gpu

extern "C" {

const halide_device_interface_t *halide_opencl_device_interface() {
    static const halide_device_interface_t table = halyard::gpu::halide_functions();
    return &table;
}

const halide_device_interface_t *halide_cuda_device_interface() {
    static const halide_device_interface_t table = halyard::gpu::halide_functions();
    return &table;
}

int halide_opencl_initialize_kernels(void *user_context, void **state_ptr, const char *src, int) {
    return halyard::gpu::initialize_kernels(user_context, halyard::gpu::opencl_device(), state_ptr,
                                            src);
}

int halide_cuda_initialize_kernels(void *user_context, void **state_ptr, const char *src, int) {
    return halyard::gpu::initialize_kernels(user_context, halyard::gpu::cuda_device(), state_ptr,
                                            src);
}

// Modules stay compiled until the device is closed.
void halide_opencl_finalize_kernels(void *, void *) {}

void halide_cuda_finalize_kernels(void *, void *) {}

int halide_opencl_run(void *user_context, void *state_ptr, const char *entry_name, int blocksX,
                      int blocksY, int blocksZ, int threadsX, int threadsY, int threadsZ,
                      int shared_mem_bytes, size_t arg_sizes[], void *args[],
                      int8_t arg_is_buffer[]) {
    return halyard::gpu::run_kernel(user_context, halyard::gpu::opencl_device(), state_ptr,
                                    {entry_name,
                                     {unsigned(blocksX), unsigned(blocksY), unsigned(blocksZ)},
                                     {unsigned(threadsX), unsigned(threadsY), unsigned(threadsZ)},
                                     unsigned(shared_mem_bytes),
                                     {}},
                                    {arg_sizes, args, arg_is_buffer});
}

int halide_cuda_run(void *user_context, void *state_ptr, const char *entry_name, int blocksX,
                    int blocksY, int blocksZ, int threadsX, int threadsY, int threadsZ,
                    int shared_mem_bytes, size_t arg_sizes[], void *args[],
                    int8_t arg_is_buffer[]) {
    return halyard::gpu::run_kernel(user_context, halyard::gpu::cuda_device(), state_ptr,
                                    {entry_name,
                                     {unsigned(blocksX), unsigned(blocksY), unsigned(blocksZ)},
                                     {unsigned(threadsX), unsigned(threadsY), unsigned(threadsZ)},
                                     unsigned(shared_mem_bytes),
                                     {}},
                                    {arg_sizes, args, arg_is_buffer});
}

int halide_device_malloc(void *user_context, halide_buffer_t *buf,
                         const halide_device_interface_t *device_interface) {
    return halyard::gpu::halide_status_of(
        user_context, [&] { halyard::gpu::allocate_on_device(*buf, device_interface); });
}

int halide_device_free(void *user_context, halide_buffer_t *buf) {
    return halyard::gpu::halide_status_of(user_context,
                                          [&] { halyard::gpu::release_on_device(*buf); });
}

void halide_device_free_as_destructor(void *user_context, void *obj) {
    halide_device_free(user_context, static_cast<halide_buffer_t *>(obj));
}

// For a kernel's scratch memory that its stages on both sides use.
int halide_device_and_host_malloc(void *user_context, halide_buffer_t *buf,
                                  const halide_device_interface_t *device_interface) {
    buf->host = static_cast<uint8_t *>(halide_malloc(user_context, halyard::gpu::span_of(*buf)));
    if (!buf->host) return halide_error_code_out_of_memory;
    const int status = halide_device_malloc(user_context, buf, device_interface);
    if (status != halide_error_code_success) halide_device_and_host_free(user_context, buf);
    return status;
}

int halide_device_and_host_free(void *user_context, halide_buffer_t *buf) {
    halide_free(user_context, buf->host);
    buf->host = nullptr;
    buf->set_host_dirty(false);
    return halide_device_free(user_context, buf);
}

void halide_device_and_host_free_as_destructor(void *user_context, void *obj) {
    halide_device_and_host_free(user_context, static_cast<halide_buffer_t *>(obj));
}

int halide_copy_to_device(void *user_context, halide_buffer_t *buf,
                          const halide_device_interface_t *device_interface) {
    return halyard::gpu::halide_status_of(
        user_context, [&] { halyard::gpu::upload_buffer(*buf, device_interface); });
}

int halide_copy_to_host(void *user_context, halide_buffer_t *buf) {
    return halyard::gpu::halide_status_of(user_context,
                                          [&] { halyard::gpu::download_buffer(*buf); });
}

int halide_device_sync(void *user_context, halide_buffer_t *buf) {
    return halyard::gpu::halide_status_of(
        user_context, [&] { halyard::gpu::device_of(buf->device_interface).synchronize(); });
}

void halide_device_release(void *, const halide_device_interface_t *device_interface) {
    halyard::gpu::device_of(device_interface).close();
}

}  // extern "C"
