// The memory pool: 64-byte aligned blocks for tensors and kernels' scratch memory.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace halyard::memory {

inline constexpr size_t alignment = 64;

// Returns a block of at least `bytes`; 0 gives a valid, unique block. Thread-safe. Throws
// MemoryError with the bytes requested, the bytes in use and the limit; nothing has changed then.
void *allocate(size_t bytes);
void release(void *block);

struct Stats {
    // Blocks in use, at their sizes: a request is rounded up by at most a quarter.
    int64_t live_bytes, live_blocks;
    // The highest live_bytes so far; exact with one thread, within 64 KiB for each further one.
    int64_t peak_bytes;
    int64_t pooled_bytes;  // kept for reuse
    // Since the start: blocks requested, and blocks requested from the system.
    int64_t allocations, system_calls;
};
Stats stats();
// Returns pooled blocks to the system, except the few in other threads' caches.
void trim();

// Sets the limit of the bytes that tensors, scratch memory and pooled blocks take from the system
// together; 0, the initial value, is no limit. Memory above a new limit is kept. Only requests to
// the system are checked; reusing a block always succeeds. HALYARD_MAX_DEVICE_MEMORY is read before
// the first allocation.
void set_limit(int64_t bytes);
int64_t limit();
int64_t limit_from(const std::string &text);  // "2GB", "0.5GB", "512MB"; "": 0. Throws AttrError.

// As above, but not counted in stats(): for the bookkeeping of tensors.
void *allocate_uncounted(size_t bytes);
void release_uncounted(void *block);

}  // namespace halyard::memory
