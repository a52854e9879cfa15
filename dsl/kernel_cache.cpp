#include "dsl/kernel_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "registry/base/atomic_file.h"
#include "registry/base/error.h"
#include "registry/base/log.h"
#include "registry/base/temporary_folder.h"

namespace halyard {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view mark = "\nhalyard entry ";
constexpr size_t trailer = mark.size() + 32;
constexpr const char *speaker = "kernel cache";

// Where the user's caches are; "" where nothing says it.
fs::path user_caches() {
    const char *xdg = std::getenv("XDG_CACHE_HOME"), *home = std::getenv("HOME");
    if (xdg && *xdg) return fs::absolute(xdg);
    return home && *home ? fs::absolute(home) / ".cache" : fs::path();
}

const fs::path &private_cache(const std::string &why) {
    static const TemporaryFolder folder("halyard_cache");
    static std::once_flag said;
    std::call_once(said, [&] {
        log(LogLevel::warning, speaker,
            why + ": kernels that are compiled now are kept in " + folder.path.string() +
                " until the program ends");
    });
    return folder.path;
}

[[noreturn]] void refuse(const fs::path &folder, const std::string &what) {
    throw IoError(folder.string(), what + ", and kernels from there would be run: remove it, or "
                                          "set XDG_CACHE_HOME to a folder of your own");
}

// The folder above, which holds nothing that is run. Who may rename what is in it could still put
// another folder there.
void secure_parent(const fs::path &folder) {
    struct stat s;
    if (stat(folder.c_str(), &s) != 0) return;
    const bool own = s.st_uid == geteuid();
    if (!own && s.st_uid != 0) refuse(folder, "belongs to user " + std::to_string(s.st_uid));
    const bool others_write = s.st_mode & 022;
    const bool mended = others_write && own &&
                        chmod(folder.c_str(), s.st_mode & 07777 & ~022u) == 0;
    if (others_write && !mended && !(s.st_mode & S_ISVTX))
        refuse(folder, "can be written by others");
}

// Makes the folder, and says why it can't be used; "" where it can. Throws where using it would run
// what others put there.
std::string obstacle(const fs::path &folder) {
    std::error_code failed;
    fs::create_directories(folder.parent_path(), failed);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return std::string("can't be made: ") + std::strerror(errno);
    struct stat s;
    if (stat(folder.c_str(), &s) != 0) return std::strerror(errno);
    if (!S_ISDIR(s.st_mode)) return "is no folder";
    secure_parent(folder.parent_path());
    if (s.st_uid != geteuid()) refuse(folder, "belongs to user " + std::to_string(s.st_uid));
    if (s.st_mode & 022) refuse(folder, "can be written by others");
    if (s.st_mode & 077) chmod(folder.c_str(), 0700);  // of an older version
    if (faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        return std::string("can't be written: ") + std::strerror(errno);
    return "";
}

// The whole file, or nothing where it can't be read or is no file.
std::optional<std::string> contents(const fs::path &path) {
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
    close(file);
    if (!is_file || at < bytes.size()) return {};
    return bytes;
}

bool is_whole(std::string_view entry) {
    if (entry.size() < trailer) return false;
    const std::string_view bytes = entry.substr(0, entry.size() - trailer);
    const std::string_view end = entry.substr(bytes.size());
    return end.starts_with(mark) && end.substr(mark.size()) == digest(bytes);
}

void say_damaged(const fs::path &path) {
    static std::once_flag said;
    std::call_once(said, [&] {
        log(LogLevel::warning, speaker,
            path.string() + " is damaged: it and what else is damaged there is made again");
    });
}

struct Entry {
    fs::path path;
    std::string bytes;  // without the hash
};

Entry entry_of(const std::string &name, const MakeEntry &make) {
    const fs::path folder = kernel_cache();
    const fs::path path = folder / name;
    if (std::optional<std::string> found = contents(path)) {
        if (is_whole(*found)) return {path, found->substr(0, found->size() - trailer)};
        say_damaged(path);
    }
    const TemporaryFolder work("compiling", folder);
    const fs::path made = work.path / "made";
    make(made.string());
    std::optional<std::string> bytes = contents(made);
    if (!bytes) throw IoError(made.string(), "can't be read");
    const std::string entry = *bytes + std::string(mark) + digest(*bytes);
    write_file(made.string(), entry, Durability::to_system);
    std::error_code failed;
    fs::rename(made, path, failed);
    if (failed) throw IoError(path.string(), "can't be written: " + failed.message());
    return {path, std::move(*bytes)};
}

// Every file in the folder, those of older versions too, but none that another process is making
// now.
template<class F> void for_each_entry(const F &f) {
    std::error_code unreadable;
    for (fs::directory_iterator e(kernel_cache(), unreadable), end; !unreadable && e != end;
         e.increment(unreadable)) {
        std::error_code gone;
        const uintmax_t bytes = e->symlink_status(gone).type() == fs::file_type::regular
                                    ? e->file_size(gone)
                                    : 0;
        if (!gone && e->is_regular_file(gone)) f(e->path(), int64_t(bytes));
    }
}

}  // namespace

std::string digest(std::string_view data) {
    uint64_t h[2] = {1469598103934665603u, 0x9ae16a3b2f90404fu};  // FNV-1a in two lanes
    for (const char c : data) {
        const auto byte = uint8_t(c);
        h[0] = (h[0] ^ byte) * 1099511628211u;
        h[1] = (h[1] + byte) * 0xff51afd7ed558ccdu;
        h[1] ^= h[1] >> 29;
    }
    std::array<char, 33> text;
    std::snprintf(text.data(), text.size(), "%016llx%016llx", (unsigned long long)h[0],
                  (unsigned long long)h[1]);
    return text.data();
}

fs::path cache_folder() {
    return kernel_cache().parent_path();
}

fs::path kernel_cache() {
    const fs::path caches = user_caches();
    std::string why = "neither XDG_CACHE_HOME nor HOME is set";
    if (!caches.empty()) {
        const fs::path folder = caches / "halyard" / "kernels";
        const std::string found = obstacle(folder);
        if (found.empty()) return folder;
        why = folder.string() + " " + found;
    }
    const fs::path folder = private_cache(why) / "kernels";
    if (const std::string found = obstacle(folder); !found.empty())
        throw IoError(folder.string(), found);
    return folder;
}

bool cache_is_private() {
    const fs::path caches = user_caches();
    return caches.empty() || cache_folder() != caches / "halyard";
}

fs::path cached_file(const std::string &name, const MakeEntry &make) {
    return entry_of(name, make).path;
}
std::string cached_bytes(const std::string &name, const MakeEntry &make) {
    return entry_of(name, make).bytes;
}

CacheSize cache_size() {
    CacheSize size;
    for_each_entry([&](const fs::path &, int64_t bytes) {
        size.entries++;
        size.bytes += bytes;
    });
    return size;
}

CacheSize clean_cache() {
    CacheSize size;
    for_each_entry([&](const fs::path &path, int64_t bytes) {
        std::error_code failed;
        if (!fs::remove(path, failed)) return;
        size.entries++;
        size.bytes += bytes;
    });
    return size;
}

}  // namespace halyard
