// SearchSpace: the kernels that can be built for a problem, and the order in which a tuner tries
// them.
#pragma once
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace halyard::tune {

struct Candidate {
    std::string variant;
    std::map<std::string, int> tunables;
    std::string autoscheduler = {};
};

// Every variant with every combination of its schedule's tunables. A candidate is a number below
// size(); the first of each variant has the schedule's defaults.
class SearchSpace {
public:
    // Adds a variant with the values that its schedule offers.
    void add(const std::string &variant, const std::map<std::string, std::vector<int>> &offered);

    size_t size() const { return size_; }
    Candidate at(size_t candidate) const;
    // Returns the candidate with these tunables, or nothing.
    std::optional<size_t> find(const std::string &variant,
                               const std::map<std::string, int> &tunables) const;
    // Returns the first candidate of each variant.
    std::vector<size_t> defaults() const;
    std::vector<size_t> neighbours(size_t candidate) const;  // one tunable differs

private:
    struct Part {
        std::string variant;
        std::vector<std::pair<std::string, std::vector<int>>> tunables;
        size_t first, size;
    };
    const Part &part_of(size_t candidate) const;
    std::vector<Part> parts_;
    size_t size_ = 0;
};

// The order of a search. A space that isn't larger than `budget` is searched completely, in an
// order that `seed` determines, defaults first. Of a larger space, half of the budget is random,
// then the search moves around the best so far.
class SpaceSearch {
public:
    SpaceSearch(const SearchSpace &space, size_t budget, unsigned seed)
        : space_(space), budget_(budget), random_(seed) {}
    // Marks a candidate that was measured before.
    void visit(size_t candidate) { visited_.insert(candidate); }
    // The last candidate doesn't count.
    void skip() { skipped_++; }
    std::optional<size_t> next(std::optional<size_t> best);  // empty: done
    size_t done() const { return visited_.size() - skipped_; }
    size_t total() const { return std::min(budget_, space_.size() - skipped_); }

private:
    std::optional<size_t> unvisited(std::vector<size_t> of);
    std::optional<size_t> anywhere();
    const SearchSpace &space_;
    const size_t budget_;
    std::mt19937 random_;
    std::set<size_t> visited_;
    size_t skipped_ = 0;
};

}  // namespace halyard::tune
