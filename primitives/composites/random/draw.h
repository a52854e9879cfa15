// The base of random composites, and the words that they draw.
#pragma once
#include <string>

#include "primitives/composites/composite.h"
#include "primitives/random.h"

namespace halyard {

// A composite whose outputs are a function of (seed, offset, place). A seed or offset of -1 stands
// for that of the default generator, which advances with each call.
class Drawn : public Composite {
protected:
    Drawn(const std::string &name, const std::string &signature, const std::string &doc)
        : Composite(
              name, signature,
              doc + "; equal seeds and offsets give equal tensors, -1 takes them from the default "
                    "generator") {}

    // Appends the attributes that all of them have, behind those of the distribution.
    void seeded(const char *default_dtype = nullptr);
};

// Returns the generator that the attributes of a call name, or the default one. Throws AttrError
// for a seed or offset below -1.
Random generator_of(const Call &call);

// A kernel's scalars are int32: returns the low word's bits.
int64_t low_word(uint64_t v);

// Seed and offset as kernels take them.
struct GeneratorWords {
    int64_t seed_lo, seed_hi, offset_lo, offset_hi;
};
GeneratorWords words_of(const Random &at);

// Returns attribute `dtype`. Throws DTypeError unless the op has it.
DType dtype_of_call(const Call &call);

}  // namespace halyard
