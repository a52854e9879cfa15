// What happens around a cell's construct().
#include "nn/cell.h"
#include "primitives/autograd/tape.h"
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

// The same elements under identities of their own, where they may have a gradient.
std::vector<Tensor> aliases(Tensors in) {
    std::vector<Tensor> out = list(in);
    for (Tensor &t : out)
        if (t.defined() && is_float(t.dtype())) t = stop_gradient(t);
    return out;
}

// Lets `back` see and change the gradients of all of `from`, undefined ones left out, on their way
// from `to`.
void record(const std::vector<Tensor> &from, const std::vector<Tensor> &to,
            const std::function<std::vector<Tensor>(std::vector<Tensor>)> &back) {
    std::vector<size_t> places;
    std::vector<Tensor> in, out;
    for (size_t k = 0; k < to.size(); k++) {
        if (to[k].defined() && is_float(to[k].dtype())) {
            places.push_back(k);
            in.push_back(from[k]);
            out.push_back(to[k]);
        }
    }
    Tape::current()->record(in, out, [places, n = to.size(), back](Tensors dy) {
        std::vector<Tensor> all(n), dx;
        for (size_t k = 0; k < places.size(); k++)
            all[places[k]] = dy[k];
        const std::vector<Tensor> changed = back(std::move(all));
        for (const size_t place : places)
            dx.push_back(changed[place]);
        return dx;
    });
}

// What the hooks make of t, one after the other; `call` calls one.
template<class F, class Call> std::vector<Tensor> through(const Hooks<F> &hooks,
                                                          std::vector<Tensor> t, const char *what,
                                                          const Call &call) {
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

std::vector<Tensor> Cell::call(Tensors in) const {
    const State &s = *state_;
    std::optional<StopTape> stop;
    if (!s.grad) stop.emplace();
    if (!s.float_type && s.forward_pre.empty() && s.forward.empty() && s.backward_pre.empty() &&
        s.backward.empty())
        return construct_with_gradient(in);
    std::vector<Tensor> x = through(
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
    return through(s.forward, std::move(y), "a forward hook",
                   [&](const ForwardHook &hook, Tensors now) { return hook(*this, x, now); });
}

std::vector<Tensor> Cell::construct_with_gradient(Tensors in) const {
    Tape *tape = Tape::current();
    const Bprop back = tape ? bprop() : Bprop();
    if (!back) return construct(in);
    std::vector<Tensor> out;
    {
        const StopTape stop;
        out = aliases(construct(in));  // of an output that is an input, too
    }
    tape->record(list(in), out,
                 [x = list(in), out, back](Tensors dout) { return back(x, out, dout); });
    return out;
}

// The outputs' gradients come by first, then those of the inputs, so that they can be shown
// together.
std::vector<Tensor> Cell::construct_with_backward_hooks(Tensors in) const {
    const auto grad_output = std::make_shared<std::vector<Tensor>>();
    const auto state = state_;
    const Cell self = *this;
    const auto run = [self, state, grad_output](std::vector<Tensor> dx) {
        return through(
            state->backward, std::move(dx), "a backward hook",
            [&](const BackwardHook &hook, Tensors now) { return hook(self, now, *grad_output); });
    };
    const std::vector<Tensor> x = list(in);
    const std::vector<Tensor> seen = aliases(x);
    bool passes = false;  // on, to what the inputs were made of
    for (const Tensor &t : x)
        passes |= t.defined() && Tape::current()->watched(t);
    record(x, seen, run);
    const std::vector<Tensor> made = construct_with_gradient(seen);
    const std::vector<Tensor> y = aliases(made);
    record(made, y, [self, state, grad_output, run, passes, n = x.size()](std::vector<Tensor> dy) {
        *grad_output = through(
            state->backward_pre, std::move(dy), "a backward pre-hook",
            [&](const BackwardPreHook &hook, Tensors now) { return hook(self, now); });
        if (!passes) run(std::vector<Tensor>(n));
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
    state_->float_type = dtype;
    for (const auto &[name, cell] : state_->children)
        cell->to_float(dtype);
}

}  // namespace halyard::nn
