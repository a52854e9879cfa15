#include "ascend/simulator/timer.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "ascend/program/text.h"
#include "ascend/simulator/stop.h"

namespace halyard::dv {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

std::vector<int64_t> tensor_bytes(const Program &p, const Walker &w) {
    std::vector<int64_t> all;
    for (size_t t = 0; t < p.tensors.size(); t++)
        all.push_back(w.size(t) * int64_t(bytes_of(p.tensors[t].dtype)));
    return all;
}

std::string flag_text(Pipe src, Pipe dst, int64_t id) {
    return std::string(name_of(src)) + " to " + name_of(dst) + " " + std::to_string(id);
}

}  // namespace

Timer::Timer(const Setup &setup, CoreStats &stats, IssueLog &log)
    : setup_(setup), chip_(setup.program.chip()), stats_(stats), log_(log), cost_(chip_),
      races_(setup.program, setup.races ? tensor_bytes(setup.program, setup.walker)
                                        : std::vector<int64_t>(setup.program.tensors.size())),
      flags_(size_t(pipe_count * pipe_count * 16)) {}

void Timer::run(Walker &walker, int64_t block, const std::vector<float> &hits,
                const std::vector<double> &loads) {
    hits_ = &hits;
    loads_ = &loads;
    next_hit_ = next_load_ = 0;
    walker.run(block, *this);
    while (advance()) {
    }
    for (const auto &q : queues_)
        if (!q.empty()) deadlock(nullptr);
    for (const double f : free_)
        now_ = std::max(now_, f);
    commit_until(never);
    // The next block begins once all instructions have finished.
    Clock all = {};
    for (int p = 0; p < pipe_count; p++)
        all[size_t(p)] = epochs_[p];
    for (int p = 0; p < pipe_count; p++) {
        clocks_[p] = all;
        free_[p] = now_;
    }
    for (size_t f = 0; f < flags_.size(); f++) {
        if (flags_[f].set) {
            add_issue("E-FLAG", flags_[f].by, [&] {
                return "flag " +
                       flag_text(static_cast<Pipe>(f / 16 / pipe_count),
                                 static_cast<Pipe>(f / 16 % pipe_count), int64_t(f) % 16) +
                       " is still set at the end of the program, and would be in the next one";
            });
        }
        flags_[f] = {};
    }
    stats_.cycles = now_;
}

const Timer::Flag *Timer::blocking(const Queued &q) {
    const WaitFlag *w = std::get_if<WaitFlag>(&q.step.op);
    if (!w) return nullptr;
    const Flag &f = flag(w->src, w->dst, w->id.value());
    return f.set ? nullptr : &f;
}

double Timer::start_of(Pipe p, const Queued &q) {
    if (blocking(q)) return never;
    double start = std::max(free_[int(p)], q.issued);
    if (const WaitFlag *w = std::get_if<WaitFlag>(&q.step.op))
        start = std::max(start, flag(w->src, w->dst, w->id.value()).time);
    return start;
}

bool Timer::advance() {
    int first = -1;
    double start = never;
    for (int p = 0; p < pipe_count; p++) {
        if (queues_[p].empty()) continue;
        const double t = start_of(static_cast<Pipe>(p), queues_[p].front());
        if (t < start) {
            start = t;
            first = p;
        }
    }
    if (first < 0) return false;
    const Queued q = std::move(queues_[first].front());
    queues_[first].pop_front();
    run_on(static_cast<Pipe>(first), q);
    return true;
}

void Timer::advance_to(double time) {
    for (;;) {
        double start = never;
        for (int p = 0; p < pipe_count; p++) {
            if (!queues_[p].empty())
                start = std::min(start, start_of(static_cast<Pipe>(p), queues_[p].front()));
        }
        if (start > time || !advance()) return;
    }
}

