// Folder: a new folder of one's own among the temporary files, removed with everything in it.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <string>

namespace halyard::command {

class Folder {
public:
    explicit Folder(const std::string &name) : path(std::filesystem::temp_directory_path() / ("halyard_" + name + "_" + std::to_string(getpid()))) {
        std::filesystem::create_directories(path);
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder &) = delete;
    Folder &operator=(const Folder &) = delete;
    const std::filesystem::path path;
};

}  // namespace halyard::command
