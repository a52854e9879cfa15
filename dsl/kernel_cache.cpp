#include "dsl/kernel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>

#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/log.h"
#include "registry/base/temporary_folder.h"

namespace halyard {
namespace fs = std::filesystem;
namespace {

// An entry ends with this mark and a digest of what precedes it.
constexpr std::string_view mark = "\nhalyard entry ";
constexpr size_t trailer_size = mark.size() + 32;
constexpr const char *log_name = "kernel cache";

// Returns the folder of the user's caches; "" if neither XDG_CACHE_HOME nor HOME is set.
fs::path user_caches() {
    const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    if (xdg && *xdg) return fs::absolute(xdg);
    return home && *home ? fs::absolute(home) / ".cache" : fs::path();
}

// Returns the folder that is removed when the program ends. Warns once, and names the reason.
const fs::path &private_cache(const std::string &reason) {
    static const TemporaryFolder folder("halyard_cache");
    static std::once_flag warned;
    std::call_once(warned, [&] {
        log(LogLevel::warning, log_name,
            reason + ": kernels that are compiled now are kept in " + folder.path.string() +
                " until the program ends");
    });
    return folder.path;
}

[[noreturn]] void throw_unsafe(const fs::path &folder, const std::string &what) {
    throw IoError(folder.string(), what + ", and kernels from there would be run: remove it, or "
                                          "set XDG_CACHE_HOME to a folder of your own");
}

// Checks the parent of the cache. Nothing in it is executed, but a user who may write to it could
// put another folder in place of the cache. Removes the permission of others to write, or throws
// IoError.
void secure_parent(const fs::path &folder) {
    struct stat s;
    if (stat(folder.c_str(), &s) != 0) return;
    const bool own = s.st_uid == geteuid();
    if (!own && s.st_uid != 0) throw_unsafe(folder, "belongs to user " + std::to_string(s.st_uid));
    const bool others_write = s.st_mode & 022;
    const bool is_secured = others_write && own &&
                            chmod(folder.c_str(), s.st_mode & 07777 & ~022u) == 0;
    if (others_write && !is_secured && !(s.st_mode & S_ISVTX))
        throw_unsafe(folder, "can be written by others");
}

// Makes the folder. Returns "", or the reason why it can't be used. Throws IoError if other users
// could put files there.
std::string make_cache_folder(const fs::path &folder) {
    std::error_code failed;
    fs::create_directories(folder.parent_path(), failed);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return std::string("can't be made: ") + std::strerror(errno);
    struct stat s;
    if (stat(folder.c_str(), &s) != 0) return std::strerror(errno);
    if (!S_ISDIR(s.st_mode)) return "is no folder";
    secure_parent(folder.parent_path());
    if (s.st_uid != geteuid()) throw_unsafe(folder, "belongs to user " + std::to_string(s.st_uid));
    if (s.st_mode & 022) throw_unsafe(folder, "can be written by others");
    if (s.st_mode & 077) chmod(folder.c_str(), 0700);  // an older version made it
    if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        return std::string("can't be written: ") + std::strerror(errno);
    return "";
}

using namespace std::chrono_literals;
constexpr auto use_is_noted_after = 10min;  // so that a use seldom writes
constexpr auto kept_after_use = 1h;

// Notes that the open file was used now.
void note_use(int file, const struct stat &s) {
    const auto before = std::chrono::system_clock::from_time_t(s.st_mtime);
    if (std::chrono::system_clock::now() - before > use_is_noted_after) futimens(file, nullptr);
}

// Returns the bytes of a file, or nullopt if it is no regular file or can't be read.
std::optional<std::string> contents(const fs::path &path, bool is_use = false) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return {};
    struct stat s;
    const bool is_file = fstat(file, &s) == 0 && S_ISREG(s.st_mode);
    std::string bytes(is_file ? size_t(s.st_size) : 0, '\0');
    size_t at = 0;
    while (at < bytes.size()) {
        const ssize_t n = read(file, bytes.data() + at, bytes.size() - at);
        if (n == 0 || (n < 0 && errno != EINTR)) break;
        if (n > 0) at += size_t(n);
    }
    if (is_file && is_use) note_use(file, s);
    close(file);
    if (!is_file || at < bytes.size()) return {};
    return bytes;
}

// Returns true if the entry ends with its digest.
bool is_intact(std::string_view entry) {
    if (entry.size() < trailer_size) return false;
    const std::string_view bytes = entry.substr(0, entry.size() - trailer_size);
    const std::string_view end = entry.substr(bytes.size());
    return end.starts_with(mark) && end.substr(mark.size()) == digest(bytes);
}

void warn_damaged(const fs::path &path) {
    static std::once_flag warned;
    std::call_once(warned, [&] {
        log(LogLevel::warning, log_name,
            path.string() + " is damaged: it and what else is damaged there is made again");
    });
}

// Removes the entries that were used longest ago while there are more bytes than cache_limit().
// One addition of 32 looks. The name of the new entry decides which, because a build makes each
// kernel in a process of its own, where a count would begin anew.
void keep_within_limit(const std::string &new_entry) {
    const int64_t limit = cache_limit();  // which each addition reads, so that a wrong one is said
    constexpr size_t additions_between = 32;
    if (std::hash<std::string>()(new_entry) % additions_between != 0) return;
    std::vector<CacheEntry> entries = cache_entries();
    int64_t bytes = bytes_of(entries);
    const auto recently = fs::file_time_type::clock::now() - kept_after_use;
    std::vector<CacheEntry> oldest;
    while (bytes > limit && !entries.empty() && entries.back().used < recently) {
        bytes -= entries.back().bytes;
        oldest.push_back(entries.back());
        entries.pop_back();
    }
    remove_entries(oldest);
}

struct Entry {
    fs::path path;
    std::string bytes;  // without the hash
};

// Returns the entry `name`, from the cache or made now.
Entry entry_of(const std::string &name, const MakeEntry &make) {
    const fs::path folder = kernel_cache();
    const fs::path path = folder / name;
    if (std::optional<std::string> found = contents(path, true)) {
        if (is_intact(*found)) return {path, found->substr(0, found->size() - trailer_size)};
        warn_damaged(path);
    }
    const TemporaryFolder work("compiling", folder);
    const fs::path new_file = work.path / "made";
    make(new_file.string());
    std::optional<std::string> bytes = contents(new_file);
    if (!bytes) throw IoError(new_file.string(), "can't be read");
    const std::string entry = *bytes + std::string(mark) + digest(*bytes);
    write_file(new_file.string(), entry, Durability::to_system);
    std::error_code failed;
    fs::rename(new_file, path, failed);
    if (failed) throw IoError(path.string(), "can't be written: " + failed.message());
    keep_within_limit(name);
    return {path, std::move(*bytes)};
}

}  // namespace

