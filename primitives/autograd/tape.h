// Tape: records primitives as they run, so that gradients can be computed. GradOperation is
// MindSpore's interface to it.
//
// Gradients are found by name: op `softmax_dx` computes the gradient of `softmax` in `x`, and the
// names of its inputs are the tensors to keep. Views and compositions have no gradient kernel; they
// record a function that passes the gradient back. A tensor's methods that make a tensor (reshape,
// slice, to, copy, ...) are recorded too, except with_view() and methods that read or write single
// elements.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "primitives/parameter.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"

namespace halyard {

class Tape;

// The recorded ops, for display.
struct TapeGraph {
    struct Value {
        Shape shape;
        DType dtype;
    };
    struct Op {
        std::string name, attributes;
        std::vector<int> in, out;  // indices in `values`; -1: no gradient passes
    };
    std::vector<Value> values;
    std::vector<Op> ops;  // in the order they ran
};

// An element of this thread's chain of tapes and StopTapes, innermost first. Scopes may end in any
// order, but only on their own thread.
class TapeScope {
public:
    TapeScope(const TapeScope &) = delete;
    TapeScope &operator=(const TapeScope &) = delete;

protected:
    explicit TapeScope(Tape *records);  // null: nothing is recorded from here on
    ~TapeScope();                       // aborts the program on another thread than the chain's
    bool leave();                       // false if this isn't in the thread's chain
    static Tape *recording();           // the innermost scope's tape
    bool is_innermost() const;
    // Returns the tape around this one, which records the same calls.
    Tape *around() const { return outer_ ? outer_->records_ : nullptr; }

private:
    Tape *records_;
    TapeScope *outer_;
    bool in_chain_ = true;
};

class Tape : private TapeScope {
public:
    // Records this thread's primitives until it is stopped or destroyed. Tapes nest; each records
    // what depends on the tensors it watches.
    Tape();
    ~Tape();
    // Ends the recording; gradient() can still be called. Throws GradError unless it is the
    // innermost.
    void stop();

    static Tape *current();  // null: nothing records

    // Enables gradients in t. Throws GradError unless t is a defined tensor of a float dtype.
    void watch(const Tensor &t);
    // Returns true if t is watched or was computed from a watched tensor.
    bool watched(const Tensor &t) const;

    void record(const RegisteredOp &op, const Attrs &attrs, std::span<const Tensor> in,
                std::span<const Tensor> out);
    // Returns one gradient per input; an undefined one stands for none.
    using Backward = std::function<std::vector<Tensor>(std::span<const Tensor> dy)>;
    void record(std::vector<Tensor> in, std::vector<Tensor> out, Backward backward);

    // Returns d(sum(sens * y)) / dx for each x; zeros if y doesn't depend on x. An undefined sens
    // stands for ones. Throws GradError naming an op that has no gradient, and if an x isn't
    // watched. Without `keep`, the recordings are released, and gradient() can't be called again.
    std::vector<Tensor> gradient(const Tensor &y, const std::vector<Tensor> &x,
                                 const Tensor &sens = {}, bool keep = false);
    std::vector<Tensor> gradient(const std::vector<Tensor> &y, const std::vector<Tensor> &x,
                                 const std::vector<Tensor> &sens, bool keep = false);

    int64_t kept_bytes() const;  // the memory that the tape keeps alive
    TapeGraph graph() const;     // the recorded ops; none after gradient() has released them

private:
    friend class TapeScope;
    struct State;
    std::unique_ptr<State> state_;
};

// While it lives, this thread records nothing: for parameter updates and evaluation.
class StopTape : private TapeScope {
public:
    StopTape() : TapeScope(nullptr) {}
};

using Function = std::function<Tensor(const std::vector<Tensor> &inputs)>;
// A function of several values (has_aux): the first is differentiated, the others are auxiliary.
using FunctionWithAux = std::function<std::vector<Tensor>(const std::vector<Tensor> &inputs)>;

struct Gradients {
    Tensor value;             // the function's value
    std::vector<Tensor> aux;  // its other values
    // With get_all in every input, else in the first; none with only get_by_list.
    std::vector<Tensor> inputs;
    std::vector<Tensor> parameters;  // with get_by_list, in every parameter, in order
};

// MindSpore's GradOperation(get_all, get_by_list, sens_param)(f, parameters)(inputs...). With
// sens_param the last argument of the call is the gradient of f's value, in its shape; else it is
// ones.
struct GradOperation {
    bool get_all = false, get_by_list = false, sens_param = false;
    std::function<Gradients(const std::vector<Tensor> &)> operator()(
        Function f, ParameterTuple parameters = {}) const;
};

// Returns a function that computes the value of f and its gradients in the inputs at `positions`
// and in `parameters`.
std::function<Gradients(const std::vector<Tensor> &)> value_and_grad(
    Function f, std::vector<int> positions = {0}, ParameterTuple parameters = {});
std::function<Gradients(const std::vector<Tensor> &)> value_and_grad(
    FunctionWithAux f, std::vector<int> positions = {0}, ParameterTuple parameters = {});

// The value y of f at the inputs, and the function v -> d(sum(v * y)) in every input and in the
// parameters, which may be called repeatedly and whose `value` is y. Inputs that aren't floats and
// parameters that don't require a gradient have zeros.
struct Vjp {
    Tensor value;
    std::vector<Tensor> aux;
    std::function<Gradients(const Tensor &v)> vjp_fn;
};
Vjp vjp(const Function &f, const std::vector<Tensor> &inputs,
        const ParameterTuple &parameters = {});
Vjp vjp(const FunctionWithAux &f, const std::vector<Tensor> &inputs,
        const ParameterTuple &parameters = {});

// The value of f at the inputs, and its derivative along v, which has a tensor for each input. The
// derivative is a gradient of vjp_fn, so the ops of f need second derivatives; GradError names an
// op without them.
struct Jvp {
    Tensor value;
    std::vector<Tensor> aux;
    Tensor jvp;
};
Jvp jvp(const Function &f, const std::vector<Tensor> &inputs, const std::vector<Tensor> &v);
Jvp jvp(const FunctionWithAux &f, const std::vector<Tensor> &inputs, const std::vector<Tensor> &v);

Tensor stop_gradient(const Tensor &t);  // the same elements, through which no gradient passes

// Returns `value` after `before` was computed, as in MindSpore. Statements run in order, so there
// is nothing to do.
template<class T> Tensor depend(const Tensor &value, const T & /*before*/) {
    return value;
}

}  // namespace halyard
