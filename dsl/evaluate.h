// Evaluator: computes an algorithm directly from its definitions, without Halide's lowering. Exact
// mode compares kernels with it.
//
// The pure definition gives every element its first value. The updates follow in order, and each
// visits the points of its reduction domain in order. In an update of a Tuple, all components are
// computed before any is stored. Elements are computed when they are first needed, and kept.
#pragma once
#include <cstdint>
#include <memory>

#include "dsl/evaluate_code.h"
#include "dsl/kernel.h"

namespace halyard {

class Evaluator {
public:
    // Prepares the definitions of a kernel in exact mode that is not scheduled. Throws
    // UnsupportedDefinition.
    explicit Evaluator(const Kernel &k);
    ~Evaluator();

    // Computes the outputs. `arguments` are those of the kernel: inputs, scalars, outputs. Returns
    // the number of steps, where a step is about an operator or a read, or gave_up after `limit`
    // steps. Throws Error if the algorithm reads an element that an input does not have.
    int64_t run(void **arguments, int64_t limit);
    static constexpr int64_t gave_up = -1;

private:
    struct Parts;
    const std::unique_ptr<Parts> parts_;
};

}  // namespace halyard
