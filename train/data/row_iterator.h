// RowIterator: the rows of one pass. A thread of its own makes them in advance and passes them
// through a bounded queue.
#pragma once
#include <cstdint>
#include <memory>

#include "train/data/node.h"

namespace halyard::dataset {

// The state of the queue between a pipeline and its consumer.
struct QueueStats {
    size_t depth = 0;                    // rows in the queue now
    size_t capacity = 0;                 // rows it can hold
    size_t high_water = 0;               // most rows it held
    int64_t produced = 0, consumed = 0;  // rows so far, without skipped ones
    double starved_seconds = 0;          // time the consumer waited, without a wait in progress
    double full_seconds = 0;             // time the pipeline waited for room
};

// next() throws the exceptions of the pipeline's steps, after the rows before them. Copies share
// the rows.
class RowIterator {
public:
    RowIterator(std::shared_ptr<const Node> node, const Opening &opening, size_t ahead,
                int64_t start);
    bool next(Row &row);
    // Returns the state of the queue. Any thread may call it.
    QueueStats stats() const;

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
