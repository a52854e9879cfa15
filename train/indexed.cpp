#include "train/indexed.h"

#include <numeric>

#include "registry/parallel.h"
#include "train/order.h"

namespace halyard::dataset {
namespace {

class Pass : public Source {
public:
    Pass(const IndexedNode &n, uint64_t pass) : node_(n), order_((size_t)n.size()) {
        std::iota(order_.begin(), order_.end(), int64_t(0));
        if (!node_.shuffle) return;
        const Random random = order_of(node_.depth, pass);
        for (size_t i = order_.size(); i > 1; i--) std::swap(order_[i - 1], order_[random.below(i, (uint32_t)i)]);
    }
    bool next(Row &row) override {
        while (taken_ < made_.size() || at_ < order_.size()) {
            if (taken_ == made_.size()) make();
            std::optional<Row> &next = made_[taken_++];
            if (!next) continue;
            row = std::move(*next);
            return true;
        }
        return false;
    }

private:
    void make() {
        const size_t n = std::min(node_.chunk, order_.size() - at_);
        made_.assign(n, {}), taken_ = 0;
        parallel_for(0, (int64_t)n, [&](int64_t i) { made_[(size_t)i] = node_.row(order_[at_ + (size_t)i]); });
        at_ += n;
    }

    const IndexedNode &node_;
    std::vector<int64_t> order_;
    size_t at_ = 0;
    std::vector<std::optional<Row>> made_;
    size_t taken_ = 0;
};

}  // namespace

std::unique_ptr<Source> IndexedNode::open(uint64_t pass) const { return std::make_unique<Pass>(*this, pass); }

}  // namespace halyard::dataset
