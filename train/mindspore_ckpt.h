// MindSpore's .ckpt files, read and written. Errors and promises are those of safetensors.h.
#pragma once
#include <string>

#include "train/named_tensors.h"

namespace halyard {

// Texts, which MindSpore keeps beside tensors ("epoch_num" is a tensor, "append_info" may hold texts), become metadata. Refused with
// IoError: map parameters and encrypted files; types no dtype of ours is with DTypeError.
NamedTensors load_mindspore_ckpt(const std::string &path);

void save_mindspore_ckpt(const std::string &path, const NamedTensors &all);  // with MindSpore's CRC; metadata as texts

}  // namespace halyard
