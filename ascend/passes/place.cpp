#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "ascend/passes/footprint.h"
#include "ascend/passes/passes.h"
#include "ascend/program/dump.h"
#include "ascend/simulator/check.h"
#include "registry/base/error.h"

namespace halyard::dv {
namespace {

constexpr int64_t half_groups = 256;  // bytes from one half of ubuf's 16 bank groups to the other
constexpr int64_t assumed_iterations = 8;  // for a loop whose extent isn't constant

struct LiveRange {
    int64_t begin = 0, last_use = 0, end = 0;
    bool used = false, vector_only = true;  // vector_only: no pipe but V accesses it
    int64_t until() const { return used && vector_only ? last_use : end; }
};

class LiveRanges {
public:
    explicit LiveRanges(Program &p) : program_(p) {
        for (Buffer &b : p.buffers)
            buffers_[b.name] = &b;
        body(p.body);
    }
    // Returns the program's buffer of that name, or null if there is none.
    Buffer *buffer(const std::string &name) const {
        const auto it = buffers_.find(name);
        return it == buffers_.end() ? nullptr : it->second;
    }
    std::map<std::string, LiveRange> of;
    std::vector<std::string> order;  // the buffers in the order of their Alloc nodes
    // Pairs of buffers that are the two sources of one vector operation.
    std::vector<std::pair<std::string, std::string>> source_pairs;
    // The buffers of a vector operation, and how many repeats it runs.
    struct Operation {
        std::string dst, src[2];
        // A source isn't read in step with dst: every other repeat, or elements of another size.
        bool skips[2];
        int64_t repeats;
    };
    std::vector<Operation> operations;

private:
    void body(const Body &nodes) {
        std::vector<std::string> declared;
        for (const Node &n : nodes) {
            const int64_t begin = ++position_;
            used_.emplace_back();
            if (const For *f = std::get_if<For>(&n.is)) {
                const auto iterations = (f->end - f->begin).constant();
                const int64_t before = iterations_;
                iterations_ *= iterations.value_or(assumed_iterations);
                body(f->body);
                iterations_ = before;
            } else if (const If *c = std::get_if<If>(&n.is)) {
                body(c->then);
                body(c->otherwise);
            } else if (const Alloc *a = std::get_if<Alloc>(&n.is)) {
                if (!buffer(a->buffer))
                    throw AttrError(program_.name, "no buffer is called '" + a->buffer + "'");
                if (!of.try_emplace(a->buffer, LiveRange{begin, begin, begin, false, true}).second)
                    throw AttrError(program_.name, "buffer '" + a->buffer + "' is allocated twice");
                declared.push_back(a->buffer);
                order.push_back(a->buffer);
            } else
                instr(std::get<Instr>(n.is));
            // A node uses its buffers until its end, because a loop runs several times.
            for (const std::string &b : used_.back())
                if (const auto it = of.find(b); it != of.end()) it->second.last_use = position_;
            const auto inner = std::move(used_.back());
            used_.pop_back();
            if (!used_.empty()) used_.back().insert(used_.back().end(), inner.begin(), inner.end());
        }
        position_++;
        for (const std::string &b : declared)
            of[b].end = position_;
    }
    void instr(const Instr &i) {
        const auto all = operands(i);
        if (all.empty()) return;
        const Pipe pipe = pipe_of(program_, i);
        for (const ConstOperand &o : all) {
            const Buffer *b = buffer(o.ref->buffer);
            if (!b) continue;
            const auto it = of.find(o.ref->buffer);
            if (it == of.end()) {
                throw AttrError(program_.name, describe(program_, i) + ": buffer '" +
                                                   o.ref->buffer +
                                                   "' is used before it is allocated");
            }
            it->second.used = true;
            if (pipe != Pipe::v || b->slots > 1) it->second.vector_only = false;
            used_.back().push_back(o.ref->buffer);
        }
        const Vec *v = std::get_if<Vec>(&i.op);
        if (v && sources_of(v->op) > 0) {
            const auto skips = [&](int k) { return v->src_rep[k].constant().value_or(0) == 16; };
            const bool two = sources_of(v->op) == 2;
            operations.push_back({v->dst.buffer,
                                  {v->src[0].buffer, two ? v->src[1].buffer : ""},
                                  {skips(0), two && skips(1)},
                                  iterations_ * v->repeat.constant().value_or(1)});
        }
        if (const VecSel *s = std::get_if<VecSel>(&i.op)) {
            operations.push_back({s->dst.buffer,
                                  {s->src[0].buffer, s->src[1].buffer},
                                  {false, false},
                                  iterations_ * s->repeat.constant().value_or(1)});
        }
        if (const VecCmp *c = std::get_if<VecCmp>(&i.op)) {
            operations.push_back({"",
                                  {c->src[0].buffer, c->src[1].buffer},
                                  {false, false},
                                  iterations_ * c->repeat.constant().value_or(1)});
        }
        if (const VecConv *c = std::get_if<VecConv>(&i.op)) {
            operations.push_back({c->dst.buffer,
                                  {c->src.buffer, ""},
                                  {true, false},
                                  iterations_ * c->repeat.constant().value_or(1)});
        }
        if (v && sources_of(v->op) == 2 && v->src[0].buffer != v->src[1].buffer)
            source_pairs.emplace_back(v->src[0].buffer, v->src[1].buffer);
    }

