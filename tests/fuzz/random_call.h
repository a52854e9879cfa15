// One random call of one op. A number determines it, so the same number makes the same call in any
// process of the same build.
#pragma once
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/shape.h"

namespace halyard::fuzz {

// The source of all random numbers of a call.
class Draw {
public:
    explicit Draw(uint64_t seed) : rng_(seed * 0x9E3779B97F4A7C15u + 1) {}
    uint64_t below(uint64_t n) { return n ? rng_() % n : 0; }
    bool one_in(uint64_t n) { return below(n) == 0; }
    uint64_t bits() { return rng_(); }
    template<class T> const T &of(const std::vector<T> &all) { return all[below(all.size())]; }

private:
    std::mt19937_64 rng_;
};

enum class Values : uint8_t { quarters, specials, small, indices, hostile };

struct Operand {
    Shape shape;
    DType dtype = DType::f32;
    Values values = Values::quarters;
    int64_t end = 4;  // Indices are below it.
    // The least number for which the op's formula is meant: 0 for a sum of squares. A negative sum
    // may cancel a square, and then the result depends on how the kernel rounds. Special values
    // have no bound.
    double least = -HUGE_VAL;
    bool defined = true;
    // The layout in memory: reversed (its dimensions), swapped (all but the last reversed), gaps
    // (between all elements), pitch (between rows), shifted (by one element), or stillN: dimension
    // N is broadcast.
    std::string layout;
    // A bit for each dimension in which the caller passes an extent of 1 and means the full one.
    unsigned broadcast = 0;

    Shape given() const;  // The shape as the caller passes it.
};

enum class Way : uint8_t { run, promoted, in_place, gradient };

struct RandomCall {
    const RegisteredOp *op = nullptr;
    Attrs attrs;                                        // The sample's attributes.
    std::vector<std::pair<size_t, AttrValue>> changes;  // Changes of attrs, which may be rejected.
    std::vector<Operand> operands;
    Way way = Way::run;
    uint64_t seed = 0;  // The seed of the elements.

    std::string text() const;
};

// Returns the call of this number among `ops`. Each op gets every ops.size()-th number.
RandomCall random_call(const std::vector<const RegisteredOp *> &ops, uint64_t number);

}  // namespace halyard::fuzz
