#include "ascend/simulator/runner.h"

#include <algorithm>
#include <tuple>

#include "ascend/simulator/stop.h"

namespace halyard::dv {

void check_owners(const Program &p, std::vector<Written> &all, IssueLog &log) {
    std::sort(all.begin(), all.end(), [](const Written &a, const Written &b) {
        return std::tie(a.tensor, a.begin, a.block) < std::tie(b.tensor, b.begin, b.block);
    });
    // The run that ends last, and the one that ends last among those of other blocks.
    const Written *furthest = nullptr, *other = nullptr;
    for (const Written &w : all) {
        if (furthest && furthest->tensor != w.tensor) furthest = other = nullptr;
        const Written *before = furthest && furthest->block != w.block ? furthest : other;
        if (before && before->end > w.begin) {
            log.add("E-XCORE", &p.tensors[size_t(w.tensor)], [&] {
                return describe(p, *w.instr) + ": block " + std::to_string(w.block) +
                       " writes byte " + std::to_string(w.begin) + " of '" +
                       p.tensors[size_t(w.tensor)].name + "', and block " +
                       std::to_string(before->block) +
                       " does, too; let each block write its own bytes, or add atomically";
            });
        }
        if (!furthest || w.end > furthest->end) {
            if (furthest && furthest->block != w.block) other = furthest;
            furthest = &w;
        } else if (w.block != furthest->block && (!other || w.end > other->end))
            other = &w;
    }
}

void Runner::run(Walker &walker, int64_t block, Trace &trace) {
    block_ = block;
    trace_ = &trace;
    if (memory_) memory_->forget_all();
    walker.run(block, *this);
}

void Runner::fail(const char *id, const Step &s, const std::string &what) {
    log_.add(id, s.instr, [&] {
        return describe(program_, Instr{s.op, s.instr->where}) + ": " + what;
    });
    throw Stop();
}

std::string Runner::memory_name(const Location &p) const {
    return p.scope == Scope::gm ? program_.tensors[size_t(p.tensor)].name : name_of(p.scope);
}

void Runner::check_bounds(const Step &s, int k) {
    const Location &p = s.locations[size_t(k)];
    if (const int64_t unit = alignment(chip_, s.op, k, p.scope, p.dtype); p.at % unit != 0) {
        fail("E-ALIGN", s,
             "operand " + std::to_string(k) + " begins at byte " + std::to_string(p.at) + " of " +
                 memory_name(p) + ", which must be a multiple of " + std::to_string(unit));
    }
    footprint(s, k, runs_[size_t(k)]);
    for (const Run &r : runs_[size_t(k)]) {
        if (r.begin < p.begin || r.begin + r.bytes > p.end) {
            fail("E-OOB", s,
                 "operand " + std::to_string(k) + (p.written ? " writes" : " reads") + " bytes " +
                     std::to_string(r.begin - p.begin) + ".." +
                     std::to_string(r.begin - p.begin + r.bytes - 1) + " of " +
                     std::to_string(p.end - p.begin) + " B in " + memory_name(p));
        }
    }
    if (p.scope != Scope::gm || !p.written ||
        (std::holds_alternative<Dma>(s.op) && std::get<Dma>(s.op).atomic))
        return;
    for (const Run &r : runs_[size_t(k)])
        trace_->written.push_back({p.tensor, r.begin, r.begin + r.bytes, block_, s.instr});
}

void Runner::check_initialised(const Step &s, int k) {
    const Location &p = s.locations[size_t(k)];
    for (const Run &r : runs_[size_t(k)]) {
        if (const int64_t hole = memory_->unwritten(p.scope, r); hole >= 0) {
            fail("E-UNINIT", s,
                 "operand " + std::to_string(k) + " reads byte " + std::to_string(hole - p.begin) +
                     " of its buffer in " + memory_name(p) + ", which nothing has written");
        }
    }
}

void Runner::check_fields(const Step &s) {
    if (s.settled && checked_.count(s.instr)) return;
    static const Ranges none = [](const std::string &) -> std::optional<Range> { return {}; };
    bool bad = false;
    const Report report = [&](const std::string &id, const std::string &text) {
        log_.add(id, s.instr, [&] { return text; });
        bad |= id[0] == 'E';
    };
    check_instr(program_, Instr{s.op, s.instr->where}, none, report);
    if (bad) throw Stop();
    if (s.settled) checked_.insert(s.instr);
}

void Runner::check(const Step &s) {
    check_fields(s);
    for (int k = 0; k < s.count; k++)
        check_bounds(s, k);
    for (int k = 0; k < s.count && memory_; k++)
        if (s.locations[size_t(k)].read && s.locations[size_t(k)].scope != Scope::gm)
            check_initialised(s, k);
}

void Runner::step(Step &s) {
    check(s);
    if (const Traffic t = gm_traffic(chip_, s); t.bytes > 0) trace_->traffic.push_back(t);
    if (!memory_) return;
    execute(s, *memory_);
    for (int k = 0; k < s.count; k++) {
        const Location &p = s.locations[size_t(k)];
        if (!p.written || p.scope == Scope::gm) continue;
        for (const Run &r : runs_[size_t(k)])
            memory_->wrote(p.scope, r);
    }
}

double Runner::load(Step &s) {
    check(s);
    const double v = memory_ ? scalar_load(s, *memory_) : 0;
    trace_->loads.push_back(v);
    return v;
}

void Runner::alloc(const Buffer &b) {
    if (memory_) memory_->forget(b.scope, b.address, b.slot_bytes() * b.slots);
}

}  // namespace halyard::dv
