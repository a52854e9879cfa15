#include "ascend/simulator/walker.h"

#include <algorithm>
#include <cmath>

#include "ascend/program/fields.h"
#include "registry/base/error.h"

namespace halyard::dv {
namespace {

// A visitor of fields(), which replaces each expression by its value.
struct Evaluator {
    const std::function<int64_t(const std::string &)> &lookup;
    void evaluate(Expr &e) const {
        if (!e.constant()) e = dv::evaluate(e, lookup);
    }
    void evaluate(Ref &r) const {
        evaluate(r.offset);
        evaluate(r.slot);
    }
    void evaluate(Mask &m) const { evaluate(m.count); }
    void evaluate(const Pack<Expr> &p) const {
        for (int i = 0; i < p.count; i++)
            evaluate(*p.values[i]);
    }
    template<class T> void evaluate(const T &) const {}

    template<class T> void operator()(T &v) const { evaluate(v); }
    void operator()(Ref &r, Number &) const { evaluate(r); }
    template<class T> void operator()(const char *, T &&v) const { evaluate(v); }
};

// A visitor of fields(), which clears `all` unless all fields but the operands' offsets are
// constants.
struct Settled {
    bool &all;
    void look(const Expr &e) const { all &= e.constant().has_value(); }
    void look(const Mask &m) const { look(m.count); }
    void look(const Pack<Expr> &p) const {
        for (int i = 0; i < p.count; i++)
            look(*p.values[i]);
    }
    template<class T> void look(const T &) const {}

