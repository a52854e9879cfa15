#include "ascend/passes/sync_trace.h"

#include <algorithm>
#include <set>

namespace halyard::dv {

int64_t Moment::value(const Expr &e) const {
    if (e.constant()) return e.value();
    return evaluate(e, [this](const std::string &name) -> int64_t {
        for (size_t i = vars.size(); i-- > 0;)
            if (vars[i].first == name) return vars[i].second;
        return 0;
    });
}

namespace {

class Tracer {
public:
    Tracer(const Program &p, int choice) : program_(p), choice_(choice) {
        for (const Buffer &b : p.buffers)
            most_slots_ = std::max(most_slots_, b.slots);
        lookup_ = [this](const std::string &name) -> int64_t {
            used_variable_ = true;
            for (size_t i = now_.vars.size(); i-- > 0;)
                if (now_.vars[i].first == name) return now_.vars[i].second;
            return 0;
        };
        written_ = written(p.body);
    }
    Trace run() {
        body(program_.body, 0);
        return std::move(trace_);
    }

private:
    const Program &program_;
    const int choice_;
    Trace trace_;
    Moment now_;
    std::set<std::string> written_;
    int most_slots_ = 1, undecided_ = 0;  // branches around
    std::function<int64_t(const std::string &)> lookup_;
    bool used_variable_ = false;
    std::map<const If *, int> visits_;
    std::vector<Run> runs_;

    static std::set<std::string> written(const Body &nodes) {
        std::set<std::string> all;
        for (const Node &n : nodes) {
            if (const For *f = std::get_if<For>(&n.is))
                all.merge(written(f->body));
            else if (const If *c = std::get_if<If>(&n.is)) {
                all.merge(written(c->then));
                all.merge(written(c->otherwise));
            } else if (const Instr *i = std::get_if<Instr>(&n.is)) {
                for (const ConstOperand &o : operands(*i))
                    if (o.written) all.insert(o.ref->buffer);
            }
        }
        return all;
    }
    int64_t value(const Expr &e) { return e.constant() ? e.value() : evaluate(e, lookup_); }

    void body(const Body &nodes, int64_t turn) {
        now_.path.push_back({&nodes, 0, turn});
        for (int c = 0; c < int(nodes.size()); c++) {
            now_.path.back().child = c;
            const int child =
                trace_.children.try_emplace({&nodes, c}, int(trace_.children.size())).first->second;
            const int moment = int(trace_.moments.size());
            trace_.moments.push_back(now_);
            trace_.events.push_back({SyncEvent::before, child, moment, nullptr, Pipe::s, {}, 0});
            const Node &n = nodes[size_t(c)];
            if (const For *f = std::get_if<For>(&n.is))
                loop(*f);
            else if (const If *b = std::get_if<If>(&n.is))
                branch(*b);
            else if (const Instr *i = std::get_if<Instr>(&n.is))
                instr(*i, moment);
            trace_.events.push_back({SyncEvent::after, child, moment, nullptr, Pipe::s, {}, 0});
        }
        now_.path.pop_back();
    }
    void loop(const For &f) {
        // As many as it takes for every slot to come round twice, and the last two, where tails
        // differ.
        const int64_t first = most_slots_ > 1 ? 2 * most_slots_ + 1 : 3;
        const int64_t begin = value(f.begin);
        const bool known = decidable(f.begin) && decidable(f.end);
        const int64_t turns = known ? std::max<int64_t>(value(f.end) - begin, 1) : first + 2;
        now_.vars.emplace_back(f.var, 0);
        for (int64_t t = 0; t < turns; t++) {
            if (t == first && turns > first + 2) t = turns - 2;
            now_.vars.back().second = begin + t;
            body(f.body, t);
        }
        now_.vars.pop_back();
    }
    void branch(const If &c) {
        bool then = value(c.condition) != 0;
        if (c.otherwise.empty())
            then = true;  // what might run has to be in order
        else if (!decidable(c.condition)) {
            then = (visits_[&c]++ + (choice_ >> undecided_)) % 2 == 0;
            trace_.undecided = std::max(trace_.undecided, ++undecided_);
            body(then ? c.then : c.otherwise, 0);
            undecided_--;
            return;
        }
        body(then ? c.then : c.otherwise, 0);
    }
    bool decidable(const Expr &e) const {
        if (e.op() == ExprOp::constant) return true;
        if (e.op() == ExprOp::var) {
            return std::any_of(now_.vars.begin(), now_.vars.end(),
                               [&](const auto &v) { return v.first == e.name(); });
        }
        return decidable(e.left()) && decidable(e.right());
    }

