// A folder of images: one folder per class, the images in it.
#pragma once
#include <map>
#include <memory>

#include "train/data/dataset.h"
#include "train/data/sampler.h"
#include "train/vision/image.h"

namespace halyard::dataset {

struct ImageFolderOptions {
    // "image" is u8[h,w,3]; else the file's bytes, for vision::Decode
    bool decode = false;
    bool shuffle = true;  // another order in each epoch
    // labels by folder, others are left out; empty: folders by name, from 0
    std::map<std::string, int> class_indexing = {};
    // in any case; files that end otherwise are left out
    std::vector<std::string> extensions = {".jpg", ".jpeg", ".png"};
    // threads of the pool that read and decode at once; 0: all
    int num_parallel_workers = 0;
    // of an image, with decode; one of more is none
    int64_t max_pixels = default_max_pixels;
    // of files that can't be read or, with decode, are no image
    OnError on_error = OnError::RAISE;
    // in place of shuffle, num_samples and shards
    AnySampler sampler = {};
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};

// Columns "image" u8[n] or u8[h,w,3] and "label" i32[], of all files of `dir`'s folders that end in
// one of the extensions. Files are listed here and read while iterating, decoded on the pool.
// Throws IoError for a folder that isn't there or without an image, AttrError for a class_indexing
// of a folder that isn't there, and for options out of range.
class ImageFolderDataset : public Dataset {
public:
    explicit ImageFolderDataset(const std::string &dir, const ImageFolderOptions &options = {});

    const std::map<std::string, int> &get_class_indexing() const;

private:
    struct State;
    ImageFolderDataset(const std::shared_ptr<const State> &state);
    std::shared_ptr<const State> state_;
};

}  // namespace halyard::dataset
