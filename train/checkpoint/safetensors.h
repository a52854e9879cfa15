// safetensors: named tensors in one file, as the Python package of that name writes and reads it
// (https://github.com/huggingface/safetensors, "Format").
#pragma once
#include <string>

#include "train/checkpoint/named_tensors.h"

namespace halyard {

// Tensors in the order of their bytes in the file. Throws IoError, naming the tensor, for a file
// that is missing, truncated or contradicts itself: bytes that two tensors claim or none does, a
// length that isn't that of dtype and shape, a name that stands there twice; DTypeError for types
// no dtype of ours is (I16, U16, U32, U64, F8_*), ShapeError for shapes past our limits. A file
// never makes us allocate more than it is long, but for what 100,000 names of tensors take, the
// most there may be. A file that save_safetensors() wrote has a checksum of all its bytes, header
// and names included; IoError where it differs. Files of older versions have one of their data,
// those of other programs none.
NamedTensors load_safetensors(const std::string &path);

// The metadata alone. Whether the file is whole isn't looked at.
std::map<std::string, std::string> load_safetensors_metadata(const std::string &path);

// Row-major. Whatever happens, `path` is afterwards the old file or the new one, whole
// (atomic_file.h). Throws IoError, also for a name given twice.
void save_safetensors(const std::string &path, const NamedTensors &all);

}  // namespace halyard
