#include "train/data/sources.h"

#include <filesystem>

#include "registry/base/error.h"
#include "registry/tensor/npy.h"
#include "train/data/indexed.h"
#include "train/data/steps.h"
#include "train/formats/idx.h"
#include "train/vision/image.h"

namespace halyard::dataset {
namespace {

// A source of blocks of rows. Row r of a block is the slice [r] of its tensors.
struct MemoryNode : IndexedNode {
    using Block = std::vector<Tensor>;
    MemoryNode(std::vector<Block> b, std::vector<std::string> names, AnySampler order)
        : IndexedNode(std::move(names), std::move(order)), blocks(std::move(b)) {
        for (const Block &block : blocks)
            count += block[0].size(0);
    }
    int64_t rows() const override { return count; }
    std::optional<Row> row(int64_t i) const override {
        size_t b = 0;
        for (; i >= blocks[b][0].size(0); b++)
            i -= blocks[b][0].size(0);
        std::vector<Tensor> tensors;
        for (const Tensor &t : blocks[b]) {
            const Shape shape(t.shape().begin() + 1, t.shape().end());
            tensors.push_back(t.slice(0, i, i + 1).reshape(shape));
        }
        return Row(columns, std::move(tensors));
    }
    std::vector<Block> blocks;
    int64_t count = 0;
};

void check_usage(const char *op, const std::string &usage) {
    if (usage != "" && usage != "train" && usage != "test" && usage != "all")
        throw AttrError(op, "usage is " + usage + ", expected train, test or all");
}

std::shared_ptr<const Node> read_mnist(const std::string &dir, const SourceOptions &o) {
    constexpr const char *op = "MnistDataset";
    check_usage(op, o.usage);
    std::vector<MemoryNode::Block> blocks;
    const auto add = [&](const std::string &usage, const std::string &prefix) {
        const std::filesystem::path images = std::filesystem::path(dir) /
                                             (prefix + "-images-idx3-ubyte");
        if (o.usage != usage && o.usage != "all" &&
            (o.usage != "" || !std::filesystem::exists(images)))
            return;
        const ImagesAndLabels r = read_idx_pair(
            images.string(),
            (std::filesystem::path(dir) / (prefix + "-labels-idx1-ubyte")).string());
        blocks.push_back({r.images.unsqueeze(3), r.labels.to(DType::i32)});
    };
    add("train", "train");
    add("test", "t10k");
    if (blocks.empty())
        throw IoError(dir, "there is neither train-images-idx3-ubyte nor t10k-images-idx3-ubyte");
    return std::make_shared<MemoryNode>(
        std::move(blocks), std::vector<std::string>{"image", "label"}, sampler_of(op, o));
}

// Reads a CIFAR file. A record has `labels` bytes, the last of which is the class, then 3 x 32 x 32
// bytes: red, green, blue.
MemoryNode::Block read_cifar(const std::string &path, int64_t labels) {
    constexpr int64_t side = 32;
    constexpr int64_t pixels = 3 * side * side;
    const Tensor bytes = read_bytes(path);
    const int64_t record = labels + pixels;
    const int64_t n = bytes.elements() / record;
    if (n == 0 || bytes.elements() % record) {
        throw IoError(path, "has " + std::to_string(bytes.elements()) +
                                " bytes, expected a multiple of " + std::to_string(record));
    }
    const Tensor records = bytes.reshape({n, record});
    MemoryNode::Block block = {records.slice(1, labels, record)
                                   .copy()
                                   .reshape({n, 3, side, side})
                                   .transpose({0, 2, 3, 1})
                                   .copy()};
    for (int64_t k = 0; k < labels; k++)
        block.push_back(records.slice(1, k, k + 1).copy().reshape({n}).to(DType::i32));
    return block;
}

std::shared_ptr<const Node> read_cifars(const char *op, const std::string &dir,
                                        const std::vector<std::string> &train,
                                        const std::string &test, int64_t labels,
                                        const SourceOptions &o) {
    check_usage(op, o.usage);
    std::vector<MemoryNode::Block> blocks;
    const auto add = [&](const std::string &usage, const std::string &name) {
        const std::string path = (std::filesystem::path(dir) / name).string();
        if (o.usage == usage || o.usage == "all" ||
            (o.usage == "" && std::filesystem::exists(path)))
            blocks.push_back(read_cifar(path, labels));
    };
    for (auto &name : train)
        add("train", name);
    add("test", test);
    if (blocks.empty()) throw IoError(dir, "there is neither " + train[0] + " nor " + test);
    const std::vector<std::string> columns = labels == 1
                                                 ? std::vector<std::string>{"image", "label"}
                                                 : std::vector<std::string>{"image", "coarse_label",
                                                                            "fine_label"};
    return std::make_shared<MemoryNode>(std::move(blocks), columns, sampler_of(op, o));
}

using NamedColumns = std::vector<std::pair<std::string, Tensor>>;

std::shared_ptr<const Node> in_memory(const char *op, const NamedColumns &columns,
                                      AnySampler sampler) {
    if (columns.empty()) throw AttrError(op, "there are no columns");
    std::vector<std::string> names;
    MemoryNode::Block block;
    for (const auto &[name, t] : columns) {
        if (t.rank() < 1)
            throw ShapeError(op, "column " + name + " has rank 0, expected at least 1");
        if (t.size(0) != columns[0].second.size(0)) {
            throw ShapeError(
                op, "column " + name + " has " + std::to_string(t.size(0)) + " rows, expected " +
                        std::to_string(columns[0].second.size(0)) + " as in " + columns[0].first);
        }
        names.push_back(name);
        block.push_back(t);
    }
    check_unique(op, names);
    return std::make_shared<MemoryNode>(std::vector<MemoryNode::Block>{block}, names,
                                        std::move(sampler));
}

std::shared_ptr<const Node> slices(NamedColumns columns, const SlicesOptions &o) {
    constexpr const char *op = "NumpySlicesDataset";
    if (!o.column_names.empty() && o.column_names.size() != columns.size()) {
        throw AttrError(op, "column_names has " + std::to_string(o.column_names.size()) +
                                " names for " + std::to_string(columns.size()) + " columns");
    }
    for (size_t i = 0; i < o.column_names.size(); i++)
        columns[i].first = o.column_names[i];
    return in_memory(op, columns, sampler_of(op, o));
}

NamedColumns numbered(const std::vector<Tensor> &data) {
    NamedColumns columns;
    for (const Tensor &t : data)
        columns.emplace_back("column_" + std::to_string(columns.size()), t);
    return columns;
}

NamedColumns columns_of_file(const std::string &path) {
    if (!path.ends_with(".npz")) return numbered({load_npy(path)});
    const auto members = load_npz(path);
    return {members.begin(), members.end()};
}

}  // namespace

Cifar10Dataset::Cifar10Dataset(const std::string &dir, const SourceOptions &options)
    : Dataset(read_cifars("Cifar10Dataset", dir,
                          {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                           "data_batch_4.bin", "data_batch_5.bin"},
                          "test_batch.bin", 1, options)) {}

Cifar100Dataset::Cifar100Dataset(const std::string &dir, const SourceOptions &options)
    : Dataset(read_cifars("Cifar100Dataset", dir, {"train.bin"}, "test.bin", 2, options)) {}

MnistDataset::MnistDataset(const std::string &dir, const SourceOptions &options)
    : Dataset(read_mnist(dir, options)) {}

TensorDataset::TensorDataset(const std::vector<std::pair<std::string, Tensor>> &columns,
                             bool shuffle)
    : Dataset(in_memory("TensorDataset", columns,
                        choose_sampler("TensorDataset", {.shuffle = shuffle}))) {}

NumpySlicesDataset::NumpySlicesDataset(const std::vector<Tensor> &data,
                                       const SlicesOptions &options)
    : Dataset(slices(numbered(data), options)) {}

NumpySlicesDataset::NumpySlicesDataset(const std::string &path, const SlicesOptions &options)
    : Dataset(slices(columns_of_file(path), options)) {}

}  // namespace halyard::dataset
