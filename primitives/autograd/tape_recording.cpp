#include "primitives/autograd/tape.h"

#include <cstdio>
#include <cstdlib>
#include <unordered_set>

#include "primitives/autograd/adjoint.h"
#include "primitives/autograd/tape_state.h"
#include "primitives/running_composite.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {

void Tape::State::record_method(const Tensor &given, const Tensor &made, const TensorMethod &how) {
    if (!is_float(given.dtype()) || !is_float(made.dtype())) return;
    for (Tape *t = Tape::current(); t; t = t->around()) {
        if (!t->watched(given)) continue;
        TapeEntry e;
        if (!t->state_->connect(e, {&given, 1}, {&made, 1})) continue;
        e.backward = [how, shape = given.shape()](std::span<const Tensor> dy) {
            return std::vector<Tensor>{gradient_through_method(dy[0], how, shape)};
        };
        e.composite = running_composite();
        e.method = how.name;
        t->state_->push(std::move(e));
    }
}

void Tape::State::set_recorder() {
    set_method_recorder(Tape::current() ? record_method : nullptr);
}

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
    std::abort();  // the other thread would go on recording on it
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
        TapeEntry e;
        if (!t->state_->connect(e, in, out)) continue;
        e.op = &op;
        e.attrs = attrs;
        e.kept.resize(in.size() + out.size());
        const std::vector<Adjoint> &adjoints = adjoints_of(op);
        for (size_t k = 0; k < in.size(); k++) {
            if (e.in[k] < 0) continue;
            for (const Adjoint::Source &s : adjoints[k].inputs) {
                const auto i = static_cast<size_t>(s.place);
                if (s.kind == Adjoint::forward)
                    e.kept[i] = i < in.size() ? in[i] : out[i - in.size()];
            }
        }
        t->state_->push(std::move(e));
    }
}

void Tape::record(std::vector<Tensor> in, std::vector<Tensor> out, Backward backward) {
    for (Tape *t = this; t; t = t->around()) {
        TapeEntry e;
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
    for (const TapeNode &n : state_->nodes)
        count(n.handle);
    for (const TapeEntry &e : state_->entries) {
        for (const Tensor &t : e.kept)
            count(t);
    }
    return bytes;
}

TapeGraph Tape::graph() const {
    TapeGraph g;
    for (const TapeNode &n : state_->nodes)
        g.values.push_back({n.shape, n.dtype});
    for (const TapeEntry &e : state_->entries) {
        g.ops.push_back({e.op          ? e.op->record.name
                         : e.composite ? e.composite->name
                         : e.method    ? e.method
                                       : "function",
                         e.attrs ? e.attrs->text() : "", e.in, e.out});
    }
    return g;
}

}  // namespace halyard