    void instr(const Instr &i, int moment) {
        SyncEvent e{SyncEvent::instr, 0, moment, &i, Pipe::s, {}, 0};
        if (const SetFlag *s = std::get_if<SetFlag>(&i.op))
            e.id = value(s->id);
        else if (const WaitFlag *w = std::get_if<WaitFlag>(&i.op))
            e.id = value(w->id);
        else if (!std::holds_alternative<Barrier>(i.op)) {
            const auto all = operands(i);
            if (all.empty()) return;
            e.pipe = pipe_of(program_, i);
            for (size_t k = 0; k < all.size(); k++) {
                Access a;
                a.write = all[k].written;
                a.ref = all[k].ref;
                if (extent(i, int(k), *all[k].ref, a)) e.accesses.push_back(a);
            }
        }
        trace_.events.push_back(std::move(e));
    }
    // The bytes an operand may touch; false where nobody cares.
    bool extent(const Instr &i, int k, const Ref &ref, Access &r) {
        const Buffer *b = program_.buffer(ref.buffer);
        if (!b && !written_.count(ref.buffer)) return false;
        const int64_t slot = value(ref.slot);
        used_variable_ = false;
        Step s;
        s.op = evaluated(i.op, lookup_);
        bool fixed = !used_variable_;
        if (b && !fixed && !ref.slot.constant()) {  // perhaps only by its slots
            Instr without{i.op, {}};
            for (const Operand &o : operands(without))
                o.ref->slot = 0;
            used_variable_ = false;
            s.op = evaluated(without.op, lookup_);
            fixed = !used_variable_;
        }
        if (b) {
            r.scope = b->scope;
            const bool known = slot >= 0 && slot < b->slots;
            r.begin = b->address + (known ? slot * b->slot_bytes() : 0);
            r.end = r.begin + b->slot_bytes() * (known ? 1 : b->slots);
        } else {
            for (size_t t = 0; t < program_.tensors.size(); t++)
                if (program_.tensors[t].name == ref.buffer) r.tensor = int(t);
        }
        Instr concrete{s.op, {}};
        const auto refs = operands((const Instr &)concrete);
        for (size_t o = 0; o < refs.size(); o++) {
            const Buffer *other = program_.buffer(refs[o].ref->buffer);
            s.places[o].scope = other ? other->scope : Scope::gm;
            s.places[o].dtype = refs[o].ref->dtype;
        }
        s.places[size_t(k)].at = refs[size_t(k)].ref->offset.value() * int64_t(bytes_of(ref.dtype));
        s.count = int(refs.size());
        footprint(s, k, runs_);
        if (runs_.empty()) return false;
        int64_t least = runs_[0].begin;
        int64_t most = 0;
        for (const Run &run : runs_) {
            least = std::min(least, run.begin);
            most = std::max(most, run.begin + run.bytes);
        }
        // the chip's memories are read and written by whole blocks, masked elements and all
        if (b) {
            least = least / block_bytes * block_bytes;
            most = round_up(most, block_bytes);
        }
        const int64_t slot_begin = r.begin;
        r.first_byte = slot_begin + least;
        r.last_byte = slot_begin + most - 1;
        if (!b || fixed) {
            r.begin = r.first_byte;
            r.end = r.last_byte + 1;
        }
        // another block's, say
        if (b && !decidable(ref.offset)) {
            r.first_byte = r.begin;
            r.last_byte = r.end - 1;
        }
        return true;
    }
};

}  // namespace

Trace trace_of(const Program &p, int choice) {
    return Tracer(p, choice).run();
}

}  // namespace halyard::dv
