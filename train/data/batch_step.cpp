// The steps of batch() and padded_batch().
#include <algorithm>
#include <cstring>

#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "train/data/steps.h"

namespace halyard::dataset {
namespace {

Tensor padded(const std::string &column, const Tensor &t, const Shape &shape, double value) {
    if (t.shape() == shape) return t;
    const Tensor out = Tensor::full(shape, value, t.dtype());
    Tensor inner = out;
    for (int d = 0; d < t.rank(); d++) {
        if (t.size(d) > shape[size_t(d)]) {
            throw ShapeError("padded_batch", "column " + column + " has a row of " +
                                                 t.shape().text() + ", larger than " +
                                                 shape.text());
        }
        inner = inner.slice(d, 0, t.size(d));
    }
    inner.assign(t);
    return out;
}

void pad(std::vector<Row> &rows, size_t column, const std::string &name, const PadInfo &info) {
    Shape shape = info.shape;
    for (const Row &row : rows) {
        const Tensor &t = row[column];
        if (size_t(t.rank()) != shape.size()) {
            throw ShapeError("padded_batch", "column " + name + " has a row of " +
                                                 t.shape().text() + ", pad_info the shape " +
                                                 info.shape.text());
        }
        for (size_t d = 0; d < shape.size(); d++)
            if (info.shape[d] == -1) shape[d] = std::max(shape[d], t.size(int(d)));
    }
    for (Row &row : rows)
        row.tensors()[column] = padded(name, row[column], shape, info.value);
}

Tensor stack(const std::vector<Row> &rows, size_t column) {
    const Tensor &first = rows[0][column];
    Shape shape = first.shape();
    shape.insert(0, int64_t(rows.size()));
    const Tensor out = Tensor::empty(shape, first.dtype());
    char *to = static_cast<char *>(out.raw());
    const size_t bytes = first.bytes();
    for (const Row &row : rows) {
        const Tensor &t = row[column];
        if (!(t.shape() == first.shape()) || t.dtype() != first.dtype()) {
            throw ShapeError("batch", "column " + (*row.columns())[column] + " has rows of " +
                                          first.shape().text() + " " + name_of(first.dtype()) +
                                          " and of " + t.shape().text() + " " + name_of(t.dtype()));
        }
    }
    const auto copy = [&](int64_t i) {
        const Tensor row = rows[size_t(i)][column].contiguous();
        std::memcpy(to + size_t(i) * bytes, row.bytes_to_read(), bytes);
    };
    constexpr size_t worth_sharing = 1 << 20;
    const auto n = int64_t(rows.size());
    if (bytes * rows.size() >= worth_sharing)
        parallel_for(0, n, copy);
    else {
        for (int64_t i = 0; i < n; i++)
            copy(i);
    }
    out.forget_addresses();
    return out;
}

struct BatchNode : Node {
    BatchNode(NodePtr from, int64_t batch_size, bool drop_remainder,
              const std::map<std::string, PadInfo> &pad_info)
        : Node({from}), n(batch_size), drop(drop_remainder) {
        for (const auto &[name, info] : pad_info)
            pads.emplace(find_column("padded_batch", columns, name), info);
    }
    int64_t size() const override {
        const int64_t rows = inputs[0]->size();
        return rows < 0 || rows == endless ? rows : rows / n + (!drop && rows % n);
    }
    std::unique_ptr<Source> open(const Opening &o) const override {
        return std::make_unique<Pass>(*this, inputs[0]->open(o));
    }

    struct Pass : Source {
        Pass(const BatchNode &b, std::unique_ptr<Source> s) : node(b), source(std::move(s)) {}
        bool next(Row &row) override {
            std::vector<Row> rows;
            for (Row r; int64_t(rows.size()) < node.n && source->next(r);)
                rows.push_back(std::move(r));
            if (rows.empty() || (node.drop && int64_t(rows.size()) < node.n)) return false;
            for (const auto &[column, info] : node.pads)
                pad(rows, column, (*node.columns)[column], info);
            Tensors columns;
            for (size_t c = 0; c < rows[0].size(); c++)
                columns.push_back(stack(rows, c));
            row = Row(node.columns, std::move(columns));
            return true;
        }
        int64_t skip(int64_t batches) override {
            const int64_t rows = source->skip(batches > endless / node.n ? endless
                                                                         : batches * node.n);
            return rows / node.n + (!node.drop && rows % node.n);
        }
        const BatchNode &node;
        std::unique_ptr<Source> source;
    };
    int64_t n;
    bool drop;
    std::map<size_t, PadInfo> pads;
};

}  // namespace

NodePtr batch_step(NodePtr from, int64_t batch_size, bool drop_remainder,
                   const std::map<std::string, PadInfo> &pad_info) {
    return std::make_shared<BatchNode>(std::move(from), batch_size, drop_remainder, pad_info);
}

}  // namespace halyard::dataset
