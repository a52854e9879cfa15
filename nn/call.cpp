// Cell::call(): hooks, casts of mixed precision and handwritten gradients around construct().
#include <utility>

#include "graph/replay.h"
#include "nn/cell.h"
#include "primitives/autograd/tape.h"
#include "primitives/context.h"
#include "primitives/ops/cast.h"
#include "registry/base/error.h"

namespace halyard::nn {
namespace {

[[noreturn]] void no_such_construct(const Cell &cell, size_t given) {
    throw ShapeError("cell", "inputs are " + std::to_string(given) + " tensors, but " +
                                 cell.cls_name() + " has no construct() for that many");
}

std::vector<Tensor> list(Tensors t) {
    return {t.begin(), t.end()};
}

// Returns tensors that share memory with `in` but are distinct nodes on the tape.
std::vector<Tensor> aliases(Tensors in) {
    std::vector<Tensor> out = list(in);
    for (Tensor &t : out)
        if (t.defined() && is_float(t.dtype())) t = stop_gradient(t);
    return out;
}

// Records a step from `from` to `to` on the tape whose backward pass applies `back` to the
// gradients. Undefined tensors take no part.
void record(const std::vector<Tensor> &from, const std::vector<Tensor> &to,
            const std::function<std::vector<Tensor>(std::vector<Tensor>)> &back) {
    std::vector<size_t> indices;
    std::vector<Tensor> in, out;
    for (size_t k = 0; k < to.size(); k++) {
        if (to[k].defined() && is_float(to[k].dtype())) {
            indices.push_back(k);
            in.push_back(from[k]);
            out.push_back(to[k]);
        }
    }
    Tape::current()->record(in, out, [indices, n = to.size(), back](Tensors dy) {
        std::vector<Tensor> all(n), dx;
        for (size_t k = 0; k < indices.size(); k++)
            all[indices[k]] = dy[k];
        const std::vector<Tensor> changed = back(std::move(all));
        for (const size_t index : indices)
            dx.push_back(changed[index]);
        return dx;
    });
}

// Applies the hooks to `t` in order and returns the result. `call` calls one hook.
template<class F, class Call> std::vector<Tensor> apply_hooks(const Hooks<F> &hooks,
                                                              std::vector<Tensor> t,
                                                              const char *what, const Call &call) {
    if (CallListener *listener = call_listener(); listener && !hooks.empty())
        listener->refuse(std::string(what) + " runs");
    for (const auto &hook : hooks.all()) {
        std::vector<Tensor> changed = call(*hook, t);
        if (changed.empty()) continue;
        if (changed.size() != t.size()) {
            throw ShapeError("cell", std::string(what) + " returned " +
                                         std::to_string(changed.size()) + " tensors, expected " +
                                         std::to_string(t.size()));
        }
        t = std::move(changed);
    }
    return t;
}

}  // namespace

Tensor Cell::construct(const Tensor &) const {
    no_such_construct(*this, 1);
}
Tensor Cell::construct(const Tensor &, const Tensor &) const {
    no_such_construct(*this, 2);
}
Tensor Cell::construct(const Tensor &, const Tensor &, const Tensor &) const {
    no_such_construct(*this, 3);
}

std::vector<Tensor> Cell::construct(Tensors in) const {
    switch (in.size()) {
    case 1: return {construct(in[0])};
    case 2: return {construct(in[0], in[1])};
    case 3: return {construct(in[0], in[1], in[2])};
    default: no_such_construct(*this, in.size());
    }
}

Tensor Cell::only(std::vector<Tensor> outputs) const {
    if (outputs.size() != 1) {
        throw ShapeError("cell", cls_name() + " gives " + std::to_string(outputs.size()) +
                                     " tensors, expected one; call() returns them all");
    }
    return std::move(outputs[0]);
}

namespace {

// Returns true if an argument is a parameter's memory, which a capture could not tell from it.
bool takes_parameter(const Cell &cell, Tensors in) {
    for (const Parameter &p : cell.get_parameters()) {
        for (const Tensor &t : in) {
            if (t.defined() && t.impl()->storage == p.data().impl()->storage) return true;
        }
    }
    return false;
}

std::vector<std::pair<std::string, Tensor>> named_tensors(const Cell &cell) {
    std::vector<std::pair<std::string, Tensor>> all;
    for (const auto &[name, parameter] : cell.parameters_and_names())
        all.emplace_back(name, parameter.data());
    return all;
}

// Returns the name of a cell in its parent and its class, "conv1-Conv2d"; the class alone for a
// cell without a name. The prefix is that of its parameters: "backbone.conv1.".
std::string part_name(const std::string &prefix, const std::string &cls_name) {
    if (prefix.empty()) return cls_name;
    const std::string path = prefix.substr(0, prefix.size() - 1);
    return path.substr(path.rfind('.') + 1) + "-" + cls_name;
}

// True while this thread is in a call that runs op by op, so that the cells in it do, too.
constinit thread_local bool runs_op_by_op = false;

class OpByOpScope {
public:
    OpByOpScope() : before_(std::exchange(runs_op_by_op, true)) {}
    ~OpByOpScope() { runs_op_by_op = before_; }
    OpByOpScope(const OpByOpScope &) = delete;
    OpByOpScope &operator=(const OpByOpScope &) = delete;

private:
    bool before_;
};

}  // namespace

std::vector<std::string> Cell::graphs() const {
    return state_->replay ? state_->replay->texts() : std::vector<std::string>();
}

bool Cell::is_replayed() const {
    return runs_graphs() && !runs_op_by_op && graph::Replay::is_wanted();
}

graph::Replay &Cell::replay() const {
    if (!state_->replay) state_->replay = std::make_shared<graph::Replay>(cls_name());
    return *state_->replay;
}

std::vector<Tensor> Cell::call(Tensors in) const {
    if (!is_replayed() || !is_captured() || takes_parameter(*this, in)) return call_op_by_op(in);
    const OpByOpScope inside;
    return replay().run(
        in, {{}, settings_fingerprint()}, [this](Tensors x) { return call_op_by_op(x); },
        [this] { return named_tensors(*this); });
}

std::vector<Tensor> Cell::construct_all(const NextInputs &next) const {
    std::vector<Tensor> in, out;
    while (next(in)) {
        out.clear();  // so that the next call has its memory
        out = call(in);
    }
    return out;
}

std::vector<Tensor> Cell::call_all(const NextInputs &next) const {
    if (!is_replayed()) return Cell::construct_all(next);
    if (!is_captured()) return has_hooks() ? Cell::construct_all(next) : construct_all(next);
    const auto call_one = [this](Tensors x) {
        CallListener *const listener = call_listener();
        if (listener && takes_parameter(*this, x)) listener->refuse("an argument is a parameter");
        const OpByOpScope inside;
        return call_op_by_op(x);
    };
    return replay().run_all(
        next,
        [] {
            return graph::Replay::Settings{{}, settings_fingerprint()};
        },
        call_one, [this] { return named_tensors(*this); });
}

// Returns true if a call does more than construct().
bool Cell::has_hooks() const {
    const State &s = *state_;
    return s.float_type || !s.forward_pre.empty() || !s.forward.empty() ||
           !s.backward_pre.empty() || !s.backward.empty();
}

std::vector<Tensor> Cell::call_op_by_op(Tensors in) const {
    const State &s = *state_;
    const PartScope part([&] { return part_name(s.prefix, cls_name()); });
    std::optional<StopTape> stop;
    if (!s.grad) stop.emplace();
    if (!has_hooks()) return construct_with_gradient(in);
    std::vector<Tensor> x = apply_hooks(
        s.forward_pre, list(in), "a forward pre-hook",
        [&](const ForwardPreHook &hook, Tensors now) { return hook(*this, now); });
    if (s.float_type) {
        for (Tensor &t : x) {
            if (t.defined() && is_float(t.dtype()) && t.dtype() != *s.float_type)
                t = F::cast(t, *s.float_type);
        }
    }
    const bool watch = Tape::current() && !(s.backward_pre.empty() && s.backward.empty());
    std::vector<Tensor> y = watch ? construct_with_backward_hooks(x) : construct_with_gradient(x);
    return apply_hooks(s.forward, std::move(y), "a forward hook",
                       [&](const ForwardHook &hook, Tensors now) { return hook(*this, x, now); });
}

std::vector<Tensor> Cell::construct_with_gradient(Tensors in) const {
    Tape *tape = Tape::current();
    const Bprop back = tape ? bprop() : Bprop();
    if (!back) return construct(in);
    std::vector<Tensor> out;
    {
        const StopTape stop;
        // An alias is needed because an output may be one of the inputs.
        out = aliases(construct(in));
    }
    tape->record(list(in), out,
                 [x = list(in), out, back](Tensors dout) { return back(x, out, dout); });
    return out;
}

// In the backward pass the outputs' gradients arrive first and are kept until those of the inputs
// do, so that a backward hook gets both.
std::vector<Tensor> Cell::construct_with_backward_hooks(Tensors in) const {
    const auto grad_output = std::make_shared<std::vector<Tensor>>();
    const auto state = state_;
    const Cell self = *this;
    const auto run = [self, state, grad_output](std::vector<Tensor> dx) {
        return apply_hooks(
            state->backward, std::move(dx), "a backward hook",
            [&](const BackwardHook &hook, Tensors now) { return hook(self, now, *grad_output); });
    };
    const std::vector<Tensor> x = list(in);
    const std::vector<Tensor> seen = aliases(x);
    bool inputs_are_watched = false;
    for (const Tensor &t : x)
        inputs_are_watched |= t.defined() && Tape::current()->watched(t);
    record(x, seen, run);
    const std::vector<Tensor> outputs = construct_with_gradient(seen);
    const std::vector<Tensor> y = aliases(outputs);
    record(
        outputs, y,
        [self, state, grad_output, run, inputs_are_watched, n = x.size()](std::vector<Tensor> dy) {
            *grad_output = apply_hooks(
                state->backward_pre, std::move(dy), "a backward pre-hook",
                [&](const BackwardPreHook &hook, Tensors now) { return hook(self, now); });
            if (!inputs_are_watched) run(std::vector<Tensor>(n));
            return *grad_output;
        });
    return y;
}

Tensor Cell::computed(const Parameter &p) const {
    if (!p.defined()) return {};
    const auto type = state_->float_type;
    return type && is_float(p.data().dtype()) && p.data().dtype() != *type ? F::cast(p, *type)
                                                                           : p.data();
}

void Cell::to_float(DType dtype) const {
    if (dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32) {
        throw DTypeError("cell", std::string("to_float is given ") + name_of(dtype) +
                                     ", expected f16, bf16 or f32");
    }
    if (state_->float_type != dtype) settings_changed();
    state_->float_type = dtype;
    for (const auto &[name, cell] : state_->children)
        cell->to_float(dtype);
}

}  // namespace halyard::nn
