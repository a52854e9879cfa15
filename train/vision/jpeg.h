// JPEG files by libjpeg-turbo, whole or in part.
#pragma once
#include <string>

#include "registry/tensor/tensor.h"
#include "train/vision/box.h"

namespace halyard::dataset {

// Of the file's bytes u8[n], dense. With `choose` the part of the image that it names for the
// image's size: of the rest no pixels are made, and what lies behind the part isn't read; the
// part's pixels are those that the whole image has there.
Tensor decode_jpeg(const Tensor &bytes, const std::string &name, const ChooseBox &choose,
                   int64_t max_pixels);

}  // namespace halyard::dataset
