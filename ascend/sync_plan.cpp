#include "ascend/sync_plan.h"

#include <algorithm>
#include <set>

namespace halyard::dv {
namespace {

struct Record {
    Scope scope;
    int tensor;
    int64_t begin, end;             // the slot, or what an instruction without variables touches of it
    int64_t first_byte, last_byte;  // what it touches in this turn
    Pipe pipe;
    uint32_t epoch;
    bool write;
    const Instr *instr;
    const Ref *ref;
    Path path;
    int64_t when;
};

class Finder {
public:
    Finder(const Program &p, const std::vector<Sync> &plan, bool other_branch) : program_(p), plan_(plan), other_branch_(other_branch) {
        for (const Buffer &b : p.buffers) most_slots_ = std::max(most_slots_, b.slots);
        for (size_t i = 0; i < plan.size(); i++) by_body_[plan[i].body].push_back(i);
        for (const Sync &s : plan)
            if (s.carried)
                for (int k = 0; k < s.slots; k++) flags_[{s.group, k}] = {true, {}, {}, 0, {}};  // set before the loop
        lookup_ = [this](const std::string &name) -> int64_t {
            used_variable_ = true;
            for (size_t i = vars_.size(); i-- > 0;)
                if (vars_[i].first == name) return vars_[i].second;
            return 0;  // a register or a parameter: any value will do
        };
        written_ = written(p.body);
    }
    std::optional<Conflict> run() {
        body(program_.body, 0);
        return found_;
    }
    bool undecided() const { return undecided_; }

private:
    struct Flag {
        bool set = false;
        Clock clock = {};
        Path waited;
        uint32_t wait_epoch = 0;
        Expr wait_slot;
    };

    std::set<std::string> written(const Body &nodes) const {
        std::set<std::string> all;
        for (const Node &n : nodes) {
            if (const For *f = std::get_if<For>(&n.is)) all.merge(written(f->body));
            else if (const If *c = std::get_if<If>(&n.is)) all.merge(written(c->then)), all.merge(written(c->otherwise));
            else if (const Instr *i = std::get_if<Instr>(&n.is))
                for (const ConstOperand &o : operands(*i))
                    if (o.written) all.insert(o.ref->buffer);
        }
        return all;
    }
    int64_t value(const Expr &e) { return e.constant() ? e.value() : evaluate(e, lookup_); }

    void body(const Body &nodes, int64_t turn) {
        const auto mine = by_body_.find(&nodes);
        path_.push_back({&nodes, 0, turn});
        for (int c = 0; c < (int)nodes.size() && !found_; c++) {
            path_.back().child = c;
            if (mine != by_body_.end())
                for (const size_t i : mine->second)
                    if (plan_[i].before == c) before(plan_[i]);
            node(nodes[(size_t)c]);
            if (mine != by_body_.end())
                for (const size_t i : mine->second)
                    if (plan_[i].after == c && !plan_[i].barrier() && !found_) after(plan_[i]);
        }
        path_.pop_back();
    }
    void node(const Node &n) {
        if (const For *f = std::get_if<For>(&n.is)) loop(*f);
        else if (const If *c = std::get_if<If>(&n.is)) branch(*c);
        else if (const Instr *i = std::get_if<Instr>(&n.is)) instr(*i);
    }
    void loop(const For &f) {
        // As many as it takes for every slot to come round twice, and the last two, where tails differ.
        const int64_t first = most_slots_ > 1 ? 2 * most_slots_ + 1 : 3, begin = value(f.begin);
        const bool known = decidable(f.begin) && decidable(f.end);
        const int64_t turns = known ? std::max<int64_t>(value(f.end) - begin, 1) : first + 2;
        vars_.emplace_back(f.var, 0);
        for (int64_t t = 0; t < turns && !found_; t++) {
            if (t == first && turns > first + 2) t = turns - 2;
            vars_.back().second = begin + t;
            body(f.body, t);
        }
        vars_.pop_back();
    }
    void branch(const If &c) {
        used_variable_ = false;
        bool then = value(c.condition) != 0;
        if (c.otherwise.empty()) then = true;  // what might run has to be in order
        else if (!decidable(c.condition)) then = (visits_[&c]++ + other_branch_) % 2 == 0, undecided_ = true;
        body(then ? c.then : c.otherwise, 0);
    }
    bool decidable(const Expr &e) const {
        if (e.op() == ExprOp::constant) return true;
        if (e.op() == ExprOp::var) return std::any_of(vars_.begin(), vars_.end(), [&](const auto &v) { return v.first == e.name(); });
        return decidable(e.left()) && decidable(e.right());
    }

