// What an exported composite needs: the kernels and the files of composites that its samples use.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"

namespace halyard::exporting {

struct Composed {
    std::set<std::string> kernels;     // the ops whose kernels run
    std::set<std::string> composites;  // those that run within
    std::set<std::string> files;       // of composites and composed gradients
};

// Runs the samples of a composite and adds what they use. Throws DispatchError for a composite that
// no library can have: it sorts on the host, draws random numbers, writes its inputs, or has
// results whose shapes aren't a formula of its signature.
void add_composite(const RegisteredOp &op, Composed &all);

// Returns the op that computes the gradients in these inputs, composed of other ops, and adds what
// the samples' gradients use. Throws GradError if there is no such gradient.
std::shared_ptr<const RegisteredOp> composed_gradient_of(const RegisteredOp &op,
                                                         const std::vector<std::string> &inputs,
                                                         Composed &all);

}  // namespace halyard::exporting
