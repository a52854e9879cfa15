// Data pipelines, in MindSpore's words. A Dataset is a cheap handle of a description; nothing is
// read before it is iterated.
//
//   Dataset d = MnistDataset(dir);
//   d = d.map(vision::Resize(32), "image").shuffle(10000).batch(32, true);
//   for (const Row &row : d.create_dict_iterator()) use(row["image"], row["label"]);
//
// An iterator runs ahead of its user on a thread of its own, with a bounded queue; maps run on the
// pool. What comes out, and in which order, depends on set_seed() and the epoch alone, never on the
// number of threads.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/data/node.h"
#include "train/data/options.h"
#include "train/data/row_iterator.h"
#include "train/data/transform.h"

namespace halyard::dataset {

class Dataset {
public:
    explicit Dataset(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

    // Applies the operations, in order, to those columns of every row. The results replace them:
    // each in its place, or, where they are more or fewer, before the columns that are left, named
    // by output_columns. Throws AttrError for a column that isn't there and for a name given twice.
    // What damages a row is thrown with the row's origin.
    Dataset map(Transform operation, const Names &input_columns, const Names &output_columns = {},
                const MapOptions &options = {}) const;
    Dataset map(std::vector<Transform> operations, const Names &input_columns,
                const Names &output_columns = {}, const MapOptions &options = {}) const;
    // The rows for which the predicate of those columns holds. Its size is known only by counting.
    Dataset filter(std::function<bool(const Tensors &)> predicate,
                   const Names &input_columns) const;

    // A buffer of that many rows; each row that leaves is drawn from it and replaced by the next
    // one. 1 keeps the order.
    Dataset shuffle(int64_t buffer_size) const;
    // n rows become one, with a new first dimension. Throws ShapeError while iterating when their
    // shapes differ.
    Dataset batch(int64_t batch_size, bool drop_remainder = false) const;
    // The same of rows that are first padded, those columns that pad_info has. Throws ShapeError
    // for a row larger than its shape.
    Dataset padded_batch(int64_t batch_size, bool drop_remainder,
                         const std::map<std::string, PadInfo> &pad_info) const;
    Dataset repeat(int64_t count = -1) const;  // -1: without end
    Dataset take(int64_t count = -1) const;    // the first rows; -1: all
    Dataset skip(int64_t count) const;         // all but the first rows

    Dataset project(const Names &columns) const;  // those columns, in that order
    Dataset rename(const Names &input_columns, const Names &output_columns) const;

    // Rows side by side, as many as the shortest has. Throws AttrError for a column that two have.
    Dataset zip(const Dataset &other) const { return zip({*this, other}); }
    static Dataset zip(const std::vector<Dataset> &datasets);
    // One after the other. Throws AttrError when their columns differ.
    Dataset concat(const Dataset &other) const { return concat({*this, other}); }
    static Dataset concat(const std::vector<Dataset> &datasets);

    // Parts of those numbers of rows, which add up to all, or of those shares, which add up to 1
    // (rounded as MindSpore does). A row is in the same part in every pass: the parts are cut from
    // the order of pass 0, or with `randomize` from one random order, that set_seed() at this call
    // chooses. Of a source whose rows have numbers (all but tar, TFRecord and generators without
    // operator[]) each part is such a source too, shuffled if the whole was; behind other steps a
    // part makes all rows before its own, and is shuffled by a shuffle() behind it. Throws
    // AttrError.
    std::vector<Dataset> split(const std::vector<double> &sizes, bool randomize = true) const;

    // Rows (after batch: batches) of one pass; -1 of one without end. Where only reading tells, it
    // reads.
    int64_t get_dataset_size() const;
    const std::vector<std::string> &get_col_names() const { return *node_->columns; }

    // A range of rows. `epoch` chooses what is random; `ahead` is how many rows may wait in the
    // queue; `start` is the number of the first row: those before it are not decoded or otherwise
    // made, as far as no step needs them.
    RowIterator create_dict_iterator(uint64_t epoch = 0, size_t ahead = 4, int64_t start = 0) const;

    // With OnError::SKIP: what was left out in all passes so far, and how often, by message.
    std::map<std::string, int64_t> left_out() const;

    const std::shared_ptr<const Node> &node() const { return node_; }

private:
    std::shared_ptr<const Node> node_;
};

}  // namespace halyard::dataset
