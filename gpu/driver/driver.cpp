// The model driver: the functions of CUDA's driver that the kit's run time calls
// (registry/gpu/cuda.cpp), and Halide's, on the PTX machine. Everything is done when it is asked
// for, so streams have nothing to wait for. As on a GPU, a launch that fails is reported by the
// calls after it, until the context is replaced.
#include "gpu/driver/driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "gpu/machine/machine.h"
#include "gpu/model/launch_time.h"
#include "gpu/model/live_registers.h"
#include "registry/base/error.h"

namespace {

using namespace halyard;

// Numbers of CUresult.
enum Result : int {
    success = 0,
    invalid_value = 1,
    out_of_memory = 2,
    not_initialized = 3,
    invalid_device = 101,
    invalid_context = 201,
    invalid_ptx = 218,
    not_found = 500,
    illegal_address = 700,
    launch_timeout = 702,
    misaligned_address = 716,
    launch_failed = 719,
    not_supported = 801,
};

// Numbers of CUdevice_attribute.
enum Attribute : int {
    threads_per_block = 1,
    block_x = 2,
    block_y = 3,
    block_z = 4,
    grid_x = 5,
    grid_y = 6,
    grid_z = 7,
    shared_per_block = 8,
    warp_size = 10,
    multiprocessors = 16,
    unified_addressing = 41,
    capability_major = 75,
    capability_minor = 76,
};

struct Function {
    const ptx::Program *program;
};

struct LoadedImage {
    LoadedImage(const char *text, ptx::Memory &memory) : module(text, memory) {}
    ptx::LoadedModule module;
    std::map<std::string, Function> functions;
};

struct Context {};
struct Stream {};

// The one device, and what the process has on it.
struct Device {
    static Device &get() {
        static Device &device = *new Device;  // never destroyed: programs end in any order
        return device;
    }

    Device() {
        if (const char *bytes = std::getenv("HALYARD_CUDA_MODEL_MEMORY"))
            machine.memory.set_limit(std::strtoull(bytes, nullptr, 0));
    }

    void note(const std::string &line) { findings += line + "\n"; }

    std::mutex mutex;
    ptx::Machine machine;
    std::set<std::unique_ptr<LoadedImage>> modules;
    std::set<std::unique_ptr<Context>> contexts;
    std::set<std::unique_ptr<Stream>> streams;
    std::vector<Context *> current;
    int failed = success;  // what a launch ended with
    // The calls that a context is needed for, and which of them is to fail with what.
    int64_t calls = 0, failing_call = 0;
    int failure = success;
    bool initialized = false;
    bool notes_launches = false;
    std::vector<ptx::LaunchFacts> launches;
    std::string findings, shown;
};

template<class T> bool contains(const std::set<std::unique_ptr<T>> &all, const void *one) {
    return std::any_of(all.begin(), all.end(), [&](auto &p) { return p.get() == one; });
}

template<class T> void remove(std::set<std::unique_ptr<T>> &all, const void *one) {
    for (auto at = all.begin(); at != all.end(); ++at) {
        if (at->get() != one) continue;
        all.erase(at);
        return;
    }
}

// Removes one of the device's objects.
template<class T> int destroy(std::set<std::unique_ptr<T>> Device::*all, const void *one) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    if (!contains(d.*all, one)) return invalid_value;
    remove(d.*all, one);
    return success;
}

// Runs `f` on the device, if there is a context. Returns an earlier launch's failure instead.
template<class F> int with_context(F f) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    if (!d.initialized) return not_initialized;
    if (d.current.empty()) return invalid_context;
    if (d.failed != success) return d.failed;
    if (++d.calls == d.failing_call) {
        if (d.failure != out_of_memory) d.failed = d.failure;
        return d.failure;
    }
    try {
        return f(d);
    } catch (const MemoryError &e) {
        d.note(e.what());
        return out_of_memory;
    } catch (const Error &e) {
        d.note(e.what());
        return not_supported;
    }
}

int result_of(ptx::Fault fault) {
    switch (fault) {
    case ptx::Fault::out_of_bounds: return illegal_address;
    case ptx::Fault::misaligned: return misaligned_address;
    case ptx::Fault::endless: return launch_timeout;
    default: return launch_failed;
    }
}

int load_module(void **module, const void *image) {
    return with_context([&](Device &d) -> int {
        if (!module || !image) return invalid_value;
        try {
            auto loaded = std::make_unique<LoadedImage>(static_cast<const char *>(image),
                                                        d.machine.memory);
            *module = loaded.get();
            d.modules.insert(std::move(loaded));
        } catch (const DeviceError &e) {
            d.note(e.what());
            return invalid_ptx;
        }
        return success;
    });
}

