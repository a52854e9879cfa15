// Backends: what a schedule is given. A `Cpu` or `Gpu` describes the machine and offers tunables;
// an `Ascend` (dsl/ascend/schedule.h) also fixes the call that a program is compiled for.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard {

// The tunables of one schedule: the numbers that `halyard tune` may change. A schedule offers
// candidates for each, of which the first is the default. `chosen` has the values to use instead.
struct Tunables {
    std::map<std::string, int> chosen;
    // All candidates so far, by name. It is filled while the schedule runs.
    mutable std::map<std::string, std::vector<int>> offered;

    // Returns the chosen value of a tunable, or its first candidate.
    int operator()(const std::string &name, const std::vector<int> &candidates) const {
        offered[name] = candidates;
        const auto it = chosen.find(name);
        return it == chosen.end() ? candidates[0] : it->second;
    }
    // Returns the values of all tunables that the schedule offered.
    std::map<std::string, int64_t> values() const {
        std::map<std::string, int64_t> all;
        for (auto &[name, candidates] : offered)
            all[name] = (*this)(name, candidates);
        return all;
    }
};

struct Backend {
    Halide::Target target;
    // The type in which this kernel computes: Float(32) for f32, f16 and bf16, Float(64) for f64,
    // the integer type itself for integers, UInt(32) in exact mode.
    Halide::Type real;
    // The name of the variant that is scheduled; "" if the op has only one.
    std::string variant;
    const Tunables *tunables;
    // Elements of type `real` in a vector register.
    int lanes = target.natural_vector_size(real);

    // Returns the value of a tunable of this schedule. `candidates` are the values that may be
    // tried, the default first. Conditions of the variant may use `name`.
    int pick(const std::string &name, const std::vector<int> &candidates) const {
        return (*tunables)(name, candidates);
    }
    bool has_avx512() const { return target.has_feature(Halide::Target::AVX512_Skylake); }
};
struct Cpu : Backend {};
struct Gpu : Backend {};

struct Ascend;  // dsl/ascend/schedule.h

}  // namespace halyard
