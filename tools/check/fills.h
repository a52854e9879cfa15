// Fills the tensors of a call with values that expose faults.
#pragma once
#include <random>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::check {

// Returns memory with values that no kernel may take for results. Outputs are filled with them.
Tensor poisoned(int64_t elements, DType t);

// Writes `count` NaN, Inf, zeros and 1 to random places, and subnormal numbers if these are few:
// where several meet in one formula, it underflows in between.
void sprinkle(const Tensor &t, int count, std::mt19937 &rng);
// A count with which a few elements of every loop are special.
inline constexpr int many_specials = 200;

// Fills a tensor of floats with numbers of all magnitudes: with `extreme` any finite numbers of the
// dtype, else from 2^-20 to 2^8.
void fill_magnitudes(const Tensor &t, bool extreme, std::mt19937 &rng);

// Fills a tensor of floats with subnormal numbers and with the smallest normal ones, of either
// sign.
void fill_tiny(const Tensor &t, std::mt19937 &rng);

// Fills a tensor of f16 or bf16 with every value of the dtype in turn, NaN and Inf too.
void fill_every_value(const Tensor &t);

// Fills a tensor of 8-bit integers, the first (0) or the second (1) of a call's inputs, so that the
// two have every pair of values; does nothing for further inputs and other dtypes.
void fill_every_pair(const Tensor &t, size_t input);

// Fills a tensor of floats with integers from -3 to 3, of which none, half or most are 0. Sums and
// products of a few of them are exact in 16 bits too, so that every wrong element shows.
void fill_integers(const Tensor &t, std::mt19937 &rng);

// Replaces half of t's elements by numbers at which ops have breakpoints and which are often equal
// to each other: 0 and 1 most often, and `own`, the op's attributes. Now and then all of them are
// one such number. All dtypes represent them exactly.
void fill_breakpoints(const Tensor &t, const std::vector<double> &own, std::mt19937 &rng);

// Replaces half of t's elements by the constants of the op's formula, with either sign, or by their
// neighbours among the numbers of t's dtype.
void fill_constants(const Tensor &t, const std::vector<double> &constants, std::mt19937 &rng);

}  // namespace halyard::check
