// The backward pass: gradients from what a tape has recorded.
#include <algorithm>

#include "primitives/autograd/adjoint.h"
#include "primitives/autograd/graph_file.h"
#include "primitives/autograd/tape_state.h"
#include "primitives/autograd/views.h"
#include "primitives/context.h"
#include "registry/dispatch/dispatch.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {
namespace {

// Returns the window of a sliced() method in a tensor of `shape`.
Window window_along(const Shape &shape, const TensorMethod &how) {
    Window w{shape, shape, shape};
    for (int d = 0; d < shape.rank(); d++) {
        w.begin[d] = 0;
        w.step[d] = 1;
    }
    w.begin[how.axis] = how.from;
    w.end[how.axis] = how.to;
    w.step[how.axis] = how.step;
    return w;
}

}  // namespace

Tensor gradient_through_method(const Tensor &dy, const TensorMethod &how, const Shape &given) {
    using Kind = TensorMethod::Kind;
    switch (how.kind) {
    case Kind::reshaped: return reshaped(dy, given);
    case Kind::permuted: {
        std::vector<int> inverse(how.permutation.size());
        for (size_t d = 0; d < inverse.size(); d++)
            inverse[how.permutation[d]] = int(d);
        return transposed(dy, inverse);
    }
    case Kind::sliced: return embedded(dy, given, window_along(given, how));
    case Kind::expanded: return sum_to(dy, given, how.name);
    case Kind::copied: break;
    }
    return dy;
}

namespace {

// Returns true if t is the only tensor of its memory, so that it may be overwritten.
bool exclusive(const Tensor &t) {
    const TensorImpl &i = *t.impl();
    return i.references.load(std::memory_order_acquire) == 1 &&
           i.storage->references.load(std::memory_order_acquire) == 1 && i.storage->pooled &&
           i.dense;
}

// Adds `term` to `sum`, which may be undefined; in the memory of `sum` if `in_place` allows that.
void accumulate(Tensor &sum, Tensor term, bool in_place) {
    if (!sum.defined()) {
        sum = std::move(term);
        return;
    }
    static const RegisteredOp &add = find_op("add");
    static const Attrs none(add.record);
    const Tensor in[2] = {sum, std::move(term)};
    sum = {};
    const bool owned = in_place && exclusive(in[0]) && in[0].dtype() == in[1].dtype();
    if (owned) {
        dispatch_into(add, in, none, std::span(in, 1));
        sum = in[0];
    } else
        sum = std::move(Primitive(add, none).run(in)[0]);
}

// Returns true if broadcasting turns `shape` into `wanted`, which is another shape.
bool broadcasts_to(const Shape &shape, const Shape &wanted) {
    const int lead = wanted.rank() - shape.rank();
    if (lead < 0 || shape == wanted) return false;
    for (int d = 0; d < shape.rank(); d++)
        if (shape[d] != 1 && shape[d] != wanted[d + lead]) return false;
    return true;
}

// One backward pass over recorded calls, last to first.
//
// A node is needed if it is computed from one of the x and has elements. Nodes without elements
// pass no gradient on, so no op is asked for an empty gradient or one that is a sum of nothing.
class BackwardPass {
public:
    // With `in_place`, gradients are summed in the memory of their first term.
    BackwardPass(const std::vector<TapeNode> &nodes, const std::vector<TapeEntry> &entries,
                 const std::vector<int> &x, bool in_place)
        : nodes_(nodes), gradients_(nodes.size()), needed_(nodes.size()), wanted_(nodes.size()),
          in_place_(in_place) {
        for (int id : x) {
            wanted_[id] = 1;
            needed_[id] = has_elements(id);
        }
        for (const TapeEntry &e : entries) {
            if (!needs_any(e.in)) continue;
            for (int id : e.out)
                if (id >= 0) needed_[id] = has_elements(id);
        }
    }

    // Starts with the gradient of an output; `id` is -1 for one that isn't on the tape.
    void seed(int id, Tensor dy) {
        if (id >= 0 && needed_[id]) accumulate(gradients_[id], std::move(dy), in_place_);
    }

