// Tuner: measures candidates for a problem beside the kernel that a call gets, and keeps a record
// of each.
#pragma once
#include <atomic>
#include <chrono>

#include "bench/harness/expected.h"
#include "registry/dispatch/plan.h"
#include "tools/tune/compiler.h"
#include "tools/tune/decision.h"
#include "tools/tune/history.h"
#include "tools/tune/search_space.h"

namespace halyard::tune {

struct Budget {
    size_t candidates = 64;
    double seconds = 0;  // > 0: of new measurements
};

struct TunerOptions {
    std::string dtypes, isa;  // isa: "" = that of the kernel a call gets
    std::string variant;      // only this one
    int threads = 1;
    Budget budget;
    unsigned seed = 1;
    int rounds = 11;
    double min_time = 0.004;  // seconds of a kernel in a round
    std::vector<std::string> autoschedulers;
};

Layouts layouts_of(const Plan &plan);  // for autoschedulers

class Tuner {
public:
    Tuner(const RegisteredOp &op, const std::string &problem, const TunerOptions &o,
          Compiler &compiler, History &history);

    // Until the budget is spent, everything was tried, or `stop` says so. What looks fastest is
    // then proved and measured again, three times as long, until the fastest is one that was: the
    // best of many looks better than it is. What can't be proved is passed over, and where others
    // leave no core idle nothing is confirmed.
    void run(const std::atomic<bool> &stop);

    // of the kernel that a call gets
    const Record &baseline() const { return baseline_; }
    // the fastest first, then those without a time
    const std::vector<Record> &records() const { return records_; }
    // autoscheduler -> its schedule
    const std::map<std::string, std::string> &sources() const { return sources_; }
    // key -> why its schedule could not be proved
    const std::map<std::string, std::string> &unproved() const { return unproved_; }
    std::vector<std::string> conclusions() const;  // lines
    size_t measured() const { return measured_; }
    size_t reused() const { return reused_; }

private:
    Candidate selected() const;  // what a call gets
    Job job_of(const Candidate &c) const;
    Record blank(const Candidate &c) const;
    KernelEntry entry_of(const Candidate &c) const;
    bool takes(const Candidate &c) const;
    // empty: the variant doesn't take the problem with these picks
    std::optional<Record> evaluate(const Candidate &c);
    void prove(Record &r, const Candidate &c);  // sets the verdict
    // Did others leave a core meanwhile?
    bool time(Record &r, const Built &built, int rounds);
    void confirm_best(const std::atomic<bool> &stop);
    void keep(const Record &r, bool fresh);
    void progress(size_t done, size_t total) const;
    const Record *best() const;

    const TunerOptions o_;
    Compiler &compiler_;
    History &history_;
    const bench::ProblemInstance problem_;
    const Plan plan_;
    // The default, compiled and opened as the candidates are: the same instructions at another
    // address took 0.97 of the time (softmax 4096 x 1024, Zen 5).
    KernelEntry default_;
    std::string against_;  // its code
    std::vector<Tensor> out_;
    const bench::Expected expected_;
    SearchSpace space_;
    std::map<std::string, std::string> algorithms_;  // by variant
    std::map<std::string, int> lanes_;
    Record baseline_;
    std::vector<Record> records_;
    std::map<std::string, std::string> sources_, unproved_;
    size_t measured_ = 0, reused_ = 0;
    bool left_a_core_ = true;  // others did, when the fastest was to be confirmed
    std::chrono::steady_clock::time_point start_;
};

}  // namespace halyard::tune
