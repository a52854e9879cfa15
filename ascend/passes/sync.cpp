// Automatic synchronisation by counterexample. While there are two accesses that nothing orders, a
// sync is planned that orders them. Then each sync that the others make unnecessary is dropped, and
// the flags are given ids.
#include <algorithm>
#include <set>

#include "ascend/passes/passes.h"
#include "ascend/passes/sync_plan.h"
#include "ascend/program/dump.h"
#include "ascend/simulator/check.h"
#include "registry/base/error.h"

namespace halyard::dv {
namespace {

using Pair = std::pair<Pipe, Pipe>;

class Planner {
public:
    explicit Planner(const Program &p) : program_(p), conflicts_(p) { find_ids(p.body); }

    std::vector<Sync> plan() {
        for (int tries = 0;; tries++) {
            plan_.clear();
            auto over = order_all();
            if (!over) {
                prune();
                over = assign_ids();
            }
            if (!over) return plan_;
            // The first remedy is one id for all slots, the second a barrier of all pipes.
            if (!single_.insert(*over).second) stopped_.insert(*over);
            if (tries > 2 * pipe_count * pipe_count)
                throw AttrError(program_.name, "synchronisation doesn't come to an end");
        }
    }
    Conflicts::Work work() const { return conflicts_.work(); }
    std::vector<Issue> issues() const {
        std::vector<Issue> all;
        for (const Pair &p : single_) {
            all.push_back({"W-SYNC",
                           program_.name + ": of the " + std::to_string(program_.chip().flags()) +
                               " flags from " + name_of(p.first) + " to " + name_of(p.second) +
                               " there is none for each slot: " +
                               (stopped_.count(p) ? "barriers of all pipes stand for them"
                                                  : "slots share one"),
                           1});
        }
        return all;
    }

private:
    void find_ids(const Body &body) {
        for (const Node &n : body) {
            if (const For *f = std::get_if<For>(&n.is))
                find_ids(f->body);
            else if (const If *c = std::get_if<If>(&n.is)) {
                find_ids(c->then);
                find_ids(c->otherwise);
            } else if (const Instr *i = std::get_if<Instr>(&n.is)) {
                if (const SetFlag *s = std::get_if<SetFlag>(&i->op)) {
                    taken_[{s->src, s->dst}] = std::max<int64_t>(taken_[{s->src, s->dst}],
                                                                 s->id.constant().value_or(1) + 1);
                }
            }
        }
    }
    // Plans syncs until nothing is in conflict. Returns a pair of pipes whose slots can't have
    // flags of their own, if there is one: a loop fills a slot before the iteration that uses it.
    std::optional<Pair> order_all() {
        for (int n = 0;; n++) {
            const std::optional<Conflict> c = conflicts_.first(plan_);
            if (!c) return {};
            if (n > 2000) throw AttrError(program_.name, "synchronisation doesn't come to an end");
            if (c->double_set) return Pair{c->src, c->dst};
            Sync s = order(*c);
            s.group = int(plan_.size());
            plan_.push_back(s);
        }
    }
    // Returns a sync that orders a conflict's accesses. It belongs to the innermost body that
    // contains both: there the paths to them differ.
    Sync order(const Conflict &c) const {
        size_t level = common_level(c);
        const bool iterates = differs_by_iteration(c, level);
        if (iterates) level++;
        const Position &a = c.first[level];
        const Position &b = c.second[level];
        // Two branches of one If in different iterations, or an instruction and itself.
        if (!iterates && a.child == b.child) {
            throw AttrError(program_.name, "no place for a flag from " +
                                               std::string(name_of(c.src)) + " to " +
                                               name_of(c.dst));
        }
        Sync s;
        s.body = a.body;
        s.after = a.child;
        s.before = b.child;
        s.src = c.src;
        s.dst = c.dst;
        s.root = c.first[0].child;
        s.carried = iterates && c.src != c.dst;
        if (!s.barrier() && !single_.count({c.src, c.dst}) && c.slots > 1 &&
            visible(c.first, level, c.first_slot) && visible(c.second, level, c.second_slot)) {
            s.slots = c.slots;
            s.set_slot = c.first_slot;
            s.wait_slot = c.second_slot;
        }
        // The set of the same iteration comes first: it orders this iteration and thereby the next.
        if (s.carried && s.after < s.before) {
            s.carried = false;
            s.slots = 1;
            s.set_slot = s.wait_slot = 0;
        }
        // A barrier of all pipes right before the second access.
        if (!s.barrier() && stopped_.count({c.src, c.dst})) {
            s.src = s.dst = Pipe::all;
            s.slots = 1;
            s.carried = false;
        }
        return s;
    }
    static bool has_next(const Conflict &c, size_t level) {
        return level + 1 < std::min(c.first.size(), c.second.size());
    }
    // Returns the last level at which both paths are in the same iterations of the same bodies.
    static size_t common_level(const Conflict &c) {
        size_t level = 0;
        while (has_next(c, level) && c.first[level].child == c.second[level].child &&
               c.first[level + 1].body == c.second[level + 1].body &&
               c.first[level + 1].iteration == c.second[level + 1].iteration)
            level++;
        return level;
    }
    static bool differs_by_iteration(const Conflict &c, size_t level) {
        return has_next(c, level) && c.first[level].child == c.second[level].child &&
               c.first[level + 1].body == c.second[level + 1].body;
    }
    // Returns true if the body at `level` of a path defines all variables of a slot's expression.
    bool visible(const Path &path, size_t level, const Expr &slot) const {
        std::set<std::string> known{"block_idx"};
        const Body *body = &program_.body;
        for (size_t l = 0; l < level; l++) {
            const Node &n = (*body)[size_t(path[l].child)];
            if (const For *f = std::get_if<For>(&n.is)) {
                known.insert(f->var);
                body = &f->body;
            } else if (const If *c = std::get_if<If>(&n.is))
                body = path[l + 1].body == &c->then ? &c->then : &c->otherwise;
        }
        return only(slot, known);
    }
    static bool only(const Expr &e, const std::set<std::string> &names) {
        if (e.op() == ExprOp::constant) return true;
        if (e.op() == ExprOp::var) return names.count(e.name()) != 0;
        return only(e.left(), names) && only(e.right(), names);
    }
    void prune() {
        for (size_t i = 0; i < plan_.size();) {
            std::vector<Sync> without = plan_;
            without.erase(without.begin() + int64_t(i));
            if (conflicts_.none(without))
                plan_ = std::move(without);
            else
                i++;
        }
    }
    // Gives flags their ids. Returns a pair of pipes that needs more ids than the chip has, if
    // there is one.
    std::optional<Pair> assign_ids() {
        std::map<Pair, int64_t> next = taken_;
        std::map<int, int> base;  // by group
        const auto give = [&] {
            next = taken_;
            base.clear();
            std::optional<Pair> over;
            for (const Sync &s : plan_) {
                if (s.barrier() || !base.try_emplace(s.group, int(next[{s.src, s.dst}])).second)
                    continue;
                next[{s.src, s.dst}] += s.slots;
                if (next[{s.src, s.dst}] > program_.chip().flags()) over = Pair{s.src, s.dst};
            }
            return over;
        };
        while (const auto over = give())
            if (!share(*over)) return over;
        for (Sync &s : plan_)
            if (!s.barrier()) s.id = base[s.group];
        return {};
    }
    // Lets two syncs of a pair of pipes use the same ids, if one is over before the other begins.
    // Returns false if there are no such syncs.
    bool share(const Pair &pair) {
        for (size_t i = 0; i < plan_.size(); i++) {
            for (size_t k = i + 1; k < plan_.size(); k++) {
                const Sync &a = plan_[i];
                const Sync &b = plan_[k];
                if (Pair{a.src, a.dst} != pair || Pair{b.src, b.dst} != pair ||
                    a.slots != b.slots || a.carried || b.carried || a.group == b.group)
                    continue;
                std::vector<Sync> shared = plan_;
                for (Sync &s : shared)
                    if (s.group == b.group) s.group = a.group;
                if (!conflicts_.none(shared)) continue;
                plan_ = std::move(shared);
                return true;
            }
        }
        return false;
    }