    // Passes the gradients of a call's outputs on to its inputs.
    void pass(const TapeEntry &e) {
        if (!is_reached(e)) return;
        std::vector<Tensor> dy;
        for (int id : e.out) {
            dy.push_back(id < 0        ? Tensor()
                         : wanted_[id] ? gradients_[id]
                                       : std::move(gradients_[id]));
        }
        if (e.op)
            pass_through_op(e, dy);
        else
            pass_through_function(e, std::move(dy));
    }

    // Returns the gradient in a node; zeros if none reached it.
    Tensor gradient(int id) {
        Tensor &g = gradients_[id];
        if (!g.defined()) g = zeros(id);
        return g;
    }

private:
    bool has_elements(int id) const { return nodes_[id].shape.elements() > 0; }
    Tensor zeros(int id) const { return Tensor::zeros(nodes_[id].shape, nodes_[id].dtype); }
    bool needs(int id) const { return id >= 0 && needed_[id]; }
    bool needs_any(const std::vector<int> &ids) const {
        return std::ranges::any_of(ids, [&](int id) { return needs(id); });
    }
    bool is_reached(const TapeEntry &e) const {
        const auto has_gradient = [&](int id) { return id >= 0 && gradients_[id].defined(); };
        return needs_any(e.in) && std::ranges::any_of(e.out, has_gradient);
    }

    // Adds a gradient to a node's, in the node's shape and dtype.
    void add(int id, Tensor g, const char *op) {
        const TapeNode &n = nodes_[id];
        g = broadcasts_to(g.shape(), n.shape) ? broadcast_view(g, n.shape) : sum_to(g, n.shape, op);
        g = cast_to(g, n.dtype);
        accumulate(gradients_[id], std::move(g), in_place_);
    }

    // Returns the gradient of output k; zeros for an output that nothing used.
    const Tensor &gradient_of_output(const TapeEntry &e, std::vector<Tensor> &dy, size_t k) const {
        if (!dy[k].defined() && e.out[k] >= 0) dy[k] = zeros(e.out[k]);
        return dy[k];
    }

    void pass_through_function(const TapeEntry &e, std::vector<Tensor> dy) {
        for (size_t k = 0; k < dy.size(); k++)
            gradient_of_output(e, dy, k);
        std::vector<Tensor> dx = e.backward(dy);
        if (dx.size() != e.in.size()) {
            throw GradError("tape", "a backward function returned " + std::to_string(dx.size()) +
                                        " gradients, expected " + std::to_string(e.in.size()));
        }
        dy.clear();
        for (size_t k = 0; k < dx.size(); k++)
            if (dx[k].defined() && needs(e.in[k])) add(e.in[k], std::move(dx[k]), "tape");
    }

    void pass_through_op(const TapeEntry &e, std::vector<Tensor> &dy) {
        const std::string &name = e.op->record.name;
        const std::vector<Adjoint> &adjoints = adjoints_of(*e.op);
        // One gradient op may give the gradients in several inputs, so its results are kept.
        const RegisteredOp *last_op = nullptr;
        std::vector<Tensor> results;
        for (size_t k = 0; k < e.in.size(); k++) {
            if (!needs(e.in[k])) continue;
            const Adjoint &a = adjoints[k];
            if (!a.op && !a.compose)
                throw GradError(name, "has no gradient in " + e.op->signature.inputs[k].name);
            Tensor g;
            if (a.op && a.op == last_op) {
                g = std::move(results[a.output]);
            } else {
                const std::vector<Tensor> in = adjoint_inputs(e, a, dy);
                if (a.op) {
                    last_op = a.op;
                    results = Primitive(*a.op, Attrs(a.op->record, e.op->record, *e.attrs)).run(in);
                    g = std::move(results[a.output]);
                } else {
                    g = a.compose(in, *e.op, *e.attrs);
                }
            }
            if (g.defined()) add(e.in[k], std::move(g), name.c_str());
        }
    }
    std::vector<Tensor> adjoint_inputs(const TapeEntry &e, const Adjoint &a,
                                       std::vector<Tensor> &dy) const {
        std::vector<Tensor> in;
        for (const Adjoint::Source &s : a.inputs) {
            const auto i = static_cast<size_t>(s.place);
            in.push_back(s.kind == Adjoint::forward ? e.kept[i] : gradient_of_output(e, dy, i));
        }
        return in;
    }

