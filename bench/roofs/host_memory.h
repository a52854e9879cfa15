// The sizes of this machine's caches and memory, for the measurement of roofs.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace halyard::roofs {

// Sizes in bytes, of the data caches that the first core reaches. A level that the machine lacks or
// doesn't report is 0.
struct HostMemory {
    int64_t l1 = 0;
    int64_t l2 = 0;
    int64_t l3 = 0;
    // The memory that may be allocated: that of the machine or of its container, whichever is less.
    int64_t available = 0;
};

// Reads /sys and /proc below `root`, which tests replace. A missing or unreadable file is no error:
// the defaults are 32 KiB for L1, 512 KiB for L2, no L3 and 4 GiB of available memory.
HostMemory read_host_memory(const std::filesystem::path &root = "/");

// Returns the working set, over all threads, that measures main memory: eight times the last-level
// caches that `threads` threads reach, but at most 1 GiB and an eighth of the available memory.
// Returns 0 and sets `reason` if that would still fit the caches.
int64_t memory_working_set(const HostMemory &host, int threads, std::string &reason);

}  // namespace halyard::roofs
