// Ulps: the worst error of elementwise functions over every value of their input's dtype, or over
// as many as there is time for.
//
// Besides an op's bound, in units of the last place of the exact value (below the normal range: of
// the smallest number), these conditions are checked:
// - The result is NaN where the reference is NaN, and nowhere else. It is infinite where the exact
//   value is infinite or rounds to infinity. A zero has the reference's sign, unless it is a sum of
//   terms. Subnormal inputs and results are numbers like others.
// - Where the reference is odd or even, so is every kernel, bit for bit.
// - tanh and sigmoid are monotonic.
#pragma once
#include <string>
#include <vector>

#include "dsl/op.h"
#include "registry/op/op_record.h"

namespace halyard::check {

// Returns true for elementwise ops of one float tensor (and a gradient's dy, which is 1 then) whose
// bound isn't relative to the largest element.
bool has_ulps(const Op &op);

// Returns true for the dtypes of kernels of one 16-bit float, of which every number can be tried.
inline bool is_half_float(const std::string &dtypes) {
    return dtypes == "f16" || dtypes == "bf16";
}

// Takes `count` inputs, one from each of `count` equal ranges of bit patterns, and some special
// ones; from 2^32 on (2^16 for f16 and bf16) all inputs. `part` of `parts` is the share of this
// job.
struct UlpJob {
    std::string dtype = "f32";
    uint64_t count = 0;
    int part = 0, parts = 1;
};

struct Ulps {
    Isa isa = Isa::baseline;
    std::string dtype;
    double bound = 0, worst = 0;      // of f16 and bf16 with the half ulp of their own rounding
    double x = 0, got = 0, want = 0;  // at the worst error
    bool odd = true, even = true;     // of the reference
    std::string not_odd, not_even;    // an input at which a kernel isn't
    std::string falls;                // where a kernel decreases and the reference doesn't,
    uint64_t fall_count = 0;          // and how often
    // Returns true if the errors are within the bound and all other conditions hold.
    bool ok(const std::string &op) const;
    std::string text(const std::string &op) const;  // what is wrong, or the worst input
    // Merges the result of another part of the inputs.
    void add(const Ulps &other_part);
};

// Returns one result per ISA.
std::vector<Ulps> ulps_of(const Op &op, const UlpJob &job, const std::vector<Isa> &isas);

}  // namespace halyard::check
