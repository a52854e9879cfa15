// Paths of files that tests of training read.
#pragma once
#include <fstream>
#include <iterator>
#include <string>

namespace halyard {

inline const std::string goldens = HALYARD_SOURCE_DIR "/tests/goldens/";

inline std::string bytes_in(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace halyard
