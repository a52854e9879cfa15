// Case: one sample of an op in one set of dtypes, as tensors and, for the reference, as a Problem
// in double. bench::ProblemInstance is the variant without a reference, for large problems.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "dsl/op.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/plan.h"

namespace halyard::check {

// Binds attributes in `p` as references read them: reals in Problem::reals, lists of a composite op
// in Problem::dims as perm0, perm1, ...
void bind_values(const OpRecord &op, const Attrs &attrs, Problem &p);

struct Case {
    Case(const Op &op, const std::string &sample, const std::string &dtypes, int seed);

    const RegisteredOp &registered;
    std::string sample, dtypes;
    Attrs attrs;
    std::vector<Tensor> in;  // dense, as the caller would pass them
    Problem problem;         // the same in double; solve() fills its outputs
    std::vector<DType> out_dtypes;
    // Replaces the inputs of a gradient op that are outputs of the forward op by what that op
    // computes.
    void fit_forward_outputs(const Op &op);
    void solve(const Op &op) { op.reference(problem); }

    // The problem has the signature's order of dimensions, and so has as_in_signature(), given a
    // tensor of a call. A call's tensors have another order if data_format is NHWC: as_called()
    // returns a dense tensor in that order.
    Tensor as_in_signature(const TensorSpec &t, const Tensor &of_call) const;
    Tensor as_called(const TensorSpec &t, const Tensor &of_signature) const;
    // Sets the problem's values of input k to those of in[k].
    void read_input(size_t k);
    // Returns the shape of output k of a call.
    Shape output_shape(size_t k) const;
};

// Returns the kernel that the case's call gets under this thread's Force: "f32/avx512/wide"; "" if
// there is none.
std::string kernel_text(const Case &c);

// Returns the dimensions that a problem's text gives: those that the inputs bind, and d0, d1, d2 if
// an input has any rank.
std::vector<std::string> dimensions_of(const Signature &sig);

// The attributes and dimensions of "n=3 c=7 axis=1,3".
struct Sample {
    std::map<std::string, std::string> attrs;
    Dims dims;
};
// Throws AttrError for a name that is neither an attribute nor a dimension, and for an extent that
// is not an integer.
Sample parse_sample(const OpRecord &op, const std::string &text);
// Returns the text that parse_sample() reads: dimensions, then attributes.
std::string text_of(const Sample &s);

// Returns the call of a sample with dense inputs, from which a plan is made.
std::pair<Attrs, std::vector<OperandMeta>> call_of(const Op &op, const Sample &s,
                                                   const std::string &dtypes);

// Throws AttrError for a dimension of the signature that `dims` lacks. `dims` were read from `text`
// and derived from attributes.
void require_dimensions(const Signature &sig, const Dims &dims, const std::string &text);

// Returns the shape of a tensor of the op with the given dimensions, derived ones and attributes:
// as a reference has it, and as a caller writes it. They differ if data_format is NHWC. Throws
// ShapeError or AttrError if the op refuses such a call because an extent is negative.
Shape reference_shape(const OpRecord &op, const TensorSpec &t, const Dims &dims);
Shape callers_shape(const OpRecord &op, const TensorSpec &t, const Dims &dims);
// Returns a tensor of a call with a reference's order of dimensions.
Tensor in_reference_order(const OpRecord &op, const TensorSpec &t, const Dims &dims,
                          const Tensor &of_call);

// Returns true if the shapes are equal and all elements have the same bits.
bool same_bits(const Tensor &a, const Tensor &b);

// Convert between arrays in double and tensors. tensor_of() rounds to `t`.
Tensor tensor_of(const Array &a, DType t);
Array array_of(const Tensor &t);
std::vector<DType> dtypes_of(const std::string &text);  // "f32,i32"

// The magnitudes of a call's inputs. Of `any` magnitudes, intermediate values overflow and
// underflow: large results may be infinite, and those below 2^-86 (f64: 2^-962) have an absolute
// error instead of a relative one.
enum class Magnitudes : uint8_t { usual, any };
// Returns how a result violates the op's contract, or "" if it doesn't.
std::string compare(const OpRecord &op, const std::string &output, const Tensor &got,
                    const Problem &expected, Magnitudes magnitudes = Magnitudes::usual);
// Returns the same for inputs with NaN, Inf and values that overflow in between. It compares only
// where NaN and Inf are. Unless `finite_stays`, a result may be Inf where the expected one is
// finite.
std::string compare_specials(const std::string &output, const Tensor &got, const Problem &expected,
                             bool finite_stays = false);

// What the elements of an output should be, and the largest error that the op's contract allows
// each. Where that is infinite, any result is allowed.
struct ExpectedOutput {
    std::vector<double> values, allowed;
};
ExpectedOutput expected_output(const OpRecord &op, const std::string &output, DType dtype,
                               const Problem &solved);

}  // namespace halyard::check