    void before(const Sync &s) {
        if (s.barrier()) return barrier(s.dst);
        Flag &f = flags_[{s.group, (int)value(s.wait_slot)}];
        join(clocks_[(int)s.dst], f.clock);
        f.set = false, f.waited = path_, f.wait_epoch = ++epochs_[(int)s.dst], f.wait_slot = s.wait_slot;
        if (s.dst == Pipe::s) f.wait_epoch = 0;  // whatever is issued later comes later
    }
    // What the scalar unit has waited for is over before it issues anything else; its own stores may not be.
    void issue(Pipe p) {
        Clock known = clocks_[(int)Pipe::s];
        known[(size_t)Pipe::s] = 0;
        join(clocks_[(int)p], known);
    }
    void after(const Sync &s) {
        issue(s.src);
        Flag &f = flags_[{s.group, (int)value(s.set_slot)}];
        if (f.wait_epoch && clocks_[(int)s.src][(size_t)s.dst] < f.wait_epoch) {
            // The wait has to be over before the flag is set again.
            found_ = Conflict{f.waited, path_, s.dst, s.src, s.slots, f.wait_slot, s.set_slot, false};
            return;
        }
        if (f.set) found_ = Conflict{path_, path_, s.src, s.dst, s.slots, s.set_slot, s.wait_slot, true};
        f.set = true, f.clock = clocks_[(int)s.src], f.clock[(size_t)s.src] = epochs_[(int)s.src];
    }

