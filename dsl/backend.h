// Backends: what a schedule is given. A `Cpu` or `Gpu` describes the machine and offers tunables;
// an `Ascend` (dsl/ascend/schedule.h) also fixes the call that a program is compiled for.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "dsl/dim_expr.h"
#include "registry/tensor/dtype.h"

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

// One of them, as schedules and the conditions of variants name it.
using Tunable = Dim;

// What a kernel is built for, as far as an algorithm may depend on it.
struct Build {
    // The name of one of the op's variants; "" if it has only one.
    std::string variant;
    // Elements of the arithmetic type in a vector register of the target: an algorithm may arrange
    // its stages in blocks of vectors.
    int lanes = 4;
    // The dtypes to which T, U, ... are bound; empty in exact mode.
    std::map<std::string, DType> types;
    bool on_gpu = false;

    bool is_exact() const { return types.empty(); }
    // Algorithms for Ascend are not arranged in vectors, and every CPU has vectors of some lanes.
    bool is_ascend() const { return lanes == 1; }
    // Returns true if the type variable T is bound to `t`.
    bool stores(DType t) const {
        const auto bound = types.find("T");
        return bound != types.end() && bound->second == t;
    }
};

struct Backend : Build {
    Halide::Target target;
    // The type in which this kernel computes: Float(32) for f32, f16 and bf16, Float(64) for f64,
    // the integer type itself for integers, UInt(32) in exact mode.
    Halide::Type real;
    const Tunables *tunables = nullptr;

    // Returns the value of a tunable of this schedule. `candidates` are the values that may be
    // tried, the default first. Conditions of the variant may use `name`.
    int pick(const std::string &name, const std::vector<int> &candidates) const {
        return (*tunables)(name, candidates);
    }
    int pick(const Dim &tunable, const std::vector<int> &candidates) const {
        return pick(tunable.name(), candidates);
    }
    bool has_avx512() const { return target.has_feature(Halide::Target::AVX512_Skylake); }
    // Returns true if tiles may take 32 vector registers: AVX-512 and AArch64. Otherwise 16.
    bool has_32_registers() const {
        return has_avx512() || (target.arch == Halide::Target::ARM && target.bits == 64);
    }
};
struct Cpu : Backend {};
struct Gpu : Backend {};

struct Ascend;  // dsl/ascend/schedule.h

}  // namespace halyard
