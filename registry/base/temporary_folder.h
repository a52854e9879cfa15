// TemporaryFolder: a new folder, removed with its contents at the end. Its name is unpredictable
// and its mode is 0700. It is locked while its owner lives; folders that a killed program left
// behind are recognised by that and removed when a folder of the same name is next asked for.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>

namespace halyard {

// Returns the folder for temporary files: TMPDIR, or /tmp. Throws IoError if it is not a folder.
std::filesystem::path temporary_files();

class TemporaryFolder {
public:
    // Makes PARENT/NAME_XXXXXX. Throws IoError.
    explicit TemporaryFolder(const std::string &name,
                             const std::filesystem::path &parent = temporary_files());
    ~TemporaryFolder();  // does nothing in a child of the process that made the folder
    TemporaryFolder(const TemporaryFolder &) = delete;
    TemporaryFolder &operator=(const TemporaryFolder &) = delete;

    std::filesystem::path path;

private:
    int lock_ = -1;
    pid_t owner_;
};

}  // namespace halyard
