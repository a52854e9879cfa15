// Random calls of an op, beyond its samples. A call that fails is reduced to the smallest that
// still fails.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "bench/harness/case.h"
#include "tools/check/check.h"

namespace halyard::check {

// One call, which a line of text describes completely:
//   f32/avx512/wide n=3 c=33 axis=-1 x:gaps dy:still1 y:on-x specials:3 seed:17
//   f32/cuda n=3 c=33 axis=-1 seed:17
// Layouts of inputs, if they are not as the caller would pass them:
//   reversed  dimensions are reversed in memory
//   swapped   all but the last dimension are reversed in memory
//   gaps      gaps between all elements
//   pitch     gaps between rows
//   gap       gaps between matrices
//   columns   the last two dimensions are swapped in memory, with a gap after each such matrix
//   shifted   offset by one element, so that no vector is aligned
//   stillN    dimension N is broadcast (stride 0)
// Layouts of outputs, if they are not in memory of their own:
//   shifted   as above
//   on-x      in place of x
//   over-x    overlaps x, an input or another output, by one element
// Further words:
//   lonely    an input is constant, but for one element in every line along the reduced dimensions
//   axis0     rows go along the first dimension, as the attribute axis says, and so do results
//   wide      magnitudes from 2^-20 to 2^8
//   extreme   magnitudes of all finite numbers of the dtype
//   tiny:x    input x has subnormal numbers and small normal ones; results that are no usual
//   numbers
//             aren't compared
//   every     floats of 16 bits have every value, one after the other
//   every:x   only those of input x
//   pairs     the first two inputs, of 8-bit integers, have every pair of values
//   integers  small integers, most of them 0: sums and products of them are exact in all dtypes
//   bends     half of all values are breakpoints of ops or equal to others: 0, +-1, +-3, attributes
//   constants half of all values are constants of the op's formula, or next to one
//   specials  how many NaN, Inf, zeros, ... each float input has
//   seed      of the other values
struct FuzzCase {
    std::string dtypes;
    std::string device;  // "" for the CPU's kernels of `isa`
    Isa isa = Isa::baseline;
    std::string variant;  // "": as dispatch selects
    Sample sample;
    std::map<std::string, std::string> layouts;  // tensor -> its layout
    enum class Magnitudes : uint8_t { usual, wide, extreme } magnitudes = Magnitudes::usual;
    bool breakpoints = false, constants = false, integers = false, every_value = false,
         every_pair = false, lonely = false, first_axis = false;
    std::string every_value_of;  // with every_value: the only input; "" for all
    std::string tiny;            // the input with tiny numbers; "" for none
    int specials = 0, seed = 1;
    // Returns the line of text, which parse_fuzz_case() reads.
    std::string text() const;
};
FuzzCase parse_fuzz_case(const OpRecord &op, const std::string &text);  // throws AttrError

// Returns how the result of this call is wrong. Returns "" if it is right, or if the call is
// rejected with an error that gives the reason and `may_refuse`. Calls with even seeds run in a
// sandbox (tools/check/sandbox.h) on the CPU. What the model of CUDA finds is wrong too.
std::string run_fuzz_case(const Op &op, const FuzzCase &c, bool may_refuse = true);

// As run_fuzz_case(), of a call on the model of CUDA, for which it compiles the op's kernel.
std::string run_cuda_call(const Op &op, const FuzzCase &c);

// Makes this call, and compares nothing.
void call_fuzz_case(const Op &op, const FuzzCase &c);

// Makes o.fuzz_cases random calls, or as many as fit into `seconds`, and compares nothing. Calls
// `before` with each call first. Returns how many it made.
int make_random_calls(const Op &op, const Options &o, double seconds,
                      const std::function<void(const FuzzCase &)> &before);

// Returns the line under a failure of this call that repeats it.
std::string repro_line(const Op &op, const FuzzCase &c, const Options &o);

// Returns the smallest call that fails in the same way, as far as it is found within `seconds`.
FuzzCase shrink(const Op &op, FuzzCase c, double seconds = 5);

}  // namespace halyard::check
