#include "ascend/passes/sync_trace.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_map>

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
        for (const Buffer &b : p.buffers) {
            max_slots_ = std::max(max_slots_, b.slots);
            buffers_[b.name] = &b;
        }
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
    // The program's buffers by name: it may have thousands, and each event looks several up.
    std::unordered_map<std::string_view, const Buffer *> buffers_;
    const int choice_;
    Trace trace_;
    Moment now_;
    std::set<std::string> written_;
    int max_slots_ = 1;  // the largest number of slots of a buffer
    int undecided_ = 0;  // the number of undecided branches around
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

    void body(const Body &nodes, int64_t iteration) {
        now_.path.push_back({&nodes, 0, iteration});
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
        // The first iterations, until every slot has been used twice, and the last two, whose tails
        // differ.
        const int64_t first = max_slots_ > 1 ? 2 * max_slots_ + 1 : 3;
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
            then = true;  // a branch that may run has to be in order
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
    const Buffer *buffer(const std::string &name) const {
        const auto found = buffers_.find(name);
        return found == buffers_.end() ? nullptr : found->second;
    }
    // Sets the bytes that an operand may access. Returns false if the access can't be in conflict.
    bool extent(const Instr &i, int k, const Ref &ref, Access &r) {
        const Buffer *b = buffer(ref.buffer);
        if (!b && !written_.count(ref.buffer)) return false;
        const int64_t slot = value(ref.slot);
        auto [op, fixed] = evaluated_op(i, b && !ref.slot.constant());
        if (b) {
            r.scope = b->scope;
            const bool known = slot >= 0 && slot < b->slots;
            r.begin = b->address + (known ? slot * b->slot_bytes() : 0);
            r.end = r.begin + b->slot_bytes() * (known ? 1 : b->slots);
        } else {
            for (size_t t = 0; t < program_.tensors.size(); t++)
                if (program_.tensors[t].name == ref.buffer) r.tensor = int(t);
        }
        auto [first, end] = bytes_of_operand(std::move(op), k, ref.dtype);
        if (first == end) return false;
        // The chip's memories are accessed by whole blocks, masked elements included.
        if (b) {
            first = first / block_bytes * block_bytes;
            end = round_up(end, block_bytes);
        }
        r.first_byte = r.begin + first;
        r.last_byte = r.begin + end - 1;
        if (!b || fixed) {
            r.begin = r.first_byte;
            r.end = r.last_byte + 1;
        }
        // An offset by block_idx, for example: any byte of the slot may be accessed.
        if (b && !decidable(ref.offset)) {
            r.first_byte = r.begin;
            r.last_byte = r.end - 1;
        }
        return true;
    }
    // Returns the instruction with its values, and whether it has no variables; with `ignore_slots`
    // variables in slots don't count.
    std::pair<Instr::Op, bool> evaluated_op(const Instr &i, bool ignore_slots) {
        used_variable_ = false;
        Instr::Op op = evaluated(i.op, lookup_);
        if (!used_variable_ || !ignore_slots) return {std::move(op), !used_variable_};
        Instr without{i.op, {}};
        for (const Operand &o : operands(without))
            o.ref->slot = 0;
        used_variable_ = false;
        op = evaluated(without.op, lookup_);
        return {std::move(op), !used_variable_};
    }
    // Returns the range of bytes that operand `k` of an instruction accesses, from the beginning of
    // its slot or tensor; an empty one if it accesses none.
    std::pair<int64_t, int64_t> bytes_of_operand(Instr::Op op, int k, DType t) {
        const Instr concrete{op, {}};
        Step s;
        s.op = std::move(op);
        const auto refs = operands(concrete);
        for (size_t o = 0; o < refs.size(); o++) {
            const Buffer *b = buffer(refs[o].ref->buffer);
            s.locations[o].scope = b ? b->scope : Scope::gm;
            s.locations[o].dtype = refs[o].ref->dtype;
        }
        s.locations[size_t(k)].at = refs[size_t(k)].ref->offset.value() * int64_t(bytes_of(t));
        s.count = int(refs.size());
        footprint(s, k, runs_);
        if (runs_.empty()) return {0, 0};
        int64_t first = runs_[0].begin;
        int64_t end = 0;
        for (const Run &run : runs_) {
            first = std::min(first, run.begin);
            end = std::max(end, run.begin + run.bytes);
        }
        return {first, end};
    }
};

}  // namespace

Trace trace_of(const Program &p, int choice) {
    return Tracer(p, choice).run();
}

}  // namespace halyard::dv
