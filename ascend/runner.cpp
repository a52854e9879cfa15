#include "ascend/runner.h"

#include <algorithm>

#include "ascend/stop.h"

namespace halyard::dv {

Owners::Owners(const Program &p, const Walker &w) : program_(p) {
    for (size_t t = 0; t < p.tensors.size(); t++) {
        tensors_.push_back(std::make_unique<Tensor>());
        if (p.tensors[t].use == GmTensor::in || w.blocks() < 2) continue;
        tensors_[t]->unit = (int64_t)bytes_of(p.tensors[t].dtype), tensors_[t]->size = w.size(t);
        tensors_[t]->by = std::make_unique<std::atomic<uint32_t>[]>((size_t)w.size(t));
    }
}

void Owners::wrote(const Instr *instr, const Place &p, const Run &r, int64_t block) {
    Tensor &t = *tensors_[(size_t)p.tensor];
    if (!t.by) return;
    const uint32_t me = (uint32_t)block + 1;
    for (int64_t e = r.begin / t.unit; e < (r.begin + r.bytes + t.unit - 1) / t.unit; e++) {
        const uint32_t before = t.by[(size_t)e].exchange(me, std::memory_order_relaxed);
        if (before == 0 || before == me) continue;
        t.clashes++;
        t.instr = instr;
        int64_t first = t.clash;
        while ((first < 0 || e * t.unit < first) && !t.clash.compare_exchange_weak(first, e * t.unit)) {}
    }
}

void Owners::report(IssueLog &log) const {
    for (size_t i = 0; i < tensors_.size(); i++) {
        const Tensor &t = *tensors_[i];
        if (t.clashes == 0) continue;
        log.add("E-XCORE", t.instr.load(), [&] {
            return describe(program_, *t.instr.load()) + ": blocks write elements of '" + program_.tensors[i].name + "' that others write, the first at byte " +
                   std::to_string(t.clash.load()) + "; let each block write its own, or add atomically";
        });
    }
}

Runner::Runner(const Program &p, const Walker &, Memory *memory, Owners &owners, IssueLog &log)
    : program_(p), chip_(p.chip()), memory_(memory), owners_(owners), log_(log) {}

void Runner::run(Walker &walker, int64_t block, std::vector<Traffic> &traffic, std::vector<double> &loads) {
    block_ = block, traffic_ = &traffic, loads_ = &loads;
    if (memory_) memory_->forget_all();
    walker.run(block, *this);
}

void Runner::bounds(const Step &s, int k) {
    const Place &p = s.places[(size_t)k];
    const auto fail = [&](const char *id, const std::string &what) {
        log_.add(id, s.instr, [&] { return describe(program_, Instr{s.op, s.instr->where}) + ": " + what; });
        throw Stop();
    };
    const std::string name = p.scope == Scope::gm ? program_.tensors[(size_t)p.tensor].name : name_of(p.scope);
    if (const int64_t unit = alignment(chip_, s.op, k, p.scope, p.dtype); p.at % unit != 0)
        fail("E-ALIGN", "operand " + std::to_string(k) + " begins at byte " + std::to_string(p.at) + " of " + name + ", which must be a multiple of " +
                            std::to_string(unit));
    footprint(s, k, runs_);
    for (const Run &r : runs_)
        if (r.begin < p.begin || r.begin + r.bytes > p.end)
            fail("E-OOB", "operand " + std::to_string(k) + (p.written ? " writes" : " reads") + " bytes " + std::to_string(r.begin - p.begin) + ".." +
                              std::to_string(r.begin - p.begin + r.bytes - 1) + " of " + std::to_string(p.end - p.begin) + " B in " + name);
    if (p.scope == Scope::gm) {
        if (p.written && !(std::holds_alternative<Dma>(s.op) && std::get<Dma>(s.op).atomic))
            for (const Run &r : runs_) owners_.wrote(s.instr, p, r, block_);
        return;
    }
    if (!memory_ || !p.read) return;
    for (const Run &r : runs_)
        if (const int64_t hole = memory_->unwritten(p.scope, r); hole >= 0)
            fail("E-UNINIT", "operand " + std::to_string(k) + " reads byte " + std::to_string(hole - p.begin) + " of its buffer in " + name +
                                 ", which nothing has written");
}

void Runner::check(const Step &s) {
    static const Ranges none = [](const std::string &) -> std::optional<Range> { return {}; };
    bool bad = false;
    const Report report = [&](const std::string &id, const std::string &text) {
        log_.add(id, s.instr, [&] { return text; });
        bad |= id[0] == 'E';
    };
    check_instr(program_, Instr{s.op, s.instr->where}, none, report);
    if (bad) throw Stop();
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < s.count; k++)
            if (s.places[(size_t)k].written == (pass == 1)) bounds(s, k);
}

void Runner::step(Step &s) {
    check(s);
    if (const Traffic t = gm_traffic(chip_, s); t.bytes > 0) traffic_->push_back(t);
    if (!memory_) return;
    execute(s, *memory_);
    for (int k = 0; k < s.count; k++) {
        const Place &p = s.places[(size_t)k];
        if (!p.written || p.scope == Scope::gm) continue;
        footprint(s, k, runs_);
        for (const Run &r : runs_) memory_->wrote(p.scope, r);
    }
}

double Runner::load(Step &s) {
    check(s);
    const double v = memory_ ? scalar_load(s, *memory_) : 0;
    loads_->push_back(v);
    return v;
}

void Runner::alloc(const Buffer &b) {
    if (memory_) memory_->forget(b.scope, b.address, b.slot_bytes() * b.slots);
}

}  // namespace halyard::dv
