// Ulps: the worst error of elementwise functions over every value that their tensor can hold, or as
// many as there is time for.
//
// What holds beside an op's bound, in units of the last place of the exact value (below the normal
// range: of the smallest number):
// - NaN stands where the reference has it and nowhere else; infinity where the exact value is
// infinite, or rounds to it; a zero has the
//   reference's sign, unless it is a sum of terms; subnormal inputs and results are numbers like
//   others;
// - where the reference is odd or even, so is every kernel, bit for bit;
// - tanh and sigmoid never fall.
#pragma once
#include <string>
#include <vector>

#include "dsl/op.h"
#include "registry/op/op_record.h"

namespace halyard::check {

// Elementwise, of one float tensor beside a gradient's dy, which is 1 then; the largest element
// doesn't set the bound.
bool has_ulps(const Op &op);

// `count` inputs, one from each of as many stretches of bit patterns of equal length, and some
// special ones; from 2^32 on (2^16 for f16 and bf16) all of them. Part `part` of `parts`.
struct UlpJob {
    std::string dtype = "f32";
    uint64_t count = 0;
    int part = 0, parts = 1;
};

struct Ulps {
    Isa isa = Isa::baseline;
    std::string dtype;
    double bound = 0, worst = 0;      // of f16 and bf16 with the half ulp of their own rounding
    double x = 0, got = 0, want = 0;  // where it is worst
    bool odd = true, even = true;     // is the reference?
    std::string not_odd, not_even;    // where a kernel isn't
    std::string falls;                // where a kernel does and the reference doesn't,
    uint64_t fall_count = 0;          // and how often
    bool ok(const std::string &op) const;
    std::string text(const std::string &op) const;  // what is wrong, or the worst input
    void add(const Ulps &other_part);
};

// One line per ISA.
std::vector<Ulps> ulps_of(const Op &op, const UlpJob &job, const std::vector<Isa> &isas);

}  // namespace halyard::check
