// Generates text with a language model, byte by byte.
#pragma once
#include <string>

#include "nn/cell.h"

namespace halyard::examples {

// Returns `text` and `count` more bytes. Each is drawn from softmax(logits / temperature), or is
// the most likely one with temperature 0. The network gets at most the last `length` bytes. Random
// numbers come from the default generator. Throws AttrError for an empty text.
std::string continued(const nn::Cell &network, std::string text, int64_t count, int64_t length,
                      double temperature = 1.0);

}  // namespace halyard::examples