    void instr(const Instr &i) {
        if (const SetFlag *s = std::get_if<SetFlag>(&i.op)) {
            issue(s->src);
            Clock &c = own_[{s->src, s->dst, value(s->id)}] = clocks_[(int)s->src];
            c[(size_t)s->src] = epochs_[(int)s->src];
            return;
        }
        if (const WaitFlag *w = std::get_if<WaitFlag>(&i.op)) return join(clocks_[(int)w->dst], own_[{w->src, w->dst, value(w->id)}]);
        if (const Barrier *b = std::get_if<Barrier>(&i.op)) return barrier(b->pipe);
        const auto all = operands(i);
        if (all.empty()) return;
        const Pipe pipe = pipe_of(program_, i);
        const uint32_t epoch = ++epochs_[(int)pipe];
        issue(pipe);
        std::vector<Record> mine;
        for (size_t k = 0; k < all.size(); k++) {
            Record r{Scope::gm, -1, 0, 0, 0, 0, pipe, epoch, all[k].written, &i, all[k].ref, path_, now_++};
            if (extent(i, (int)k, *all[k].ref, r)) mine.push_back(r);
        }
        check(mine);
        if (found_) return;
        for (Record &r : mine) keep(std::move(r));
    }
    void barrier(Pipe p) {
        if (p != Pipe::all) return (void)(clocks_[(int)p][(size_t)p] = epochs_[(int)p]);
        for (auto &c : clocks_)
            for (int q = 0; q < pipe_count; q++) c[(size_t)q] = epochs_[q];
    }
    // The bytes an operand may touch; false where nobody cares.
    bool extent(const Instr &i, int k, const Ref &ref, Record &r) {
        const Buffer *b = program_.buffer(ref.buffer);
        if (!b && !written_.count(ref.buffer)) return false;
        const int64_t slot = value(ref.slot);
        used_variable_ = false;
        Step s;
        s.op = evaluated(i.op, lookup_);
        bool fixed = !used_variable_;
        if (b && !fixed && !ref.slot.constant()) {  // perhaps only by its slots
            Instr without{i.op, {}};
            for (const Operand &o : operands(without)) o.ref->slot = 0;
            used_variable_ = false;
            s.op = evaluated(without.op, lookup_);
            fixed = !used_variable_;
        }
        if (b) {
            r.scope = b->scope;
            const bool known = slot >= 0 && slot < b->slots;
            r.begin = b->address + (known ? slot * b->slot_bytes() : 0), r.end = r.begin + b->slot_bytes() * (known ? 1 : b->slots);
        } else
            for (size_t t = 0; t < program_.tensors.size(); t++)
                if (program_.tensors[t].name == ref.buffer) r.tensor = (int)t;
        Instr concrete{s.op, {}};
        const auto refs = operands((const Instr &)concrete);
        for (size_t o = 0; o < refs.size(); o++) {
            const Buffer *other = program_.buffer(refs[o].ref->buffer);
            s.places[o].scope = other ? other->scope : Scope::gm, s.places[o].dtype = refs[o].ref->dtype;
        }
        s.places[(size_t)k].at = refs[(size_t)k].ref->offset.value() * (int64_t)bytes_of(ref.dtype);
        s.count = (int)refs.size();
        footprint(s, k, runs_);
        if (runs_.empty()) return false;
        int64_t least = runs_[0].begin, most = 0;
        for (const Run &run : runs_) least = std::min(least, run.begin), most = std::max(most, run.begin + run.bytes);
        const int64_t slot_begin = r.begin;
        r.first_byte = slot_begin + least, r.last_byte = slot_begin + most - 1;
        if (!b || fixed) r.begin = r.first_byte, r.end = r.last_byte + 1;
        return true;
    }
    // Of all that the operands conflict with the latest: what orders that often orders the rest, too.
    void check(const std::vector<Record> &mine) {
        const Record *latest = nullptr, *now = nullptr;
        for (const Record &r : mine)
            for (const Record &o : records_) {
                if (o.scope != r.scope || o.tensor != r.tensor || o.end <= r.begin || r.end <= o.begin || (!o.write && !r.write)) continue;
                if (clocks_[(int)r.pipe][(size_t)o.pipe] >= o.epoch) continue;
                // Within a pipe only what really overlaps: a buffer is often filled or worked on piece by piece.
                if (o.pipe == r.pipe && (in_order(r.pipe, o.write, r.write) || o.last_byte < r.first_byte || r.last_byte < o.first_byte)) continue;
                if (!latest || o.when > latest->when) latest = &o, now = &r;
            }
        if (!latest) return;
        const Buffer *a = program_.buffer(latest->ref->buffer), *b = program_.buffer(now->ref->buffer);
        const bool ring = a && a == b && a->slots > 1;
        found_ = Conflict{latest->path, now->path, latest->pipe, now->pipe, ring ? a->slots : 1, latest->ref->slot, now->ref->slot, false};
    }
    void keep(Record r) {
        if (r.pipe == Pipe::s && !r.write) return;  // the scalar unit has it before it issues anything else
        for (Record &o : records_)
            if (o.instr == r.instr && o.ref == r.ref && o.begin == r.begin && o.first_byte == r.first_byte && o.last_byte == r.last_byte)
                return (void)(o = std::move(r));
        records_.push_back(std::move(r));
    }

    const Program &program_;
    const std::vector<Sync> &plan_;
    const bool other_branch_;  // of each condition that isn't known
    bool undecided_ = false;   // there is such a condition
    std::map<const Body *, std::vector<size_t>> by_body_;
    std::set<std::string> written_;
    int most_slots_ = 1;
    std::function<int64_t(const std::string &)> lookup_;
    bool used_variable_ = false;
    std::vector<std::pair<std::string, int64_t>> vars_;
    std::map<const If *, int> visits_;
    Path path_;
    int64_t now_ = 0;
    std::vector<Record> records_;
    std::map<std::pair<int, int>, Flag> flags_;             // by group and slot
    std::map<std::tuple<Pipe, Pipe, int64_t>, Clock> own_;  // the program's
    uint32_t epochs_[pipe_count] = {};
    Clock clocks_[pipe_count] = {};
    std::vector<Run> runs_;
    std::optional<Conflict> found_;
};

}  // namespace

// A condition on block_idx holds in some blocks only: a second run takes the other branches.
std::optional<Conflict> find_conflict(const Program &p, const std::vector<Sync> &plan) {
    Finder first(p, plan, false);
    auto found = first.run();
    if (!found && first.undecided()) found = Finder(p, plan, true).run();
    return found;
}

}  // namespace halyard::dv
