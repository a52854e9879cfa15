// The attributes of kernels that draw random numbers.
#pragma once
#include <array>

#include "primitives/random.h"

namespace halyard::graph {

inline constexpr std::array<const char *, 4> draw_attributes = {"seed_lo", "seed_hi", "offset_lo",
                                                                "offset_hi"};

// Returns the attributes' values for a state of the generator: each is a word as an int32.
inline std::array<int64_t, 4> draw_words(const RngState &s) {
    const auto word = [](uint64_t v) -> int64_t { return int32_t(uint32_t(v)); };
    return {word(s.seed), word(s.seed >> 32), word(s.offset), word(s.offset >> 32)};
}

}  // namespace halyard::graph
