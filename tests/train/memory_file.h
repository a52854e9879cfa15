// A file in memory, for tests that write thousands of files.
#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

namespace halyard {

class MemoryFile {
public:
    MemoryFile() : file_(memfd_create("test", MFD_CLOEXEC)) {}
    ~MemoryFile() { close(file_); }
    MemoryFile(const MemoryFile &) = delete;
    MemoryFile &operator=(const MemoryFile &) = delete;
    std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }
    void put(const std::string &bytes) const {
        if (ftruncate(file_, 0) != 0 ||
            pwrite(file_, bytes.data(), bytes.size(), 0) != (ssize_t)bytes.size())
            throw std::runtime_error("no memory file");
    }

private:
    int file_;
};

}  // namespace halyard
