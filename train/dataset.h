// Data pipelines, in MindSpore's words. A Dataset is a cheap handle of a description; nothing is read before it is iterated.
//
//   Dataset d = MnistDataset(dir);
//   d = d.map(vision::Resize(32), "image").shuffle(10000).batch(32, true);
//   for (const Row &row : d.create_dict_iterator()) use(row["image"], row["label"]);
//
// An iterator runs ahead of its user on a thread of its own, with a bounded queue; maps run on the pool. What comes out, and in
// which order, depends on set_seed() and the epoch alone, never on the number of threads.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/tensor.h"

namespace halyard::dataset {

using Columns = std::shared_ptr<const std::vector<std::string>>;

class Row {
public:
    Row() = default;
    Row(Columns columns, std::vector<Tensor> tensors) : columns_(std::move(columns)), tensors_(std::move(tensors)) {}
    const Tensor &operator[](const std::string &column) const;  // throws AttrError naming the columns there are
    template<std::integral I> const Tensor &operator[](I i) const { return tensors_.at((size_t)i); }
    size_t size() const { return tensors_.size(); }
    const Columns &columns() const { return columns_; }
    std::vector<Tensor> &tensors() { return tensors_; }
    const std::vector<Tensor> &tensors() const { return tensors_; }

private:
    Columns columns_;
    std::vector<Tensor> tensors_;
};

// One element of one column to its new value. Called from several threads at once.
using Transform = std::function<Tensor(const Tensor &)>;

// One pass over a pipeline, row by row.
struct Source {
    virtual ~Source() = default;
    virtual bool next(Row &row) = 0;  // false: the pass is over
};

// A step of a pipeline. `pass` counts the passes over it: what is random differs from pass to pass.
struct Node {
    virtual ~Node() = default;
    virtual std::unique_ptr<Source> open(uint64_t pass) const = 0;
    virtual int64_t size() const = 0;  // rows of a pass
    Columns columns;
    uint64_t depth = 0;  // steps before this one: keeps the random numbers of several steps apart
};

class RowIterator;

class Dataset {
public:
    explicit Dataset(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

    // Applies the operations, in order, to that column of every row. Throws AttrError when there is no such column.
    Dataset map(Transform operation, const std::string &input_column) const;
    Dataset map(std::vector<Transform> operations, const std::string &input_column) const;

    // A buffer of that many rows; each row that leaves is drawn from it and replaced by the next one. 1 keeps the order.
    Dataset shuffle(int64_t buffer_size) const;
    // n rows become one, with a new first dimension. Throws ShapeError while iterating when their shapes differ.
    Dataset batch(int64_t batch_size, bool drop_remainder = false) const;
    Dataset repeat(int64_t count) const;

    int64_t get_dataset_size() const { return node_->size(); }  // rows (after batch: batches) of one pass
    const std::vector<std::string> &get_col_names() const { return *node_->columns; }

    // A range of rows. `epoch` chooses the random order; `ahead` is how many rows may wait in the queue.
    RowIterator create_dict_iterator(uint64_t epoch = 0, size_t ahead = 4) const;

    const std::shared_ptr<const Node> &node() const { return node_; }

private:
    std::shared_ptr<const Node> node_;
};

// Rows of one pass, produced ahead of time. What a step of the pipeline throws is thrown by next().
class RowIterator {
public:
    RowIterator(std::shared_ptr<const Node> node, uint64_t pass, size_t ahead);
    bool next(Row &row);
    size_t waiting() const;   // rows that are ready
    size_t capacity() const;  // how many may be

    struct End {};
    class Cursor {
    public:
        explicit Cursor(RowIterator &from) : from_(&from) { ++*this; }
        const Row &operator*() const { return row_; }
        Cursor &operator++() {
            more_ = from_->next(row_);
            return *this;
        }
        bool operator!=(End) const { return more_; }

    private:
        RowIterator *from_;
        Row row_;
        bool more_ = false;
    };
    Cursor begin() { return Cursor(*this); }
    End end() const { return {}; }

private:
    class Producer;
    std::shared_ptr<Producer> producer_;
};

}  // namespace halyard::dataset
