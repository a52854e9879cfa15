// The tape's memory. A tensor's identity is the address of its TensorImpl, so the tape holds a
// handle of every tensor it knows; once that handle is the last one nobody can present the tensor
// again, and unless a gradient needs it, it goes.
#include "primitives/autograd/tape.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "primitives/autograd/adjoint.h"
#include "primitives/autograd/graph_file.h"
#include "primitives/autograd/views.h"
#include "primitives/context.h"
#include "registry/dispatch/dispatch.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {
namespace {

struct Node {
    Tensor handle;
    Shape shape;
    DType dtype = DType::f32;
};

struct Entry {
    const RegisteredOp *op = nullptr;  // null: `backward` knows
    std::optional<Attrs> attrs;
    std::vector<int> in, out;  // nodes; -1: no gradient passes
    std::vector<Tensor> kept;  // of inputs, then outputs: those that gradients read
    Tape::Backward backward;
    const OpRecord *composite = nullptr;  // that recorded it
    const char *method = nullptr;         // of a tensor
};

// Nobody else sees t's elements.
bool exclusive(const Tensor &t) {
    const TensorImpl &i = *t.impl();
    return i.references.load(std::memory_order_acquire) == 1 &&
           i.storage->references.load(std::memory_order_acquire) == 1 && i.storage->pooled &&
           i.dense;
}

void accumulate(Tensor &sum, Tensor term, bool in_place) {
    if (!sum.defined()) {
        sum = std::move(term);
        return;
    }
    static const RegisteredOp &add = registry().at("add");
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

// Is `shape` smaller than `wanted`, and becomes it by repeating dimensions of 1 and leading ones?
bool repeats_to(const Shape &shape, const Shape &wanted) {
    const int lead = wanted.rank() - shape.rank();
    if (lead < 0 || shape == wanted) return false;
    for (int d = 0; d < shape.rank(); d++)
        if (shape[d] != 1 && shape[d] != wanted[d + lead]) return false;
    return true;
}

// Elements from, from + step, ... before `to` of one axis of a tensor of `shape`.
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

// The gradient in a tensor of shape `given` of what `how` made of it.
Tensor through_method(const Tensor &dy, const TensorMethod &how, const Shape &given) {
    using Kind = TensorMethod::Kind;
    switch (how.kind) {
    case Kind::reshaped: return reshaped(dy, given);
    case Kind::permuted: {
        std::vector<int> inverse(how.permutation.size());
        for (size_t d = 0; d < inverse.size(); d++)
            inverse[size_t(how.permutation[d])] = int(d);
        return transposed(dy, inverse);
    }
    case Kind::sliced: return embedded(dy, given, window_along(given, how));
    case Kind::expanded: return sum_to(dy, given, how.name);
    case Kind::copied: break;
    }
    return dy;
}

}  // namespace

struct Tape::State {
    std::vector<Node> nodes;
    std::vector<Entry> entries;
    std::unordered_map<const TensorImpl *, int> places;
    std::vector<int> fleeting;  // nodes whose handle may go once it is the last
    size_t sweep_at = 8;
    bool walking = false, spent = false;

    int find(const Tensor &t) const {
        const auto it = t.defined() ? places.find(t.impl()) : places.end();
        return it == places.end() ? -1 : it->second;
    }

    int add(const Tensor &t) {
        const int id = int(nodes.size());
        if (!places.emplace(t.impl(), id).second) {
            throw GradError("tape", "an output is already on the tape; a function records tensors "
                                    "of its own, made where a StopTape lives");
        }
        nodes.push_back({t, t.shape(), t.dtype()});
        return id;
    }

    // True when a gradient can pass from an output to an input; `e` then knows its nodes.
    bool connect(Entry &e, std::span<const Tensor> in, std::span<const Tensor> out) {
        bool any = false, differentiable = false;
        for (const Tensor &t : out)
            differentiable |= is_float(t.dtype());
        if (!differentiable || walking || spent) return false;
        e.in.reserve(in.size());
        for (const Tensor &t : in)
            any |= e.in.emplace_back(find(t)) >= 0;
        if (!any) return false;
        for (const Tensor &t : out)
            e.out.push_back(is_float(t.dtype()) ? add(t) : -1);
        return true;
    }

