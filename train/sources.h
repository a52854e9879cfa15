// Datasets that a pipeline starts with: the MNIST files, and tensors in memory.
#pragma once
#include "train/dataset.h"

namespace halyard::dataset {

struct MnistOptions {
    std::string usage = "";  // "train", "test", "all"; empty: the files that are there
    bool shuffle = true;     // all rows, in another order in each epoch, as MindSpore does unless told otherwise
};

// Columns "image" u8[h,w,1] and "label" i32[], from train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-... in `dir`.
// The files are read and checked here (train/idx.h). Throws IoError, AttrError.
class MnistDataset : public Dataset {
public:
    explicit MnistDataset(const std::string &dir, const MnistOptions &options = {});
};

// Rows of tensors in memory: row i holds the i-th slice of every column. Throws ShapeError when their numbers of rows differ.
class TensorDataset : public Dataset {
public:
    TensorDataset(const std::vector<std::pair<std::string, Tensor>> &columns, bool shuffle = false);
};

}  // namespace halyard::dataset
