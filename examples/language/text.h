// Text for language models, with bytes as classes. UTF-8 then needs no vocabulary, neither in
// memory nor beside a checkpoint.
#pragma once
#include <string>

#include "train/data/dataset.h"

namespace halyard::examples {

constexpr int64_t vocabulary = 256;

// Returns the concatenated files of a folder that end in .md or .txt, ordered by name. Throws
// IoError if there are none.
std::string read_texts(const std::string &folder);

// Returns batches of "input" i32[batch_size,length], pieces of the text, and "target"
// i32[batch_size,length], the same pieces one byte later. Throws AttrError for a text shorter than
// a batch.
dataset::Dataset create_text_dataset(const std::string &text, int64_t length, int64_t batch_size,
                                     bool shuffle = true);

}  // namespace halyard::examples
