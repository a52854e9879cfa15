#include "registry/base/atomic_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "registry/base/error.h"

namespace halyard {
namespace fs = std::filesystem;
namespace {

constexpr int attempts = 100;  // at a name that nobody has; 62^6 names make a second one rare

// Returns six letters and digits. mkostemp() isn't used: its files have mode 0600, and a process
// can't read its umask without changing it.
std::string random_suffix() {
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    std::array<unsigned char, 6> bytes;
    if (getrandom(bytes.data(), bytes.size(), 0) != (ssize_t)bytes.size())
        throw Error("AtomicFile", "the system gives no random bytes");
    std::string suffix = ".";
    for (const unsigned char byte : bytes)
        suffix += letters[byte % letters.size()];
    return suffix;
}

// Returns true if `path` names an open file or a device, which a rename must not replace.
bool is_in_place(const std::string &path) {
    struct stat there;
    if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return true;
    return path.starts_with("/proc/") || path.starts_with("/dev/fd/") ||
           path.starts_with("/dev/std");
}

}  // namespace

AtomicFile::AtomicFile(std::string path, Durability durability)
    : path_(std::move(path)), durability_(durability) {
    if (is_in_place(path_))
        open_in_place();
    else
        open_temporary();
}

AtomicFile::~AtomicFile() {
    if (file_ >= 0) close(file_);
    if (!temporary_.empty()) unlink(temporary_.c_str());
}

void AtomicFile::fail(const std::string &what) const {
    throw IoError(path_, what + ": " + std::strerror(errno));
}

// Appends, since others may write to the same file: standard output, for example.
void AtomicFile::open_in_place() {
    file_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (file_ < 0) fail("can't be written");
}

void AtomicFile::open_temporary() {
    for (int k = 0; k < attempts && file_ < 0; k++) {
        temporary_ = path_ + random_suffix();
        file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     0666);
        if (file_ < 0 && errno != EEXIST) fail("can't be written");
    }
    if (file_ < 0) fail("can't be written");
    struct stat old;
    if (lstat(path_.c_str(), &old) == 0 && S_ISREG(old.st_mode)) fchmod(file_, old.st_mode & 0777);
}

void AtomicFile::write(const void *data, size_t bytes) {
    constexpr size_t at_once = size_t{1} << 30;  // Linux writes at most 2 GB per call
    for (size_t at = 0; at < bytes;) {
        const ssize_t n = ::write(file_, (const char *)data + at, std::min(at_once, bytes - at));
        if (n < 0 && errno != EINTR) fail("can't be written");
        if (n > 0) at += size_t(n);
    }
}

void AtomicFile::commit() {
    const bool to_disk = durability_ == Durability::to_disk;
    // EINVAL and EROFS: a device or a pipe has no disk.
    const bool synced = !to_disk || fsync(file_) == 0 || errno == EINVAL || errno == EROFS;
    if (!synced) fail("can't be written");
    const int closed = close(file_);
    file_ = -1;
    if (closed != 0) fail("can't be written");
    if (temporary_.empty()) return;
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("can't be replaced");
    temporary_.clear();
    if (to_disk) sync_folder();
}

void AtomicFile::sync_folder() const {
    const fs::path folder = fs::path(path_).parent_path();
    const int directory = open(folder.empty() ? "." : folder.c_str(),
                               O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) fail("its folder can't be opened");
    // EINVAL: the file system doesn't support it.
    const bool reached = fsync(directory) == 0 || errno == EINVAL;
    close(directory);
    if (!reached) fail("its folder can't be written");
}

void write_file(const std::string &path, std::string_view text, Durability durability) {
    AtomicFile file(path, durability);
    file.write(text);
    file.commit();
}

}  // namespace halyard
