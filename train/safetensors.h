// safetensors: named tensors in one file, as the Python package of that name writes and reads it
// (https://github.com/huggingface/safetensors, "Format").
#pragma once
#include <string>

#include "train/named_tensors.h"

namespace halyard {

// Tensors in the order of their bytes in the file. Throws IoError, naming the tensor, for a file that is missing, truncated or
// contradicts itself: bytes that two tensors claim or none does, a length that isn't that of dtype and shape, a name that stands there
// twice; DTypeError for types no dtype of ours is (I16, U16, U32, U64, F8_*), ShapeError for shapes past our limits. A file never makes
// us allocate more than it is long. A file that save_safetensors() wrote has a checksum of its data; IoError where it differs.
NamedTensors load_safetensors(const std::string &path);

// Row-major. Whatever happens, `path` is afterwards the old file or the new one, whole (atomic_file.h). Throws IoError, also for a name
// given twice.
void save_safetensors(const std::string &path, const NamedTensors &all);

}  // namespace halyard
