// IndexSet: a set of indices of one dimension, as disjoint runs in ascending order. A region of a
// tensor is a product of such sets, so indices that a stride skips are not counted.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace halyard {

class IndexSet {
public:
    struct Run {
        int64_t first, last;  // inclusive
    };
    IndexSet() = default;
    IndexSet(int64_t first, int64_t last) {
        if (first <= last) runs_ = {{first, last}};
    }
    explicit IndexSet(std::vector<int64_t> indices) {
        std::sort(indices.begin(), indices.end());
        for (int64_t i : indices) {
            if (!runs_.empty() && i <= runs_.back().last + 1)
                runs_.back().last = i;
            else
                runs_.push_back({i, i});
        }
    }

    const std::vector<Run> &runs() const { return runs_; }
    bool empty() const { return runs_.empty(); }
    // Returns the number of indices.
    int64_t size() const {
        int64_t n = 0;
        for (const Run &r : runs_)
            n += r.last - r.first + 1;
        return n;
    }
    // Calls f(index) for each index, in ascending order.
    template<class F> void for_each(F f) const {
        for (const Run &r : runs_) {
            for (int64_t i = r.first; i <= r.last; i++)
                f(i);
        }
    }

    void add(const IndexSet &other) {
        std::vector<Run> all = runs_;
        all.insert(all.end(), other.runs_.begin(), other.runs_.end());
        std::sort(all.begin(), all.end(),
                  [](const Run &a, const Run &b) { return a.first < b.first; });
        runs_.clear();
        for (const Run &r : all) {
            if (!runs_.empty() && r.first <= runs_.back().last + 1)
                runs_.back().last = std::max(runs_.back().last, r.last);
            else
                runs_.push_back(r);
        }
    }
    // Returns the indices in [first, last].
    IndexSet within(int64_t first, int64_t last) const {
        IndexSet inside;
        for (const Run &r : runs_) {
            if (std::max(r.first, first) <= std::min(r.last, last))
                inside.runs_.push_back({std::max(r.first, first), std::min(r.last, last)});
        }
        return inside;
    }

private:
    std::vector<Run> runs_;
};

}  // namespace halyard
