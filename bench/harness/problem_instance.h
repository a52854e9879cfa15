// ProblemInstance: a problem as an op's record writes it ("m=512 k=512 n=512 transpose_b=1"), made
// into a call: attributes and filled tensors. PeerTask refers to one, with outputs and a number of
// threads. check::Case has a reference in double as well; a ProblemInstance has none, so that large
// problems are quick to make.
#pragma once
#include <string>
#include <vector>

#include "registry/dispatch/plan.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/op/signature.h"
#include "registry/tensor/tensor.h"

namespace halyard::bench {

std::vector<std::string> problems_of(const OpRecord &op);  // its bench lines, then its samples

struct ProblemInstance {
    // `dtypes` is one of the op's sets, or "" for the first. `attrs` ("axis=1") take effect unless
    // `text` has the same attribute. Throws AttrError if the text doesn't fit the op, ShapeError
    // for extents beyond the limits.
    ProblemInstance(const RegisteredOp &op, const std::string &text, const std::string &dtypes = "",
                    const std::vector<std::string> &attrs = {});

    const RegisteredOp &op;
    std::string text;
    Attrs attrs;
    Dims dims;
    // Floats in (-2, 2), indices within bounds, and a forward op's outputs as the op computes them.
    std::vector<Tensor> in;
};

// Returns shapes, dtypes and strides of the inputs, as planning takes them.
std::vector<OperandMeta> metas_of(const ProblemInstance &t);

// Returns uninitialised outputs for the problem's call. Throws what the op's shape and dtype rules
// throw.
std::vector<Tensor> outputs_of(const ProblemInstance &t);

}  // namespace halyard::bench
