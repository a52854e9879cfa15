// Creates small image folders for training from the files under data/.
#pragma once
#include <cstdint>
#include <string>

namespace halyard::examples {

// Writes the handwritten digits of `idx` (train/ and test/ in MNIST's format) as PNG files of
// `size` x `size`: out/train/0/..., out/test/9/.... Each part has at most per_class images of a
// digit; 0 means all. Throws IoError.
void write_digits(const std::string &idx, const std::string &out, int64_t size,
                  int64_t per_class = 0);

// Writes squares of random size and place from the photographs in `folder`, one class each, as JPEG
// files of `size` x `size`: out/train/china/..., and a quarter as many in out/test/china/....
// Throws IoError.
void write_photographs(const std::string &folder, const std::string &out, int64_t size,
                       int64_t per_class, uint64_t seed = 1);

}  // namespace halyard::examples
