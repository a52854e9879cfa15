// The cache of compiled kernels: files in ${XDG_CACHE_HOME:-~/.cache}/halyard/kernels, named by
// what they were made from.
//
// What lies there is run, so the folder is the caller's own and nobody else may write to it, and
// every entry ends with a hash of its bytes, which is compared before anything opens it: a damaged
// one is made again. Where no such folder can be had (a home that is read-only, or none), kernels
// are kept in a private one until the program ends.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace halyard {

// The folder, which is made. Throws IoError where it is somebody else's or others may write to it.
// A process that starts others which compile calls it first: a private folder is its own and its
// children's.
std::filesystem::path kernel_cache();

// What is kept beside the kernels: measured roofs, tuning records.
std::filesystem::path cache_folder();
bool cache_is_private();  // is it gone when the program ends?

// Writes what an entry holds to the path it is given; may throw.
using MakeEntry = std::function<void(const std::string &path)>;

// The path of the entry called `name`, whole; made where it isn't there or is damaged.
std::filesystem::path cached_file(const std::string &name, const MakeEntry &make);
std::string cached_bytes(const std::string &name, const MakeEntry &make);

// 128 bits, as 32 digits: names what was made from `data`, and tells whether bytes are what they
// were.
std::string digest(std::string_view data);

struct CacheSize {
    int64_t entries = 0, bytes = 0;
};
CacheSize cache_size();
CacheSize clean_cache();  // removes all entries, and says what they were

}  // namespace halyard