    const Program &program_;
    Conflicts conflicts_;
    std::vector<Sync> plan_;
    std::map<Pair, int64_t> taken_;  // ids that the program's own flags use
    std::set<Pair> single_;          // pairs of pipes whose slots share an id
    std::set<Pair> stopped_;         // pairs of pipes that barriers of all pipes synchronise
};

class Inserter {
public:
    explicit Inserter(const std::vector<Sync> &plan) {
        for (const Sync &s : plan)
            by_body_[s.body].push_back(&s);
        for (const Sync &s : plan)
            if (s.carried) by_root_[s.root].push_back(&s);
    }
    // Returns the body with its syncs. The loops of the root body have the sets and waits of
    // carried syncs before and after them.
    Body body(const Body &nodes, bool root) const {
        Body out;
        for (int c = 0; c < int(nodes.size()); c++) {
            const auto loops = root ? by_root_.find(c) : by_root_.end();
            if (loops != by_root_.end()) {
                each_slot(loops->second, out, [](const Sync &s, int k) {
                    return Instr{SetFlag{s.src, s.dst, s.id + k}, ""};
                });
            }
            insert_before(nodes, c, out);
            out.push_back(inner(nodes[size_t(c)]));
            insert_after(nodes, c, out);
            if (loops != by_root_.end()) {
                each_slot(loops->second, out, [](const Sync &s, int k) {
                    return Instr{WaitFlag{s.src, s.dst, s.id + k}, ""};
                });
            }
        }
        return out;
    }

private:
    void insert_before(const Body &nodes, int child, Body &out) const {
        const auto syncs = by_body_.find(&nodes);
        if (syncs == by_body_.end()) return;
        for (const Sync *s : syncs->second) {
            if (s->before != child) continue;
            if (s->barrier())
                out.push_back({Instr{Barrier{s->src}, ""}});
            else
                out.push_back({Instr{WaitFlag{s->src, s->dst, s->wait_slot + s->id}, ""}});
        }
    }
    void insert_after(const Body &nodes, int child, Body &out) const {
        const auto syncs = by_body_.find(&nodes);
        if (syncs == by_body_.end()) return;
        for (const Sync *s : syncs->second) {
            if (s->after == child && !s->barrier())
                out.push_back({Instr{SetFlag{s->src, s->dst, s->set_slot + s->id}, ""}});
        }
    }
    template<class F>
    static void each_slot(const std::vector<const Sync *> &syncs, Body &out, const F &f) {
        for (const Sync *s : syncs) {
            for (int k = 0; k < s->slots; k++)
                out.push_back({f(*s, k)});
        }
    }
    Node inner(const Node &n) const {
        if (const For *f = std::get_if<For>(&n.is))
            return For{f->var, f->begin, f->end, body(f->body, false)};
        if (const If *c = std::get_if<If>(&n.is))
            return If{c->condition, body(c->then, false), body(c->otherwise, false)};
        return n;
    }

    std::map<const Body *, std::vector<const Sync *>> by_body_;
    std::map<int, std::vector<const Sync *>> by_root_;
};

}  // namespace

SyncReport insert_sync(Program &p) {
    for (const Buffer &b : p.buffers) {
        if (b.address < 0) {
            throw AttrError(p.name,
                            "buffer '" + b.name + "' has no address; run place_buffers() first");
        }
    }
    Planner planner(p);
    const std::vector<Sync> plan = planner.plan();
    SyncReport report;
    for (const Sync &s : plan)
        (s.barrier() ? report.barriers : report.flags)++;
    report.traced = planner.work().traced;
    report.walked = planner.work().walked;
    report.issues = planner.issues();
    p.body = Inserter(plan).body(p.body, true);
    dump(p, "3-synchronised");
    return report;
}

}  // namespace halyard::dv
