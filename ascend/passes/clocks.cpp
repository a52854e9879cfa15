#include "ascend/passes/clocks.h"

#include <algorithm>

#include "ascend/program/text.h"

namespace halyard::dv {
namespace {

// Adds the tensors and buffers that instructions of `body` use: first is true for those that are
// read, second for those that are written.
void uses(const Body &body, std::map<std::string, std::pair<bool, bool>> &all) {
    for (const Node &n : body) {
        if (const For *f = std::get_if<For>(&n.is))
            uses(f->body, all);
        else if (const If *c = std::get_if<If>(&n.is)) {
            uses(c->then, all);
            uses(c->otherwise, all);
        } else if (const Instr *i = std::get_if<Instr>(&n.is)) {
            for (const ConstOperand &o : operands(*i)) {
                all[o.ref->buffer].first |= o.read;
                all[o.ref->buffer].second |= o.written;
            }
        }
    }
}

}  // namespace

void join(Clock &into, const Clock &other) {
    for (int p = 0; p < pipe_count; p++)
        into[size_t(p)] = std::max(into[size_t(p)], other[size_t(p)]);
}

bool in_order(Pipe pipe, bool earlier_writes, bool later_writes) {
    if (!earlier_writes) return true;
    if (pipe == Pipe::v) return false;
    return !(later_writes && (pipe == Pipe::mte2 || pipe == Pipe::mte3));
}

Races::Races(const Program &p, const std::vector<int64_t> &tensor_bytes)
    : program_(p), gm_(p.tensors.size()) {
    for (int s = 1; s < scope_count; s++)
        chip_[s] = Pages(p.chip().bytes(static_cast<Scope>(s)));
    std::map<std::string, std::pair<bool, bool>> used;
    uses(p.body, used);
    for (size_t t = 0; t < p.tensors.size(); t++)
        if (used[p.tensors[t].name].second) gm_[t].emplace(tensor_bytes[t]);
    for (auto &h : history_)
        h.assign(1, nullptr);
}

void Races::conflict(const Step &s, const Location &p, int64_t byte, Pipe other, uint32_t epoch,
                     bool other_writes, bool writes, IssueLog &log) {
    log.add("E-RACE", s.instr, [&] {
        const Instr *earlier = epoch < history_[int(other)].size() ? history_[int(other)][epoch]
                                                                   : nullptr;
        const bool same = other == s.pipe;
        return describe(program_, *s.instr) + " on " + name_of(s.pipe) +
               (writes ? " writes" : " reads") + " byte " + std::to_string(byte) + " of " +
               (p.scope == Scope::gm ? program_.tensors[size_t(p.tensor)].name : name_of(p.scope)) +
               ", which " + (earlier ? describe(program_, *earlier) : "an earlier instruction") +
               " on " + name_of(other) + (other_writes ? " writes" : " reads") +
               " in no order with it: it takes " +
               (same ? std::string("pipe_barrier ") + name_of(other)
                     : std::string("a flag from ") + name_of(other) + " to " + name_of(s.pipe));
    });
}

namespace {

// An access that may conflict with earlier ones.
struct Later {
    Pipe pipe;
    const Clock &now;
    uint32_t epoch;
    bool writes;

    // Returns true if it starts after an access of pipe `q` that was number `then` of it.
    bool follows(Pipe q, uint32_t then, bool wrote) const {
        return now[size_t(q)] >= then ||
               (q == pipe && (then == epoch || in_order(q, wrote, writes)));
    }
};

}  // namespace

void Races::touch(Granule &g, const Step &s, const Location &p, int64_t byte, bool writes,
                  const Clock &now, uint32_t epoch, IssueLog &log) {
    const Later later{s.pipe, now, epoch, writes};
    if (g.write && !later.follows(g.writer, g.write, true))
        conflict(s, p, byte, g.writer, g.write, true, writes, log);
    if (!writes) {
        // The scalar unit's reads are complete before it issues anything else.
        if (s.pipe != Pipe::s) g.reads[int(s.pipe)] = epoch;
        return;
    }
    for (int q = 0; q < pipe_count; q++) {
        if (g.reads[q] && !later.follows(static_cast<Pipe>(q), g.reads[q], false))
            conflict(s, p, byte, static_cast<Pipe>(q), g.reads[q], false, true, log);
    }
    std::fill(std::begin(g.reads), std::end(g.reads), 0);
    g.write = epoch;
    g.writer = s.pipe;
}

void Races::touch_bytes(const Granule &g, const Step &s, const Location &p, int64_t begin,
                        int64_t end, bool writes, const Clock &now, uint32_t epoch, IssueLog &log) {
    const Later later{s.pipe, now, epoch, writes};
    const bool is_whole = end - begin == block_bytes;
    if (!is_whole) {
        if (g.write && !later.follows(g.writer, g.write, true))
            conflict(s, p, begin, g.writer, g.write, true, writes, log);
        for (int q = 0; writes && q < pipe_count; q++) {
            if (g.reads[q] && !later.follows(static_cast<Pipe>(q), g.reads[q], false))
                conflict(s, p, begin, static_cast<Pipe>(q), g.reads[q], false, true, log);
        }
    }
    const std::pair<int, int64_t> block = {p.tensor, begin / block_bytes};
    const auto known = parts_.find(block);
    if (known != parts_.end()) {
        for (const Part &part : known->second) {
            if (part.begin < end && begin < part.end && (part.writes || writes) &&
                !later.follows(part.pipe, part.epoch, part.writes))
                conflict(s, p, std::max(begin, part.begin), part.pipe, part.epoch, part.writes,
                         writes, log);
        }
        // What comes after this access comes after those that it replaces.
        std::erase_if(known->second, [&](const Part &part) {
            const bool is_within = begin <= part.begin && part.end <= end;
            return is_within && (writes || (!part.writes && part.pipe == s.pipe));
        });
    }
    if (!is_whole) parts_[block].push_back({begin, end, s.pipe, epoch, writes});
}

void Races::access(const Step &s, const Clock &now, uint32_t epoch, IssueLog &log) {
    auto &history = history_[int(s.pipe)];
    history.resize(size_t(epoch) + 1, nullptr);
    history[epoch] = s.instr;
    // Reads come before writes: an instruction doesn't race with itself.
    for (const bool writes : {false, true}) {
        for (int k = 0; k < s.count; k++) {
            const Location &p = s.locations[size_t(k)];
            if (writes ? p.written : p.read) touch_all(s, k, writes, now, epoch, log);
        }
    }
}

void Races::touch_all(const Step &s, int k, bool writes, const Clock &now, uint32_t epoch,
                      IssueLog &log) {
    const Location &p = s.locations[size_t(k)];
    const bool in_gm = p.scope == Scope::gm;
    if (in_gm && !gm_[size_t(p.tensor)]) return;
    Pages &granules = in_gm ? *gm_[size_t(p.tensor)] : chip_[int(p.scope)];
    footprint(s, k, runs_);
    for (const Run &r : runs_) {
        const int64_t end = r.begin + r.bytes;
        for (int64_t b = r.begin / block_bytes; b * block_bytes < end; b++) {
            const int64_t from = std::max(r.begin, b * block_bytes);
            const int64_t to = std::min(end, (b + 1) * block_bytes);
            if (in_gm) touch_bytes(granules[b], s, p, from, to, writes, now, epoch, log);
            if (!in_gm || to - from == block_bytes)
                touch(granules[b], s, p, b * block_bytes, writes, now, epoch, log);
        }
    }
}

}  // namespace halyard::dv
