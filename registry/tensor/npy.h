// NumPy's .npy files (versions 1 to 3, little endian) and uncompressed .npz archives of them.
// Errors: IoError for files that are missing, truncated or contradict themselves, DTypeError for
// types no dtype of ours holds, ShapeError for sizes past our limits. A file never makes us
// allocate more than it is long.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard {

// A dense tensor. Without `as`: f2 f4 f8 i1 i4 i8 u1 b1 as they are; i2 as i32 and u4 as i64, which
// hold all their values; u2 is refused, because it may hold bf16 (see save_npy); u8 (uint64) and
// big-endian data are refused. With `as`: converted, where `as` holds every value of the file's
// type (u2 as i32, f4 as f64); u2 as bf16 takes the bits.
Tensor load_npy(const std::string &path, std::optional<DType> as = {});

// All members, by name without ".npy". u2 members are refused unless `as`, which then holds for
// every member, is given.
std::map<std::string, Tensor> load_npz(const std::string &path, std::optional<DType> as = {});

// Version 1, row-major; strided tensors are written in their own order of elements. NumPy has no
// bf16: its bits are written as uint16, to be read as `np.load(p).view(ml_dtypes.bfloat16)` there
// and load_npy(p, DType::bf16) here.
void save_npy(const std::string &path, const Tensor &t);

}  // namespace halyard