    template<class T> void operator()(T &) const {}
    void operator()(Ref &, Number &) const {}
    template<class T> void operator()(const char *, T &&v) const { look(v); }
};

bool is_settled(const Instr::Op &op) {
    bool all = true;
    Instr::Op copy = op;
    std::visit([&](auto &o) { fields(o, Settled{all}); }, copy);
    return all;
}

double rounded(double v, DType t) {
    return t == DType::f16 ? double(float(float16(float(v)))) : double(float(v));
}

double apply(ScalarOp op, float a, float b) {
    switch (op) {
    case ScalarOp::add: return a + b;
    case ScalarOp::sub: return a - b;
    case ScalarOp::mul: return a * b;
    case ScalarOp::div: return a / b;
    case ScalarOp::max: return std::max(a, b);
    case ScalarOp::min: return std::min(a, b);
    case ScalarOp::neg: return -a;
    case ScalarOp::sqrt: return std::sqrt(a);
    case ScalarOp::move:
    case ScalarOp::to_int: break;
    }
    return a;
}

}  // namespace

Instr::Op evaluated(const Instr::Op &op,
                    const std::function<int64_t(const std::string &)> &lookup) {
    Instr::Op copy = op;
    std::visit([&](auto &o) { fields(o, Evaluator{lookup}); }, copy);
    return copy;
}

Walker::Walker(const Program &p, const Scalars &scalars) : program_(p) {
    if (scalars.size() != p.scalars.size()) {
        throw AttrError(p.name, "takes " + std::to_string(p.scalars.size()) + " scalars, got " +
                                    std::to_string(scalars.size()));
    }
    for (size_t i = 0; i < scalars.size(); i++) {
        if (is_float(p.scalars[i].dtype))
            floats_.emplace_back(p.scalars[i].name, rounded(scalars[i], p.scalars[i].dtype));
        else
            ints_.emplace_back(p.scalars[i].name, int64_t(scalars[i]));
    }
    lookup_ = [this](const std::string &name) {
        for (size_t i = ints_.size(); i-- > 0;)
            if (ints_[i].first == name) return ints_[i].second;
        throw AttrError(program_.name, "'" + name + "' has no value here");
    };
    for (const GmTensor &t : p.tensors)
        sizes_.push_back(value(t.size));
}

int64_t Walker::blocks() const {
    return value(program_.blocks);
}

void Walker::run(int64_t block, Sink &sink) {
    const size_t ints = ints_.size();
    const size_t floats = floats_.size();
    ints_.emplace_back("block_idx", block);
    body(program_.body, sink);
    ints_.resize(ints);
    floats_.resize(floats);
}

void Walker::body(const Body &nodes, Sink &sink) {
    // Registers that are set in a body end with it.
    const size_t ints = ints_.size();
    const size_t floats = floats_.size();
    for (const Node &n : nodes) {
        if (const Instr *i = std::get_if<Instr>(&n.is))
            instr(*i, sink);
        else if (const For *f = std::get_if<For>(&n.is)) {
            const int64_t end = value(f->end);
            for (int64_t v = value(f->begin); v < end; v++) {
                const size_t outside = ints_.size();
                ints_.emplace_back(f->var, v);
                sink.scalar_work(nullptr);
                body(f->body, sink);
                ints_.resize(outside);
            }
        } else if (const If *c = std::get_if<If>(&n.is)) {
            sink.scalar_work(nullptr);
            body(value(c->condition) ? c->then : c->otherwise, sink);
        } else {
            const std::string &name = std::get<Alloc>(n.is).buffer;
            const Buffer *b = program_.buffer(name);
            if (!b) throw AttrError(program_.name, "no buffer is called '" + name + "'");
            if (b->address < 0) {
                throw AttrError(program_.name,
                                "buffer '" + name + "' has no address; run place_buffers() first");
            }
            sink.alloc(*b);
        }
    }
    ints_.resize(ints);
    floats_.resize(floats);
}

template<class T> void Walker::assign(std::vector<std::pair<std::string, T>> &registers,
                                      const std::string &name, T v) {
    const auto it = std::find_if(registers.rbegin(), registers.rend(),
                                 [&](const auto &r) { return r.first == name; });
    if (it != registers.rend())
        it->second = v;
    else
        registers.emplace_back(name, v);
}
void Walker::set(const std::string &name, int64_t v) {
    assign(ints_, name, v);
}
void Walker::set_float(const std::string &name, double v) {
    assign(floats_, name, v);
}

double Walker::number(const Number &n) const {
    if (!n.is_reg()) return n.imm;
    const auto it = std::find_if(floats_.rbegin(), floats_.rend(),
                                 [&](const auto &r) { return r.first == n.reg; });
    return it != floats_.rend() ? it->second : double(lookup_(n.reg));
}

const Walker::Known &Walker::known(const Instr &i) {
    const auto [it, fresh] = known_.try_emplace(&i);
    if (!fresh) return it->second;
    it->second.pipe = pipe_of(program_, i);
    it->second.settled = is_settled(i.op);
    for (const ConstOperand &o : operands(i)) {
        Target t;
        t.buffer = program_.buffer(o.ref->buffer);
        for (size_t k = 0; k < program_.tensors.size() && !t.buffer; k++)
            if (program_.tensors[k].name == o.ref->buffer) t.tensor = int(k);
        if (!t.buffer && t.tensor < 0) {
            throw AttrError(program_.name,
                            "no buffer and no tensor is called '" + o.ref->buffer + "'");
        }
        it->second.targets.push_back(t);
    }
    return it->second;
}

Location Walker::place(const Ref &r, const Target &t) const {
    Location p;
    p.dtype = r.dtype;
    const int64_t offset = r.offset.value() * int64_t(bytes_of(r.dtype));
    if (t.buffer) {
        p.scope = t.buffer->scope;
        p.begin = t.buffer->address + r.slot.value() * t.buffer->slot_bytes();
        p.end = p.begin + t.buffer->slot_bytes();
        p.at = p.begin + offset;
        // There is no such slot: no byte is within bounds.
        if (r.slot.value() < 0 || r.slot.value() >= t.buffer->slots) p.end = p.begin;
    } else {
        p.tensor = t.tensor;
        p.end = sizes_[size_t(t.tensor)] *
                int64_t(bytes_of(program_.tensors[size_t(t.tensor)].dtype));
        p.at = offset;
    }
    return p;
}

void Walker::instr(const Instr &i, Sink &sink) {
    if (const Set *s = std::get_if<Set>(&i.op)) {
        sink.scalar_work(&i);
        return set(s->reg, value(s->value));
    }
    if (const ScalarMath *m = std::get_if<ScalarMath>(&i.op)) {
        sink.scalar_work(&i);
        const double v = apply(m->op, float(number(m->a)), float(number(m->b)));
        if (m->op == ScalarOp::to_int) return set(m->reg, int64_t(v));
        return set_float(m->reg, rounded(v, m->dtype));
    }
    const Known &k = known(i);
    Step s;
    s.instr = &i;
    s.op = evaluated(i.op, lookup_);
    s.pipe = k.pipe;
    s.settled = k.settled;
    std::visit(
        [&](const auto &op) {
            if constexpr (requires { op.number; })
                s.number = number(op.number);
            else if constexpr (std::is_same_v<std::decay_t<decltype(op)>, ScalarSt>)
                s.number = number(op.value);
        },
        s.op);
    Instr concrete{std::move(s.op), {}};
    for (const ConstOperand &o : operands((const Instr &)concrete)) {
        Location &p = s.locations[size_t(s.count)];
        p = place(*o.ref, k.targets[size_t(s.count++)]);
        p.read = o.read;
        p.written = o.written;
    }
    s.op = std::move(concrete.op);
    const ScalarLd *load = std::get_if<ScalarLd>(&i.op);
    if (!load) return sink.step(s);
    const double v = sink.load(s);
    if (!is_float(load->src.dtype)) return set(load->reg, int64_t(v));
    set_float(load->reg, v);
}

}  // namespace halyard::dv
