// A simulation as the profiler of Ascend would report it (its ai_core_metrics), and as a timeline.
// All figures are the simulator's.
#pragma once
#include "ascend/simulator/simulate.h"

namespace halyard::dv {

struct Metric {
    std::string group, name;  // "PipeUtilization", "vec_ratio"
    double value = 0;         // a share of the cycles, or GB/s; NaN: not modelled
};
// ArithmeticUtilization, PipeUtilization, Memory, MemoryL0, ResourceConflictRatio: ratios of busy
// cycles to all cycles, averaged over the cores that had work, and rates in GB/s, added up over
// them.
std::vector<Metric> metrics(const Program &p, const SimResult &r);
// A line "group,name,value" each, after one that names the columns; "-" for what isn't modelled.
std::string metrics_csv(const std::vector<Metric> &all);

// Chrome's trace format (chrome://tracing, Perfetto): a process per core, a thread per pipe; one
// microsecond of it is one microsecond of the chip.
std::string chrome_trace(const Program &p, const SimResult &r);
// The same of the first core as a picture: a lane per pipe that had work, time in cycles to the
// right.
std::string timeline_svg(const Program &p, const SimResult &r);

}  // namespace halyard::dv
