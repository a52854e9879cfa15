// A folder of images: one folder per class, the images in it.
#pragma once
#include <map>
#include <memory>

#include "train/dataset.h"

namespace halyard::dataset {

enum class OnError { RAISE, SKIP };  // what a damaged image does: ends the pass with its error, or is left out

struct ImageFolderOptions {
    bool decode = false;                             // "image" is u8[h,w,3]; else the file's bytes, for vision::Decode
    bool shuffle = true;                             // another order in each epoch
    std::map<std::string, int> class_indexing = {};  // labels by folder, others are left out; empty: folders by name, from 0
    OnError on_error = OnError::RAISE;               // of files that can't be read or, with decode, are no image
};

// Columns "image" u8[n] or u8[h,w,3] and "label" i32[], of all files of `dir`'s folders that end in .jpg, .jpeg or .png, in any case.
// Files are listed here and read while iterating, decoded on the pool. Throws IoError for a folder that isn't there or without an image,
// AttrError for a class_indexing of a folder that isn't there.
class ImageFolderDataset : public Dataset {
public:
    explicit ImageFolderDataset(const std::string &dir, const ImageFolderOptions &options = {});

    const std::map<std::string, int> &get_class_indexing() const;
    // Of all passes so far, with OnError::SKIP: the messages of the files that were left out, each once, in the order of the paths.
    std::vector<std::string> skipped() const;

private:
    struct State;
    ImageFolderDataset(const std::shared_ptr<const State> &state);
    std::shared_ptr<const State> state_;
};

}  // namespace halyard::dataset
