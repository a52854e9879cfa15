// safetensors: named tensors in one file, as the Python package of that name writes and reads it
// (https://github.com/huggingface/safetensors, "Format").
#pragma once
#include <string>

#include "train/checkpoint/named_tensors.h"

namespace halyard {

// Returns the tensors in the order of their bytes in the file. Throws IoError with the tensor's
// name if the file is missing, truncated or inconsistent: bytes that two tensors share or none has,
// a length that does not fit dtype and shape, a duplicate name. Throws DTypeError for types that
// have no dtype here (I16, U16, U32, U64, F8_*), ShapeError for shapes beyond the limits. Reading
// allocates no more than the file's length and the names of at most 100,000 tensors. Files of
// save_safetensors() have a checksum of all bytes, header included; IoError if it differs. Files of
// older versions have one of the data, those of other programs none.
NamedTensors load_safetensors(const std::string &path);

// Reads the metadata only. The rest of the file is not checked.
std::map<std::string, std::string> load_safetensors_metadata(const std::string &path);

// Writes the tensors in row-major order. `path` is afterwards either the old file or the complete
// new one (registry/base/atomic_file.h). Throws IoError, also for a duplicate name.
void save_safetensors(const std::string &path, const NamedTensors &all);

}  // namespace halyard
