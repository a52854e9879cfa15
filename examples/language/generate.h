// Text out of a language model, byte after byte.
#pragma once
#include <string>

#include "nn/cell.h"

namespace halyard::examples {

// `text` and `count` bytes more, each drawn from what the network says comes next, softmax(logits /
// temperature), or with temperature 0 the likeliest. The network sees the last `length` bytes at
// most. Draws come from the default generator. Throws AttrError for an empty text.
std::string continued(const nn::Cell &network, std::string text, int64_t count, int64_t length,
                      double temperature = 1.0);

}  // namespace halyard::examples
