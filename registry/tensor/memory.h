// Memory: one pool of 64-byte aligned blocks for tensors and kernel scratch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace halyard::memory {

inline constexpr size_t alignment = 64;

// A block of at least `bytes` (0 gives a valid, unique block). Thread-safe. Throws MemoryError
// saying how much was wanted, how much is in use, and the limit; nothing has changed then.
void *allocate(size_t bytes);
void release(void *block);

struct Stats {
    // handed out, at the blocks' sizes (a request rounded up by at most a quarter)
    int64_t live_bytes, live_blocks;
    // highest live_bytes so far; exact with one thread, within 64 KiB for each further one
    int64_t peak_bytes;
    int64_t pooled_bytes;  // kept for reuse
    // since the start: how many blocks were asked for, how many the pool didn't have
    int64_t allocations, system_calls;
};
Stats stats();
// gives pooled blocks back to the system, but for the few that other threads keep at hand
void trim();

// The most bytes that tensors, scratch and the blocks kept for them may take from the system
// together; 0, as at first: no limit. What is above it already stays. Only blocks that the pool has
// to ask the system for are held against it: a block that is reused costs nothing.
// HALYARD_MAX_DEVICE_MEMORY is read before the first block is handed out, so it holds for that one,
// too.
void set_limit(int64_t bytes);
int64_t limit();
int64_t limit_from(const std::string &text);  // "2GB", "0.5GB", "512MB"; "": 0. Throws AttrError.

// The same blocks without a place in stats(): for the tensors' own bookkeeping, whose number a user
// can't know.
void *allocate_uncounted(size_t bytes);
void release_uncounted(void *block);

}  // namespace halyard::memory
