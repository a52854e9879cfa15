// Random calls of an op: what samples don't think of. A call that goes wrong is shrunk to the
// smallest that still does.
#pragma once
#include <map>
#include <string>

#include "bench/harness/case.h"
#include "tools/check/check.h"

namespace halyard::check {

// One call, as one line that says all of it:
//   f32/avx512/wide n=3 c=33 axis=-1 x:gaps dy:still1 y:on-x specials:3 seed:17
// Inputs lie     reversed (dimensions in memory), swapped (all but the last reversed), gaps
// (between all elements), pitch (between rows),
//                columns (the last two dimensions swapped in memory, and a gap after every such
//                matrix), gap (like pitch, between matrices), shifted (by one element: aligned to
//                no vector), stillN (dimension N has stride 0), or as the caller would pass them
// outputs lie    shifted, on-x (in place), over-x (overlapping x, an input or another output, by
// one element), or in memory of their own lonely         all elements of an input are one number,
// but for one in every line along the dimensions that the op reduces axis0          rows go along
// the first dimension, as the op's attribute axis says: results lie so in memory bends half of all
// values are such that ops bend there, or equal to others: 0, +-1, +-3, ..., their attributes
// `specials`     how many NaN, Inf, zeros, ... each real input has, `seed` the other values
struct FuzzCase {
    std::string dtypes;
    Isa isa = Isa::baseline;
    std::string variant;  // "": dispatch chooses
    Sample sample;
    std::map<std::string, std::string> lies;  // tensor -> how
    bool bends = false, lonely = false, first_axis = false;
    int specials = 0, seed = 1;
    std::string text() const;
};
FuzzCase parse_fuzz_case(const OpRecord &op, const std::string &text);  // throws AttrError

// What is wrong with this call; "" when its results are right or it is, where it may be, refused by
// an error that says why. Half of the calls, those with even seeds, run in a sandbox
// (tools/check/sandbox.h).
std::string run_fuzz_case(const Op &op, const FuzzCase &c, bool may_refuse = true);

// The line under a failure of this call that says how to make it again.
std::string again_line(const Op &op, const FuzzCase &c, const Options &o);

// The smallest call found, in at most `seconds`, that goes wrong as this one does.
FuzzCase shrink(const Op &op, FuzzCase c, double seconds = 5);

}  // namespace halyard::check