    const std::vector<TapeNode> &nodes_;
    std::vector<Tensor> gradients_;
    std::vector<char> needed_, wanted_;  // wanted: one of the x
    bool in_place_;
};

// Throws GradError unless `sens`, if it is defined, has y's shape and dtype.
void check_sens(const Tensor &sens, const Tensor &y) {
    if (!sens.defined()) return;
    if (!(sens.shape() == y.shape())) {
        throw GradError("tape",
                        "sens has shape " + sens.shape().text() + ", expected " + y.shape().text());
    }
    if (sens.dtype() != y.dtype()) {
        throw GradError("tape", std::string("sens is ") + name_of(sens.dtype()) + ", expected " +
                                    name_of(y.dtype()));
    }
}

// Sets a flag while it lives.
class FlagScope {
public:
    explicit FlagScope(bool &flag) : flag_(flag) { flag_ = true; }
    ~FlagScope() { flag_ = false; }
    FlagScope(const FlagScope &) = delete;
    FlagScope &operator=(const FlagScope &) = delete;

private:
    bool &flag_;
};

}  // namespace

namespace {

// Returns `part` without the parts that it begins with.
std::string inside(const std::string &part, const std::string &outer) {
    return part.starts_with(outer + "/") ? part.substr(outer.size() + 1) : part;
}

// Names the parts of a backward pass as those of the forward pass, below "backward".
class BackwardParts {
public:
    void pass(BackwardPass &backward, const TapeEntry &e) const {
        if (e.part.empty()) return backward.pass(e);
        const PartScope part([&] { return inside(e.part, outer_); });
        backward.pass(e);
    }

private:
    const std::string outer_ = current_part();
    const PartScope backward_{[] { return std::string("backward"); }};
};

}  // namespace

std::vector<Tensor> Tape::gradient(const Tensor &y, const std::vector<Tensor> &x,
                                   const Tensor &sens, bool keep) {
    return gradient(std::vector<Tensor>{y}, x, std::vector<Tensor>{sens}, keep);
}

std::vector<Tensor> Tape::gradient(const std::vector<Tensor> &y, const std::vector<Tensor> &x,
                                   const std::vector<Tensor> &sens, bool keep) {
    State &s = *state_;
    if (s.consumed) {
        throw GradError("tape",
                        "its recordings were released by the gradient asked before; ask with keep");
    }
    if (!sens.empty() && sens.size() != y.size()) {
        throw GradError("tape", "sens has " + std::to_string(sens.size()) + " tensors, expected " +
                                    std::to_string(y.size()));
    }
    if (saves_graphs()) save_graph(graph());

    std::vector<int> ids;
    for (const Tensor &t : x) {
        if (ids.emplace_back(s.find(t)) < 0)
            throw GradError("tape", "x " + std::to_string(ids.size() - 1) + " was not watched");
    }
    // Tapes around this one record the pass, for gradients of gradients: no tensor may change.
    bool in_place = true;
    for (const Tape *t = current(); t; t = t->around())
        in_place &= t == this || t->state_->in_gradient;
    const BackwardParts parts;
    BackwardPass backward(s.nodes, s.entries, ids, in_place);
    for (size_t k = 0; k < y.size(); k++) {
        if (!y[k].defined())
            throw GradError("tape", "y " + std::to_string(k) + " is an undefined tensor");
        const Tensor given = sens.empty() ? Tensor() : sens[k];
        check_sens(given, y[k]);
        backward.seed(s.find(y[k]),
                      given.defined() ? given : Tensor::ones(y[k].shape(), y[k].dtype()));
    }

    std::vector<TapeEntry> taken;
    if (!keep) {
        taken.swap(s.entries);
        s.forget();
    }
    std::vector<TapeEntry> &entries = keep ? s.entries : taken;
    const FlagScope in_gradient(s.in_gradient);
    for (size_t i = entries.size(); i-- > 0;) {
        parts.pass(backward, entries[i]);
        if (!keep) entries.pop_back();
    }
    std::vector<Tensor> result;
    for (int id : ids)
        result.push_back(backward.gradient(id));
    return result;
}

}  // namespace halyard
