// NumPy's .npy files (versions 1 to 3, little endian) and uncompressed .npz archives of them.
// Errors: IoError for files that are missing, truncated or contradict themselves, DTypeError for
// types that no dtype holds, ShapeError for sizes beyond the limits of Shape. Reading never
// allocates more than a small multiple of the file's size.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard {

// Returns a dense tensor. Without `as`, f2 f4 f8 i1 i4 i8 u1 b1 keep their type; i2 becomes i32 and
// u4 becomes i64, which hold all their values. u2 throws DTypeError, because it may hold bf16 (see
// save_npy), as do u8 (uint64) and big-endian data. With `as`, elements are converted if `as` holds
// every value of the file's type (u2 as i32, f4 as f64); u2 as bf16 takes the bits.
Tensor load_npy(const std::string &path, std::optional<DType> as = {});

// Returns all members by their names without ".npy". `as` applies to every member.
std::map<std::string, Tensor> load_npz(const std::string &path, std::optional<DType> as = {});

// Writes version 1 in row-major order. NumPy has no bf16: its bits are written as uint16, to be
// read by `np.load(p).view(ml_dtypes.bfloat16)` or load_npy(p, DType::bf16). Throws IoError.
void save_npy(const std::string &path, const Tensor &t);

}  // namespace halyard
