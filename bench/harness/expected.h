// Accuracy: is a result within the op's contract, and how far off is it?
#pragma once
#include "bench/harness/problem_instance.h"
#include "dsl/problem.h"

namespace halyard::bench {

// What the outputs should be: the op's reference where it takes at most 2e8 operations, else its
// f64 kernels.
class Expected {
public:
    Expected(const ProblemInstance &t, const std::vector<Tensor> &out);

    bool known() const { return !source_.empty(); }
    // "the reference", "the f64 kernel", "" = nothing to compare with
    const std::string &source() const { return source_; }

    struct Accuracy {
        // max |error| / max |expected| over all real outputs; of exact ones 0 or infinite
        double error = 0;
        std::string violation;  // where the contract is broken; "" = nowhere
    };
    Accuracy judge(const std::vector<Tensor> &out) const;

private:
    void from_reference(const ProblemInstance &t);
    void from_doubles(const ProblemInstance &t);
    const RegisteredOp &op_;
    Problem problem_;
    std::string source_;
};

}  // namespace halyard::bench
