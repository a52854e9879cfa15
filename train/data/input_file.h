// InputFile: a file that is read, and how long it is.
#pragma once
#include <cstdint>
#include <fstream>
#include <string>

namespace halyard {

struct InputFile {
    explicit InputFile(const std::string &path);  // throws IoError when it can't be read
    std::ifstream stream;
    uint64_t length = 0;
};

}  // namespace halyard
