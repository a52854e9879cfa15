// IDX files, the format of MNIST: a big-endian header 0, 0, type, rank, then `rank` extents of 32
// bits, then the elements.
#pragma once
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard::dataset {

// A file of unsigned bytes (type 0x08) with `rank` dimensions, as u8. Throws IoError naming the
// file, the field and both values: missing, wrong magic number, extents that overflow or don't make
// up the file's length. No header makes us allocate more than the file is long.
Tensor read_idx(const std::string &path, int rank);

// u8[n,h,w], u8[n]
struct ImagesAndLabels {
    Tensor images, labels;
};

// Throws IoError also when the numbers of images and labels differ.
ImagesAndLabels read_idx_pair(const std::string &images_path, const std::string &labels_path);

}  // namespace halyard::dataset
