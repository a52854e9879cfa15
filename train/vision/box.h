// A rectangle of an image, in pixels.
#pragma once
#include <cstdint>
#include <functional>

namespace halyard::dataset {

struct Box {
    int64_t top, left, height, width;
};

// Returns the rectangle to take of an image of this size. It must lie within the image.
using ChooseBox = std::function<Box(int64_t height, int64_t width)>;

}  // namespace halyard::dataset
