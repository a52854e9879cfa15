// System load: how much other processes use the cores before and during a measurement.
#pragma once
#include <string>
#include <vector>

namespace halyard::bench {

// Linux's monotonic counters, in seconds.
struct Counters {
    struct Core {
        int id = 0;
        double busy = 0, steal = 0;  // steal: given to other virtual machines
        // For a core of a Load, whose values are shares. An idle desktop's cores stay below.
        bool is_busy() const { return busy > 0.15; }
    };
    double now = 0;
    std::vector<Core> cores;  // those that this process may run on
    // Time in which some task waited for a core (PSI); 0 if the kernel has no such counter.
    double pressure = 0;
    // Time of all cores that this process and its ended children used.
    double own_seconds = 0;
};
// Reads the counters now.
Counters count();

// The load between two counts.
struct Load {
    std::vector<Counters::Core> cores;  // shares of the time
    double seconds = 0, pressure = 0;   // pressure: a share
    double others = 0;                  // cores that other processes kept busy: 1.5 of 2
    // Involuntary context switches of what was timed. The caller fills it in.
    long switches = 0;
};
// Returns the load between two counts. This process and its children are not in `others`.
Load between(const Counters &before, const Counters &after);

// Returns the load by other processes over `seconds`, in which this process sleeps.
Load load_of_others(double seconds = 0.1);

// Returns why `threads` threads can't be timed under this load: "other processes keep core 0 (99
// %), 3 (50
// %) busy: 1 of 3 are idle for 2 threads". Returns "" if they can.
std::string contention(const Load &load, int threads);

// Returns true if other processes leave at least one core nearly idle. Otherwise times can't be
// compared.
bool leaves_a_core(const Load &load);
inline constexpr const char *no_idle_core = "no idle core";

// Prints that reason as a warning. First sleeps until there is room for `threads` threads,
// `patience` seconds at most, and prints that it does. Returns the last load.
Load warn_of_others(int threads, double patience = 0);

// Returns how often a thread of this process has lost its core so far.
long involuntary_switches();

// Returns true if other processes took time from what was timed, judged by involuntary context
// switches and steal time.
bool is_noisy(const Load &load);

}  // namespace halyard::bench
