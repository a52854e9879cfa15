#include "ascend/sync_plan.h"

#include <algorithm>

#include "ascend/sync_trace.h"

namespace halyard::dv {
namespace {

constexpr int most_nested = 4;  // undecided branches in each other, all of whose ways are gone

class Finder {
public:
    Finder(const Program &p, const Trace &trace, const std::vector<Sync> &plan)
        : program_(p), trace_(trace), plan_(plan), before_(trace.children.size()), after_(trace.children.size()), records_(scope_count + p.tensors.size()) {
        for (size_t i = 0; i < plan.size(); i++) {
            const auto at = [&](int child) { return trace.children.find({plan[i].body, child}); };
            if (const auto it = at(plan[i].before); it != trace.children.end()) before_[(size_t)it->second].push_back(i);
            if (const auto it = at(plan[i].after); it != trace.children.end() && !plan[i].barrier()) after_[(size_t)it->second].push_back(i);
        }
        for (const Sync &s : plan)
            if (s.carried)
                for (int k = 0; k < s.slots; k++) flags_[{s.group, k}] = {true, {}, -1, 0, {}};  // set before the loop
    }
    std::optional<Conflict> run() {
        for (const Event &e : trace_.events) {
            if (e.kind == Event::instr) instr(e);
            else
                for (const size_t i : (e.kind == Event::before ? before_ : after_)[(size_t)e.child]) {
                    if (e.kind == Event::before) before(plan_[i], e.moment);
                    else if (!found_) after(plan_[i], e.moment);
                }
            if (found_) break;
        }
        return found_;
    }

private:
    struct Flag {
        bool set = false;
        Clock clock = {};
        int waited = -1;  // the moment
        uint32_t wait_epoch = 0;
        Expr wait_slot;
    };
    struct Record {
        const Access *access;
        const Event *event;
        uint32_t epoch;
        int64_t when;
    };

    const Path &path(int moment) const { return trace_.moments[(size_t)moment].path; }
    int64_t value(const Expr &e, int moment) const { return e.constant() ? e.value() : trace_.moments[(size_t)moment].value(e); }

    void before(const Sync &s, int moment) {
        if (s.barrier()) return barrier(s.dst);
        Flag &f = flags_[{s.group, (int)value(s.wait_slot, moment)}];
        join(clocks_[(int)s.dst], f.clock);
        f.set = false, f.waited = moment, f.wait_epoch = ++epochs_[(int)s.dst], f.wait_slot = s.wait_slot;
        if (s.dst == Pipe::s) f.wait_epoch = 0;  // whatever is issued later comes later
    }
    // What the scalar unit has waited for is over before it issues anything else; its own stores may not be.
    void issue(Pipe p) {
        Clock known = clocks_[(int)Pipe::s];
        known[(size_t)Pipe::s] = 0;
        join(clocks_[(int)p], known);
    }
    void after(const Sync &s, int moment) {
        issue(s.src);
        Flag &f = flags_[{s.group, (int)value(s.set_slot, moment)}];
        if (f.wait_epoch && clocks_[(int)s.src][(size_t)s.dst] < f.wait_epoch) {
            // The wait has to be over before the flag is set again.
            found_ = Conflict{path(f.waited), path(moment), s.dst, s.src, s.slots, f.wait_slot, s.set_slot, false};
            return;
        }
        if (f.set) found_ = Conflict{path(moment), path(moment), s.src, s.dst, s.slots, s.set_slot, s.wait_slot, true};
        f.set = true, f.clock = clocks_[(int)s.src], f.clock[(size_t)s.src] = epochs_[(int)s.src];
    }

