#include "registry/gpu/opencl.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "registry/base/error.h"
#include "registry/base/integer.h"
#include "registry/gpu/opencl_library.h"
#include "registry/gpu/selection.h"

namespace halyard::gpu {
namespace {

using cl::Object;

void check_opencl(cl::Int status, const std::string &what) {
    if (status == cl::success) return;
    if (status == cl::mem_object_allocation_failure || status == cl::out_of_host_memory)
        throw OutOfMemory{};
    throw DriverFailure{what + " failed: " + cl::error_text(status)};
}

template<class T> T device_info(const cl::Functions &functions, Object device, cl::Uint what) {
    T value = 0;
    const cl::Int status = functions.get_device_info(device, what, sizeof value, &value, nullptr);
    check_opencl(status, "clGetDeviceInfo");
    return value;
}

// Buffers have no addresses in OpenCL 1.2, so blocks get numbers. They begin where no process of
// x86-64 or arm64 has memory, and are never used again.
Address next_opencl_address(size_t bytes) {
    constexpr Address first = Address(1) << 56;
    constexpr size_t grain = 4096;
    static std::atomic<Address> next = first;
    return next.fetch_add(round_up(bytes, grain) + grain);
}

// The buffers that stand for arguments within blocks, as long as a launch needs them.
class SubBuffers {
public:
    SubBuffers(const cl::Functions &functions, size_t alignment, const char *entry)
        : functions_(functions), alignment_(alignment), entry_(entry) {}
    ~SubBuffers() {
        for (Object buffer : made_)
            functions_.release_mem_object(buffer);
    }
    SubBuffers(const SubBuffers &) = delete;
    SubBuffers &operator=(const SubBuffers &) = delete;

    // Returns the buffer from the place to the end of its block.
    Object from(const DevicePlace &place) {
        if (!place.block || place.offset == 0) return place.block ? place.block->memory : nullptr;
        if (place.offset % alignment_ != 0) {
            throw DriverFailure{std::string("a tensor of ") + entry_ + " begins at byte " +
                                std::to_string(place.offset) +
                                " of its block, expected a multiple of " +
                                std::to_string(alignment_)};
        }
        const cl::BufferRegion region = {place.offset, place.block->bytes - place.offset};
        cl::Int status = 0;
        const Object buffer = functions_.create_sub_buffer(place.block->memory, cl::mem_read_write,
                                                           cl::buffer_create_type_region, &region,
                                                           &status);
        check_opencl(status, "clCreateSubBuffer");
        made_.push_back(buffer);
        return buffer;
    }

private:
    const cl::Functions &functions_;
    size_t alignment_;
    const char *entry_;
    std::vector<Object> made_;
};

class OpenClDriver final : public Driver {
public:
    OpenClDriver(const cl::Library &library, const std::vector<Object> &devices, int index)
        : f_(library.functions()), index_(index), device_(devices[size_t(index)]) {
        const cl::Uint bits = device_info<cl::Uint>(f_, device_, cl::device_mem_base_addr_align);
        alignment_ = std::max<size_t>(bits / 8, 1);
        const intptr_t properties[] = {cl::context_platform,
                                       reinterpret_cast<intptr_t>(library.platform()), 0};
        cl::Int status = 0;
        context_ = f_.create_context(properties, 1, &device_, nullptr, nullptr, &status);
        check_opencl(status, "clCreateContext");
        queue_ = f_.create_command_queue(context_, device_, 0, &status);
        if (status != cl::success) f_.release_context(context_);
        check_opencl(status, "clCreateCommandQueue");
    }
    ~OpenClDriver() override {
        f_.finish(queue_);
        for (Object kernel : kernels_)
            f_.release_kernel(kernel);
        for (Object program : programs_)
            f_.release_program(program);
        f_.release_command_queue(queue_);
        f_.release_context(context_);
    }

    int index() const override { return index_; }
    std::string name() const override {
        char text[256] = {};
        check_opencl(f_.get_device_info(device_, cl::device_name, sizeof text - 1, text, nullptr),
                     "clGetDeviceInfo");
        return text;
    }
    size_t alignment() const override { return alignment_; }

    DeviceBlock allocate(size_t bytes) override {
        cl::Int status = 0;
        const Object memory = f_.create_buffer(context_, cl::mem_read_write, bytes, nullptr,
                                               &status);
        const bool too_large = status == cl::invalid_buffer_size || status == cl::out_of_resources;
        if (too_large) throw OutOfMemory{};
        check_opencl(status, "clCreateBuffer");
        return {next_opencl_address(bytes), bytes, memory};
    }
    void release(const DeviceBlock &block) noexcept override {
        f_.release_mem_object(block.memory);
    }

