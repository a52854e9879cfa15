// The header of a safetensors file: {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0,
// 24]}, "__metadata__": {"k": "v"}}.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "registry/tensor/shape.h"

namespace halyard {

struct SafetensorsHeader {
    struct Entry {
        std::string name, dtype;
        std::optional<Shape> shape;
        std::vector<uint64_t> offsets;  // begin and end, relative to the end of the header
    };
    std::vector<Entry> entries;
    std::map<std::string, std::string> metadata;
};

// Throws IoError if `text` is not such a header. `path` is for messages.
SafetensorsHeader parse_safetensors_header(const std::string &path, const std::string &text);
std::string text_of(const SafetensorsHeader &header);

}  // namespace halyard
