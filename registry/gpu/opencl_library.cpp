#include "registry/gpu/opencl_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <map>

namespace halyard::gpu::cl {
namespace {

Ulong wanted_types() {
    constexpr Ulong all = 0xFFFFFFFF;
    const char *given = std::getenv("HL_OCL_DEVICE_TYPE");
    const std::string text = given ? given : "";
    Ulong types = 0;
    if (text.find("cpu") != std::string::npos) types |= 2;
    if (text.find("gpu") != std::string::npos) types |= 4;
    if (text.find("acc") != std::string::npos) types |= 8;
    return types ? types : all;
}

}  // namespace

const Library &Library::get() {
    static const Library &one = *new Library;
    return one;
}

Library::Library() {
    // A program that replaces OpenCL for others, such as oclgrind, is loaded before them.
    if (!dlsym(RTLD_DEFAULT, "clGetPlatformIDs")) {
        library_ = dlopen("libOpenCL.so.1", RTLD_LAZY);
        if (!library_) {
            const char *why = dlerror();
            missing_ = std::string("no OpenCL library: ") + (why ? why : "it can't be opened");
            return;
        }
    }
    Functions &f = functions_;
    find(f.get_platform_ids, "clGetPlatformIDs");
    find(f.get_platform_info, "clGetPlatformInfo");
    find(f.get_device_ids, "clGetDeviceIDs");
    find(f.get_device_info, "clGetDeviceInfo");
    find(f.create_context, "clCreateContext");
    find(f.release_context, "clReleaseContext");
    find(f.create_command_queue, "clCreateCommandQueue");
    find(f.release_command_queue, "clReleaseCommandQueue");
    find(f.create_buffer, "clCreateBuffer");
    find(f.create_sub_buffer, "clCreateSubBuffer");
    find(f.release_mem_object, "clReleaseMemObject");
    find(f.enqueue_write_buffer, "clEnqueueWriteBuffer");
    find(f.enqueue_read_buffer, "clEnqueueReadBuffer");
    find(f.enqueue_copy_buffer, "clEnqueueCopyBuffer");
    find(f.enqueue_fill_buffer, "clEnqueueFillBuffer");
    find(f.flush, "clFlush");
    find(f.finish, "clFinish");
    find(f.create_program_with_source, "clCreateProgramWithSource");
    find(f.build_program, "clBuildProgram");
    find(f.get_program_build_info, "clGetProgramBuildInfo");
    find(f.release_program, "clReleaseProgram");
    find(f.create_kernel, "clCreateKernel");
    find(f.release_kernel, "clReleaseKernel");
    find(f.set_kernel_arg, "clSetKernelArg");
    find(f.enqueue_nd_range_kernel, "clEnqueueNDRangeKernel");
}

template<class F> void Library::find(F &function, const char *name) {
    function = reinterpret_cast<F>(dlsym(library_ ? library_ : RTLD_DEFAULT, name));
    if (!function && missing_.empty())
        missing_ = std::string("the OpenCL library has no ") + name + ": 1.2 is needed";
}

std::vector<Object> Library::platforms() const {
    Uint count = 0;
    if (functions_.get_platform_ids(0, nullptr, &count) != success) return {};
    std::vector<Object> all(count);
    if (count > 0 && functions_.get_platform_ids(count, all.data(), nullptr) != success) return {};
    return all;
}

std::string Library::name_of(Object platform) const {
    char text[256] = {};
    const Int status = functions_.get_platform_info(platform, platform_name, sizeof text - 1, text,
                                                    nullptr);
    return status == success ? text : "";
}

Object Library::platform() const {
    if (!missing_.empty()) return nullptr;
    const char *wanted = std::getenv("HL_OCL_PLATFORM_NAME");
    for (Object platform : platforms()) {
        if (!wanted || !*wanted || name_of(platform).find(wanted) != std::string::npos)
            return platform;
    }
    return nullptr;
}

// PoCL's CPU device aborts the process in a container or chroot without /sys.
bool Library::ends_the_process(Object platform) const {
    if (!platform || name_of(platform) != "Portable Computing Language") return false;
    std::error_code none;
    for (const char *cpu :
         {"/sys/bus/cpu/devices/cpu0/topology", "/sys/devices/system/cpu/cpu0/topology"})
        if (std::filesystem::is_directory(cpu, none)) return false;
    return true;
}

std::string Library::error() const {
    if (!missing_.empty()) return missing_;
    if (platforms().empty()) return "no OpenCL platform answers";
    if (ends_the_process(platform()))
        return "PoCL can't run where /sys doesn't describe the processor's topology";
    return "";
}

std::vector<Object> Library::devices() const {
    if (!error().empty()) return {};
    const Object from = platform();
    Uint count = 0;
    if (!from || functions_.get_device_ids(from, wanted_types(), 0, nullptr, &count) != success)
        return {};
    std::vector<Object> all(count);
    const Int status = functions_.get_device_ids(from, wanted_types(), count, all.data(), nullptr);
    return status == success ? all : std::vector<Object>{};
}

std::string error_text(Int code) {
    static const std::map<Int, const char *> names = {
        {-1, "CL_DEVICE_NOT_FOUND"},
        {-2, "CL_DEVICE_NOT_AVAILABLE"},
        {-3, "CL_COMPILER_NOT_AVAILABLE"},
        {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
        {-5, "CL_OUT_OF_RESOURCES"},
        {-6, "CL_OUT_OF_HOST_MEMORY"},
        {-8, "CL_MEM_COPY_OVERLAP"},
        {-11, "CL_BUILD_PROGRAM_FAILURE"},
        {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
        {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
        {-30, "CL_INVALID_VALUE"},
        {-33, "CL_INVALID_DEVICE"},
        {-34, "CL_INVALID_CONTEXT"},
        {-36, "CL_INVALID_COMMAND_QUEUE"},
        {-38, "CL_INVALID_MEM_OBJECT"},
        {-44, "CL_INVALID_PROGRAM"},
        {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
        {-46, "CL_INVALID_KERNEL_NAME"},
        {-48, "CL_INVALID_KERNEL"},
        {-49, "CL_INVALID_ARG_INDEX"},
        {-50, "CL_INVALID_ARG_VALUE"},
        {-51, "CL_INVALID_ARG_SIZE"},
        {-52, "CL_INVALID_KERNEL_ARGS"},
        {-54, "CL_INVALID_WORK_GROUP_SIZE"},
        {-55, "CL_INVALID_WORK_ITEM_SIZE"},
        {-59, "CL_INVALID_OPERATION"},
        {-61, "CL_INVALID_BUFFER_SIZE"},
        {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
    };
    const auto at = names.find(code);
    const std::string number = std::to_string(code);
    return at == names.end() ? "OpenCL error " + number
                             : std::string(at->second) + " (" + number + ")";
}

}  // namespace halyard::gpu::cl
