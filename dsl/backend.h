// Backends: what a schedule is told about the machine, and how it asks for its free choices.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/dim_expr.h"
#include "registry/tensor/dtype.h"

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

// A tunable: a number of a schedule that `halyard tune` may change, and that the condition of the
// variant may name.
using Tunable = Dim;

// What a kernel is built for, as far as an algorithm may depend on it.
struct Build {
    std::string variant;                 // one of the op's; "" = the only one
    int lanes = 4;                       // of a vector of the arithmetic type
    std::map<std::string, DType> types;  // of the type variables T, U, ...; none in exact mode
    // Returns true if type variable T is bound to `t`. In exact mode it is bound to no dtype.
    bool stores(DType t) const {
        const auto bound = types.find("T");
        return bound != types.end() && bound->second == t;
    }
};

struct Backend : Build {
    Halide::Target target;
    Halide::Type real;  // the arithmetic of this instance
    const Picks *picks = nullptr;
    int pick(const Tunable &tunable, const std::vector<int> &candidates) const {
        return (*picks)(tunable.name(), candidates);
    }
    int pick(const std::string &name, const std::vector<int> &candidates) const {
        return (*picks)(name, candidates);
    }
    bool has_avx512() const { return target.has_feature(Halide::Target::AVX512_Skylake); }
};
struct Cpu : Backend {};
struct Gpu : Backend {};

struct Ascend;  // dsl/ascend/schedule.h

}  // namespace halyard
