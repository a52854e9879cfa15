// Explain: which kernel a call gets, what refused the others, and what lies between the caller's
// tensors and the kernel.
#pragma once
#include <functional>

#include "registry/dispatch/plan.h"

namespace halyard {

struct Explanation {
    std::string attributes;
    Plan plan;  // with every candidate for the dtypes of the call
    struct Copy {
        bool input = true;
        size_t tensor = 0;  // its place among the inputs or the outputs
        std::string why;
    };
    std::vector<Copy> copies;
    std::vector<std::string> other_dtypes;  // sets that there are kernels for, beside the call's

    int chosen() const;  // its place among the candidates; -1 where none fits
    // Dimensions, attributes and what derives from them, without the names of choices.
    std::map<std::string, int64_t> problem() const;
};

// Throws what planning the call throws, but not where no kernel fits.
Explanation explanation_of(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs);

// As text, a line for each candidate; `copy_note` and `candidate_note` may add to the lines of
// their places.
using Note = std::function<std::string(size_t)>;
std::string text_of(const Explanation &e, const Note &copy_note = {},
                    const Note &candidate_note = {});
std::string label_of(const KernelEntry &k);  // "cpu f32 wide avx512"

std::string explain(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs);

}  // namespace halyard
