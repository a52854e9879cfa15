// The attributes of kernels that draw random numbers.
#pragma once
#include <array>

#include "primitives/composites/random/draw.h"
#include "registry/op/attrs.h"

namespace halyard::graph {

inline constexpr std::array<const char *, 4> draw_attributes = {"seed_lo", "seed_hi", "offset_lo",
                                                                "offset_hi"};

// Returns the attributes' values for a state of the generator.
inline std::array<int64_t, 4> draw_words(const RngState &s) {
    const GeneratorWords words = words_of({s.seed, s.offset});
    return {words.seed_lo, words.seed_hi, words.offset_lo, words.offset_hi};
}

// Sets the attributes of a draw.
inline void set_draw(Attrs &attrs, const RngState &s) {
    const auto words = draw_words(s);
    for (size_t k = 0; k < words.size(); k++)
        attrs.set(size_t(attrs.find(draw_attributes[k])), words[k]);
}

}  // namespace halyard::graph
