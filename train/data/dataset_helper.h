// DatasetHelper: the rows of a dataset for handwritten training loops. Each loop over it is an
// epoch:
//
//   DatasetHelper dataset_helper(data, true, 100);
//   for (int64_t epoch = 0; epoch < 10; epoch++)
//       for (const dataset::Row &inputs : dataset_helper) net(inputs[0], inputs[1]);
#pragma once
#include <optional>

#include "train/data/dataset.h"

namespace halyard {

class DatasetHelper {
public:
    // With dataset_sink_mode an epoch has sink_size rows (-1: as many as the dataset), and the next
    // epoch continues with the following row. Without it sink_size has no meaning. Throws AttrError
    // for another sink_size and for an empty dataset.
    explicit DatasetHelper(dataset::Dataset data, bool dataset_sink_mode = true,
                           int64_t sink_size = -1);

    int64_t steps_per_epoch() const { return steps_; }

    struct End {};
    class Cursor {
    public:
        explicit Cursor(DatasetHelper &from) : from_(&from), left_(from.steps_) { from_->next(); }
        const dataset::Row &operator*() const { return from_->row_; }
        Cursor &operator++() {
            if (--left_ > 0) from_->next();
            return *this;
        }
        bool operator!=(End) const { return left_ > 0; }

    private:
        DatasetHelper *from_;
        int64_t left_;
    };
    Cursor begin() { return Cursor(*this); }
    End end() const { return {}; }

private:
    void next();
    dataset::Dataset dataset_;
    int64_t steps_;
    std::optional<dataset::RowIterator> rows_;  // the current pass
    uint64_t pass_ = 0;
    dataset::Row row_;
};

}  // namespace halyard
