#include "train/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "registry/error.h"

namespace halyard {
namespace fs = std::filesystem;

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), temporary_(path_ + ".XXXXXX") {
    file_ = mkostemp(temporary_.data(), O_CLOEXEC);
    if (file_ < 0) fail("can't be made");
    fchmod(file_, 0644);
}

AtomicFile::~AtomicFile() {
    if (file_ < 0) return;
    close(file_);
    unlink(temporary_.c_str());
}

void AtomicFile::fail(const char *what) const { throw IoError(path_, std::string(what) + ": " + std::strerror(errno)); }

void AtomicFile::write(const void *data, size_t bytes) {
    constexpr size_t at_once = size_t{1} << 30;  // Linux writes at most 2 GB per call
    for (size_t at = 0; at < bytes;) {
        const ssize_t n = ::write(file_, (const char *)data + at, std::min(at_once, bytes - at));
        if (n < 0 && errno != EINTR) fail("can't be written");
        if (n > 0) at += (size_t)n;
    }
}

void AtomicFile::commit() {
    if (fsync(file_) != 0) fail("can't be written");
    if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("can't be replaced");
    close(file_);
    file_ = -1;
    const fs::path folder = fs::path(path_).parent_path();
    const int directory = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) fail("its folder can't be opened");
    const bool reached = fsync(directory) == 0 || errno == EINVAL;  // EINVAL: this file system has no such thing
    close(directory);
    if (!reached) fail("its folder can't be written");
}

}  // namespace halyard
