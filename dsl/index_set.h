// IndexSet: the places of one dimension that are needed, as disjoint runs in order. Regions are
// products of such sets, so that a stride's gaps aren't counted.
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
    explicit IndexSet(std::vector<int64_t> places) {
        std::sort(places.begin(), places.end());
        for (int64_t p : places) {
            if (!runs_.empty() && p <= runs_.back().last + 1)
                runs_.back().last = p;
            else
                runs_.push_back({p, p});
        }
    }

    const std::vector<Run> &runs() const { return runs_; }
    bool empty() const { return runs_.empty(); }
    int64_t size() const {
        int64_t n = 0;
        for (const Run &r : runs_)
            n += r.last - r.first + 1;
        return n;
    }
    template<class F> void each(F f) const {
        for (const Run &r : runs_) {
            for (int64_t p = r.first; p <= r.last; p++)
                f(p);
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
    IndexSet within(int64_t first, int64_t last) const {
        IndexSet cut;
        for (const Run &r : runs_) {
            if (std::max(r.first, first) <= std::min(r.last, last))
                cut.runs_.push_back({std::max(r.first, first), std::min(r.last, last)});
        }
        return cut;
    }
    IndexSet shifted(int64_t by) const {
        IndexSet moved = *this;
        for (Run &r : moved.runs_) {
            r.first += by;
            r.last += by;
        }
        return moved;
    }

private:
    std::vector<Run> runs_;
};

}  // namespace halyard