// Returns the buffer of a copy; null, with a line of findings, if none holds these bytes.
ptx::Buffer *buffer_of(Device &d, uint64_t address, size_t bytes, const char *what) {
    ptx::Buffer *b = d.machine.memory.find(address, bytes);
    if (!b) {
        d.note(std::string(what) + " of " + std::to_string(bytes) + " bytes at address " +
               std::to_string(address) + ", in no buffer");
    }
    return b;
}

int upload(Device &d, uint64_t to, const void *from, size_t bytes) {
    if (bytes == 0) return success;
    ptx::Buffer *b = buffer_of(d, to, bytes, "an upload");
    if (!b) return invalid_value;
    std::memcpy(b->data.data() + (to - b->base), from, bytes);
    b->shadow.write_from_host(to - b->base, bytes);
    return success;
}

int download(Device &d, void *to, uint64_t from, size_t bytes) {
    if (bytes == 0) return success;
    ptx::Buffer *b = buffer_of(d, from, bytes, "a download");
    if (!b) return invalid_value;
    const uint64_t at = from - b->base;
    for (uint64_t k = at; k < at + bytes; k++) {
        if (!b->shadow.writer(k).is_nobody()) continue;
        d.note("uninitialised download: nobody has written byte " + std::to_string(k) +
               " of buffer " + std::to_string(b->id) + ", which has " + std::to_string(b->bytes));
        break;
    }
    std::memcpy(to, b->data.data() + at, bytes);
    return success;
}

int copy_on_device(Device &d, uint64_t to, uint64_t from, size_t bytes) {
    if (bytes == 0) return success;
    ptx::Buffer *a = buffer_of(d, to, bytes, "a copy to");
    ptx::Buffer *b = buffer_of(d, from, bytes, "a copy from");
    if (!a || !b) return invalid_value;
    std::memmove(a->data.data() + (to - a->base), b->data.data() + (from - b->base), bytes);
    a->shadow.copy(to - a->base, b->shadow, from - b->base, bytes);
    return success;
}

int fill(Device &d, uint64_t to, unsigned char byte, size_t bytes) {
    if (bytes == 0) return success;
    ptx::Buffer *b = buffer_of(d, to, bytes, "a fill");
    if (!b) return invalid_value;
    std::memset(b->data.data() + (to - b->base), byte, bytes);
    b->shadow.write_from_host(to - b->base, bytes);
    return success;
}

// CUDA_MEMCPY3D of cuda.h.
struct Copy3D {
    size_t source_x, source_y, source_z, source_lod;
    unsigned source_kind;
    const void *source_host;
    uint64_t source_device;
    void *source_array, *reserved0;
    size_t source_pitch, source_height;
    size_t to_x, to_y, to_z, to_lod;
    unsigned to_kind;
    void *to_host;
    uint64_t to_device;
    void *to_array, *reserved1;
    size_t to_pitch, to_height;
    size_t width, height, depth;
};
constexpr unsigned kind_host = 1, kind_device = 2;  // of CUmemorytype

int copy_row(Device &d, const Copy3D &c, size_t y, size_t z) {
    const size_t from = c.source_x +
                        (c.source_y + y + (c.source_z + z) * c.source_height) * c.source_pitch;
    const size_t to = c.to_x + (c.to_y + y + (c.to_z + z) * c.to_height) * c.to_pitch;
    const char *host_from = static_cast<const char *>(c.source_host) + from;
    char *host_to = static_cast<char *>(c.to_host) + to;
    if (c.source_kind == kind_host && c.to_kind == kind_device)
        return upload(d, c.to_device + to, host_from, c.width);
    if (c.source_kind == kind_device && c.to_kind == kind_host)
        return download(d, host_to, c.source_device + from, c.width);
    if (c.source_kind == kind_device && c.to_kind == kind_device)
        return copy_on_device(d, c.to_device + to, c.source_device + from, c.width);
    return not_supported;
}

// Gathers the values of a kernel's parameters as the machine takes them.
std::vector<uint8_t> arguments_of(const ptx::Entry &entry, void *const *values) {
    std::vector<uint8_t> all(entry.parameter_bytes);
    for (size_t k = 0; k < entry.parameters.size(); k++) {
        const ptx::Parameter &p = entry.parameters[k];
        std::memcpy(all.data() + p.offset, values[k], p.bytes);
    }
    return all;
}

int launch(Device &d, const ptx::Program &program, const ptx::LaunchShape &shape,
           void *const *values) {
    const auto found = d.machine.launch(program, shape, arguments_of(*program.entry, values));
    if (d.notes_launches) {
        d.launches.push_back({program.name, shape, d.machine.last_launch(),
                              program.shared_bytes + shape.dynamic_shared,
                              ptx::live_registers(*program.entry)});
    }
    for (const ptx::Finding &f : found) {
        d.note(text_of(f));
        if (ptx::ends_launch(f.fault)) d.failed = result_of(f.fault);
    }
    return success;
}

