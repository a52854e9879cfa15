// Load: who else uses the cores on which something is to be timed, before and while it is.
#pragma once
#include <string>
#include <vector>

namespace halyard::bench {

// What Linux counts: monotonic, in seconds.
struct Counters {
    struct Core {
        int id = 0;
        double busy = 0, steal = 0;  // stolen: given to other virtual machines
        // of shares: an idle desktop's cores stay below
        bool is_busy() const { return busy > 0.15; }
    };
    double now = 0;
    std::vector<Core> cores;  // those that this process may run on
    // time in which some task had to wait for a core (PSI); 0 where the kernel doesn't tell
    double pressure = 0;
    // of all cores, that this process took, and its children that have ended
    double own = 0;
};
Counters count();

// Between two counts.
struct Load {
    std::vector<Counters::Core> cores;  // shares of the time
    double seconds = 0, pressure = 0;   // waiting: a share
    double others = 0;                  // cores that others kept busy: 1.5 of 2
    // involuntary, of what was being timed; for the caller to fill in
    long switches = 0;
};
Load between(const Counters &before, const Counters &after);

// Of others: over `seconds` in which this process sleeps.
Load load_of_others(double seconds = 0.1);

// Why `threads` can't be timed under this load of others: "others keep core 0 (99 %), 3 (50 %)
// busy: 1 of 3 are idle for 2 threads"; "" = they can.
std::string contended(const Load &load, int threads);

// Do others leave a core, nearly whole? Where they don't, two times tell nothing of each other.
bool leaves_a_core(const Load &load);
inline constexpr const char *no_idle_core = "no idle core";

// Prints that, as a warning. First sleeps until others leave room for `threads`, `patience` seconds
// at most, and says so. The last load.
Load warn_of_others(int threads, double patience = 0);

// Times that a thread of this process lost its core, so far.
long involuntary_switches();

// Did others take time from what was being timed? By involuntary context switches and stolen time.
bool noisy(const Load &load);

}  // namespace halyard::bench
