#include "train/data/input_file.h"

#include <filesystem>

#include "registry/base/error.h"

namespace halyard {

// The type is checked before opening, because opening a pipe without a writer would block.
InputFile::InputFile(const std::string &path) {
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(path, failed);
    if (failed) throw IoError(path, "can't be read: " + failed.message());
    if (!std::filesystem::is_regular_file(status))
        throw IoError(path, "can't be read: it is no regular file");
    length = std::filesystem::file_size(path, failed);
    if (failed) throw IoError(path, "can't be read: " + failed.message());
    stream.open(path, std::ios::binary);
    if (!stream) throw IoError(path, "can't be opened");
}

}  // namespace halyard