    void upload(DevicePlace to, const void *from, size_t bytes) override {
        check_opencl(f_.enqueue_write_buffer(queue_, to.block->memory, true, to.offset, bytes, from,
                                             0, nullptr, nullptr),
                     "clEnqueueWriteBuffer");
    }
    void download(void *to, DevicePlace from, size_t bytes) override {
        check_opencl(f_.enqueue_read_buffer(queue_, from.block->memory, true, from.offset, bytes,
                                            to, 0, nullptr, nullptr),
                     "clEnqueueReadBuffer");
    }
    void copy(DevicePlace to, DevicePlace from, size_t bytes) override {
        check_opencl(f_.enqueue_copy_buffer(queue_, from.block->memory, to.block->memory,
                                            from.offset, to.offset, bytes, 0, nullptr, nullptr),
                     "clEnqueueCopyBuffer");
    }
    void fill(DevicePlace to, uint8_t byte, size_t bytes) override {
        check_opencl(f_.enqueue_fill_buffer(queue_, to.block->memory, &byte, 1, to.offset, bytes, 0,
                                            nullptr, nullptr),
                     "clEnqueueFillBuffer");
    }
    void synchronize() override { check_opencl(f_.finish(queue_), "clFinish"); }

    void *compile(const char *text) override {
        cl::Int status = 0;
        const Object program = f_.create_program_with_source(context_, 1, &text, nullptr, &status);
        check_opencl(status, "clCreateProgramWithSource");
        programs_.push_back(program);
        status = f_.build_program(program, 1, &device_, build_options().c_str(), nullptr, nullptr);
        if (status != cl::success) {
            throw DriverFailure{"clBuildProgram failed: " + cl::error_text(status) + ": " +
                                build_log(program)};
        }
        return program;
    }
    void *function(void *program, const char *entry) override {
        cl::Int status = 0;
        const Object kernel = f_.create_kernel(program, entry, &status);
        check_opencl(status, std::string("clCreateKernel of ") + entry);
        kernels_.push_back(kernel);
        return kernel;
    }

    void launch(void *kernel, const Launch &launch) override {
        SubBuffers buffers(f_, alignment_, launch.entry);
        set_arguments(kernel, launch, buffers);
        size_t items[3];
        size_t group[3];
        for (int d = 0; d < 3; d++) {
            group[d] = launch.threads[d];
            items[d] = size_t(launch.blocks[d]) * launch.threads[d];
        }
        check_opencl(f_.enqueue_nd_range_kernel(queue_, kernel, 3, nullptr, items, group, 0,
                                                nullptr, nullptr),
                     std::string("the launch of ") + launch.entry);
        check_opencl(f_.flush(queue_), "clFlush");
    }

private:
    // Halide's kernels use these names.
    std::string build_options() const {
        const auto bytes = device_info<cl::Ulong>(f_, device_, cl::device_max_constant_buffer_size);
        const auto arguments = device_info<cl::Uint>(f_, device_, cl::device_max_constant_args);
        const char *given = std::getenv("HL_OCL_BUILD_OPTIONS");
        return "-D MAX_CONSTANT_BUFFER_SIZE=" + std::to_string(bytes) +
               " -D MAX_CONSTANT_ARGS=" + std::to_string(arguments) + " " + (given ? given : "");
    }
    std::string build_log(Object program) const {
        size_t bytes = 0;
        f_.get_program_build_info(program, device_, cl::program_build_log, 0, nullptr, &bytes);
        std::string log(bytes, '\0');
        f_.get_program_build_info(program, device_, cl::program_build_log, bytes, log.data(),
                                  nullptr);
        return log.c_str();
    }

    // The last argument of Halide's kernels is shared memory, which OpenCL doesn't allow to be
    // empty.
    void set_arguments(Object kernel, const Launch &launch, SubBuffers &buffers) {
        cl::Uint k = 0;
        for (const Argument &a : launch.arguments) {
            const Object buffer = a.is_place ? buffers.from(a.place) : nullptr;
            const size_t bytes = a.is_place ? sizeof buffer : a.bytes;
            set_argument(kernel, launch, k++, bytes, a.is_place ? &buffer : a.value);
        }
        set_argument(kernel, launch, k, std::max<size_t>(launch.shared_bytes, 1), nullptr);
    }
    void set_argument(Object kernel, const Launch &launch, cl::Uint k, size_t bytes,
                      const void *value) {
        const cl::Int status = f_.set_kernel_arg(kernel, k, bytes, value);
        if (status == cl::success) return;
        check_opencl(status, "argument " + std::to_string(k) + " of " + launch.entry);
    }

    const cl::Functions &f_;
    int index_;
    Object device_;
    size_t alignment_ = 1;
    Object context_ = nullptr, queue_ = nullptr;
    std::vector<Object> programs_, kernels_;
};

}  // namespace

std::unique_ptr<Driver> open_opencl() {
    const cl::Library &library = cl::Library::get();
    if (const std::string error = library.error(); !error.empty())
        throw DeviceError("opencl", error);
    const std::vector<Object> devices = library.devices();
    try {
        const int index = selected_device("opencl", "OpenCL", int(devices.size()), [&](int k) {
            return device_info<cl::Uint>(library.functions(), devices[size_t(k)],
                                         cl::device_max_compute_units);
        });
        return std::make_unique<OpenClDriver>(library, devices, index);
    } catch (const DriverFailure &failure) {
        throw DeviceError("opencl", failure.text);
    } catch (const OutOfMemory &) {
        throw DeviceError("opencl", "the driver has no memory for a context");
    }
}

}  // namespace halyard::gpu