    void push(Entry e) {
        for (size_t k = 0; k < e.out.size(); k++) {
            if (e.out[k] >= 0 && (e.kept.empty() || !e.kept[e.in.size() + k].defined()))
                fleeting.push_back(e.out[k]);
        }
        entries.push_back(std::move(e));
        if (fleeting.size() >= sweep_at) sweep();
    }

    // Amortised: survivors are looked at again only when as many new ones have come.
    void sweep() {
        std::erase_if(fleeting, [&](int id) {
            Tensor &t = nodes[size_t(id)].handle;
            if (t.impl()->references.load(std::memory_order_acquire) > 1) return false;
            places.erase(t.impl());
            t = {};
            return true;
        });
        sweep_at = std::max<size_t>(8, 2 * fleeting.size());
    }

    void forget() {
        places.clear();
        fleeting.clear();
        for (Node &n : nodes)
            n.handle = {};
        spent = true;
    }

    static void record_method(const Tensor &given, const Tensor &made, const TensorMethod &how) {
        if (!is_float(given.dtype()) || !is_float(made.dtype())) return;
        for (Tape *t = Tape::current(); t; t = t->around()) {
            if (!t->watched(given)) continue;
            Entry e;
            if (!t->state_->connect(e, {&given, 1}, {&made, 1})) continue;
            e.backward = [how, shape = given.shape()](std::span<const Tensor> dy) {
                return std::vector<Tensor>{through_method(dy[0], how, shape)};
            };
            e.composite = running_composite();
            e.method = how.name;
            t->state_->push(std::move(e));
        }
    }

    // A tensor's methods look for a tape only while this thread has one.
    static void set_recorder() { set_method_recorder(Tape::current() ? record_method : nullptr); }
};

namespace {

thread_local TapeScope *innermost_scope = nullptr;

}  // namespace

Tape *TapeScope::recording() {
    return innermost_scope ? innermost_scope->records_ : nullptr;
}
bool TapeScope::is_innermost() const {
    return innermost_scope == this;
}

TapeScope::TapeScope(Tape *records)
    : records_(records), outer_(std::exchange(innermost_scope, this)) {
    Tape::State::set_recorder();
}

bool TapeScope::leave() {
    for (TapeScope **at = &innermost_scope; *at; at = &(*at)->outer_) {
        if (*at != this) continue;
        *at = outer_;
        outer_ = nullptr;
        in_chain_ = false;
        Tape::State::set_recorder();
        return true;
    }
    return false;
}

TapeScope::~TapeScope() {
    if (!in_chain_ || leave()) return;
    std::fputs("[tape] a tape that still records is destroyed on another thread than its own; "
               "stop() it there first\n",
               stderr);
    std::abort();  // that thread would go on recording on it
}

Tape::Tape() : TapeScope(this), state_(std::make_unique<State>()) {}
Tape::~Tape() = default;
void Tape::stop() {
    if (!is_innermost()) throw GradError("tape", "only the innermost tape can be stopped");
    leave();
}
Tape *Tape::current() {
    return recording();
}

void Tape::watch(const Tensor &t) {
    if (!t.defined()) throw GradError("tape", "can't watch an undefined tensor");
    if (!is_float(t.dtype())) {
        throw GradError("tape", std::string("can't watch a tensor of ") + name_of(t.dtype()) +
                                    ", only floats have gradients");
    }
    if (!watched(t)) state_->add(t);
}

bool Tape::watched(const Tensor &t) const {
    return state_->find(t) >= 0;
}

void Tape::record(const RegisteredOp &op, const Attrs &attrs, std::span<const Tensor> in,
                  std::span<const Tensor> out) {
    for (Tape *t = this; t; t = t->around()) {
        Entry e;
        if (!t->state_->connect(e, in, out)) continue;
        e.op = &op;
        e.attrs = attrs;
        e.kept.resize(in.size() + out.size());
        const std::vector<Adjoint> &adjoints = adjoints_of(op);
        for (size_t k = 0; k < in.size(); k++) {
            if (e.in[k] < 0) continue;
            for (const Adjoint::Source &s : adjoints[k].inputs) {
                if (s.kind == Adjoint::forward) {
                    e.kept[size_t(s.place)] = size_t(s.place) < in.size()
                                                  ? in[size_t(s.place)]
                                                  : out[size_t(s.place) - in.size()];
                }
            }
        }
        t->state_->push(std::move(e));
    }
}

void Tape::record(std::vector<Tensor> in, std::vector<Tensor> out, Backward backward) {
    for (Tape *t = this; t; t = t->around()) {
        Entry e;
        if (!t->state_->connect(e, in, out)) continue;
        e.backward = backward;
        e.composite = running_composite();
        t->state_->push(std::move(e));
    }
}

int64_t Tape::kept_bytes() const {
    std::unordered_set<const Storage *> seen;
    int64_t bytes = 0;
    auto count = [&](const Tensor &t) {
        if (t.defined() && seen.insert(t.impl()->storage).second)
            bytes += int64_t(t.impl()->storage->bytes);
    };
    for (const Node &n : state_->nodes)
        count(n.handle);
    for (const Entry &e : state_->entries) {
        for (const Tensor &t : e.kept)
            count(t);
    }
    return bytes;
}

TapeGraph Tape::graph() const {
    TapeGraph g;
    for (const Node &n : state_->nodes)
        g.values.push_back({n.shape, n.dtype});
    for (const Entry &e : state_->entries) {
        g.ops.push_back({e.op          ? e.op->record.name
                         : e.composite ? e.composite->name
                         : e.method    ? e.method
                                       : "function",
                         e.attrs ? e.attrs->text() : "", e.in, e.out});
    }
    return g;
}

namespace {

// One walk back. `needed` nodes lie between the x asked for and y. A node without elements never
// is: its gradient has none, and it passes nothing on. So no op is asked for a gradient that is
// empty, or that is made of nothing and therefore zero.
struct Walk {
    const std::vector<Node> &nodes;
    std::vector<Tensor> gradients;
    std::vector<char> needed, wanted;
    bool in_place;

