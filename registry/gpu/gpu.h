// A GPU that kernels run on: its memory, copies and launches. It stands in place of Halide's run
// time, whose functions for devices registry/gpu/halide_functions.cpp defines anew.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

struct halide_device_interface_t;

namespace halyard::gpu {

// An address in a device's memory, to which offsets in bytes may be added. No two blocks of a
// device overlap. It can't be read by the host. 0: no memory.
using Address = uint64_t;

// What has happened on a device since the program began.
struct Counters {
    int64_t uploads = 0, uploaded_bytes = 0;      // from the host
    int64_t downloads = 0, downloaded_bytes = 0;  // to the host
    int64_t copies = 0, copied_bytes = 0;         // within the device
    int64_t launches = 0;                         // of device functions
    int64_t driver_allocations = 0;               // blocks requested from the driver
    int64_t live_bytes = 0, kept_bytes = 0;       // in use, and kept for later requests
};

// Work is done in the order in which it was given, by all threads together. Thread-safe.
// Throws DeviceError if the driver fails, naming the driver's error.
class Gpu {
public:
    virtual ~Gpu() = default;

    // Returns a block of at least `bytes`, aligned for every dtype; kept blocks are used again.
    // Throws MemoryError with the bytes wanted, in use and kept, after kept blocks were returned
    // to the driver and the request was tried once more.
    virtual Address allocate(size_t bytes) = 0;
    // Throws nothing. Blocks of an earlier opening() are gone already.
    virtual void release(Address block) = 0;

    // Copies between any places within blocks, which don't overlap. An upload has read `from` when
    // it returns.
    virtual void upload(Address to, const void *from, size_t bytes) = 0;
    virtual void download(void *to, Address from, size_t bytes) = 0;
    virtual void copy(Address to, Address from, size_t bytes) = 0;
    virtual void fill(Address to, uint8_t byte, size_t bytes) = 0;
    // Waits until all work so far is done.
    virtual void synchronize() = 0;

    // Returns what the driver calls the device: "NVIDIA H100".
    virtual std::string name() = 0;
    // A kernel's tensors begin at multiples of so many bytes from the beginning of their block: 1
    // if any place will do.
    virtual size_t alignment() const = 0;
    // Returns how often the device has been opened. release_devices() closes it, and the next use
    // opens it again: all blocks are lost then, and new ones may have their addresses.
    virtual int64_t opening() const = 0;
    virtual Counters counters() const = 0;
    // What Halide's kernels know the device by.
    virtual const halide_device_interface_t *interface() const = 0;
};

// Returns the selected device of a backend, "opencl" or "cuda"; opens its driver at the first call.
// Throws DeviceError with the reason why there is none.
Gpu &gpu(const std::string &backend);

// Sets whether released blocks are kept for later requests, as initially. Otherwise blocks have the
// size that was asked for, so that a checking driver finds accesses beyond it.
void keep_released_blocks(bool keep);

}  // namespace halyard::gpu
