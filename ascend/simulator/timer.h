// Discrete events of one core: when every instruction runs, which flags hold it back, and what it
// races with. The scalar unit issues in program order, at most 32 ahead per pipe; a pipe runs its
// instructions one after another; all of it in order of time.
#pragma once
#include <deque>

#include "ascend/passes/clocks.h"
#include "ascend/simulator/cost.h"
#include "ascend/simulator/memory.h"
#include "ascend/simulator/simulate.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

class Timer : public Sink {
public:
    struct Setup {
        const Program &program;
        const Walker &walker;
        int active_cores = 1;  // that share the chip's rate to GM
        bool races = true;
        // runs the instructions in order of time, too, where given
        Memory *memory = nullptr;
        CoreTimeline *timeline = nullptr;  // filled where given
    };
    Timer(const Setup &setup, CoreStats &stats, IssueLog &log);

    // hits: of each move from or to GM, the share of its bytes that L2 has; loads: what each
    // ScalarLd gets, where there is no memory.
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
        double hit;  // of GM traffic
        // what the scalar unit had waited for when it issued this; of its own stores, nothing
        Clock known;
    };
    struct Flag {
        bool set = false;
        double time = 0;
        Clock clock = {};
        const Instr *by = nullptr;
    };
    struct Pending {  // a write that becomes visible at its finish
        double time;
        Location place;
        std::vector<Run> runs;
        std::vector<uint8_t> bytes;
    };
    Flag &flag(Pipe src, Pipe dst, int64_t id) {
        return flags_[size_t(((int(src) * pipe_count) + int(dst)) * 16 + int(id))];
    }
    const Flag *blocking(const Queued &q);  // the flag that isn't set yet, of a wait
    // runs the instruction that can start first; false: none can
    bool advance();
    void advance_to(double time);
    [[noreturn]] void deadlock(const Step *scalar);
    double start_of(Pipe p, const Queued &q);
    void run_on(Pipe p, const Queued &q);
    void run_here(const Step &s);  // on the scalar unit
    void order(const Step &s);     // clocks and races of a step that starts
    template<class F> void say(const char *id, const Instr *i, F &&what) {
        log_.add(id, i, [&] { return describe(setup_.program, *i) + ": " + what(); });
    }
    void set(const Step &s, Pipe src, Pipe dst, int64_t id, double time);
    void wait(Pipe src, Pipe dst, int64_t id);
    double finish(const Queued &q, double start, Cost &cost);
    void execute_at(const Step &s, double end);
    void commit_until(double time);
    void count(const Step &s, const Cost &c, double busy);
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
