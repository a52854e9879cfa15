// Small image folders to train on, made from what ships under data/.
#pragma once
#include <cstdint>
#include <string>

namespace halyard::examples {

// The handwritten digits of `idx` (train/ and test/ in MNIST's format) as PNG files of `size` x
// `size`: out/train/0/..., out/test/9/.... per_class: at most that many of a digit in each part; 0:
// all. Throws IoError.
void write_digits(const std::string &idx, const std::string &out, int64_t size,
                  int64_t per_class = 0);

// Squares of random size and place out of the photographs in `folder`, a class each, as JPEG files
// of `size` x `size`: out/train/china/..., and a quarter as many others in out/test/china/....
// Throws IoError.
void write_photographs(const std::string &folder, const std::string &out, int64_t size,
                       int64_t per_class, uint64_t seed = 1);

}  // namespace halyard::examples