    const Program &program_;
    std::unordered_map<std::string, Buffer *> buffers_;  // by name: there may be thousands
    int64_t position_ = 0, iterations_ = 1;
    std::vector<std::vector<std::string>> used_;
};

int64_t align_of(const Program &p, const Buffer &b) {
    return std::max(b.align, p.chip().align(b.scope));
}

// Places buffers by first fit; `shifted` buffers begin in the other half of the bank groups.
// Returns the bytes that each scope needs.
std::map<Scope, int64_t> first_fit(const Program &p, const LiveRanges &lives,
                                   const std::map<std::string, bool> &shifted) {
    struct Placed {
        int64_t begin, until;  // the interval of its life
        int64_t address, end;
    };
    std::map<Scope, int64_t> top;
    std::map<Scope, std::vector<Placed>> placed_in;  // by address
    for (const std::string &name : lives.order) {
        Buffer &b = *lives.buffer(name);
        const LiveRange &life = lives.of.at(name);
        const auto it = shifted.find(name);
        const int64_t unit = it == shifted.end() ? align_of(p, b) : 2 * half_groups;
        const int64_t shift = it != shifted.end() && it->second ? half_groups : 0;
        const int64_t size = b.slot_bytes() * b.slots;
        b.align = align_of(p, b);
        std::vector<Placed> &placed = placed_in[b.scope];
        int64_t at = shift;
        for (const Placed &o : placed) {
            if (o.address >= at + size) break;
            const bool is_alive_too = o.begin <= life.until() && life.begin <= o.until;
            if (is_alive_too && at < o.end)
                at = round_up(std::max<int64_t>(o.end - shift, 0), unit) + shift;
        }
        b.address = at;
        top[b.scope] = std::max(top[b.scope], at + size);
        const auto next = std::ranges::upper_bound(placed, at, {}, &Placed::address);
        placed.insert(next, {life.begin, life.until(), at, at + size});
    }
    return top;
}

// Returns the buffers to shift, so that most pairs of sources are in different halves of the bank
// groups.
std::map<std::string, bool> shifted_buffers(const LiveRanges &lives) {
    std::map<std::string, bool> half;
    for (const auto &[a, b] : lives.source_pairs) {
        const Buffer *x = lives.buffer(a);
        const Buffer *y = lives.buffer(b);
        // Their slots would not keep their halves.
        if (!x || !y || x->slot_bytes() % (2 * half_groups) != y->slot_bytes() % (2 * half_groups))
            continue;
        if (!half.count(a)) half[a] = half.count(b) && !half[b];
        if (!half.count(b)) half[b] = !half[a];
    }
    return half;
}

// The cycles that vector operations lose by the addresses of their operands. Two sources in one
// half of the bank groups wait for each other. A source waits for a result that was written to its
// bank 13 repeats before, if that is in the half it is read from.
class BankConflicts {
public:
    BankConflicts(const Program &p, const LiveRanges &lives)
        : lives_(lives), quarter_(int64_t(p.chip().at("vec.bank_bytes"))) {
        for (const auto &o : lives.operations) {
            for (int s = 0; s < 2; s++) {
                if (o.src[s].empty()) continue;
                if (o.dst != o.src[s]) add({o.dst, o.src[s], true, o.skips[s], o.repeats});
                if (s == 1 && o.src[0] != o.src[1])
                    add({o.src[0], o.src[1], false, false, o.repeats});
            }
        }
    }
    int64_t cost(const Buffer &b, int64_t at, const std::set<std::string> &placed) const {
        int64_t sum = 0;
        const auto pairs = of_.find(b.name);
        if (pairs == of_.end()) return 0;
        for (const Pair &p : pairs->second) {
            const std::string &name = p.a == b.name ? p.b : p.a;
            if (!placed.count(name)) continue;
            const Buffer &other = *lives_.buffer(name);
            const bool one_half = at / half_groups % 2 == other.address / half_groups % 2;
            const bool one_bank = at / quarter_ <= last(other, other.address) / quarter_ &&
                                  other.address / quarter_ <= last(b, at) / quarter_;
            if (p.writes ? one_bank && (p.skips || !one_half) : one_half) sum += p.repeats;
        }
        return sum;
    }

private:
    struct Pair {
        std::string a, b;
        bool writes, skips;
        int64_t repeats;
    };
    const LiveRanges &lives_;
    const int64_t quarter_;
    std::map<std::string, std::vector<Pair>> of_;
    void add(const Pair &p) {
        of_[p.a].push_back(p);
        of_[p.b].push_back(p);
    }
    static int64_t last(const Buffer &b, int64_t at) { return at + b.slot_bytes() * b.slots - 1; }
};

// Returns the order of placement: buffers that aren't read in step with their results come first,
// because they need another bank than these, then the largest.
std::vector<std::string> placement_order(const LiveRanges &lives) {
    std::set<std::string> constrained;
    for (const auto &o : lives.operations) {
        for (int s = 0; s < 2; s++)
            if (o.skips[s]) constrained.insert({o.dst, o.src[s]});
    }
    std::vector<std::string> order = lives.order;
    std::stable_sort(order.begin(), order.end(), [&](const std::string &a, const std::string &b) {
        const auto ease = [&](const std::string &name) {
            const Buffer &buffer = *lives.buffer(name);
            return std::pair(!constrained.count(name), -buffer.slot_bytes() * buffer.slots);
        };
        return ease(a) < ease(b);
    });
    return order;
}

// Places each buffer where it costs least. Returns false if one of them doesn't fit.
class LeastCost {
public:
    LeastCost(const Program &p, const LiveRanges &lives)
        : program_(p), lives_(lives), conflicts_(p, lives),
          quarter_(int64_t(p.chip().at("vec.bank_bytes"))) {}

