// MindSpore's .ckpt files, read and written. Errors and promises are those of safetensors.h.
#pragma once
#include <string>

#include "train/checkpoint/named_tensors.h"

namespace halyard {

// A file that save_mindspore_ckpt() wrote ends with a checksum of all before it. Where another
// program's file has none, as MindSpore's own by default, a warning says that it may have been cut,
// which nobody could know. Texts, which MindSpore keeps beside tensors
// ("epoch_num" is a tensor, "append_info" may hold texts), become metadata. Refused with IoError:
// map parameters, encrypted files and more than 100,000 values; types no dtype of ours is with
// DTypeError.
NamedTensors load_mindspore_ckpt(const std::string &path);

// The texts alone. Whether the file is whole isn't looked at.
std::map<std::string, std::string> load_mindspore_metadata(const std::string &path);

// with MindSpore's CRC; metadata as texts
void save_mindspore_ckpt(const std::string &path, const NamedTensors &all);

}  // namespace halyard
