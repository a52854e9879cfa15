#include "train/data/indexed.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "primitives/autograd/apart.h"
#include "registry/base/parallel.h"

namespace halyard::dataset {
namespace {

class Pass : public Source {
public:
    Pass(const IndexedNode &n, const Opening &o)
        : node_(n), order_(n.sampler->order(n.rows(), o.stream(n.depth))) {}
    bool next(Row &row) override {
        while (taken_ < made_.size() || at_ < order_.size()) {
            if (taken_ == made_.size()) make();
            Made &made = made_[taken_++];
            if (made.failure) std::rethrow_exception(made.failure);
            if (!made.row) continue;
            row = std::move(*made.row);
            return true;
        }
        return false;
    }
    int64_t skip(int64_t n) override {
        if (!node_.exact) return Source::skip(n);
        int64_t skipped = 0;
        for (Row row; skipped < n && taken_ < made_.size(); skipped++)
            next(row);
        const int64_t rest = std::min(n - skipped, int64_t(order_.size() - at_));
        at_ += size_t(rest);
        return skipped + rest;
    }

private:
    struct Made {
        std::optional<Row> row;
        std::exception_ptr failure;
    };
    void make() {
        const size_t n = std::min(node_.chunk, order_.size() - at_);
        made_.assign(n, {});
        taken_ = 0;
        const size_t workers = node_.workers ? std::min(node_.workers, n) : n;
        std::atomic<size_t> taken{0};
        parallel_for(0, int64_t(workers), [&](int64_t) {
            const ApartFromStep apart;
            // If all threads may work each task is one row, which the pool balances better.
            for (size_t i; (i = taken++) < n;) {
                make_row(made_[i], order_[at_ + i]);
                if (workers == n) break;
            }
        });
        at_ += n;
    }
    void make_row(Made &made, int64_t number) const {
        try {
            made.row = node_.row(number);
        } catch (...) {
            made.failure = std::current_exception();
        }
    }

    const IndexedNode &node_;
    std::vector<int64_t> order_;
    size_t at_ = 0;
    std::vector<Made> made_;
    size_t taken_ = 0;
};

struct PartNode : IndexedNode {
    PartNode(const IndexedNode &from, std::shared_ptr<const Node> owner, std::vector<int64_t> n,
             AnySampler order)
        : IndexedNode(*from.columns, std::move(order), from.chunk), whole(from),
          numbers(std::move(n)) {
        inputs = {std::move(owner)};
        exact = from.exact;
        workers = from.workers;
    }
    int64_t rows() const override { return int64_t(numbers.size()); }
    std::optional<Row> row(int64_t i) const override { return whole.row(numbers[size_t(i)]); }
    const IndexedNode &whole;
    std::vector<int64_t> numbers;
};

}  // namespace

std::unique_ptr<Source> IndexedNode::open(const Opening &opening) const {
    return std::make_unique<Pass>(*this, opening);
}

std::shared_ptr<const Node> IndexedNode::part(std::vector<int64_t> numbers, uint64_t seed) const {
    const auto *random = dynamic_cast<const RandomSampler *>(sampler.get());
    if (random && random->size(rows()) == rows())
        return std::make_shared<PartNode>(*this, shared_from_this(), std::move(numbers), sampler);
    const std::vector<int64_t> order = sampler->order(rows(), Opening{seed}.stream(depth));
    for (int64_t &n : numbers)
        n = order[size_t(n)];
    return std::make_shared<PartNode>(*this, shared_from_this(), std::move(numbers),
                                      std::make_shared<SequentialSampler>());
}

}  // namespace halyard::dataset
