// Tape: remembers primitives as they run, so that gradients can be taken; GradOperation is
// MindSpore's face of it.
//
// What a primitive's gradient needs is its name: op `softmax_dx` is the adjoint of `softmax` in
// `x`, and the names of its inputs say what to keep. Views and compositions need no kernel: they
// record how a gradient passes back through them. So do a tensor's own methods that make a tensor
// (reshape, slice, to, copy, ...), but not with_view(), and nothing that reads or writes single
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

// What a tape remembers, for people to look at.
struct TapeGraph {
    struct Value {
        Shape shape;
        DType dtype;
    };
    struct Op {
        std::string name, attributes;
        std::vector<int> in, out;  // places in `values`; -1: no gradient passes
    };
    std::vector<Value> values;
    std::vector<Op> ops;  // in the order they ran
};

// A place in this thread's chain of tapes and of stops, innermost first. Scopes may leave it in any
// order, but only on their own thread.
class TapeScope {
public:
    TapeScope(const TapeScope &) = delete;
    TapeScope &operator=(const TapeScope &) = delete;

protected:
    explicit TapeScope(Tape *records);  // null: nothing is recorded from here on
    ~TapeScope();                       // aborts on another thread than the chain's
    bool leave();                       // false where this isn't in the thread's chain
    static Tape *recording();           // the innermost scope's tape
    bool is_innermost() const;
    // the tape that hears what this one hears
    Tape *around() const { return outer_ ? outer_->records_ : nullptr; }

private:
    Tape *records_;
    TapeScope *outer_;
    bool in_chain_ = true;
};

class Tape : private TapeScope {
public:
    // this thread's primitives record here until it is destroyed or stopped; tapes nest, each
    // records what it watches
    Tape();
    ~Tape();
    // records no more, and can still be asked; throws GradError unless it is the innermost
    void stop();

    static Tape *current();  // null: nothing records

    void watch(const Tensor &t);          // gradients in t will be wanted
    bool watched(const Tensor &t) const;  // t, or something it was computed from, is watched

    void record(const RegisteredOp &op, const Attrs &attrs, std::span<const Tensor> in,
                std::span<const Tensor> out);
    // one per input; undefined = none
    using Backward = std::function<std::vector<Tensor>(std::span<const Tensor> dy)>;
    void record(std::vector<Tensor> in, std::vector<Tensor> out, Backward backward);

    // d(sum(sens * y)) / dx for each x; zeros where y doesn't depend on x. sens undefined = ones.
    // Throws GradError naming the op that has no gradient, and when an x isn't watched. With
    // `keep`, the tape can be asked again.
    std::vector<Tensor> gradient(const Tensor &y, const std::vector<Tensor> &x,
                                 const Tensor &sens = {}, bool keep = false);
    std::vector<Tensor> gradient(const std::vector<Tensor> &y, const std::vector<Tensor> &x,
                                 const std::vector<Tensor> &sens, bool keep = false);

    int64_t kept_bytes() const;  // memory the tape keeps alive
    TapeGraph graph() const;     // of the ops so far; of none once gradient() has released them

private:
    friend class TapeScope;
    struct State;
    std::unique_ptr<State> state_;
};

// While it lives, nothing on this thread is recorded: for parameter updates and evaluation.
class StopTape : private TapeScope {
public:
    StopTape() : TapeScope(nullptr) {}
};

using Function = std::function<Tensor(const std::vector<Tensor> &inputs)>;
// Of several values: the first one and, beside it, auxiliary ones, through which no gradient passes
// (has_aux).
using FunctionWithAux = std::function<std::vector<Tensor>(const std::vector<Tensor> &inputs)>;

struct Gradients {
    Tensor value;             // of the function
    std::vector<Tensor> aux;  // its other values
    // get_all: of every input; else of the first; none with only get_by_list
    std::vector<Tensor> inputs;
    std::vector<Tensor> parameters;  // get_by_list: of every parameter, in order
};

// GradOperation(get_all, get_by_list, sens_param)(f, parameters)(inputs...), as in MindSpore: with
// sens_param the last argument of the call is the gradient of f's value (its shape), else ones.
struct GradOperation {
    bool get_all = false, get_by_list = false, sens_param = false;
    std::function<Gradients(const std::vector<Tensor> &)> operator()(
        Function f, ParameterTuple parameters = {}) const;
};

// The value of f and its gradients in the inputs named by `positions` and in `parameters`.
std::function<Gradients(const std::vector<Tensor> &)> value_and_grad(
    Function f, std::vector<int> positions = {0}, ParameterTuple parameters = {});
std::function<Gradients(const std::vector<Tensor> &)> value_and_grad(
    FunctionWithAux f, std::vector<int> positions = {0}, ParameterTuple parameters = {});

// The value y of f at the inputs, and the function v -> d(sum(v * y)) in every input and in the
// parameters, which may be called again and again. Inputs that aren't floats and parameters that
// don't require a gradient have zeros. Its `value` is y.
struct Vjp {
    Tensor value;
    std::vector<Tensor> aux;
    std::function<Gradients(const Tensor &v)> vjp_fn;
};
Vjp vjp(const Function &f, const std::vector<Tensor> &inputs,
        const ParameterTuple &parameters = {});
Vjp vjp(const FunctionWithAux &f, const std::vector<Tensor> &inputs,
        const ParameterTuple &parameters = {});

// The value of f at the inputs, and its derivative along v, which has a tensor like each input. It
// is the gradient of vjp_fn, so what f calls needs gradients of its gradients; GradError names an
// op that has none.
struct Jvp {
    Tensor value;
    std::vector<Tensor> aux;
    Tensor jvp;
};
Jvp jvp(const Function &f, const std::vector<Tensor> &inputs, const std::vector<Tensor> &v);
Jvp jvp(const FunctionWithAux &f, const std::vector<Tensor> &inputs, const std::vector<Tensor> &v);

Tensor stop_gradient(const Tensor &t);  // the same elements; gradients don't pass

// `value`, after `before` was computed: statements run in their order, so there is nothing left to
// do.
template<class T> Tensor depend(const Tensor &value, const T & /*before*/) {
    return value;
}

}  // namespace halyard
