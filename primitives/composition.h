// The interface of composites for the run time. primitives/composites/composite.cpp implements it
// above the tape and the primitives, of which composites are made.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

class Composition {
public:
    // Returns the outputs of a call. Errors that are thrown in it are reported as the op's own.
    virtual std::vector<Tensor> run(std::span<const Tensor> in, const Attrs &attrs) const = 0;
    // Returns true if this input may be an undefined tensor, which stands for a value that the op's
    // documentation names.
    virtual bool is_optional(const std::string &input) const = 0;

protected:
    ~Composition() = default;
};

// Null if the op isn't composite.
const Composition *composition_of(const std::string &op);

// The records of all composites of this build.
std::vector<const OpFile *> composite_files();

}  // namespace halyard
