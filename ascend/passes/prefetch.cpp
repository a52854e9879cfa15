// Prefetching: if the scalar unit waits for results within a loop, it issues the next iteration's
// loads too late to hide them. So each iteration begins with the loads of the next one, to the
// other slot, and the first loads are issued before the loop:
//
//   set_flag V, MTE2          the slot is free
//   load x{0}; set_flag MTE2, V, 0
//   for i in 0, n {
//     wait_flag V, MTE2
//     if (i + 1 < n) { load x{(i + 1) % 2}; set_flag MTE2, V, (i + 1) % 2 }
//     wait_flag MTE2, V, i % 2
//     ...
//     set_flag V, MTE2
//   }
//   wait_flag V, MTE2
//
// A flag must not be set again before it is consumed. So if such a loop has run before, the vector
// unit first waits until the loads' pipe has passed its last wait_flag V, MTE2.
#include <algorithm>
#include <functional>
#include <set>

#include "ascend/passes/passes.h"

namespace halyard::dv {
namespace {

void each_instr(const Node &n, const std::function<void(const Instr &)> &f) {
    if (const For *l = std::get_if<For>(&n.is)) {
        for (const Node &inner : l->body)
            each_instr(inner, f);
    } else if (const If *c = std::get_if<If>(&n.is)) {
        for (const Node &inner : c->then)
            each_instr(inner, f);
        for (const Node &inner : c->otherwise)
            each_instr(inner, f);
    } else if (const Instr *i = std::get_if<Instr>(&n.is))
        f(*i);
}

class Prefetch {
public:
    explicit Prefetch(Program &p) : program_(p) {
        for (const Node &n : p.body) {
            each_instr(
                n, [&](const Instr &i) { has_flags_ |= std::holds_alternative<SetFlag>(i.op); });
        }
    }
    void run() {
        if (!has_flags_) program_.body = body(std::move(program_.body), false);
    }

private:
    Program &program_;
    bool has_flags_ = false;
    bool has_rotated_ = false;  // a loop before the current one prefetches

    // `repeats` is true for the body of a loop.
    Body body(Body nodes, bool repeats) {
        Body out;
        for (Node &n : nodes) {
            For *f = std::get_if<For>(&n.is);
            if (const std::set<size_t> loads = f ? loads_of(*f) : std::set<size_t>();
                !loads.empty()) {
                if (repeats || has_rotated_) wait_for_last_loop(out);
                rotate(*f, loads, out);
                has_rotated_ = true;
                continue;
            }
            if (f) f->body = body(std::move(f->body), true);
            if (If *c = std::get_if<If>(&n.is)) {
                c->then = body(std::move(c->then), repeats);
                c->otherwise = body(std::move(c->otherwise), repeats);
            }
            out.push_back(std::move(n));
        }
        return out;
    }