std::string digest(std::string_view data) {
    // The first half is FNV-1a; the second is another multiplicative hash.
    uint64_t h[2] = {1469598103934665603u, 0x9ae16a3b2f90404fu};
    for (const char c : data) {
        const auto byte = uint8_t(c);
        h[0] = (h[0] ^ byte) * 1099511628211u;
        h[1] = (h[1] + byte) * 0xff51afd7ed558ccdu;
        h[1] ^= h[1] >> 29;
    }
    std::array<char, 33> text;
    std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(h[0]),
                  static_cast<unsigned long long>(h[1]));
    return text.data();
}

fs::path cache_folder() {
    return kernel_cache().parent_path();
}

fs::path kernel_cache() {
    const fs::path caches = user_caches();
    std::string reason = "neither XDG_CACHE_HOME nor HOME is set";
    if (!caches.empty()) {
        fs::path folder = caches / "halyard" / "kernels";
        const std::string problem = make_cache_folder(folder);
        if (problem.empty()) return folder;
        reason = folder.string() + " " + problem;
    }
    fs::path folder = private_cache(reason) / "kernels";
    if (const std::string problem = make_cache_folder(folder); !problem.empty())
        throw IoError(folder.string(), problem);
    return folder;
}

bool cache_is_private() {
    const fs::path caches = user_caches();
    return caches.empty() || cache_folder() != caches / "halyard";
}

void provide_opencl_cache() {
    if (std::getenv("POCL_CACHE_DIR")) return;
    const fs::path caches = user_caches();
    std::error_code failed;
    if (!caches.empty()) fs::create_directories(caches, failed);
    const bool writable = !caches.empty() && !failed &&
                          faccessat(AT_FDCWD, caches.c_str(), W_OK | X_OK, AT_EACCESS) == 0;
    if (writable) return;
    static const TemporaryFolder folder("halyard_opencl");
    setenv("POCL_CACHE_DIR", folder.path.c_str(), 1);
}

fs::path cached_file(const std::string &name, const MakeEntry &make) {
    return entry_of(name, make).path;
}
std::string cached_bytes(const std::string &name, const MakeEntry &make) {
    return entry_of(name, make).bytes;
}

// Folders in which other processes are compiling are skipped.
std::vector<CacheEntry> cache_entries() {
    std::vector<CacheEntry> all;
    std::error_code unreadable;
    for (fs::directory_iterator e(kernel_cache(), unreadable), end; !unreadable && e != end;
         e.increment(unreadable)) {
        std::error_code gone;
        if (e->symlink_status(gone).type() != fs::file_type::regular) continue;
        const CacheEntry entry{e->path(), int64_t(e->file_size(gone)), e->last_write_time(gone)};
        if (!gone) all.push_back(entry);
    }
    std::ranges::sort(all, std::greater(), &CacheEntry::used);
    return all;
}

std::vector<CacheEntry> damaged_entries() {
    std::vector<CacheEntry> all = cache_entries();
    std::erase_if(all, [](const CacheEntry &e) {
        const std::optional<std::string> found = contents(e.path);
        return !found || is_intact(*found);  // one that is gone is not damaged
    });
    return all;
}

std::vector<CacheEntry> remove_entries(const std::vector<CacheEntry> &entries) {
    std::vector<CacheEntry> removed;
    for (const CacheEntry &e : entries) {
        std::error_code failed;
        if (fs::remove(e.path, failed)) removed.push_back(e);
    }
    return removed;
}

int64_t bytes_of(const std::vector<CacheEntry> &entries) {
    int64_t bytes = 0;
    for (const CacheEntry &e : entries)
        bytes += e.bytes;
    return bytes;
}

int64_t cache_limit() {
    constexpr int64_t megabyte = 1 << 20, gigabyte = 1 << 30;
    const char *const given = std::getenv("HALYARD_CACHE_SIZE");
    if (!given || !*given) return 4 * gigabyte;
    char *end = nullptr;
    const double amount = std::strtod(given, &end);
    const std::string unit = end;
    const int64_t factor = unit == "GB" ? gigabyte : unit == "MB" ? megabyte : 0;
    if (factor == 0 || !(amount * double(factor) >= 1) || amount * double(factor) > 0x1p62) {
        throw AttrError("kernel cache", std::string("HALYARD_CACHE_SIZE is '") + given +
                                            "', expected a number above 0 with GB or MB, as 2GB");
    }
    return int64_t(amount * double(factor));
}

}  // namespace halyard
