// Case: one sample of one op in one dtype, as the caller's tensors and as the reference's answer.
#pragma once
#include <string>
#include <vector>

#include "dsl/op.h"
#include "registry/dispatch/dispatch.h"

namespace halyard::check {

// Attributes as references read them: real ones in Problem::reals, lists of a composite op in
// Problem::dims as perm0, perm1, ...
void bind_values(const OpRecord &op, const Attrs &attrs, Problem &p);

struct Case {
    Case(const Op &op, const std::string &sample, const std::string &dtypes, int seed);

    const RegisteredOp &registered;
    std::string sample, dtypes;
    Attrs attrs;
    std::vector<Tensor> in;  // dense, as the caller would pass them
    Problem problem;         // the same in double; solve() fills its outputs
    std::vector<DType> out_dtypes;
    // what a gradient op takes from the forward op's outputs must fit its inputs
    void fit_forward_outputs(const Op &op);
    void solve(const Op &op) { op.reference(problem); }
};

// The kernel that its call gets under the Force of this thread: "f32/avx512/wide"; "" where it gets
// none.
std::string kernel_text(const Case &c);

// What a problem says beside attributes: the dimensions that the inputs bind, and of inputs of any
// rank three.
std::vector<std::string> dimensions_of(const Signature &sig);

// Attributes and dimensions of "n=3 c=7 axis=1,3".
struct Sample {
    std::map<std::string, std::string> attrs;
    Dims dims;
};
// Throws AttrError for a name that is neither, and for an extent that is no whole number.
Sample parse_sample(const OpRecord &op, const std::string &text);

// Throws AttrError for a dimension that `dims`, read from `text` and derived from attributes,
// doesn't have.
void require_dimensions(const Signature &sig, const Dims &dims, const std::string &text);

// Are shapes equal and all elements the same to the bit?
bool same_bits(const Tensor &a, const Tensor &b);

Tensor tensor_of(const Array &a, DType t);
Array array_of(const Tensor &t);
std::vector<DType> dtypes_of(const std::string &text);  // "f32,i32"

// Where a result leaves the op's contract, or "" if nowhere.
std::string compare(const OpRecord &op, const std::string &output, const Tensor &got,
                    const Problem &expected);
// The same for inputs with NaN, Inf and numbers that overflow on their way: only where NaN and Inf
// stand. A result may be Inf where the expected one isn't, unless finite_stays.
std::string compare_specials(const std::string &output, const Tensor &got, const Problem &expected,
                             bool finite_stays = false);

}  // namespace halyard::check