// Returns null for a number that the model never returns.
const char *name_of(int result) {
    switch (result) {
    case success: return "CUDA_SUCCESS";
    case invalid_value: return "CUDA_ERROR_INVALID_VALUE";
    case out_of_memory: return "CUDA_ERROR_OUT_OF_MEMORY";
    case not_initialized: return "CUDA_ERROR_NOT_INITIALIZED";
    case invalid_device: return "CUDA_ERROR_INVALID_DEVICE";
    case invalid_context: return "CUDA_ERROR_INVALID_CONTEXT";
    case invalid_ptx: return "CUDA_ERROR_INVALID_PTX";
    case not_found: return "CUDA_ERROR_NOT_FOUND";
    case illegal_address: return "CUDA_ERROR_ILLEGAL_ADDRESS";
    case launch_timeout: return "CUDA_ERROR_LAUNCH_TIMEOUT";
    case misaligned_address: return "CUDA_ERROR_MISALIGNED_ADDRESS";
    case launch_failed: return "CUDA_ERROR_LAUNCH_FAILED";
    case not_supported: return "CUDA_ERROR_NOT_SUPPORTED";
    default: return nullptr;
    }
}

std::string text_of(const ptx::Counts &c) {
    std::string text;
    const auto line = [&](const char *name, uint64_t value) {
        text += std::string(name) + " " + std::to_string(value) + "\n";
    };
    line("launches", c.launches);
    line("blocks", c.blocks);
    line("barriers", c.barriers);
    line("warp_instructions", c.warp_instructions);
    line("lane_instructions", c.lane_instructions);
    line("branches", c.branches);
    line("divergent_branches", c.divergent_branches);
    line("global_loads", c.global_loads);
    line("load_sectors", c.load_sectors);
    line("global_stores", c.global_stores);
    line("store_sectors", c.store_sectors);
    line("lines", c.lines);
    line("block_sectors", c.block_sectors);
    line("launch_sectors", c.launch_sectors);
    line("shared_requests", c.shared_requests);
    line("shared_wavefronts", c.shared_wavefronts);
    line("least_wavefronts", c.least_wavefronts);
    for (auto &[opcode, e] : c.by_opcode) {
        text += opcode + " " + std::to_string(e.warps) + " " + std::to_string(e.lanes) + "\n";
    }
    return text;
}

// Returns the line of a launch on the GPU.
std::string line_of(const ptx::GpuProfile &gpu, const ptx::LaunchFacts &launch) {
    const ptx::LaunchTime t = modelled_time(gpu, launch);
    std::ostringstream line;
    line << t.microseconds << " " << t.blocks_at_once << " " << t.occupancy << " " << t.dram_share
         << " " << launch.kernel << " " << t.bound << "\n";
    return line.str();
}

}  // namespace

extern "C" {

const char *halyard_cuda_model_times(const char *gpu) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    d.notes_launches = true;
    d.machine.note_sectors();
    d.shown.clear();
    try {
        for (const ptx::LaunchFacts &launch : d.launches)
            d.shown += line_of(ptx::GpuProfile::named(gpu), launch);
    } catch (const Error &e) {
        d.note(e.what());
    }
    d.launches.clear();
    return d.shown.c_str();
}

const char *halyard_cuda_model_findings() {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    d.shown = std::move(d.findings);
    d.findings.clear();
    return d.shown.c_str();
}

const char *halyard_cuda_model_counts() {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    d.shown = text_of(d.machine.counts());
    d.machine.reset_counts();
    return d.shown.c_str();
}

int64_t halyard_cuda_model_calls() {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    return d.calls;
}

void halyard_cuda_model_fail(int64_t call, int result) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    d.failing_call = d.calls + call;
    d.failure = result;
}

int cuInit(unsigned) {
    Device::get().initialized = true;
    return success;
}
int cuDriverGetVersion(int *version) {
    *version = 11'000;  // CUDA 11.0 has PTX 7.0
    return success;
}
int cuGetErrorName(int result, const char **name) {
    *name = name_of(result);
    return *name ? success : invalid_value;
}
int cuDeviceGetCount(int *count) {
    *count = 1;
    return success;
}
int cuDeviceGet(int *device, int ordinal) {
    if (ordinal != 0) return invalid_device;
    *device = 0;
    return success;
}
int cuDeviceGetName(char *name, int bytes, int) {
    std::strncpy(name, "Halyard's PTX machine", size_t(bytes));
    if (bytes > 0) name[bytes - 1] = '\0';
    return success;
}
int cuDeviceTotalMem_v2(size_t *bytes, int) {
    *bytes = Device::get().machine.memory.limit();
    return success;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
    static const std::map<int, int> values = {
        {threads_per_block, 1024}, {block_x, 1024},
        {block_y, 1024},           {block_z, 64},
        {grid_x, 2147483647},      {grid_y, 65535},
        {grid_z, 65535},           {warp_size, 32},
        {shared_per_block, 49152}, {multiprocessors, 108},
        {capability_major, 8},     {capability_minor, 0},
        {unified_addressing, 1},
    };
    const auto at = values.find(attribute);
    if (at == values.end()) return invalid_value;
    *value = at->second;
    return success;
}

