#include "train/sources.h"

#include <filesystem>
#include <numeric>

#include "registry/error.h"
#include "train/idx.h"
#include "train/order.h"

namespace halyard::dataset {
namespace {

// Blocks of rows, one after another; row r of a block is the slice [r] of its tensors.
struct MemoryNode : Node {
    using Block = std::vector<Tensor>;
    MemoryNode(std::vector<Block> b, std::vector<std::string> names, bool random_order) : blocks(std::move(b)), shuffle(random_order) {
        columns = std::make_shared<const std::vector<std::string>>(std::move(names));
        for (const Block &block : blocks) rows += block[0].size(0);
    }
    int64_t size() const override { return rows; }
    std::unique_ptr<Source> open(uint64_t pass) const override { return std::make_unique<Pass>(*this, pass); }

    Row row(int64_t i) const {
        size_t b = 0;
        for (; i >= blocks[b][0].size(0); b++) i -= blocks[b][0].size(0);
        std::vector<Tensor> tensors;
        for (const Tensor &t : blocks[b]) {
            const Shape shape(t.shape().begin() + 1, t.shape().end());
            tensors.push_back(t.slice(0, i, i + 1).reshape(shape));
        }
        return {columns, std::move(tensors)};
    }

    struct Pass : Source {
        Pass(const MemoryNode &n, uint64_t pass) : node(n), order((size_t)n.rows) {
            std::iota(order.begin(), order.end(), int64_t(0));
            if (!node.shuffle) return;
            const Random random = order_of(node.depth, pass);
            for (size_t i = order.size(); i > 1; i--) std::swap(order[i - 1], order[random.below(i, (uint32_t)i)]);
        }
        bool next(Row &row) override {
            if (at == order.size()) return false;
            row = node.row(order[at++]);
            return true;
        }
        const MemoryNode &node;
        std::vector<int64_t> order;
        size_t at = 0;
    };
    std::vector<Block> blocks;
    bool shuffle;
    int64_t rows = 0;
};

std::shared_ptr<const Node> read_mnist(const std::string &dir, const MnistOptions &o) {
    constexpr const char *op = "MnistDataset";
    if (o.usage != "" && o.usage != "train" && o.usage != "test" && o.usage != "all")
        throw AttrError(op, "usage is " + o.usage + ", expected train, test or all");
    std::vector<MemoryNode::Block> blocks;
    const auto add = [&](const std::string &usage, const std::string &prefix) {
        const std::filesystem::path images = std::filesystem::path(dir) / (prefix + "-images-idx3-ubyte");
        if (o.usage != usage && o.usage != "all" && (o.usage != "" || !std::filesystem::exists(images))) return;
        const ImagesAndLabels r = read_idx_pair(images.string(), (std::filesystem::path(dir) / (prefix + "-labels-idx1-ubyte")).string());
        blocks.push_back({r.images.unsqueeze(3), r.labels.to(DType::i32)});
    };
    add("train", "train");
    add("test", "t10k");
    if (blocks.empty()) throw IoError(dir, "there is neither train-images-idx3-ubyte nor t10k-images-idx3-ubyte");
    return std::make_shared<MemoryNode>(std::move(blocks), std::vector<std::string>{"image", "label"}, o.shuffle);
}

std::shared_ptr<const Node> in_memory(const std::vector<std::pair<std::string, Tensor>> &columns, bool shuffle) {
    constexpr const char *op = "TensorDataset";
    if (columns.empty()) throw AttrError(op, "there are no columns");
    std::vector<std::string> names;
    MemoryNode::Block block;
    for (const auto &[name, t] : columns) {
        if (t.rank() < 1) throw ShapeError(op, "column " + name + " has rank 0, expected at least 1");
        if (t.size(0) != columns[0].second.size(0))
            throw ShapeError(op, "column " + name + " has " + std::to_string(t.size(0)) + " rows, expected " + std::to_string(columns[0].second.size(0)) +
                                     " as in " + columns[0].first);
        names.push_back(name), block.push_back(t);
    }
    return std::make_shared<MemoryNode>(std::vector<MemoryNode::Block>{block}, names, shuffle);
}

}  // namespace

MnistDataset::MnistDataset(const std::string &dir, const MnistOptions &options) : Dataset(read_mnist(dir, options)) {}

TensorDataset::TensorDataset(const std::vector<std::pair<std::string, Tensor>> &columns, bool shuffle) : Dataset(in_memory(columns, shuffle)) {}

}  // namespace halyard::dataset