void Timer::deadlock(const Step *scalar) {
    std::string all;
    const auto waiting = [&](const Step &s, Pipe p) {
        if (const WaitFlag *w = std::get_if<WaitFlag>(&s.op)) {
            all += (all.empty() ? "" : "; ") + std::string(name_of(p)) + " waits for " +
                   flag_text(w->src, w->dst, w->id.value()) + " at " +
                   describe(setup_.program, *s.instr);
        }
    };
    for (int p = 0; p < pipe_count; p++)
        if (!queues_[p].empty()) waiting(queues_[p].front().step, static_cast<Pipe>(p));
    if (scalar) waiting(*scalar, Pipe::s);
    log_.add("E-FLAG", nullptr, [&] {
        return "nobody sets the flags that hold the pipes at cycle " +
               std::to_string(int64_t(now_)) + ": " + all;
    });
    throw Stop();
}

void Timer::set(const Step &s, Pipe src, Pipe dst, int64_t id, double time) {
    Flag &f = flag(src, dst, id);
    if (f.set) {
        add_issue("E-FLAG", s.instr, [&] {
            return "flag " + flag_text(src, dst, id) + " is set already, by " +
                   describe(setup_.program, *f.by);
        });
    }
    f = {true, time, clocks_[int(src)], s.instr};
    f.clock[size_t(src)] = epochs_[int(src)];  // it runs after all earlier instructions of its pipe
}

void Timer::wait(Pipe src, Pipe dst, int64_t id) {
    Flag &f = flag(src, dst, id);
    join(clocks_[int(dst)], f.clock);
    f.set = false;
}

void Timer::order(const Step &s) {
    const int p = int(s.pipe);
    epochs_[p]++;
    if (setup_.races) races_.access(s, clocks_[p], epochs_[p], log_);
}

double Timer::finish(const Queued &q, double start, Cost &cost) {
    const Traffic t = gm_traffic(chip_, q.step);
    if (t.bytes == 0) {
        cost = cost_.of(q.step);
        return start + cost.cycles;
    }
    const GmTensor &tensor = setup_.program.tensors[size_t(t.tensor)];
    const double share = chip_.at("gm.chip") / setup_.active_cores *
                         (tensor.bypass_l2 ? chip_.at("gm.chip_bypass", chip_.at("gm.chip")) /
                                                 chip_.at("gm.chip")
                                           : 1);
    const double from_l2 = t.effective * q.hit;
    const double from_gm = t.effective - from_l2;
    // Both directions and all cores share the port to GM. L2 has bandwidth of its own.
    const double rate = from_gm / chip_.at(t.write ? "gm.write" : "gm.read") +
                        from_l2 / chip_.at(t.write ? "l2.write" : "l2.read");
    port_ = std::max(port_, start) + from_gm / share;
    const double raw = double(t.count * t.bytes);
    (t.write ? stats_.gm_write : stats_.gm_read) += raw * (1 - q.hit);
    (t.write ? stats_.l2_write : stats_.l2_read) += raw;
    if (t.unaligned && t.effective > 1.1 * raw) {
        add_issue("W-ALIGN512", q.step.instr, [&] {
            return "bursts in '" + tensor.name +
                   "' don't begin at multiples of 512 B, which leaves " +
                   std::to_string(int(100 * chip_.at("gm.unaligned"))) + " % of the rate";
        });
    }
    if (raw < 16384) {
        add_issue("W-SMALLDMA", q.step.instr, [&] {
            return "moves " + std::to_string(int64_t(raw)) + " B, the full rate takes 16384 B";
        });
    }
    const double end = std::max(start + rate, port_) +
                       chip_.at(t.write ? "gm.write_latency" : "gm.latency");
    cost.cycles = end - start;
    return end;
}

