#include "train/input_file.h"

#include <filesystem>

#include "registry/error.h"

namespace halyard {

InputFile::InputFile(const std::string &path) : stream(path, std::ios::binary) {
    std::error_code failed;
    length = std::filesystem::file_size(path, failed);
    if (failed) throw IoError(path, "can't be read: " + failed.message());
    if (!stream) throw IoError(path, "can't be opened");
}

}  // namespace halyard
