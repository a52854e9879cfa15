// Reports of a simulation: the metrics of Ascend's profiler (ai_core_metrics), and timelines. All
// figures are the simulator's.
#pragma once
#include "ascend/simulator/simulate.h"

namespace halyard::dv {

struct Metric {
    std::string group, name;  // "PipeUtilization", "vec_ratio"
    double value = 0;         // a share of the cycles, or GB/s; NaN if it isn't modelled
};
// Returns the metrics of the groups ArithmeticUtilization, PipeUtilization, Memory, MemoryL0 and
// ResourceConflictRatio. Ratios are of all cycles, averaged over the cores that had work; rates are
// in GB/s, added up over these cores.
std::vector<Metric> metrics(const Program &p, const SimResult &r);
// Returns CSV with the columns group, metric and value; "-" for a value that isn't modelled.
std::string metrics_csv(const std::vector<Metric> &all);

// Returns the timeline in Chrome's trace format (chrome://tracing, Perfetto): a process per core, a
// thread per pipe, in microseconds of the chip.
std::string chrome_trace(const Program &p, const SimResult &r);
// Returns the timeline of the first core as a picture: a lane per pipe that had work, time in
// cycles.
std::string timeline_svg(const Program &p, const SimResult &r);

}  // namespace halyard::dv
