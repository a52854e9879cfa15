#include "ascend/passes/sync_plan.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "ascend/passes/sync_trace.h"

namespace halyard::dv {
namespace {

constexpr int max_nested = 4;  // nested undecided branches of which all combinations are run
constexpr size_t nowhere = std::numeric_limits<size_t>::max();

bool same(const Sync &a, const Sync &b) {
    return a.body == b.body && a.after == b.after && a.before == b.before && a.src == b.src &&
           a.dst == b.dst && a.slots == b.slots && a.carried == b.carried && a.group == b.group &&
           same(a.set_slot, b.set_slot) && same(a.wait_slot, b.wait_slot);
}

void number_accesses(Trace &trace) {
    std::map<std::tuple<const Instr *, const Ref *, int64_t, int64_t, int64_t>, size_t> known;
    for (SyncEvent &e : trace.events) {
        for (Access &a : e.accesses) {
            a.number =
                known.try_emplace({e.is, a.ref, a.begin, a.first_byte, a.last_byte}, known.size())
                    .first->second;
        }
    }
    trace.numbers = known.size();
}

}  // namespace

// Runs one trace under one plan after another. A run ends at a conflict or with the trace. The next
// one goes back no further than to the first event at which its plan differs, because plans change
// by one sync at a time and traces are long.
class Conflicts::Finder {
public:
    Finder(const Program &p, Trace &&trace)
        : program_(p), trace_(std::move(trace)), before_(trace_.children.size()),
          after_(trace_.children.size()), first_before_(before_.size(), nowhere),
          first_after_(before_.size(), nowhere), memories_(scope_count + p.tensors.size()) {
        number_accesses(trace_);
        record_of_.assign(trace_.numbers, nowhere);
        for (size_t i = trace_.events.size(); i-- > 0;) {
            const SyncEvent &e = trace_.events[i];
            if (e.kind == SyncEvent::before) first_before_[size_t(e.child)] = i;
            if (e.kind == SyncEvent::after) first_after_[size_t(e.child)] = i;
        }
    }
    int undecided() const { return trace_.undecided; }
    int64_t traced() const { return int64_t(trace_.events.size()); }
    int64_t walked() const { return walked_; }

    std::optional<Conflict> run(const std::vector<Sync> &plan) {
        change_plan(plan);
        while (!found_ && next_ < trace_.events.size()) {
            if (next_ % events_per_state == 0 && (states_.empty() || states_.back().event < next_))
                states_.push_back(state());
            event(trace_.events[next_]);
            walked_++;
            if (!found_) next_++;
        }
        return found_;
    }

private:
    struct Planned {
        Sync sync;
        int before = -1, after = -1;  // numbers of the children; -1 if not in this trace
    };
    struct Flag {
        bool set = false;
        Clock clock = {};
        int waited = -1;  // the moment of the last wait
        uint32_t wait_epoch = 0;
        Expr wait_slot;
    };
    struct Record {
        const Access *access = nullptr;
        const SyncEvent *event = nullptr;
        uint32_t epoch = 0;
        int64_t when = 0;
    };
    using FlagKey = std::pair<int, int>;                                // group and slot
    using OwnFlags = std::map<std::tuple<Pipe, Pipe, int64_t>, Clock>;  // the program's
    using Epochs = std::array<uint32_t, pipe_count>;
    using Clocks = std::array<Clock, pipe_count>;
    // The state before an event: copies of small data, and the lengths of the journals of the rest.
    struct State {
        size_t event, records, flags;
        int64_t now;
        Epochs epochs;
        Clocks clocks;
        OwnFlags own;
    };
    // Refers to a record of this epoch. It is out of date if the record has another epoch by now.
    struct Entry {
        uint32_t place, epoch;
    };
    using Entries = std::array<std::vector<Entry>, 2>;  // reads, writes
    // By region and pipe; a tensor is one region.
    using Memory = std::vector<std::array<Entries, pipe_count>>;
    struct RecordChange {
        size_t place;
        Record old;  // without an access if there was no record
    };
    struct FlagChange {
        FlagKey key;
        Flag old;
    };

    const Path &path(int moment) const { return trace_.moments[size_t(moment)].path; }
    int64_t value(const Expr &e, int moment) const {
        return e.constant() ? e.value() : trace_.moments[size_t(moment)].value(e);
    }

