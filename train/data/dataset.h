// Data pipelines with MindSpore's names. A Dataset is a cheap handle of a description; nothing is
// read before it is iterated.
//
//   Dataset d = MnistDataset(dir);
//   d = d.map(vision::Resize(32), "image").shuffle(10000).batch(32, true);
//   for (const Row &row : d.create_dict_iterator()) use(row["image"], row["label"]);
//
// An iterator makes rows in advance on a thread of its own, with a bounded queue; maps run on the
// thread pool. Rows and their order depend on set_seed() and the epoch only, never on the number of
// threads.
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

    // Applies the operations in order to the input columns of every row. The results replace these
    // columns in place; if their number differs, they come before the remaining columns and
    // output_columns names them. Throws AttrError for a missing column and for a name given twice.
    // Errors of a row are thrown with the row's origin.
    Dataset map(Transform operation, const Names &input_columns, const Names &output_columns = {},
                const MapOptions &options = {}) const;
    Dataset map(std::vector<Transform> operations, const Names &input_columns,
                const Names &output_columns = {}, const MapOptions &options = {}) const;
    // Keeps the rows for which the predicate of the input columns holds. The size is known only by
    // counting.
    Dataset filter(std::function<bool(const Tensors &)> predicate,
                   const Names &input_columns) const;

    // Shuffles with a buffer of that many rows: each output row is drawn from the buffer and
    // replaced by the next input row. 1 keeps the order.
    Dataset shuffle(int64_t buffer_size) const;
    // Stacks batch_size rows along a new first dimension. Iterating throws ShapeError if their
    // shapes differ.
    Dataset batch(int64_t batch_size, bool drop_remainder = false) const;
    // Pads the columns in pad_info, then stacks as batch() does. Iterating throws ShapeError for a
    // row larger than its shape.
    Dataset padded_batch(int64_t batch_size, bool drop_remainder,
                         const std::map<std::string, PadInfo> &pad_info) const;
    Dataset repeat(int64_t count = -1) const;  // -1: endlessly
    Dataset take(int64_t count = -1) const;    // the first `count` rows; -1: all
    Dataset skip(int64_t count) const;         // all but the first `count` rows

    // Keeps these columns, in this order.
    Dataset project(const Names &columns) const;
    Dataset rename(const Names &input_columns, const Names &output_columns) const;

    // Joins the columns of several datasets, with as many rows as the shortest. Throws AttrError
    // for a column that two of them have.
    Dataset zip(const Dataset &other) const { return zip({*this, other}); }
    static Dataset zip(const std::vector<Dataset> &datasets);
    // Appends the rows of several datasets. Throws AttrError if their columns differ.
    Dataset concat(const Dataset &other) const { return concat({*this, other}); }
    static Dataset concat(const std::vector<Dataset> &datasets);

    // Splits the rows. `sizes` are numbers of rows that add up to all, or fractions that add up to
    // 1 and are rounded as in MindSpore. A row is in the same part in every pass: the parts are cut
    // from the order of pass 0, or with `randomize` from a random order that set_seed() at this
    // call fixes. If the source's rows can be addressed (all sources but tar, TFRecord and
    // generators without operator[]) each part is such a source too and is shuffled if the whole
    // was. After other steps a part computes all rows before its own, and needs a shuffle() of its
    // own. Throws AttrError.
    std::vector<Dataset> split(const std::vector<double> &sizes, bool randomize = true) const;

    // Returns the number of rows (after batch(): batches) of one pass, or -1 if it does not end. It
    // reads the pass if only that tells.
    int64_t get_dataset_size() const;
    const std::vector<std::string> &get_col_names() const { return *node_->columns; }

    // Returns a range of rows. `epoch` selects the random numbers, `ahead` is the length of the
    // queue, `start` the number of the first row. Rows before it are not decoded unless a step
    // needs them.
    RowIterator create_dict_iterator(uint64_t epoch = 0, size_t ahead = 4, int64_t start = 0) const;

    // Returns how many rows were skipped with OnError::SKIP in all passes so far, by message.
    std::map<std::string, int64_t> skipped() const;

    const std::shared_ptr<const Node> &node() const { return node_; }

private:
    std::shared_ptr<const Node> node_;
};

}  // namespace halyard::dataset
