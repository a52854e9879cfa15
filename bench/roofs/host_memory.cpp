#include "bench/roofs/host_memory.h"

#include <algorithm>
#include <fstream>
#include <optional>

namespace halyard::roofs {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kibi = 1 << 10;
constexpr int64_t mebi = 1 << 20;
constexpr int64_t gibi = 1 << 30;
constexpr int64_t largest_cache = 64 * gibi;  // larger values in a file are implausible

// Returns the first word of a file, or nothing.
std::optional<std::string> word_in(const fs::path &file) {
    std::ifstream in(file);
    std::string word;
    if (!(in >> word)) return {};
    return word;
}

// Returns "32768K", "480M" or "1G" in bytes, or nothing.
std::optional<int64_t> bytes_in(const std::string &text) {
    size_t digits = 0;
    int64_t number = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' &&
           number < largest_cache) {
        number = number * 10 + (text[digits] - '0');
        digits++;
    }
    const std::string unit = text.substr(digits);
    if (digits == 0) return {};
    if (unit == "G")
        number *= std::min(gibi, largest_cache);
    else if (unit == "M")
        number *= mebi;
    else if (unit == "K" || unit.empty())
        number *= kibi;
    else
        return {};
    if (number <= 0 || number > largest_cache) return {};
    return number;
}

// Returns the size of a cache from /sys. sysconf() is unsuitable: on AMD it sums the last-level
// caches of a socket, of which a core reaches one.
int64_t cache_bytes(const fs::path &root, int level, int64_t otherwise) {
    for (int index = 0; index < 8; index++) {
        const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache" /
                                ("index" + std::to_string(index));
        if (word_in(folder / "level") != std::to_string(level)) continue;
        if (word_in(folder / "type").value_or("Instruction") == "Instruction") continue;
        if (const auto size = bytes_in(word_in(folder / "size").value_or(""))) return *size;
    }
    return otherwise;
}

int64_t free_memory(const fs::path &root) {
    std::ifstream info(root / "proc/meminfo");
    for (std::string name, unit; info >> name;) {
        int64_t kilobytes = 0;
        if (name == "MemAvailable:" && info >> kilobytes) return kilobytes * kibi;
        std::getline(info, unit);
    }
    return 4 * gibi;
}

// Returns the memory limit of a container, for both versions of control groups. Without a limit the
// file holds "max" or an enormous number.
int64_t container_limit(const fs::path &root) {
    int64_t limit = INT64_MAX;
    for (const char *file :
         {"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        std::ifstream in(root / file);
        int64_t bytes = 0;
        if (in >> bytes && bytes > 0) limit = std::min(limit, bytes);
    }
    return limit;
}

}  // namespace

HostMemory read_host_memory(const fs::path &root) {
    HostMemory host;
    host.l1 = cache_bytes(root, 1, 32 * kibi);
    host.l2 = cache_bytes(root, 2, 512 * kibi);
    host.l3 = cache_bytes(root, 3, 0);
    host.available = std::min(free_memory(root), container_limit(root));
    return host;
}

int64_t memory_working_set(const HostMemory &host, int threads, std::string &reason) {
    const int64_t last_cache = std::max(host.l2 * threads, host.l3);
    const int64_t largest = std::min(gibi, host.available / 8);
    if (largest < 2 * last_cache) {
        reason = "a working set of " + std::to_string(largest / mebi) +
                 " MiB, the most it may take, would not leave caches of " +
                 std::to_string(last_cache / mebi) + " MiB";
        return 0;
    }
    return std::min(largest, std::max(8 * last_cache, 64 * mebi));
}

}  // namespace halyard::roofs
