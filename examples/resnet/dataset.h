// Images for ResNet, as in "Network migration debugging and tuning".
#pragma once
#include <map>
#include <string>

#include "train/data/dataset.h"
#include "train/vision/image.h"

namespace halyard::examples::resnet {

struct ImageOptions {
    int64_t image_size = 224;
    int num_parallel_workers = 8;  // 0 means all threads
    // The labels by folder. If empty, folders are numbered by name from 0.
    std::map<std::string, int> class_indexing = {};
    // Draws a random crop of each image, mirrored half of the time.
    bool augment = false;
    dataset::OnError on_error = dataset::OnError::RAISE;  // decides about damaged images
    int64_t max_pixels = dataset::default_max_pixels;     // larger images count as damaged
};

// Returns batches of "image" f32[batch_size,3,image_size,image_size] and "label" i32[batch_size]
// from a folder of images (train/formats/image_folder.h), for one of rank_size devices. With
// do_train rows are shuffled and an incomplete last batch is dropped. Throws IoError, AttrError.
dataset::Dataset create_dataset(const std::string &dataset_path, int64_t batch_size = 32,
                                int64_t rank_size = 1, int64_t rank_id = 0, bool do_train = true,
                                const ImageOptions &options = {});

}  // namespace halyard::examples::resnet
