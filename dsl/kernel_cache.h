// The cache of compiled kernels: files in ${XDG_CACHE_HOME:-~/.cache}/halyard/kernels, named by a
// hash of everything that they were compiled from.
//
// The files are executed, so the folder has to belong to the user and must not be writable by
// others. Every entry ends with a hash of its bytes, which is compared before the entry is used; a
// damaged entry is made again. If no such folder can be had (no home, or one that is read-only),
// kernels are kept in a private folder until the program ends.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

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

struct CacheSize {
    int64_t entries = 0, bytes = 0;
};
// Returns the number of entries and their size.
CacheSize cache_size();
// Removes all entries, and returns how many there were and their size.
CacheSize clean_cache();

}  // namespace halyard
