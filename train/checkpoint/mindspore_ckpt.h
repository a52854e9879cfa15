// Reads and writes MindSpore's .ckpt files. Errors and guarantees are those of safetensors.h.
#pragma once
#include <string>

#include "train/checkpoint/named_tensors.h"

namespace halyard {

// Reads a file. A file of save_mindspore_ckpt() ends with a checksum of all bytes before it. Files
// of other programs, MindSpore's own by default, have none; a warning then states that truncation
// can't be detected. Texts beside the tensors ("append_info" may hold some) become metadata. Throws
// IoError for map parameters, encrypted files and more than 100,000 values, DTypeError for types
// that have no dtype here.
NamedTensors load_mindspore_ckpt(const std::string &path);

// Reads the texts only. The rest of the file is not checked.
std::map<std::string, std::string> load_mindspore_metadata(const std::string &path);

// Writes a file with MindSpore's CRC. Metadata become texts.
void save_mindspore_ckpt(const std::string &path, const NamedTensors &all);

}  // namespace halyard
