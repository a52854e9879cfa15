// Backends: what a schedule is told about the machine, and how it asks for its free choices.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard {

// The free choices of one schedule. The schedule offers candidates, first = default; a tuner fills
// `chosen`.
struct Picks {
    std::map<std::string, int> chosen;
    mutable std::map<std::string, std::vector<int>> offered;
    int operator()(const std::string &name, const std::vector<int> &candidates) const {
        offered[name] = candidates;
        const auto it = chosen.find(name);
        return it == chosen.end() ? candidates[0] : it->second;
    }
    std::map<std::string, int64_t> values() const {  // of everything offered
        std::map<std::string, int64_t> all;
        for (auto &[name, candidates] : offered)
            all[name] = (*this)(name, candidates);
        return all;
    }
};

struct Backend {
    Halide::Target target;
    Halide::Type real;    // the arithmetic of this instance
    std::string variant;  // "" = the only one
    const Picks *picks;
    int lanes = target.natural_vector_size(real);
    int pick(const std::string &name, const std::vector<int> &candidates) const {
        return (*picks)(name, candidates);
    }
    bool has_avx512() const { return target.has_feature(Halide::Target::AVX512_Skylake); }
};
struct Cpu : Backend {};
struct Gpu : Backend {};

struct Ascend;  // dsl/ascend/schedule.h

}  // namespace halyard