    // Changes the plan to `plan`, and goes back to before the first event at which they differ.
    void change_plan(const std::vector<Sync> &plan) {
        const size_t shorter = std::min(plan.size(), plan_.size());
        size_t head = 0, tail = 0;
        while (head < shorter && same(plan[head], plan_[head].sync))
            head++;
        while (tail < shorter - head &&
               same(plan[plan.size() - 1 - tail], plan_[plan_.size() - 1 - tail].sync))
            tail++;
        const auto old_begin = plan_.begin() + ptrdiff_t(head);
        const auto old_end = plan_.end() - ptrdiff_t(tail);
        std::vector<Planned> added;
        for (size_t i = head; i < plan.size() - tail; i++) {
            added.push_back(
                {plan[i], child(plan[i], plan[i].before), child(plan[i], plan[i].after)});
        }
        size_t from = nowhere;
        for (auto it = old_begin; it != old_end; ++it)
            from = std::min(from, first_event(*it));
        for (const Planned &p : added)
            from = std::min(from, first_event(p));
        if (from <= next_ && !states_.empty()) go_back(from);

        for (const Planned &p : plan_)
            list(p, [](std::vector<size_t> &of_child) { of_child.clear(); });
        for (auto it = old_begin; it != old_end; ++it) {
            if (it->sync.carried)
                each_slot(it->sync, [&](const FlagKey &key) { flags_.erase(key); });
        }
        for (const Planned &p : added) {  // the flags of carried syncs are set before the loop
            if (p.sync.carried)
                each_slot(p.sync, [&](const FlagKey &key) { flags_[key] = {true, {}, -1, 0, {}}; });
        }
        const auto at = plan_.erase(old_begin, old_end);
        plan_.insert(at, added.begin(), added.end());
        for (size_t i = 0; i < plan_.size(); i++)
            list(plan_[i], [&](std::vector<size_t> &of_child) { of_child.push_back(i); });
    }
    int child(const Sync &s, int number) const {
        const auto it = trace_.children.find({s.body, number});
        return it == trace_.children.end() ? -1 : it->second;
    }
    size_t first_event(const Planned &p) const {
        return std::min(p.before < 0 ? nowhere : first_before_[size_t(p.before)],
                        p.after < 0 || p.sync.barrier() ? nowhere : first_after_[size_t(p.after)]);
    }
    template<class Body> void list(const Planned &p, Body body) {
        if (p.before >= 0) body(before_[size_t(p.before)]);
        if (p.after >= 0 && !p.sync.barrier()) body(after_[size_t(p.after)]);
    }
    template<class Body> static void each_slot(const Sync &s, Body body) {
        for (int k = 0; k < s.slots; k++)
            body(FlagKey{s.group, k});
    }

    State state() const {
        return {next_, record_changes_.size(), flag_changes_.size(), now_, epochs_, clocks_, own_};
    }
    void go_back(size_t event) {
        while (states_.back().event > event)
            states_.pop_back();
        const State &s = states_.back();
        for (; record_changes_.size() > s.records; record_changes_.pop_back())
            undo(record_changes_.back());
        for (; flag_changes_.size() > s.flags; flag_changes_.pop_back())
            flags_[flag_changes_.back().key] = flag_changes_.back().old;
        next_ = s.event;
        now_ = s.now;
        epochs_ = s.epochs;
        clocks_ = s.clocks;
        own_ = s.own;
        found_.reset();
    }
    Flag &changed_flag(const FlagKey &key) {
        Flag &f = flags_[key];
        flag_changes_.push_back({key, f});
        return f;
    }

