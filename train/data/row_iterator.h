// RowIterator: the rows of one pass, made ahead of their user on a thread of their own, with a
// bounded queue between the two.
#pragma once
#include <cstdint>
#include <memory>

#include "train/data/node.h"

namespace halyard::dataset {

// The queue between a pipeline and its user. A user that waits starves; a pipeline that waits has
// run ahead as far as it may.
struct QueueStats {
    // rows that wait now, that may, and that did at most
    size_t depth = 0, capacity = 0, high_water = 0;
    int64_t produced = 0, consumed = 0;  // rows, those that were skipped left out
    // that the user, and that the pipeline waited, waits that are over
    double starved_seconds = 0, full_seconds = 0;
};

// What a step of the pipeline throws is thrown by next(), after the rows before it. Copies share
// the rows.
class RowIterator {
public:
    RowIterator(std::shared_ptr<const Node> node, const Opening &opening, size_t ahead,
                int64_t start);
    bool next(Row &row);
    QueueStats stats() const;  // from any thread

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
