// InputFile: a stream and the length of its file in bytes.
#pragma once
#include <cstdint>
#include <fstream>
#include <string>

namespace halyard {

struct InputFile {
    explicit InputFile(const std::string &path);  // throws IoError if it can't be read
    std::ifstream stream;
    uint64_t length = 0;
};

}  // namespace halyard
