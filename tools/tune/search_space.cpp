#include "tools/tune/search_space.h"

#include <algorithm>
#include <numeric>

namespace halyard::tune {

void SearchSpace::add(const std::string &variant,
                      const std::map<std::string, std::vector<int>> &offered) {
    Part p{variant, {offered.begin(), offered.end()}, size_, 1};
    for (auto &[name, values] : p.tunables)
        p.size *= values.size();
    size_ += p.size;
    parts_.push_back(std::move(p));
}

const SearchSpace::Part &SearchSpace::part_of(size_t candidate) const {
    return *std::find_if(parts_.begin(), parts_.end(),
                         [&](const Part &p) { return candidate < p.first + p.size; });
}

Candidate SearchSpace::at(size_t candidate) const {
    const Part &p = part_of(candidate);
    Candidate c{p.variant, {}};
    size_t rest = candidate - p.first;
    for (auto &[name, values] : p.tunables) {
        c.tunables[name] = values[rest % values.size()];
        rest /= values.size();
    }
    return c;
}

std::optional<size_t> SearchSpace::find(const std::string &variant,
                                        const std::map<std::string, int> &tunables) const {
    for (const Part &p : parts_) {
        if (p.variant != variant) continue;
        size_t place = p.first;
        size_t stride = 1;
        for (auto &[name, values] : p.tunables) {
            const auto given = tunables.find(name);
            const auto at = given == tunables.end()
                                ? values.end()
                                : std::find(values.begin(), values.end(), given->second);
            if (at == values.end()) return {};
            place += stride * size_t(at - values.begin());
            stride *= values.size();
        }
        return place;
    }
    return {};
}

std::vector<size_t> SearchSpace::defaults() const {
    std::vector<size_t> all;
    for (const Part &p : parts_)
        all.push_back(p.first);
    return all;
}

std::vector<size_t> SearchSpace::neighbours(size_t candidate) const {
    const Part &p = part_of(candidate);
    std::vector<size_t> all;
    size_t stride = 1;
    for (auto &[name, values] : p.tunables) {
        const size_t digit = (candidate - p.first) / stride % values.size();
        for (size_t v = 0; v < values.size(); v++)
            if (v != digit) all.push_back(candidate - digit * stride + v * stride);
        stride *= values.size();
    }
    return all;
}

std::optional<size_t> SpaceSearch::unvisited(std::vector<size_t> of) {
    std::erase_if(of, [&](size_t c) { return visited_.count(c) > 0; });
    if (of.empty()) return {};
    const size_t c = of[random_() % of.size()];
    visited_.insert(c);
    return c;
}

std::optional<size_t> SpaceSearch::anywhere() {
    const size_t start = random_() % space_.size();
    for (size_t k = 0; k < space_.size(); k++)
        if (const size_t c = (start + k) % space_.size(); visited_.insert(c).second) return c;
    return {};
}

std::optional<size_t> SpaceSearch::next(std::optional<size_t> best) {
    if (done() >= total()) return {};
    if (const auto c = unvisited(space_.defaults())) return c;
    if (space_.size() <= budget_) {
        std::vector<size_t> all(space_.size());
        std::iota(all.begin(), all.end(), size_t{0});
        return unvisited(std::move(all));
    }
    if (done() >= budget_ / 2 && best)
        if (const auto c = unvisited(space_.neighbours(*best))) return c;
    return anywhere();
}

}  // namespace halyard::tune
