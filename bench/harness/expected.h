// Expected: the outputs a call should have, and how accurate a result is against them.
#pragma once
#include "bench/harness/problem_instance.h"
#include "registry/op/problem.h"

namespace halyard::bench {

// The expected outputs. They come from the op's reference if that takes at most 2e8 operations, or
// if no f64 kernel gives the sums that errors are measured against; else from the op's f64 kernels.
class Expected {
public:
    Expected(const ProblemInstance &t, const std::vector<Tensor> &out);

    bool known() const { return !source_.empty(); }
    // Returns "the reference", "the f64 kernel", or "" if there is nothing to compare with.
    const std::string &source() const { return source_; }

    struct Accuracy {
        // max |error| / max |expected| over all float outputs; 0 or infinite for exact ones.
        double error = 0;
        std::string violation;  // how the contract is violated; "" if it isn't
    };
    // Compares the outputs of a call with the expected ones. Call it only if known().
    Accuracy judge(const std::vector<Tensor> &out) const;

private:
    void from_reference(const ProblemInstance &t);
    // Returns false if the kernels don't give what errors are measured against.
    bool from_doubles(const ProblemInstance &t);
    const RegisteredOp &op_;
    Problem problem_;
    std::string source_;
};

}  // namespace halyard::bench