int cuCtxCreate_v2(void **context, unsigned, int device) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    if (!d.initialized) return not_initialized;
    if (device != 0) return invalid_device;
    d.failed = success;
    auto made = std::make_unique<Context>();
    *context = made.get();
    d.current.push_back(made.get());
    d.contexts.insert(std::move(made));
    return success;
}
int cuCtxDestroy_v2(void *context) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    if (!contains(d.contexts, context)) return invalid_context;
    std::erase(d.current, context);
    remove(d.contexts, context);
    return success;
}
int cuCtxPushCurrent_v2(void *context) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    if (!contains(d.contexts, context)) return invalid_context;
    d.current.push_back(static_cast<Context *>(context));
    return success;
}
int cuCtxPopCurrent_v2(void **context) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    if (d.current.empty()) return invalid_context;
    if (context) *context = d.current.back();
    d.current.pop_back();
    return success;
}
int cuCtxGetDevice(int *device) {
    *device = 0;
    return success;
}
int cuCtxGetApiVersion(void *, unsigned *version) {
    *version = 3020;
    return success;
}
int cuCtxSynchronize() {
    return with_context([](Device &) { return success; });
}
int cuStreamCreate(void **stream, unsigned) {
    return with_context([&](Device &d) -> int {
        auto made = std::make_unique<Stream>();
        *stream = made.get();
        d.streams.insert(std::move(made));
        return success;
    });
}
int cuStreamDestroy_v2(void *stream) {
    return destroy(&Device::streams, stream);
}
int cuStreamSynchronize(void *) {
    return cuCtxSynchronize();
}
int cuProfilerStop() {
    return success;
}

int cuModuleLoadData(void **module, const void *image) {
    return load_module(module, image);
}
int cuModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
    return load_module(module, image);
}
int cuModuleUnload(void *module) {
    return destroy(&Device::modules, module);
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    return with_context([&](Device &d) -> int {
        if (!contains(d.modules, module)) return invalid_value;
        auto &image = *static_cast<LoadedImage *>(module);
        if (!image.module.has(name)) return not_found;
        Function &f = image.functions[name];
        f.program = &image.module.program(name);
        *function = &f;
        return success;
    });
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    return with_context([&](Device &d) -> int {
        if (bytes == 0) return invalid_value;
        *address = d.machine.memory.allocate(bytes);
        return success;
    });
}
int cuMemFree_v2(uint64_t address) {
    Device &d = Device::get();
    const std::lock_guard lock(d.mutex);
    return d.machine.memory.free(address) ? success : invalid_value;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    return with_context([&](Device &d) { return upload(d, to, from, bytes); });
}
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    return with_context([&](Device &d) { return download(d, to, from, bytes); });
}
int cuMemcpyDtoD_v2(uint64_t to, uint64_t from, size_t bytes) {
    return with_context([&](Device &d) { return copy_on_device(d, to, from, bytes); });
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *) {
    return cuMemcpyHtoD_v2(to, from, bytes);
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *) {
    return cuMemcpyDtoH_v2(to, from, bytes);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *) {
    return cuMemcpyDtoD_v2(to, from, bytes);
}
int cuMemsetD8Async(uint64_t to, unsigned char byte, size_t bytes, void *) {
    return with_context([&](Device &d) { return fill(d, to, byte, bytes); });
}
int cuMemcpy3D_v2(const void *copy) {
    const Copy3D &c = *static_cast<const Copy3D *>(copy);
    return with_context([&](Device &d) -> int {
        for (size_t z = 0; z < c.depth; z++) {
            for (size_t y = 0; y < c.height; y++)
                if (const int failed = copy_row(d, c, y, z)) return failed;
        }
        return success;
    });
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
    constexpr int attribute_context = 1;
    return with_context([&](Device &d) -> int {
        if (attribute != attribute_context || !d.machine.memory.find(address, 1))
            return invalid_value;
        *static_cast<void **>(value) = d.current.back();
        return success;
    });
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void *, void **parameters, void **extra) {
    return with_context([&](Device &d) -> int {
        if (!function || extra) return invalid_value;
        return launch(d, *static_cast<Function *>(function)->program,
                      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
                      parameters);
    });
}

}  // extern "C"