    bool place_all() {
        for (const std::string &name : placement_order(lives_)) {
            Buffer &b = *lives_.buffer(name);
            const LiveRange &life = lives_.of.at(name);
            b.align = align_of(program_, b);
            const int64_t address = best_address(b, life);
            if (address < 0) return false;
            b.address = address;
            done_.push_back({&b, life.begin, life.until()});
            placed_.insert(name);
        }
        return true;
    }

private:
    struct Placed {
        const Buffer *buffer;
        int64_t begin, until;  // the interval of its life
    };
    const Program &program_;
    const LiveRanges &lives_;
    const BankConflicts conflicts_;
    const int64_t quarter_;
    std::vector<Placed> done_;
    std::set<std::string> placed_;

    static int64_t size_of(const Buffer &b) { return b.slot_bytes() * b.slots; }

    // Returns the bytes of buffers that are alive at the same time.
    std::vector<std::pair<int64_t, int64_t>> taken_by_others(const Buffer &b,
                                                             const LiveRange &life) const {
        std::vector<std::pair<int64_t, int64_t>> taken;
        for (const Placed &o : done_) {
            if (o.buffer->scope == b.scope && o.begin <= life.until() && life.begin <= o.until)
                taken.emplace_back(o.buffer->address, o.buffer->address + size_of(*o.buffer));
        }
        return taken;
    }
    // Returns the address of least cost, or -1 if there is none.
    int64_t best_address(const Buffer &b, const LiveRange &life) const {
        const int64_t size = size_of(b);
        const int64_t has = program_.chip().bytes(b.scope);
        const auto taken = taken_by_others(b, life);
        std::set<int64_t> begins = {0};
        for (auto &t : taken)
            begins.insert(t.second);
        for (int64_t q = quarter_; b.scope == Scope::ub && q < has; q += quarter_)
            begins.insert(q);
        int64_t best = -1, lowest = 0;
        for (const int64_t begin : begins) {
            for (const int64_t shift : {int64_t(0), half_groups}) {
                const int64_t at =
                    b.scope == Scope::ub
                        ? round_up(std::max<int64_t>(begin - shift, 0), 2 * half_groups) + shift
                        : round_up(begin, b.align);
                const bool free = at % b.align == 0 && at + size <= has &&
                                  std::none_of(taken.begin(), taken.end(), [&](auto &t) {
                                      return t.first < at + size && at < t.second;
                                  });
                if (!free) continue;
                const int64_t cost = conflicts_.cost(b, at, placed_);
                if (best < 0 || cost < lowest || (cost == lowest && at < best)) {
                    best = at;
                    lowest = cost;
                }
            }
        }
        return best;
    }
};

Issue capacity_issue(const Program &p, const LiveRanges &lives, Scope s, int64_t needs) {
    const int64_t has = p.chip().bytes(s);
    std::string parts;
    const Buffer *largest = nullptr;
    for (const std::string &name : lives.order) {
        const Buffer &b = *lives.buffer(name);
        if (b.scope != s) continue;
        parts += (parts.empty() ? "" : ", ") + name + " " + std::to_string(b.slot_bytes()) +
                 (b.slots > 1 ? " x" + std::to_string(b.slots) + " slots" : "");
        if (!largest || b.slot_bytes() > largest->slot_bytes()) largest = &b;
    }
    const int64_t fits = std::max<int64_t>(largest->size * has / needs / 128 * 128, 16);
    return {"E-CAP",
            p.name + ": " + name_of(s) + " needs " + std::to_string(needs) + " B of " +
                std::to_string(has) + " (" + parts +
                "): lower the tile to <= " + std::to_string(fits) + " elements of " + largest->name,
            1};
}

}  // namespace

std::vector<Issue> place_buffers(Program &p) {
    const LiveRanges lives(p);
    const auto fits = [&](const std::map<Scope, int64_t> &needs) {
        return std::all_of(needs.begin(), needs.end(),
                           [&](const auto &n) { return n.second <= p.chip().bytes(n.first); });
    };
    if (LeastCost(p, lives).place_all() || fits(first_fit(p, lives, shifted_buffers(lives)))) {
        dump(p, "2-placed");
        return {};
    }
    const std::map<Scope, int64_t> needs = first_fit(p, lives, {});
    dump(p, "2-placed");
    std::vector<Issue> issues;
    for (const auto &[scope, bytes] : needs)
        if (bytes > p.chip().bytes(scope)) issues.push_back(capacity_issue(p, lives, scope, bytes));
    return issues;
}

}  // namespace halyard::dv