    void event(const SyncEvent &e) {
        if (e.kind == SyncEvent::instr) return instr(e);
        for (const size_t i : (e.kind == SyncEvent::before ? before_ : after_)[size_t(e.child)]) {
            if (e.kind == SyncEvent::before)
                before(plan_[i].sync, e.moment);
            else if (!found_)
                after(plan_[i].sync, e.moment);
        }
    }
    void before(const Sync &s, int moment) {
        if (s.barrier()) return barrier(s.dst);
        Flag &f = changed_flag({s.group, int(value(s.wait_slot, moment))});
        join(clocks_[size_t(s.dst)], f.clock);
        f.set = false;
        f.waited = moment;
        f.wait_epoch = ++epochs_[size_t(s.dst)];
        f.wait_slot = s.wait_slot;
        if (s.dst == Pipe::s) f.wait_epoch = 0;  // instructions that are issued later run later
    }
    // Instructions that the scalar unit has waited for are complete before it issues others; its
    // own stores may not be.
    void issue(Pipe p) {
        Clock known = clocks_[size_t(Pipe::s)];
        known[size_t(Pipe::s)] = 0;
        join(clocks_[size_t(p)], known);
    }
    void after(const Sync &s, int moment) {
        issue(s.src);
        Flag &f = changed_flag({s.group, int(value(s.set_slot, moment))});
        if (f.wait_epoch && clocks_[size_t(s.src)][size_t(s.dst)] < f.wait_epoch) {
            // The wait must be complete before the flag is set again.
            found_ = Conflict{path(f.waited), path(moment), s.dst,      s.src,
                              s.slots,        f.wait_slot,  s.set_slot, false};
            return;
        }
        if (f.set) {
            found_ = Conflict{path(moment), path(moment), s.src,       s.dst,
                              s.slots,      s.set_slot,   s.wait_slot, true};
        }
        f.set = true;
        f.clock = clocks_[size_t(s.src)];
        f.clock[size_t(s.src)] = epochs_[size_t(s.src)];
    }

    void instr(const SyncEvent &e) {
        if (const SetFlag *s = std::get_if<SetFlag>(&e.is->op)) {
            issue(s->src);
            Clock &c = own_[{s->src, s->dst, e.id}] = clocks_[size_t(s->src)];
            c[size_t(s->src)] = epochs_[size_t(s->src)];
            return;
        }
        if (const WaitFlag *w = std::get_if<WaitFlag>(&e.is->op))
            return join(clocks_[size_t(w->dst)], own_[{w->src, w->dst, e.id}]);
        if (const Barrier *b = std::get_if<Barrier>(&e.is->op)) return barrier(b->pipe);
        const uint32_t epoch = ++epochs_[size_t(e.pipe)];
        issue(e.pipe);
        const int64_t when = now_;
        now_ += int64_t(e.accesses.size());
        check(e);
        if (found_) return;
        for (size_t k = 0; k < e.accesses.size(); k++)
            keep({&e.accesses[k], &e, epoch, when + int64_t(k)});
    }
    void barrier(Pipe p) {
        if (p != Pipe::all) return (void)(clocks_[size_t(p)][size_t(p)] = epochs_[size_t(p)]);
        for (Clock &c : clocks_)
            c = epochs_;
    }
    static size_t memory_of(const Access &a) {
        return a.tensor < 0 ? size_t(a.scope) : scope_count + size_t(a.tensor);
    }
    static std::pair<size_t, size_t> regions_of(const Access &a) {
        if (a.tensor >= 0) return {0, 0};
        return {size_t(a.begin / region_bytes),
                size_t(std::max(a.begin, a.end - 1) / region_bytes)};
    }
    // Looks for the latest access that is in conflict with one of the instruction's: a sync that
    // orders it often orders the others, too.
    void check(const SyncEvent &e) {
        Latest latest;
        for (const Access &r : e.accesses) {
            const Memory &memory = memories_[memory_of(r)];
            const auto [first, last] = regions_of(r);
            for (size_t region = first; region <= last && region < memory.size(); region++)
                check_region(memory[region], e.pipe, r, latest);
        }
        if (!latest.record) return;
        const Ref &first = *latest.record->access->ref;
        const Ref &second = *latest.access->ref;
        const Buffer *a = program_.buffer(first.buffer);
        const Buffer *b = program_.buffer(second.buffer);
        const bool ring = a && a == b && a->slots > 1;
        found_ = Conflict{path(latest.record->event->moment),
                          path(e.moment),
                          latest.record->event->pipe,
                          e.pipe,
                          ring ? a->slots : 1,
                          first.slot,
                          second.slot,
                          false};
    }
    // The latest access that is in conflict with one of an instruction's.
    struct Latest {
        const Record *record = nullptr;
        const Access *access = nullptr;  // the instruction's
    };
    void check_region(const std::array<Entries, pipe_count> &region, Pipe pipe, const Access &r,
                      Latest &latest) const {
        for (size_t other = 0; other < pipe_count; other++) {
            for (const bool wrote : {true, false}) {
                if (!wrote && !r.write) continue;
                if (static_cast<Pipe>(other) == pipe && in_order(pipe, wrote, r.write)) continue;
                const Record *found = latest_conflict(region[other][wrote], pipe,
                                                      static_cast<Pipe>(other), r);
                if (!found || (latest.record && found->when <= latest.record->when)) continue;
                latest = {found, &r};
            }
        }
    }
    // Returns the latest of the accesses `did` of pipe `other` that is in conflict with `r`, or
    // nullptr. Accesses are in order of time: all before a completed one are complete.
    const Record *latest_conflict(const std::vector<Entry> &did, Pipe pipe, Pipe other,
                                  const Access &r) const {
        const uint32_t over = clocks_[size_t(pipe)][size_t(other)];
        for (size_t i = did.size(); i-- > 0 && did[i].epoch > over;) {
            const Record &o = records_[did[i].place];
            const Access &a = *o.access;
            if (o.epoch != did[i].epoch || a.end <= r.begin || r.end <= a.begin) continue;
            // Within a pipe only accesses to the same bytes are in conflict, because buffers are
            // often filled or processed in pieces.
            if (other == pipe && (a.last_byte < r.first_byte || r.last_byte < a.first_byte))
                continue;
            return &o;
        }
        return nullptr;
    }
    void keep(const Record &r) {
        // Reads of the scalar unit are complete before it issues anything else.
        if (r.event->pipe == Pipe::s && !r.access->write) return;
        size_t &place = record_of_[r.access->number];
        if (place == nowhere) {
            place = records_.size();
            record_changes_.push_back({place, {}});
            records_.push_back(r);
        } else {
            record_changes_.push_back({place, records_[place]});
            records_[place] = r;
        }
        Memory &memory = memories_[memory_of(*r.access)];
        const auto [first, last] = regions_of(*r.access);
        if (memory.size() <= last) memory.resize(last + 1);
        for (size_t region = first; region <= last; region++) {
            memory[region][size_t(r.event->pipe)][r.access->write].push_back(
                {uint32_t(place), r.epoch});
        }
    }
    void undo(const RecordChange &c) {
        Record &r = records_[c.place];
        Memory &memory = memories_[memory_of(*r.access)];
        const auto [first, last] = regions_of(*r.access);
        for (size_t region = first; region <= last; region++)
            memory[region][size_t(r.event->pipe)][r.access->write].pop_back();
        if (c.old.access) {
            r = c.old;
            return;
        }
        record_of_[r.access->number] = nowhere;
        records_.pop_back();
    }