    void add(int id, Tensor g, const char *op) {
        const Node &n = nodes[size_t(id)];
        g = repeats_to(g.shape(), n.shape) ? broadcast_view(g, n.shape) : sum_to(g, n.shape, op);
        g = cast_to(g, n.dtype);
        accumulate(gradients[size_t(id)], std::move(g), in_place);
    }
    Tensor zeros(int id) const {
        return Tensor::zeros(nodes[size_t(id)].shape, nodes[size_t(id)].dtype);
    }

    bool reached(const Entry &e) const {
        bool to_x = false, from_y = false;
        for (int id : e.in)
            to_x |= id >= 0 && needed[size_t(id)];
        for (int id : e.out)
            from_y |= id >= 0 && gradients[size_t(id)].defined();
        return to_x && from_y;
    }

    void back(const Entry &e) {
        std::vector<Tensor> dy;
        for (int id : e.out) {
            dy.push_back(id < 0               ? Tensor()
                         : wanted[size_t(id)] ? gradients[size_t(id)]
                                              : std::move(gradients[size_t(id)]));
        }
        auto gradient_of_output = [&](size_t k) -> const Tensor & {
            // an output that nobody used
            if (!dy[k].defined() && e.out[k] >= 0) dy[k] = zeros(e.out[k]);
            return dy[k];
        };
        if (!e.op) {
            for (size_t k = 0; k < dy.size(); k++)
                gradient_of_output(k);
            std::vector<Tensor> dx = e.backward(dy);
            if (dx.size() != e.in.size()) {
                throw GradError("tape", "a backward function returned " +
                                            std::to_string(dx.size()) + " gradients, expected " +
                                            std::to_string(e.in.size()));
            }
            dy.clear();
            for (size_t k = 0; k < dx.size(); k++) {
                if (dx[k].defined() && e.in[k] >= 0 && needed[size_t(e.in[k])])
                    add(e.in[k], std::move(dx[k]), "tape");
            }
            return;
        }
        const std::string &name = e.op->record.name;
        const std::vector<Adjoint> &adjoints = adjoints_of(*e.op);
        // and what it gave: one op may give several inputs' gradients
        const RegisteredOp *ran = nullptr;
        std::vector<Tensor> gave;
        for (size_t k = 0; k < e.in.size(); k++) {
            if (e.in[k] < 0 || !needed[size_t(e.in[k])]) continue;
            const Adjoint &a = adjoints[k];
            if (!a.op && !a.compose)
                throw GradError(name, "has no gradient in " + e.op->signature.inputs[k].name);
            if (a.op && a.op == ran) {
                add(e.in[k], std::move(gave[a.output]), name.c_str());
                continue;
            }
            std::vector<Tensor> in;
            for (const Adjoint::Source &s : a.inputs) {
                in.push_back(s.kind == Adjoint::forward
                                 ? e.kept[size_t(s.place)]
                                 : gradient_of_output(static_cast<size_t>(s.place)));
            }
            if (a.op) {
                ran = a.op;
                gave = Primitive(*a.op, Attrs(a.op->record, e.op->record, *e.attrs)).run(in);
            }
            Tensor g = a.op ? std::move(gave[a.output]) : a.compose(in, *e.op, *e.attrs);
            in.clear();
            if (g.defined()) add(e.in[k], std::move(g), name.c_str());
        }
    }
};

}  // namespace

std::vector<Tensor> Tape::gradient(const Tensor &y, const std::vector<Tensor> &x,
                                   const Tensor &sens, bool keep) {
    return gradient(std::vector<Tensor>{y}, x, std::vector<Tensor>{sens}, keep);
}

std::vector<Tensor> Tape::gradient(const std::vector<Tensor> &y, const std::vector<Tensor> &x,
                                   const std::vector<Tensor> &sens, bool keep) {
    State &s = *state_;
    if (s.spent) {
        throw GradError("tape",
                        "its recordings were released by the gradient asked before; ask with keep");
    }
    if (!sens.empty() && sens.size() != y.size()) {
        throw GradError("tape", "sens has " + std::to_string(sens.size()) + " tensors, expected " +
                                    std::to_string(y.size()));
    }

    if (saves_graphs()) save_graph(graph());
    Walk w{s.nodes, std::vector<Tensor>(s.nodes.size()), std::vector<char>(s.nodes.size()),
           std::vector<char>(s.nodes.size()), true};
    std::vector<int> ids;
    for (const Tensor &t : x) {
        const int id = ids.emplace_back(s.find(t));
        if (id < 0)
            throw GradError("tape", "x " + std::to_string(ids.size() - 1) + " was not watched");
        w.wanted[size_t(id)] = 1;
        w.needed[size_t(id)] = t.elements() > 0;
    }
    for (const Entry &e : s.entries) {
        bool any = false;
        for (int id : e.in)
            any |= id >= 0 && w.needed[size_t(id)];
        for (int id : e.out)
            if (any && id >= 0) w.needed[size_t(id)] = s.nodes[size_t(id)].shape.elements() > 0;
    }
    // Gradients of gradients: tapes around this one record the walk, and nothing they saw may
    // change.
    for (const Tape *t = current(); t; t = t->around())
        w.in_place &= t == this || t->state_->walking;
    for (size_t k = 0; k < y.size(); k++) {
        if (!y[k].defined())
            throw GradError("tape", "y " + std::to_string(k) + " is an undefined tensor");
        const bool given = !sens.empty() && sens[k].defined();
        if (given && !(sens[k].shape() == y[k].shape())) {
            throw GradError("tape", "sens has shape " + sens[k].shape().text() + ", expected " +
                                        y[k].shape().text());
        }
        if (given && sens[k].dtype() != y[k].dtype()) {
            throw GradError("tape", std::string("sens is ") + name_of(sens[k].dtype()) +
                                        ", expected " + name_of(y[k].dtype()));
        }
        const int id = s.find(y[k]);
        if (id >= 0 && w.needed[size_t(id)]) {
            accumulate(w.gradients[size_t(id)],
                       given ? sens[k] : Tensor::ones(y[k].shape(), y[k].dtype()), w.in_place);
        }
    }

    std::vector<Entry> taken;
    if (!keep) {
        taken.swap(s.entries);
        s.forget();
    }
    std::vector<Entry> &entries = keep ? s.entries : taken;
    struct Walking {
        bool &flag;
        explicit Walking(bool &f) : flag(f) { flag = true; }
        ~Walking() { flag = false; }
    } walking(s.walking);
    for (size_t i = entries.size(); i-- > 0;) {
        if (w.reached(entries[i])) w.back(entries[i]);
        if (!keep) entries.pop_back();
    }
    std::vector<Tensor> result;
    for (int id : ids) {
        Tensor &g = w.gradients[size_t(id)];
        if (!g.defined()) g = w.zeros(id);
        result.push_back(g);
    }
    return result;
}

}  // namespace halyard
