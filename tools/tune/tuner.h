// Tuner: measures candidates for a problem against the kernel that a call gets, and keeps a record
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
    std::string dtypes, isa;  // isa: "" is that of the kernel a call gets
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

    // Measures candidates until the budget is spent, everything was tried, or `stop` is set. Then
    // the fastest is proved and measured again, three times as long, until the fastest is one that
    // was: the best of many looks better than it is. Candidates that can't be proved are skipped.
    // Without an idle core nothing is confirmed.
    void run(const std::atomic<bool> &stop);

    // The record of the kernel that a call gets.
    const Record &baseline() const { return baseline_; }
    // The fastest first, then those without a time.
    const std::vector<Record> &records() const { return records_; }
    // autoscheduler -> its schedule
    const std::map<std::string, std::string> &sources() const { return sources_; }
    // key -> why its schedule could not be proved
    const std::map<std::string, std::string> &unproved() const { return unproved_; }
    std::vector<std::string> conclusions() const;  // lines
    size_t measured() const { return measured_; }
    size_t reused() const { return reused_; }

private:
    Candidate selected() const;  // the kernel that a call gets
    Job job_of(const Candidate &c) const;
    // Returns a record of the candidate without a measurement.
    Record blank(const Candidate &c) const;
    KernelEntry entry_of(const Candidate &c) const;
    // Returns true if the variant's condition holds with these tunables.
    bool takes(const Candidate &c) const;
    // Returns nothing if the variant doesn't accept the problem with these tunables.
    std::optional<Record> evaluate(const Candidate &c);
    void prove(Record &r, const Candidate &c);  // sets the verdict
    // Returns false if other processes used all cores meanwhile.
    bool time(Record &r, const Built &built, int rounds);
    // Takes the measurements that the records have already.
    void take_known(SpaceSearch &search);
    // Sets the record of the kernel that a call gets.
    void find_baseline();
    void confirm_best(const std::atomic<bool> &stop);
    void keep(const Record &r, bool fresh);
    void progress(size_t done, size_t total) const;
    // Returns the fastest timed record that is not known to be unprovable, or null.
    const Record *best() const;

    const TunerOptions o_;
    Compiler &compiler_;
    History &history_;
    const bench::ProblemInstance problem_;
    const Plan plan_;
    // The default, compiled and opened like the candidates: the address of the code alone changes
    // its time by some percent.
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
    // false if other processes used all cores while the fastest was confirmed
    bool left_a_core_ = true;
    std::chrono::steady_clock::time_point start_;
};

}  // namespace halyard::tune
