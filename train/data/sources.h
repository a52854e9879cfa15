// Datasets that a pipeline starts with, held in memory: the files of MNIST and CIFAR, and tensors.
#pragma once
#include "train/data/dataset.h"
#include "train/data/sampler.h"

namespace halyard::dataset {

struct SourceOptions {
    // "train", "test", "all"; empty: the files that are there
    std::string usage = "";
    // all rows, in another order in each epoch, as MindSpore does unless told otherwise
    bool shuffle = true;
    // in place of shuffle, num_samples and shards
    AnySampler sampler = {};
    // at most so many rows (0: all), of that shard (DistributedSampler)
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};

// Columns "image" u8[h,w,1] and "label" i32[], from train-images-idx3-ubyte,
// train-labels-idx1-ubyte and t10k-... in `dir`. The files are read and checked here
// (train/formats/idx.h). Throws IoError, AttrError.
class MnistDataset : public Dataset {
public:
    explicit MnistDataset(const std::string &dir, const SourceOptions &options = {});
};

// The binary version of CIFAR-10: columns "image" u8[32,32,3] and "label" i32[], from
// data_batch_1.bin to data_batch_5.bin and test_batch.bin. Read and checked here. Throws IoError,
// AttrError.
class Cifar10Dataset : public Dataset {
public:
    explicit Cifar10Dataset(const std::string &dir, const SourceOptions &options = {});
};

// Of CIFAR-100: columns "image", "coarse_label" and "fine_label", from train.bin and test.bin.
class Cifar100Dataset : public Dataset {
public:
    explicit Cifar100Dataset(const std::string &dir, const SourceOptions &options = {});
};

// Rows of tensors in memory: row i holds the i-th slice of every column. Throws ShapeError when
// their numbers of rows differ.
class TensorDataset : public Dataset {
public:
    TensorDataset(const std::vector<std::pair<std::string, Tensor>> &columns, bool shuffle = false);
};

struct SlicesOptions {
    // empty: column_0, column_1, ..., or a .npz file's own, in alphabetical order
    std::vector<std::string> column_names = {};
    bool shuffle = true;
    AnySampler sampler = {};
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};

// The same of arrays without names, or of a .npy or .npz file of NumPy's. Throws also IoError and
// AttrError.
class NumpySlicesDataset : public Dataset {
public:
    NumpySlicesDataset(const std::vector<Tensor> &data, const SlicesOptions &options = {});
    NumpySlicesDataset(const std::string &path, const SlicesOptions &options = {});
};

}  // namespace halyard::dataset
