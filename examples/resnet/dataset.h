// Images for ResNet, as in "Network migration debugging and tuning".
#pragma once
#include <string>

#include "train/dataset.h"

namespace halyard::examples::resnet {

// Batches of "image" f32[batch_size,3,image_size,image_size] and "label" i32[batch_size] from a folder of images (train/image_folder.h), for one of
// rank_size devices. do_train: shuffled, without an incomplete last batch. Throws IoError.
dataset::Dataset create_dataset(const std::string &dataset_path, int64_t batch_size = 32, int64_t rank_size = 1, int64_t rank_id = 0, bool do_train = true,
                                int64_t image_size = 224);

}  // namespace halyard::examples::resnet