    // Returns the children of the loop's body that may be prefetched; none if that would not help,
    // or would change the program's results.
    std::set<size_t> loads_of(const For &f) const {
        const auto begin = f.begin.constant();
        const auto end = f.end.constant();
        if (!begin || !end || *end - *begin < 3) return {};
        bool waits = false;
        std::set<std::string> written;  // tensors in GM
        for (const Node &n : f.body) {
            each_instr(n, [&](const Instr &i) {
                waits |= std::holds_alternative<ScalarLd>(i.op);
                for (const ConstOperand &o : operands(i))
                    if (o.written && program_.tensor(o.ref->buffer)) written.insert(o.ref->buffer);
            });
        }
        if (!waits) return {};
        std::set<size_t> all;
        for (size_t c = 0; c < f.body.size(); c++) {
            if (!std::holds_alternative<Alloc>(f.body[c].is) && loads(f, f.body[c], written))
                all.insert(c);
        }
        return only_vectors_use(f, all) ? all : std::set<size_t>();
    }
    // Returns true if the vector unit alone uses the loaded buffers: flags are set for it alone.
    bool only_vectors_use(const For &f, const std::set<size_t> &children) const {
        std::set<std::string> loaded;
        for (const size_t c : children) {
            each_instr(f.body[c],
                       [&](const Instr &i) { loaded.insert(std::get<Dma>(i.op).dst.buffer); });
        }
        bool only = true;
        for (size_t c = 0; c < f.body.size(); c++) {
            if (children.count(c)) continue;
            each_instr(f.body[c], [&](const Instr &i) {
                for (const ConstOperand &o : operands(i))
                    only &= !loaded.count(o.ref->buffer) || pipe_of(program_, i) == Pipe::v;
            });
        }
        return only;
    }
    // Returns true if `n` has only moves, from tensors that the loop doesn't write to this
    // iteration's slots, at addresses that depend on the iteration alone.
    bool loads(const For &f, const Node &n, const std::set<std::string> &written) const {
        bool only = true;
        std::set<std::string> known{f.var, "block_idx"};
        const std::function<void(const Node &)> loops = [&](const Node &inner) {
            if (const For *l = std::get_if<For>(&inner.is)) {
                known.insert(l->var);
                for (const Node &in : l->body)
                    loops(in);
            }
            only &= !std::holds_alternative<If>(inner.is) &&
                    !std::holds_alternative<Alloc>(inner.is);
        };
        loops(n);
        each_instr(n, [&](const Instr &i) {
            const Dma *d = std::get_if<Dma>(&i.op);
            if (!d) {
                only = false;
                return;
            }
            const Buffer *to = program_.buffer(d->dst.buffer);
            only &= to && to->scope == Scope::ub && to->slots == 2 &&
                    same(d->dst.slot, (Expr::var(f.var) - f.begin) % 2);
            only &= program_.tensor(d->src.buffer) && !written.count(d->src.buffer);
            for (const Expr *e :
                 {&d->dst.offset, &d->src.offset, &d->nburst, &d->burst, &d->src_gap, &d->dst_gap})
                only &= uses_only(*e, known);
        });
        return only;
    }
    static bool uses_only(const Expr &e, const std::set<std::string> &names) {
        if (e.constant()) return true;
        if (e.op() == ExprOp::var) return names.count(e.name()) != 0;
        return uses_only(e.left(), names) && uses_only(e.right(), names);
    }

    static Node moved(const Node &n, const std::string &var, const Expr &to) {
        if (const For *f = std::get_if<For>(&n.is)) {
            For copy{f->var, f->begin, f->end, {}};
            for (const Node &inner : f->body)
                copy.body.push_back(moved(inner, var, to));
            return copy;
        }
        Instr i = std::get<Instr>(n.is);
        Dma &d = std::get<Dma>(i.op);
        for (Expr *e : {&d.dst.slot, &d.dst.offset, &d.src.offset, &d.nburst, &d.burst, &d.src_gap,
                        &d.dst_gap})
            *e = substitute(*e, var, to);
        return i;
    }

    template<class Kind> static Node flag(Kind, Pipe src, Pipe dst, const Expr &id) {
        return Instr{Kind{src, dst, id}, ""};
    }
    static void wait_for_last_loop(Body &out) {
        out.push_back(flag(SetFlag{}, Pipe::mte2, Pipe::v, 0));
        out.push_back(flag(WaitFlag{}, Pipe::mte2, Pipe::v, 0));
    }
    static void rotate(const For &f, const std::set<size_t> &loads, Body &out) {
        const Expr turn = Expr::var(f.var);
        const Expr next = turn + 1;
        out.push_back(flag(SetFlag{}, Pipe::v, Pipe::mte2, 0));
        for (const size_t c : loads)
            out.push_back(moved(f.body[c], f.var, f.begin));
        out.push_back(flag(SetFlag{}, Pipe::mte2, Pipe::v, 0));
        For rotated{f.var, f.begin, f.end, {}};
        rotated.body.push_back(flag(WaitFlag{}, Pipe::v, Pipe::mte2, 0));
        Body ahead;
        for (const size_t c : loads)
            ahead.push_back(moved(f.body[c], f.var, next));
        ahead.push_back(flag(SetFlag{}, Pipe::mte2, Pipe::v, (next - f.begin) % 2));
        rotated.body.push_back(If{next < f.end, std::move(ahead), {}});
        rotated.body.push_back(flag(WaitFlag{}, Pipe::mte2, Pipe::v, (turn - f.begin) % 2));
        for (size_t c = 0; c < f.body.size(); c++)
            if (!loads.count(c)) rotated.body.push_back(f.body[c]);
        rotated.body.push_back(flag(SetFlag{}, Pipe::v, Pipe::mte2, 0));
        out.push_back(std::move(rotated));
        out.push_back(flag(WaitFlag{}, Pipe::v, Pipe::mte2, 0));
    }
};

}  // namespace

void prefetch(Program &p) {
    Prefetch(p).run();
}

}  // namespace halyard::dv
