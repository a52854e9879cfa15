// Tape: remembers primitives as they run, so that gradients can be taken; GradOperation is MindSpore's face of it.
//
// What a primitive's gradient needs is its name: op `softmax_dx` is the adjoint of `softmax` in `x`, and the names of its
// inputs say what to keep. Views and compositions need no kernel: they record how a gradient passes back through them.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "primitives/parameter.h"
#include "registry/attrs.h"
#include "registry/registry.h"

namespace halyard {

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

class Tape {
public:
    Tape();  // this thread's primitives record here until it is destroyed; tapes nest, each records what it watches
    ~Tape();
    Tape(const Tape &) = delete;
    Tape &operator=(const Tape &) = delete;

    static Tape *current();  // null: nothing records

    void watch(const Tensor &t);          // gradients in t will be wanted
    bool watched(const Tensor &t) const;  // t, or something it was computed from, is watched

    void record(const RegisteredOp &op, const Attrs &attrs, std::span<const Tensor> in, std::span<const Tensor> out);
    using Backward = std::function<std::vector<Tensor>(std::span<const Tensor> dy)>;  // one per input; undefined = none
    void record(std::vector<Tensor> in, std::vector<Tensor> out, Backward backward);

    // d(sum(sens * y)) / dx for each x; zeros where y doesn't depend on x. sens undefined = ones.
    // Throws GradError naming the op that has no gradient, and when an x isn't watched. With `keep`, the tape can be asked again.
    std::vector<Tensor> gradient(const Tensor &y, const std::vector<Tensor> &x, const Tensor &sens = {}, bool keep = false);
    std::vector<Tensor> gradient(const std::vector<Tensor> &y, const std::vector<Tensor> &x, const std::vector<Tensor> &sens, bool keep = false);

    int64_t kept_bytes() const;  // memory the tape keeps alive
    TapeGraph graph() const;     // of the ops so far; of none once gradient() has released them

private:
    struct State;
    std::unique_ptr<State> state_;
    Tape *before_;
};

// While it lives, nothing on this thread is recorded: for parameter updates and evaluation.
class StopTape {
public:
    StopTape();
    ~StopTape();
    StopTape(const StopTape &) = delete;
    StopTape &operator=(const StopTape &) = delete;

private:
    Tape *before_;
};

using Function = std::function<Tensor(const std::vector<Tensor> &inputs)>;

struct Gradients {
    Tensor value;                    // of the function
    std::vector<Tensor> inputs;      // get_all: of every input; else of the first; none with only get_by_list
    std::vector<Tensor> parameters;  // get_by_list: of every parameter, in order
};

// GradOperation(get_all, get_by_list, sens_param)(f, parameters)(inputs...), as in MindSpore: with sens_param the last
// argument of the call is the gradient of f's value (its shape), else ones.
struct GradOperation {
    bool get_all = false, get_by_list = false, sens_param = false;
    std::function<Gradients(const std::vector<Tensor> &)> operator()(Function f, ParameterTuple parameters = {}) const;
};

// The value of f and its gradients in the inputs named by `positions` and in `parameters`.
std::function<Gradients(const std::vector<Tensor> &)> value_and_grad(Function f, std::vector<int> positions = {0}, ParameterTuple parameters = {});

Tensor stop_gradient(const Tensor &t);  // the same elements; gradients don't pass

}  // namespace halyard
