// IDX files, the format of MNIST: a big-endian header 0, 0, type, rank, then `rank` extents of 32
// bits, then the elements.
#pragma once
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard::dataset {

// Reads a file of unsigned bytes (type 0x08) with `rank` dimensions as u8. Throws IoError with the
// file, the field and both values if the file is missing, its magic number is wrong, or its extents
// overflow or don't fit the file's length. Reading allocates no more than the file's length.
Tensor read_idx(const std::string &path, int rank);

struct ImagesAndLabels {
    Tensor images;  // u8[n,h,w]
    Tensor labels;  // u8[n]
};

// Reads both files. Throws IoError, also if the numbers of images and labels differ.
ImagesAndLabels read_idx_pair(const std::string &images_path, const std::string &labels_path);

}  // namespace halyard::dataset
