// AtomicFile: a file that appears whole or not at all, whatever ends the program: written under another name beside it, brought to the
// disk, and only then given its name, which is brought to the disk too.
#pragma once
#include <cstddef>
#include <string>

namespace halyard {

class AtomicFile {
public:
    explicit AtomicFile(std::string path);  // throws IoError when no file can be made there
    ~AtomicFile();                          // without commit(): nothing has changed
    AtomicFile(const AtomicFile &) = delete;
    AtomicFile &operator=(const AtomicFile &) = delete;

    void write(const void *data, size_t bytes);  // throws IoError
    void commit();                               // throws IoError; then `path` is what it was before, or already the new file

private:
    [[noreturn]] void fail(const char *what) const;
    std::string path_, temporary_;
    int file_ = -1;
};

}  // namespace halyard
