// Explanations: which kernel a call gets, why the others were rejected, and which tensors are
// copied on the way to the kernel.
#pragma once
#include <functional>

#include "registry/dispatch/plan.h"

namespace halyard {

struct Explanation {
    std::string attributes;
    Plan plan;  // with every candidate for the dtypes of the call
    struct Copy {
        bool input = true;
        size_t tensor = 0;  // the index among the inputs or the outputs
        std::string why;
    };
    std::vector<Copy> copies;
    std::vector<std::string> other_dtypes;  // other sets for which there are kernels

    // Returns the index of the selected kernel among the candidates; -1 if none fits.
    int selected() const;
    // Returns dimensions, attributes and derived values, without the names of choices.
    Dims problem() const;
};

// Throws what make_plan() throws, but nothing when no kernel fits.
Explanation explanation_of(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs);

// Returns the explanation with a line for each copy and each candidate. A note is a text to append
// to the line of the copy or candidate with this index.
using Note = std::function<std::string(size_t)>;
std::string text_of(const Explanation &e, const Note &copy_note = {},
                    const Note &candidate_note = {});
std::string label_of(const KernelEntry &k);  // "cpu f32 wide avx512"

std::string explain(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs);

}  // namespace halyard
