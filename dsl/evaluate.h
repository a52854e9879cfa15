// Evaluator: what the definitions of an algorithm say, without Halide's lowering between.
//
// A pure definition gives every element a first value; the updates follow in order, each point of
// its reduction domain in order, and each component of a Tuple from the old values of all. Elements
// are computed as they are asked for, and kept.
#pragma once
#include <cstdint>
#include <memory>

#include "dsl/kernel.h"

namespace halyard {

// A definition has what the evaluator doesn't know, which the text says.
struct UnsupportedDefinition : Error {
    using Error::Error;
};

class Evaluator {
public:
    // Of a kernel in modular integers that isn't scheduled. Throws UnsupportedDefinition.
    explicit Evaluator(const Kernel &k);
    ~Evaluator();

    // Takes what the kernel takes: inputs, scalars, outputs. Returns the steps it took, a step
    // being about an operator or a read, or gave_up after `limit` of them. Throws Error where an
    // element is read that an input doesn't have.
    int64_t run(void **arguments, int64_t limit);
    static constexpr int64_t gave_up = -1;

private:
    struct Parts;
    const std::unique_ptr<Parts> parts_;
};

}  // namespace halyard
