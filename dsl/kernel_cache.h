// The cache of compiled kernels: files in ${XDG_CACHE_HOME:-~/.cache}/halyard/kernels, named by a
// hash of everything that they were compiled from.
//
// The files are executed, so the folder has to belong to the user and must not be writable by
// others. Every entry ends with a hash of its bytes, which is compared before the entry is used; a
// damaged entry is made again. If no such folder can be had (no home, or one that is read-only),
// kernels are kept in a private folder until the program ends.
//
// The cache takes at most cache_limit() bytes: the entries that were used longest ago are removed
// when others are added. Those of the last hour stay, because a process may be about to open them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace halyard {

// Returns the folder, and makes it if needed. Throws IoError if it belongs to another user or is
// writable by others. A process that starts compiling processes has to call this first: its private
// folder is then also theirs.
std::filesystem::path kernel_cache();

// Returns the folder of other cached files: measured roofs, tuning records.
std::filesystem::path cache_folder();
// Returns true if the cache is a private folder, which is removed when the program ends.
bool cache_is_private();

// Names a private folder, which is removed when the program ends, as PoCL's cache if the user's
// caches can't be written: PoCL fails then with an unknown error. Does nothing if POCL_CACHE_DIR is
// set. It changes the environment, so a program has to call it before it starts threads.
void provide_opencl_cache();

// Writes the content of an entry to `path`; may throw.
using MakeEntry = std::function<void(const std::string &path)>;

// Returns the path of the entry `name`. Calls `make` if it is missing or damaged.
std::filesystem::path cached_file(const std::string &name, const MakeEntry &make);
// Returns the content of the entry `name`, as written by `make`.
std::string cached_bytes(const std::string &name, const MakeEntry &make);

// Returns a hash of `data`: 128 bits as 32 hexadecimal digits.
std::string digest(std::string_view data);

struct CacheEntry {
    std::filesystem::path path;
    int64_t bytes = 0;
    std::filesystem::file_time_type used;  // when it was last used, to ten minutes
};
// Returns all entries, including those of older versions, the one that was used last first.
std::vector<CacheEntry> cache_entries();
// Returns those whose bytes are not the ones that were written.
std::vector<CacheEntry> damaged_entries();
// Removes entries, and returns those that were still there.
std::vector<CacheEntry> remove_entries(const std::vector<CacheEntry> &entries);
// Returns the sum of the entries' sizes.
int64_t bytes_of(const std::vector<CacheEntry> &entries);

// Returns the most bytes that the cache takes: HALYARD_CACHE_SIZE, such as "500MB" or "2GB"; 4 GB
// if it isn't set. Throws AttrError for another text.
int64_t cache_limit();

}  // namespace halyard
