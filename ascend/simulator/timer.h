// A simulation of one core by discrete events: when each instruction runs, for which flags it
// waits, and with which accesses it races. The scalar unit issues instructions in program order, at
// most 32 ahead per pipe. A pipe runs its instructions one after another.
#pragma once
#include <deque>

#include "ascend/passes/clocks.h"
#include "ascend/passes/issue.h"
#include "ascend/simulator/core_stats.h"
#include "ascend/simulator/cost.h"
#include "ascend/simulator/memory.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

class Timer : public Sink {
public:
    struct Setup {
        const Program &program;
        const Walker &walker;
        int active_cores = 1;  // the number of cores that share the chip's bandwidth to GM
        bool races = true;
        Memory *memory = nullptr;          // if given, instructions are executed in order of time
        CoreTimeline *timeline = nullptr;  // if given, events are appended
    };
    Timer(const Setup &setup, CoreStats &stats, IssueLog &log);

    // Runs a block. `hits` has the share of bytes in L2 for each move from or to GM. `loads` has
    // the value of each ScalarLd, which is used if there is no memory.
    void run(Walker &walker, int64_t block, const std::vector<float> &hits,
             const std::vector<double> &loads);

    void step(Step &s) override;
    double load(Step &s) override;
    void scalar_work(const Instr *i) override;
    void alloc(const Buffer &) override {}

private:
    struct Queued {
        Step step;
        double issued;
        double hit;  // the share of its bytes in GM that L2 has
        // The scalar unit's clock when it issued this, without its own stores.
        Clock known;
    };
    struct Flag {
        bool set = false;
        double time = 0;
        Clock clock = {};
        const Instr *by = nullptr;
    };
    struct Pending {  // a write that becomes visible when its instruction finishes
        double time;
        Location place;
        std::vector<Run> runs;
        std::vector<uint8_t> bytes;
    };
    Flag &flag(Pipe src, Pipe dst, int64_t id) {
        return flags_[size_t(((int(src) * pipe_count) + int(dst)) * 16 + int(id))];
    }
    // Returns the flag that a wait_flag waits for, or nullptr if nothing blocks the instruction.
    const Flag *blocking(const Queued &q);
    // Runs the instruction that can start first. Returns false if none can.
    bool advance();
    void advance_to(double time);
    [[noreturn]] void deadlock(const Step *scalar);
    double start_of(Pipe p, const Queued &q);
    void run_on(Pipe p, const Queued &q);
    void run_here(const Step &s);  // on the scalar unit
    void order(const Step &s);     // advances the clock of a step that starts, and looks for races
    template<class F> void add_issue(const char *id, const Instr *i, F &&what) {
        log_.add(id, i, [&] { return describe(setup_.program, *i) + ": " + what(); });
    }
    void set(const Step &s, Pipe src, Pipe dst, int64_t id, double time);
    void wait(Pipe src, Pipe dst, int64_t id);
    double finish(const Queued &q, double start, Cost &cost);
    void execute_at(const Step &s, double end);
    void commit_until(double time);
    // Add an instruction to the statistics.
    void count(const Step &s, const Cost &c, double busy);
    double &vector_cycles_of(const Step &s) const;
    void count_bytes(const Step &s, int k);
    void note(Pipe p, const Step &s, double start, double end);

    Setup setup_;
    const Profile &chip_;
    CoreStats &stats_;
    IssueLog &log_;
    CostModel cost_;
    Races races_;
    std::deque<Queued> queues_[pipe_count];
    const double issue_ = chip_.at("issue"), flag_cost_ = chip_.at("flag"),
                 scalar_ = chip_.at("scalar");
    const size_t depth_ = size_t(chip_.at("queue"));
    double free_[pipe_count] = {}, now_ = 0, port_ = 0;
    uint32_t epochs_[pipe_count] = {};
    Clock clocks_[pipe_count] = {};
    std::vector<Flag> flags_;
    std::vector<Pending> pending_;
    std::vector<Run> runs_;
    const std::vector<float> *hits_ = nullptr;
    const std::vector<double> *loads_ = nullptr;
    size_t next_hit_ = 0, next_load_ = 0;
};

}  // namespace halyard::dv