void Timer::run_on(Pipe p, const Queued &q) {
    const double start = start_of(p, q);
    commit_until(start);
    join(clocks_[int(p)], q.known);
    if (const WaitFlag *w = std::get_if<WaitFlag>(&q.step.op)) {
        wait(w->src, w->dst, w->id.value());
        free_[int(p)] = start + flag_cost_;
        return;
    }
    if (const SetFlag *f = std::get_if<SetFlag>(&q.step.op)) {
        free_[int(p)] = start + flag_cost_;
        return set(q.step, f->src, f->dst, f->id.value(), free_[int(p)]);
    }
    if (std::holds_alternative<Barrier>(q.step.op)) {
        free_[int(p)] = start + flag_cost_;
        clocks_[int(p)][size_t(p)] = epochs_[int(p)];
        return;
    }
    order(q.step);
    Cost cost;
    const double end = finish(q, start, cost);
    if (setup_.memory) execute_at(q.step, end);
    free_[int(p)] = end;
    count(q.step, cost, end - start);
    note(p, q.step, start, end);
}

void Timer::run_here(const Step &s) {
    advance_to(now_);
    if (const WaitFlag *w = std::get_if<WaitFlag>(&s.op)) {
        const Flag &f = flag(w->src, w->dst, w->id.value());
        while (!f.set)
            if (!advance()) deadlock(&s);
        now_ = std::max(now_, f.time) + flag_cost_;
        return wait(w->src, w->dst, w->id.value());
    }
    if (const SetFlag *f = std::get_if<SetFlag>(&s.op)) {
        now_ += flag_cost_;
        return set(s, f->src, f->dst, f->id.value(), now_);
    }
    if (std::holds_alternative<Barrier>(s.op)) {  // a barrier of all pipes
        while (advance()) {
        }
        for (const auto &q : queues_)
            if (!q.empty()) deadlock(&s);
        Clock all = {};
        for (int p = 0; p < pipe_count; p++) {
            now_ = std::max(now_, free_[p]);
            all[size_t(p)] = epochs_[p];
        }
        for (auto &c : clocks_)
            join(c, all);
        now_ += flag_cost_;
        return;
    }
    commit_until(now_);
    order(s);
    const Cost cost = cost_.of(s);
    if (setup_.memory) execute_at(s, now_ + cost.cycles);
    note(Pipe::s, s, now_, now_ + cost.cycles);
    now_ += cost.cycles;
    count(s, cost, cost.cycles);
}

void Timer::step(Step &s) {
    now_ += issue_;
    stats_.instructions++;
    if (s.pipe == Pipe::s || s.pipe == Pipe::all) return run_here(s);
    auto &queue = queues_[int(s.pipe)];
    const double before = now_;
    while (queue.size() >= depth_) {
        const double head = start_of(s.pipe, queue.front());
        if (!advance()) deadlock(nullptr);
        if (queue.size() < depth_ && head < never) now_ = std::max(now_, head);
    }
    stats_.queue_full[size_t(s.pipe)] += now_ - before;
    double hit = 0;
    if (s.pipe == Pipe::mte2 || s.pipe == Pipe::mte3 || s.pipe == Pipe::fix) {
        for (int k = 0; k < s.count; k++) {
            if (s.locations[size_t(k)].scope == Scope::gm)
                hit = next_hit_ < hits_->size() ? (*hits_)[next_hit_++] : 0;
        }
    }
    Clock known = clocks_[int(Pipe::s)];
    known[size_t(Pipe::s)] = 0;
    queue.push_back({std::move(s), now_, hit, known});
}

double Timer::load(Step &s) {
    now_ += issue_;
    stats_.instructions++;
    run_here(s);
    if (setup_.memory) return scalar_load(s, *setup_.memory);
    return next_load_ < loads_->size() ? (*loads_)[next_load_++] : 0;
}

void Timer::scalar_work(const Instr *) {
    now_ += scalar_;
    stats_.busy[size_t(Pipe::s)] += scalar_;
}