    void instr(const Event &e) {
        if (const SetFlag *s = std::get_if<SetFlag>(&e.is->op)) {
            issue(s->src);
            Clock &c = own_[{s->src, s->dst, e.id}] = clocks_[(int)s->src];
            c[(size_t)s->src] = epochs_[(int)s->src];
            return;
        }
        if (const WaitFlag *w = std::get_if<WaitFlag>(&e.is->op)) return join(clocks_[(int)w->dst], own_[{w->src, w->dst, e.id}]);
        if (const Barrier *b = std::get_if<Barrier>(&e.is->op)) return barrier(b->pipe);
        const uint32_t epoch = ++epochs_[(int)e.pipe];
        issue(e.pipe);
        const int64_t when = now_;
        now_ += (int64_t)e.accesses.size();
        check(e);
        if (found_) return;
        for (size_t k = 0; k < e.accesses.size(); k++) keep({&e.accesses[k], &e, epoch, when + (int64_t)k});
    }
    void barrier(Pipe p) {
        if (p != Pipe::all) return (void)(clocks_[(int)p][(size_t)p] = epochs_[(int)p]);
        for (auto &c : clocks_)
            for (int q = 0; q < pipe_count; q++) c[(size_t)q] = epochs_[q];
    }
    std::vector<Record> &records(const Access &a) { return records_[a.tensor < 0 ? (size_t)a.scope : scope_count + (size_t)a.tensor]; }
    // Of all that the operands conflict with the latest: what orders that often orders the rest, too.
    void check(const Event &e) {
        const Record *latest = nullptr;
        const Access *now = nullptr;
        const Pipe pipe = e.pipe;
        for (const Access &r : e.accesses)
            for (const Record &o : records(r)) {
                const Access &a = *o.access;
                if (a.end <= r.begin || r.end <= a.begin || (!a.write && !r.write)) continue;
                const Pipe other = o.event->pipe;
                if (clocks_[(int)pipe][(size_t)other] >= o.epoch) continue;
                // Within a pipe only what really overlaps: a buffer is often filled or worked on piece by piece.
                if (other == pipe && (in_order(pipe, a.write, r.write) || a.last_byte < r.first_byte || r.last_byte < a.first_byte)) continue;
                if (!latest || o.when > latest->when) latest = &o, now = &r;
            }
        if (!latest) return;
        const Ref &first = *latest->access->ref, &second = *now->ref;
        const Buffer *a = program_.buffer(first.buffer), *b = program_.buffer(second.buffer);
        const bool ring = a && a == b && a->slots > 1;
        found_ = Conflict{path(latest->event->moment), path(e.moment), latest->event->pipe, pipe, ring ? a->slots : 1, first.slot, second.slot, false};
    }
    void keep(const Record &r) {
        if (r.event->pipe == Pipe::s && !r.access->write) return;  // the scalar unit has it before it issues anything else
        const Access &a = *r.access;
        for (Record &o : records(a)) {
            const Access &b = *o.access;
            if (o.event->is == r.event->is && b.ref == a.ref && b.begin == a.begin && b.first_byte == a.first_byte && b.last_byte == a.last_byte)
                return (void)(o = r);
        }
        records(a).push_back(r);
    }

    const Program &program_;
    const Trace &trace_;
    const std::vector<Sync> &plan_;
    std::vector<std::vector<size_t>> before_, after_;  // by child: of the plan
    int64_t now_ = 0;
    std::vector<std::vector<Record>> records_;              // by memory
    std::map<std::pair<int, int>, Flag> flags_;             // by group and slot
    std::map<std::tuple<Pipe, Pipe, int64_t>, Clock> own_;  // the program's
    uint32_t epochs_[pipe_count] = {};
    Clock clocks_[pipe_count] = {};
    std::optional<Conflict> found_;
};

}  // namespace

Conflicts::Conflicts(const Program &p) : program_(p) {
    int nested = 0;
    for (int choice = 0; choice < 1 << nested; choice++) {
        traces_.push_back(std::make_unique<Trace>(trace_of(p, choice)));
        nested = std::min(most_nested, std::max(nested, traces_.back()->undecided));
    }
}
Conflicts::~Conflicts() = default;

std::optional<Conflict> Conflicts::first(const std::vector<Sync> &plan) const {
    for (const auto &trace : traces_)
        if (auto found = Finder(program_, *trace, plan).run()) return found;
    return {};
}

}  // namespace halyard::dv
