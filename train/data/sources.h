// Sources in memory: the files of MNIST and CIFAR, and tensors.
#pragma once
#include "train/data/dataset.h"
#include "train/data/sampler.h"

namespace halyard::dataset {

struct SourceOptions {
    // "train", "test" or "all"; empty means the files that exist.
    std::string usage = "";
    // Draws another order in each epoch. This is MindSpore's default.
    bool shuffle = true;
    // Replaces shuffle, num_samples and shards.
    AnySampler sampler = {};
    // At most num_samples rows (0: all) of the shard (DistributedSampler).
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};

// Has the columns "image" u8[h,w,1] and "label" i32[], from train-images-idx3-ubyte,
// train-labels-idx1-ubyte and t10k-... in `dir`. The constructor reads and checks the files
// (train/formats/idx.h). Throws IoError, AttrError.
class MnistDataset : public Dataset {
public:
    explicit MnistDataset(const std::string &dir, const SourceOptions &options = {});
};

// The binary version of CIFAR-10: columns "image" u8[32,32,3] and "label" i32[], from
// data_batch_1.bin to data_batch_5.bin and test_batch.bin. The constructor reads and checks the
// files. Throws IoError, AttrError.
class Cifar10Dataset : public Dataset {
public:
    explicit Cifar10Dataset(const std::string &dir, const SourceOptions &options = {});
};

// The binary version of CIFAR-100: columns "image", "coarse_label" and "fine_label", from train.bin
// and test.bin.
class Cifar100Dataset : public Dataset {
public:
    explicit Cifar100Dataset(const std::string &dir, const SourceOptions &options = {});
};

// Tensors in memory: row i holds slice i of every column. Throws ShapeError if their numbers of
// rows differ.
class TensorDataset : public Dataset {
public:
    TensorDataset(const std::vector<std::pair<std::string, Tensor>> &columns, bool shuffle = false);
};

struct SlicesOptions {
    // Empty means column_0, column_1, ..., or the names in a .npz file in alphabetical order.
    std::vector<std::string> column_names = {};
    bool shuffle = true;
    AnySampler sampler = {};
    int64_t num_samples = 0, num_shards = 1, shard_id = 0;
};

// Arrays without names, or a .npy or .npz file. Throws ShapeError if the numbers of rows differ,
// IoError, AttrError.
class NumpySlicesDataset : public Dataset {
public:
    NumpySlicesDataset(const std::vector<Tensor> &data, const SlicesOptions &options = {});
    NumpySlicesDataset(const std::string &path, const SlicesOptions &options = {});
};

}  // namespace halyard::dataset