    const Program &program_;
    Trace trace_;
    std::vector<Planned> plan_;
    std::vector<std::vector<size_t>> before_, after_;  // indices of the plan, by child
    std::vector<size_t> first_before_, first_after_;   // the first events of each child
    int64_t walked_ = 0;
    size_t next_ = 0;                // the next event
    std::optional<Conflict> found_;  // a conflict at that event, which is half processed then
    static constexpr size_t events_per_state = 64;
    std::vector<State> states_;
    std::vector<RecordChange> record_changes_;
    std::vector<FlagChange> flag_changes_;
    int64_t now_ = 0;
    static constexpr int64_t region_bytes = 2048;
    std::vector<Memory> memories_;
    std::vector<Record> records_;
    std::vector<size_t> record_of_;  // index of records_, by an access's number
    std::map<FlagKey, Flag> flags_;
    OwnFlags own_;
    Epochs epochs_ = {};
    Clocks clocks_ = {};
};

Conflicts::Conflicts(const Program &p) {
    int nested = 0;
    for (int choice = 0; choice < 1 << nested; choice++) {
        finders_.push_back(std::make_unique<Finder>(p, trace_of(p, choice)));
        nested = std::min(max_nested, std::max(nested, finders_.back()->undecided()));
    }
}
Conflicts::~Conflicts() = default;

std::optional<Conflict> Conflicts::first(const std::vector<Sync> &plan) {
    for (const auto &finder : finders_)
        if (auto found = finder->run(plan)) return found;
    return {};
}

bool Conflicts::none(const std::vector<Sync> &plan) {
    for (size_t k = 0; k < finders_.size(); k++) {
        const size_t place = (last_ + k) % finders_.size();
        if (!finders_[place]->run(plan)) continue;
        last_ = place;
        return false;
    }
    return true;
}

Conflicts::Work Conflicts::work() const {
    Work all;
    for (const auto &finder : finders_) {
        all.traced += finder->traced();
        all.walked += finder->walked();
    }
    return all;
}

}  // namespace halyard::dv
