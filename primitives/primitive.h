// Primitive: an op with its attributes, callable on tensors. One object serves all kernels of all
// backends.
//
// The classes `ops::Softmax`, the functions `F::softmax` and the functions `kernel::softmax_dx` of
// internal ops are generated from the ops' records into a header for each op file,
// primitives/ops/softmax.h. primitives/ops.h includes them all. All of them call Primitive. A tape
// (primitives/autograd/tape.h) records the calls for differentiation.
#pragma once
#include <array>
#include <span>
#include <string>
#include <vector>

#include "primitives/argument.h"
#include "primitives/choice.h"
#include "registry/dispatch/dispatch.h"

namespace halyard {

// Returns the op of this name in this build's library. Throws DispatchError with similar names if
// there is none.
const RegisteredOp &find_op(const char *name);

class Primitive {
public:
    // Throws DispatchError if there is no such op, AttrError if an attribute doesn't fit its
    // record.
    explicit Primitive(const char *op,
                       const std::vector<std::pair<std::string, AttrValue>> &attrs = {});
    Primitive(const RegisteredOp &op, std::initializer_list<AttrValue> in_order)
        : op_(&op), attrs_(op.record, in_order) {}
    Primitive(const RegisteredOp &op, Attrs attrs) : op_(&op), attrs_(std::move(attrs)) {}

    std::vector<Tensor> run(std::span<const Tensor> in) const;
    std::vector<Tensor> run(std::initializer_list<Tensor> in) const {
        return run(std::span<const Tensor>(in.begin(), in.size()));
    }
    // Runs an elementwise op: numbers become tensors, and dtypes are promoted as in NumPy. A tape
    // records the casts.
    std::vector<Tensor> run_promoted(std::initializer_list<Argument> in) const;
    // Runs an elementwise op of one tensor. Integers and bools that it has no kernels for become
    // wider ones or f32, as in NumPy.
    std::vector<Tensor> run_unary(const Tensor &x) const;

    // Runs an op whose every output is named <input>_out, and writes into those inputs' memory.
    // Tapes don't record the call.
    void run_in_place(std::span<const Tensor> in) const;
    void run_in_place(std::initializer_list<Tensor> in) const {
        run_in_place(std::span<const Tensor>(in.begin(), in.size()));
    }

    const RegisteredOp &op() const { return *op_; }
    const Attrs &attrs() const { return attrs_; }
    // Returns a copy with a call-time attribute set.
    Primitive with(const char *attr, const AttrValue &value) const;

    // Returns the outputs of a run as an array, for structured bindings.
    template<size_t N> static std::array<Tensor, N> outputs(std::vector<Tensor> v) {
        std::array<Tensor, N> a;
        for (size_t i = 0; i < N; i++)
            a[i] = std::move(v[i]);
        return a;
    }

private:
    const RegisteredOp *op_;
    Attrs attrs_;
};

Tensor cast_to(const Tensor &x, DType dtype);  // Returns x itself if it has that dtype.

// Returns true if this input of a composite may be an undefined tensor, which stands for a value
// that the op's documentation names.
bool is_optional(const std::string &op, const std::string &input);

// Throws ShapeError naming the first of x0, x1, ... that is an undefined tensor.
void require_defined(const char *op, std::span<const Tensor> x);

// Runs an op by its name, and returns its first output.
Tensor run1(const char *op, std::initializer_list<Tensor> in,
            const std::vector<std::pair<std::string, AttrValue>> &attrs = {});

}  // namespace halyard
