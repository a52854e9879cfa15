// ImageFolderDataset: images in one folder per class.
#pragma once
#include <map>
#include <memory>

#include "train/data/dataset.h"
#include "train/data/sampler.h"
#include "train/vision/image.h"

namespace halyard::dataset {

struct ImageFolderOptions {
    // If true, "image" is u8[h,w,3]; otherwise the file's bytes, for vision::Decode.
    bool decode = false;
    bool shuffle = true;  // draws another order in each epoch
    // The labels by folder; other folders are skipped. If empty, folders are numbered by name from
    // 0.
    std::map<std::string, int> class_indexing = {};
    // The endings of images, in any case. Other files are skipped.
    std::vector<std::string> extensions = {".jpg", ".jpeg", ".png"};
    // The number of pool threads that read and decode; 0 means all.
    int num_parallel_workers = 0;
    // With `decode`, an image of more pixels counts as damaged.
    int64_t max_pixels = default_max_pixels;
    // Decides about files that can't be read or, with `decode`, are not images.
    OnError on_error = OnError::RAISE;
    // Replaces shuffle, num_samples and shards.
    AnySampler sampler = {};
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};

// Has the columns "image" u8[n] or u8[h,w,3] and "label" i32[], from all files with these
// extensions in the folders of `dir`. The constructor lists the files; iterating reads them and
// decodes them on the pool. Throws IoError for a missing folder or one without images, AttrError
// for a class_indexing of a missing folder and for options out of range.
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
