// A folder of images: one folder per class, the images in it.
#pragma once
#include <map>
#include <memory>

#include "train/dataset.h"
#include "train/image.h"
#include "train/sampler.h"

namespace halyard::dataset {

struct ImageFolderOptions {
    bool decode = false;                                              // "image" is u8[h,w,3]; else the file's bytes, for vision::Decode
    bool shuffle = true;                                              // another order in each epoch
    std::map<std::string, int> class_indexing = {};                   // labels by folder, others are left out; empty: folders by name, from 0
    std::vector<std::string> extensions = {".jpg", ".jpeg", ".png"};  // in any case; files that end otherwise are left out
    int num_parallel_workers = 0;                                     // threads of the pool that read and decode at once; 0: all
    int64_t max_pixels = default_max_pixels;                          // of an image, with decode; one of more is none
    OnError on_error = OnError::RAISE;                                // of files that can't be read or, with decode, are no image
    AnySampler sampler = {};                                          // in place of shuffle, num_samples and shards
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};

// Columns "image" u8[n] or u8[h,w,3] and "label" i32[], of all files of `dir`'s folders that end in one of the extensions.
// Files are listed here and read while iterating, decoded on the pool. Throws IoError for a folder that isn't there or without an image,
// AttrError for a class_indexing of a folder that isn't there, and for options out of range.
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
