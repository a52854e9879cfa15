#include "tools/tune/tuner.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "bench/harness/ab_result.h"
#include "bench/harness/benchmark_case.h"
#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "bench/harness/system_load.h"
#include "dsl/work.h"
#include "registry/base/parallel.h"
#include "registry/base/version.h"
#include "registry/dispatch/choice.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"
#include "tools/tune/bucket.h"

namespace halyard::tune {
using namespace bench;
namespace {

Plan plan_of(const ProblemInstance &t, const std::string &isa) {
    if (isa.empty()) return make_plan(t.op, metas_of(t), t.attrs);
    const Force force(isa_of(isa), "");
    return make_plan(t.op, metas_of(t), t.attrs);
}

}  // namespace

Layouts layouts_of(const Plan &plan) {
    Layouts l;
    auto add = [](const Plan::Buffer &b, auto &extents, auto &dense) {
        std::vector<int64_t> e;
        for (int d = 0; d < b.rank; d++)
            e.push_back(b.dims[d].extent);
        extents.push_back(e);
        dense.push_back(b.rank > 0 && b.dims[0].stride == 1);
    };
    for (auto &b : plan.inputs)
        add(b, l.inputs, l.dense_inputs);
    for (auto &b : plan.outputs)
        add(b, l.outputs, l.dense_outputs);
    for (size_t k = 0; k < plan.scalars.size(); k++)
        l.scalars[plan.op->record.scalars[k].name] = plan.scalars[k].i;
    return l;
}

Tuner::Tuner(const RegisteredOp &op, const std::string &problem, const TunerOptions &o,
             Compiler &compiler, History &history)
    : o_(o), compiler_(compiler), history_(history), problem_(op, problem, o.dtypes),
      plan_(plan_of(problem_, o.isa)), out_(outputs_of(problem_)), expected_(problem_, out_),
      start_(std::chrono::steady_clock::now()) {
    if (!plan_.kernel) throw ShapeError(op.record.name, "'" + problem + "' has nothing to compute");
    if (!expected_.known()) {
        throw DispatchError(
            op.record.name,
            "'" + problem +
                "' is too large for the reference, and there is no f64 kernel: no verdict");
    }
    std::string last;
    for (const KernelEntry &k : op.kernels) {
        if (k.backend != "cpu" || k.dtypes != plan_.kernel->dtypes || k.isa != plan_.kernel->isa)
            continue;
        if (!o.variant.empty() && k.variant != o.variant) continue;
        const Built offers = compiler_.offers(job_of({k.variant, {}}));
        if (!offers.error.empty()) throw DispatchError(op.record.name, offers.error);
        algorithms_[k.variant] = offers.algorithm;
        lanes_[k.variant] = k.lanes;
        space_.add(k.variant, offers.offered);
    }
    if (!space_.size()) throw DispatchError(op.record.name, "no kernels of this selection");
    default_ = *plan_.kernel;
    const Built built = compiler_.build(job_of(selected()));
    if (!built.error.empty()) throw DispatchError(op.record.name, "the default: " + built.error);
    default_.fn = load(built);
    against_ = built.code;
}

Candidate Tuner::selected() const {
    return {plan_.kernel->variant, {plan_.kernel->tunables.begin(), plan_.kernel->tunables.end()}};
}

Job Tuner::job_of(const Candidate &c) const {
    Job job;
    job.op = problem_.op.record.name;
    job.dtypes = plan_.kernel->dtypes;
    job.variant = c.variant;
    job.isa = plan_.kernel->isa;
    job.tunables = c.tunables;
    job.autoscheduler = c.autoscheduler;
    job.threads = o_.threads;
    if (!c.autoscheduler.empty()) job.layouts = layouts_of(plan_);
    return job;
}

Record Tuner::blank(const Candidate &c) const {
    Record r;
    r.op = problem_.op.record.name;
    r.variant = c.variant;
    r.tunables = c.tunables;
    if (!c.autoscheduler.empty()) r.schedule = c.autoscheduler;
    r.dtypes = plan_.kernel->dtypes;
    r.isa = name_of(plan_.kernel->isa);
    r.cpu = this_cpu();
    r.kit = version();
    r.threads = o_.threads;
    r.bucket = bucket_of(plan_);
    r.problem = problem_.text;
    const auto algorithm = algorithms_.find(c.variant);
    r.algorithm = algorithm == algorithms_.end() ? "-" : algorithm->second;
    r.code = "-";
    r.against = against_;
    return r;
}

KernelEntry Tuner::entry_of(const Candidate &c) const {
    KernelEntry k = *plan_.kernel;
    k.variant = c.variant;
    k.tunables.clear();
    const auto lanes = lanes_.find(c.variant);
    if (lanes != lanes_.end()) k.lanes = lanes->second;
    for (auto &[name, value] : c.tunables)
        k.tunables[name] = value;
    return k;
}

bool Tuner::takes(const Candidate &c) const {
    return !c.autoscheduler.empty() ||
           rejection_reason(problem_.op.record, entry_of(c), plan_.dims).empty();
}

void Tuner::prove(Record &r, const Candidate &c) {
    Job job = job_of(c);
    // Without a schedule the algorithm sums again for every element, so large problems take too
    // long.
    if (work_of(op_table(), problem_.op.record.name, problem_.dims).operations() <= 100000)
        job.problem = problem_.text;
    const Built proof = compiler_.prove(job);
    if (proof.error.empty())
        r.verdict = "proved";
    else if (!proof.error.starts_with("not proved: "))
        r.verdict = "breach: " + proof.error;
    else
        unproved_[key_of(r)] = proof.error.substr(12);
}

bool Tuner::time(Record &r, const Built &built, int rounds) {
    KernelEntry kernel = *plan_.kernel;
    kernel.fn = load(built);
    Plan mine = plan_;
    mine.kernel = &kernel;
    Plan baseline = plan_;
    baseline.kernel = &default_;
    set_threads(o_.threads);
    // Overwrites outputs, so that an earlier result isn't taken for this one's.
    for (const Tensor &y : out_)
        std::memset(y.raw(), 0xFF, y.bytes());
    r.n = 0;
    r.date = now();
    check::begin_step(r.dtypes + "/" + r.isa + "/" + r.variant + " " + tunables_text(r.tunables) +
                      " of " + r.op + " '" + r.problem + "'");
    const auto call = [&](const Plan &p) {
        return [this, &p] { run_plan(p, problem_.in, problem_.attrs, out_); };
    };
    try {
        call(mine)();
    } catch (const DispatchError &e) {
        r.verdict = std::string("breach: ") + e.what();
        return true;
    }
    const std::string violation = expected_.judge(out_).violation;
    if (r.verdict != "proved") r.verdict = violation.empty() ? "ok" : "breach: " + violation;
    if (!violation.empty()) return true;
    const ABResult p = run_ab_test(call(mine), call(baseline), rounds, o_.min_time);
    r.n = p.rounds;
    r.median_us = p.median * 1e6;
    r.min_us = p.min * 1e6;
    r.spread = p.spread;
    r.ratio = p.against.ratio;
    r.low = p.against.low;
    r.high = p.against.high;
    r.noise = p.against.noise;
    return p.left_a_core;
}

void Tuner::keep(const Record &r, bool fresh) {
    std::erase_if(records_, [&](const Record &old) { return key_of(old) == key_of(r); });
    records_.push_back(r);
    fresh ? measured_++ : reused_++;
    std::stable_sort(records_.begin(), records_.end(), [](const Record &a, const Record &b) {
        return std::make_pair(!a.timed(), a.ratio) < std::make_pair(!b.timed(), b.ratio);
    });
}

std::optional<Record> Tuner::evaluate(const Candidate &c) {
    if (!takes(c)) return {};
    Record r = blank(c);
    const Built built = compiler_.build(job_of(c));
    if (!built.error.empty()) {
        r.verdict = "uncompiled: " + built.error;
        r.date = now();
    } else {
        r.algorithm = built.algorithm;
        r.code = built.code;
        if (c.autoscheduler.empty())
            r.tunables = built.tunables;
        else
            sources_[c.autoscheduler] = built.source;
    }
    if (const Record *old = history_.find(r);
        old && (built.error.empty() || old->verdict == r.verdict)) {
        keep(*old, false);
        return *old;
    }
    if (built.error.empty() && !c.autoscheduler.empty()) prove(r, c);
    if (built.error.empty() && !r.verdict.starts_with("breach: ")) time(r, built, o_.rounds);
    history_.put(r);
    keep(r, true);
    return r;
}

const Record *Tuner::best() const {
    for (const Record &r : records_)
        if (r.timed() && !unproved_.count(key_of(r))) return &r;
    return nullptr;
}

void Tuner::confirm_best(const std::atomic<bool> &stop) {
    const int rounds = std::max(3 * o_.rounds, Record::rounds_to_decide);
    left_a_core_ = leaves_a_core(load_of_others());
    while (!stop && left_a_core_) {
        const auto found = std::find_if(records_.begin(), records_.end(), [&](const Record &r) {
            return r.faster() && !unproved_.count(key_of(r));
        });
        if (found == records_.end() || (found->n >= rounds && found->is_proved())) return;
        Record r = *found;
        const bool own = r.schedule == "own";
        const Candidate c{r.variant, own ? r.tunables : std::map<std::string, int>(),
                          own ? "" : r.schedule};
        const Built built = compiler_.build(job_of(c));
        if (!r.is_proved()) prove(r, c);
        if (unproved_.count(key_of(r))) continue;
        if (r.verdict.starts_with("breach: ")) {
            r.n = 0;
            r.date = now();
        } else if (!time(r, built, rounds)) {
            left_a_core_ = false;  // times under load must not decide
            return;
        }
        history_.put(r);
        keep(r, true);
    }
}

std::vector<std::string> Tuner::conclusions() const {
    std::set<std::string> keys;
    for (auto &[key, why] : unproved_)
        keys.insert(key);
    return tune::conclusions(records_, keys, left_a_core_);
}

void Tuner::progress(size_t done, size_t total) const {
    const Record *b = best();
    char line[200];
    const size_t filled = total ? done * 20 / total : 20;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    std::snprintf(line, sizeof line, "%s [%s%s] %zu/%zu  %.0f s  best %.3f %s %s",
                  problem_.op.record.name.c_str(), std::string(filled, '#').c_str(),
                  std::string(20 - filled, '.').c_str(), done, total, seconds, b ? b->ratio : 1,
                  b ? b->variant.c_str() : "", b ? tunables_text(b->tunables).c_str() : "");
    std::fprintf(stderr, isatty(STDERR_FILENO) ? "\r\033[K%s" : "%s\n", line);
    std::fflush(stderr);
}

void Tuner::take_known(SpaceSearch &search) {
    history_.note_stale(blank({}), algorithms_);
    for (const Record *r : history_.known(blank({}), algorithms_)) {
        if (r->schedule != "own") continue;
        const auto at = space_.find(r->variant, r->tunables);
        if (!at) continue;
        // If the schedule has changed, it is measured again.
        const Candidate c = space_.at(*at);
        const Built built = compiler_.build(job_of(c));
        if ((built.error.empty() ? built.code : "-") != r->code) continue;
        search.visit(*at);
        keep(*r, false);
    }
}

void Tuner::find_baseline() {
    const Candidate usual = selected();
    baseline_ = blank(usual);
    for (const Record &r : records_) {
        if (r.schedule == "own" && r.variant == usual.variant && r.tunables == usual.tunables)
            baseline_ = r;
    }
}

void Tuner::run(const std::atomic<bool> &stop) {
    SpaceSearch search(space_, o_.budget.candidates, o_.seed);
    take_known(search);
    const auto from = std::chrono::steady_clock::now();
    auto spent = [&] {
        return o_.budget.seconds > 0 &&
               std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count() >
                   o_.budget.seconds;
    };
    for (const std::string &name : o_.autoschedulers) {
        if (stop || spent()) break;
        evaluate({plan_.kernel->variant, {}, name});
        progress(search.done(), search.total());
    }
    while (!stop && !spent()) {
        const Record *b = best();
        const auto next = search.next(
            b && b->schedule == "own" ? space_.find(b->variant, b->tunables) : std::nullopt);
        if (!next) break;
        if (!evaluate(space_.at(*next))) {
            search.skip();
            continue;
        }
        progress(search.done(), search.total());
    }
    confirm_best(stop);
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
    find_baseline();
}

}  // namespace halyard::tune
