// TemporaryFolder: a new folder of one's own, removed with everything in it. Its name can't be
// foretold and its mode is 0700. While its owner lives it is locked, so that what a killed program
// left behind is known, and goes when the next one asks for a folder of that name.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>

namespace halyard {

// Where temporary files go: TMPDIR, or /tmp. Throws IoError where that is no folder.
std::filesystem::path temporary_files();

class TemporaryFolder {
public:
    // PARENT/NAME_XXXXXX. Throws IoError.
    explicit TemporaryFolder(const std::string &name,
                             const std::filesystem::path &parent = temporary_files());
    ~TemporaryFolder();  // in a child of the process that made it this does nothing
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;

    std::filesystem::path path;

private:
    int lock_ = -1;
    pid_t owner_;
};

}  // namespace halyard
