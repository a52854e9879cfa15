// Text for language models: bytes as classes. UTF-8 needs no vocabulary then, and a checkpoint none
// beside it.
#pragma once
#include <string>

#include "train/data/dataset.h"

namespace halyard::examples {

constexpr int64_t vocabulary = 256;

// All files of a folder that end in .md or .txt, by name, one after the other. Throws IoError where
// there is none.
std::string read_texts(const std::string &folder);

// Batches of "input" i32[batch_size,length] and "target" i32[batch_size,length]: pieces of the
// text, and the same pieces one byte further on, which is what a model has to say next. Throws
// AttrError for a text shorter than a batch.
dataset::Dataset create_text_dataset(const std::string &text, int64_t length, int64_t batch_size,
                                     bool shuffle = true);

}  // namespace halyard::examples
