#include "ascend/simulator/simulate.h"

#include "ascend/simulator/l2.h"
#include "ascend/simulator/runner.h"
#include "ascend/simulator/stop.h"
#include "ascend/simulator/timer.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"

namespace halyard::dv {
namespace {

bool adds_atomically(const Body &body) {
    for (const Node &n : body) {
        if (const For *f = std::get_if<For>(&n.is); f && adds_atomically(f->body)) return true;
        if (const If *c = std::get_if<If>(&n.is);
            c && (adds_atomically(c->then) || adds_atomically(c->otherwise)))
            return true;
        const Instr *i = std::get_if<Instr>(&n.is);
        if (const Dma *d = i ? std::get_if<Dma>(&i->op) : nullptr; d && d->atomic) return true;
    }
    return false;
}

void check_arguments(const Program &p, const Walker &w, const std::vector<Binding> &gm,
                     const SimOptions &options) {
    if (!options.functional) return;
    if (gm.size() != p.tensors.size()) {
        throw AttrError(p.name, "takes " + std::to_string(p.tensors.size()) + " tensors, got " +
                                    std::to_string(gm.size()));
    }
    for (size_t t = 0; t < gm.size(); t++) {
        const int64_t bytes = w.size(t) * int64_t(bytes_of(p.tensors[t].dtype));
        if (gm[t].bytes < bytes) {
            throw AttrError(p.name, "tensor '" + p.tensors[t].name + "' has " +
                                        std::to_string(gm[t].bytes) + " B, the program uses " +
                                        std::to_string(bytes) + " B");
        }
    }
}

// Copies of the caller's tensors. In order of time the program runs a second time, on their values
// before the first run.
class Copies {
public:
    explicit Copies(const std::vector<Binding> &gm) {
        for (const Binding &b : gm)
            kept_.emplace_back(static_cast<const uint8_t *>(b.data),
                               static_cast<const uint8_t *>(b.data) + b.bytes);
    }
    void restore(const std::vector<Binding> &gm) const {
        for (size_t t = 0; t < gm.size(); t++)
            std::copy(kept_[t].begin(), kept_[t].end(), static_cast<uint8_t *>(gm[t].data));
    }

private:
    std::vector<std::vector<uint8_t>> kept_;
};

class Simulation {
public:
    Simulation(const Program &p, const std::vector<Binding> &gm, const Scalars &scalars,
               const SimOptions &options)
        : program(p), chip(p.chip()), gm(gm), scalars(scalars), options(options),
          first(p, scalars) {
        check_arguments(p, first, gm, options);
        blocks = first.blocks();
        cores = int(std::min<int64_t>(int64_t(chip.at("cores")), blocks));
        result.blocks = blocks;
        result.cores = cores;
        logs.resize(size_t(cores));
        traces.resize(size_t(blocks));
        result.stats.resize(size_t(cores));
        result.timelines.resize(size_t(std::min(cores, options.timeline_cores)));
    }

    SimResult run() {
        // A program that doesn't fit the core's memories can't be run.
        for (const Issue &i : verify(program))
            if (i.id == "E-CAP") result.issues.push_back(i);
        if (!result.issues.empty()) return std::move(result);
        const bool again = options.functional && options.timing && options.in_time_order;
        std::optional<Copies> copies;
        if (again) copies.emplace(gm);
        each_core([&](int core) { in_program_order(core); });
        IssueLog log;
        for (const IssueLog &l : logs)
            log.merge(l);
        if (blocks > 1) {
            std::vector<Written> written;
            for (const Runner::Trace &t : traces)
                written.insert(written.end(), t.written.begin(), t.written.end());
            check_owners(program, written, log);
        }
        if (options.timing && !has_errors(log.all())) {
            hits = l2_hits(chip, cores, int64_t(traces.size()),
                           [&](int64_t b) -> const std::vector<Traffic> & {
                               return traces[size_t(b)].traffic;
                           });
            if (again) copies->restore(gm);
            logs.assign(size_t(cores), {});
            each_core([&](int core) { in_time(core); });
            for (const IssueLog &l : logs)
                log.merge(l);
            totals(log);
        }
        result.issues = log.all();
        return std::move(result);
    }

private:
    void each_core(const std::function<void(int)> &f) {
        // Atomic adds of cores in parallel would be in another order in every run.
        if (adds_atomically(program.body)) {
            for (int c = 0; c < cores; c++)
                f(c);
        } else
            parallel_for(0, cores, [&](int64_t c) { f(int(c)); });
    }
    void in_program_order(int core) {
        Walker walker(program, scalars);
        std::optional<Memory> memory;
        if (options.functional) memory.emplace(chip, gm, true);
        Runner runner(program, memory ? &*memory : nullptr, logs[size_t(core)]);
        for (int64_t b = core; b < blocks; b += cores) {
            try {
                runner.run(walker, b, traces[size_t(b)]);
            } catch (const Stop &) {
                return;
            }
        }
    }
    void in_time(int core) {
        Walker walker(program, scalars);
        std::optional<Memory> memory;
        if (options.functional && options.in_time_order) memory.emplace(chip, gm);
        CoreTimeline *timeline = size_t(core) < result.timelines.size()
                                     ? &result.timelines[size_t(core)]
                                     : nullptr;
        Timer timer({program, walker, cores, options.races, memory ? &*memory : nullptr, timeline},
                    result.stats[size_t(core)], logs[size_t(core)]);
        for (int64_t b = core; b < blocks; b += cores) {
            try {
                timer.run(walker, b, hits[size_t(b)], traces[size_t(b)].loads);
            } catch (const Stop &) {
                return;
            }
        }
    }
    void totals(IssueLog &log) {
        double shortest = result.stats[0].cycles;
        for (const CoreStats &s : result.stats) {
            result.cycles = std::max(result.cycles, s.cycles);
            shortest = std::min(shortest, s.cycles);
        }
        result.us = result.cycles / chip.at("mhz");
        if (shortest < 0.75 * result.cycles) {
            log.add("W-IMBALANCE", nullptr, [&] {
                return program.name + ": of " + std::to_string(cores) + " cores one takes " +
                       std::to_string(int64_t(result.cycles)) + " cycles, another " +
                       std::to_string(int64_t(shortest)) + "; " + std::to_string(blocks) +
                       " blocks";
            });
        }
    }

    const Program &program;
    const Profile &chip;
    const std::vector<Binding> &gm;
    const Scalars &scalars;
    const SimOptions &options;
    Walker first;
    int64_t blocks = 0;
    int cores = 0;
    std::vector<IssueLog> logs;
    std::vector<Runner::Trace> traces;  // by block
    std::vector<std::vector<float>> hits;
    SimResult result;
};

}  // namespace

SimResult simulate(const Program &p, const std::vector<Binding> &gm, const Scalars &scalars,
                   const SimOptions &options) {
    return Simulation(p, gm, scalars, options).run();
}

}  // namespace halyard::dv
