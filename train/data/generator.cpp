#include "train/data/generator.h"

#include "registry/base/error.h"
#include "train/data/indexed.h"
#include "train/data/steps.h"

namespace halyard::dataset {
namespace {

constexpr const char *op = "GeneratorDataset";

Row checked(const Columns &columns, Tensors tensors) {
    if (tensors.size() != columns->size()) {
        throw ShapeError(op, "a row has " + std::to_string(tensors.size()) + " tensors, expected " +
                                 std::to_string(columns->size()));
    }
    return {columns, std::move(tensors)};
}

const std::vector<std::string> &checked(const Names &names) {
    if (names.all().empty()) throw AttrError(op, "there are no column_names");
    check_unique(op, names.all());
    return names.all();
}

struct ObjectNode : IndexedNode {
    ObjectNode(std::function<int64_t()> n, std::function<Tensors(int64_t)> r, const Names &names,
               const GeneratorOptions &o)
        : IndexedNode(checked(names), sampler_of(op, o),
                      size_t(std::max(o.num_parallel_workers, 1))),
          count(std::move(n)), make(std::move(r)) {}
    int64_t rows() const override { return count(); }
    std::optional<Row> row(int64_t i) const override { return checked(columns, make(i)); }
    std::function<int64_t()> count;
    std::function<Tensors(int64_t)> make;
};

struct PassesNode : Node {
    PassesNode(Passes p, const Names &names) : Node(checked(names)), passes(std::move(p)) {}
    int64_t size() const override { return unknown_size; }
    std::unique_ptr<Source> open(const Opening &) const override {
        return std::make_unique<Pass>(*this);
    }

    struct Pass : Source {
        explicit Pass(const PassesNode &n) : node(n), make(n.passes()) {}
        bool next(Row &row) override {
            Tensors tensors;
            if (!make(tensors)) return false;
            row = checked(node.columns, std::move(tensors));
            return true;
        }
        const PassesNode &node;
        std::function<bool(Tensors &)> make;
    };
    Passes passes;
};

}  // namespace

GeneratorDataset::GeneratorDataset(Passes passes, const Names &names)
    : Dataset(std::make_shared<PassesNode>(std::move(passes), names)) {}

GeneratorDataset::GeneratorDataset(std::function<int64_t()> size,
                                   std::function<Tensors(int64_t)> row, const Names &names,
                                   const GeneratorOptions &options)
    : Dataset(std::make_shared<ObjectNode>(std::move(size), std::move(row), names, options)) {}

}  // namespace halyard::dataset
