// The caches and the memory of this machine, as far as a measurement of roofs has to know them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace halyard::roofs {

// Bytes of the data that the first core reaches. A level that the machine does not have, or does
// not tell of, is 0.
struct HostMemory {
    int64_t l1 = 0;
    int64_t l2 = 0;
    int64_t l3 = 0;
    // what may be allocated: of the machine or of its container, whichever is less
    int64_t available = 0;
};

// Reads /sys and /proc below `root`, which is "/" but in tests. A missing or unreadable file never
// is an error: L1 and L2 then count as 32 KiB and 512 KiB, L3 as none, and available memory as 4
// GiB.
HostMemory read_host_memory(const std::filesystem::path &root = "/");

// The working set of a measurement of main memory, all threads together: eight times the last cache
// that `threads` threads reach, but at most 1 GiB and an eighth of the available memory. It is 0,
// and `reason` says why, where that would not leave the caches: then the level cannot be measured.
int64_t memory_working_set(const HostMemory &host, int threads, std::string &reason);

}  // namespace halyard::roofs
