// ProblemInstance: a problem in the words of an op's record ("m=512 k=512 n=512 transpose_b=1") as
// a call: attributes and filled tensors. Unlike check::Case it computes nothing in double, so that
// large problems are quick to make.
#pragma once
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/op/signature.h"
#include "registry/tensor/tensor.h"

namespace halyard::bench {

std::vector<std::string> problems_of(const OpRecord &op);  // its bench lines, then its samples

struct ProblemInstance {
    // `dtypes`: one of the op's sets, "" = the first. `attrs`: "axis=1" and so on, before those in
    // `text`. Throws AttrError where the text doesn't fit the op, ShapeError for extents past the
    // limits.
    ProblemInstance(const RegisteredOp &op, const std::string &text, const std::string &dtypes = "",
                    const std::vector<std::string> &attrs = {});

    const RegisteredOp &op;
    std::string text;
    Attrs attrs;
    Dims dims;
    // reals in (-2, 2), indices within bounds, a forward op's outputs as it gives them
    std::vector<Tensor> in;
};

}  // namespace halyard::bench
