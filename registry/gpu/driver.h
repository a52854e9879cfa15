// The part of a GPU's driver that the run time stands on: one class for each driver derives from
// Driver (opencl.h, cuda.h). A device calls it from one thread at a time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "registry/gpu/gpu.h"

namespace halyard::gpu {

// Memory from the driver. `memory` is the driver's name for it, where that isn't the address.
struct DeviceBlock {
    Address base = 0;
    size_t bytes = 0;
    void *memory = nullptr;
};

// A place in a block; no block stands for the address 0.
struct DevicePlace {
    const DeviceBlock *block = nullptr;
    size_t offset = 0;

    Address address() const { return block ? block->base + offset : 0; }
};

// An argument of a device function: a place in memory, or a value.
struct Argument {
    size_t bytes = 0;
    const void *value = nullptr;
    bool is_place = false;
    DevicePlace place;
};

struct Launch {
    const char *entry;  // the function's name
    unsigned blocks[3], threads[3];
    unsigned shared_bytes;
    std::span<const Argument> arguments;
};

// What a Driver throws; the device turns it into a DeviceError or MemoryError.
struct DriverFailure {
    std::string text;
};
struct OutOfMemory {};

// Work begins in the order in which it is given. Functions throw DriverFailure, with the name of
// the driver's function and its error, or OutOfMemory.
class Driver {
public:
    Driver() = default;
    // Waits until the work is done, and returns everything but blocks to the driver.
    virtual ~Driver() = default;
    Driver(const Driver &) = delete;
    Driver &operator=(const Driver &) = delete;

    // Returns the device's number among those of the driver, counted from 0.
    virtual int index() const = 0;
    virtual std::string name() const = 0;
    virtual size_t alignment() const = 0;  // as of Gpu

    virtual DeviceBlock allocate(size_t bytes) = 0;
    virtual void release(const DeviceBlock &block) noexcept = 0;
    virtual void upload(DevicePlace to, const void *from, size_t bytes) = 0;
    virtual void download(void *to, DevicePlace from, size_t bytes) = 0;
    virtual void copy(DevicePlace to, DevicePlace from, size_t bytes) = 0;
    virtual void fill(DevicePlace to, uint8_t byte, size_t bytes) = 0;
    virtual void synchronize() = 0;

    // Compiles a module of device functions, whose text ends with a 0. Programs and functions live
    // as long as the driver.
    virtual void *compile(const char *text) = 0;
    virtual void *function(void *program, const char *entry) = 0;
    virtual void launch(void *function, const Launch &launch) = 0;
};

}  // namespace halyard::gpu
