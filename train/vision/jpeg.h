// Decodes JPEG files with libjpeg-turbo, in whole or in part.
#pragma once
#include <string>

#include "registry/tensor/tensor.h"
#include "train/vision/box.h"

namespace halyard::dataset {

// Decodes a file's bytes u8[n], which must be contiguous, to u8[h,w,3]. With `choose` only the
// rectangle that it returns for the image's size is decoded, to the same pixels; bytes after it are
// not read. Throws IoError with `name`.
Tensor decode_jpeg(const Tensor &bytes, const std::string &name, const ChooseBox &choose,
                   int64_t max_pixels);

}  // namespace halyard::dataset