void Timer::execute_at(const Step &s, double end) {
    // The result is computed from the memory's state at the start, removed again, and stored at the
    // end.
    std::vector<Pending> writes;
    std::vector<uint8_t> before;
    for (int k = 0; k < s.count; k++) {
        if (!s.locations[size_t(k)].written) continue;
        writes.push_back({end, s.locations[size_t(k)], {}, {}});
        footprint(s, k, writes.back().runs);
        const uint8_t *base = setup_.memory->base(s.locations[size_t(k)]);
        for (const Run &r : writes.back().runs)
            before.insert(before.end(), base + r.begin, base + r.begin + r.bytes);
    }
    execute(s, *setup_.memory);
    size_t at = 0;
    for (Pending &w : writes) {
        uint8_t *base = setup_.memory->base(w.place);
        for (const Run &r : w.runs) {
            w.bytes.insert(w.bytes.end(), base + r.begin, base + r.begin + r.bytes);
            std::memcpy(base + r.begin, before.data() + at, size_t(r.bytes));
            at += size_t(r.bytes);
        }
        pending_.push_back(std::move(w));
    }
}

void Timer::commit_until(double time) {
    std::stable_sort(pending_.begin(), pending_.end(),
                     [](const Pending &a, const Pending &b) { return a.time < b.time; });
    size_t done = 0;
    for (; done < pending_.size() && pending_[done].time <= time; done++) {
        uint8_t *base = setup_.memory->base(pending_[done].place);
        size_t at = 0;
        for (const Run &r : pending_[done].runs) {
            std::memcpy(base + r.begin, pending_[done].bytes.data() + at, size_t(r.bytes));
            at += size_t(r.bytes);
        }
    }
    pending_.erase(pending_.begin(), pending_.begin() + int64_t(done));
}

void Timer::note(Pipe p, const Step &s, double start, double end) {
    if (setup_.timeline) setup_.timeline->push_back({s.instr, p, start, end});
}

void Timer::count(const Step &s, const Cost &c, double busy) {
    stats_.busy[size_t(s.pipe)] += busy;
    stats_.group_clash += c.group_clash;
    stats_.bank_clash += c.bank_clash;
    if (c.group_clash + c.bank_clash > 0) {
        add_issue("W-BANK", s.instr, [&] {
            return "banks of ubuf clash for " +
                   std::to_string(int64_t(c.group_clash + c.bank_clash)) + " of " +
                   std::to_string(int64_t(c.cycles)) + " cycles; shift an operand by a few blocks";
        });
    }
    if (std::holds_alternative<ScalarLd>(s.op)) stats_.scalar_loads += busy;
    if (std::holds_alternative<ScalarSt>(s.op)) stats_.scalar_stores += busy;
    if (s.pipe == Pipe::m)
        (s.locations[1].dtype == DType::i8 ? stats_.cube_int8 : stats_.cube_fp16) += busy;
    if (s.pipe == Pipe::v) vector_cycles_of(s) += busy;
    for (int k = 0; k < s.count; k++)
        count_bytes(s, k);
}

double &Timer::vector_cycles_of(const Step &s) const {
    const bool arithmetic = std::holds_alternative<Vec>(s.op) ||
                            std::holds_alternative<VecReduce>(s.op);
    if (!arithmetic) return stats_.vector_misc;
    switch (s.locations[s.count > 1 ? 1 : 0].dtype) {
    case DType::f16: return stats_.vector_fp16;
    case DType::f32: return stats_.vector_fp32;
    case DType::i32: return stats_.vector_int32;
    default: return stats_.vector_misc;
    }
}

void Timer::count_bytes(const Step &s, int k) {
    const Location &p = s.locations[size_t(k)];
    if (p.scope == Scope::gm) return;
    footprint(s, k, runs_);
    double bytes = 0;
    for (const Run &r : runs_)
        bytes += double(r.bytes);
    if (p.read) stats_.read[size_t(p.scope)] += bytes;
    if (p.written) stats_.written[size_t(p.scope)] += bytes;
    if (p.scope != Scope::l0c || s.pipe != Pipe::m) return;
    if (p.read) stats_.cube_read += bytes;
    if (p.written) stats_.cube_written += bytes;
}

}  // namespace halyard::dv
