// Timeline: when each stage of a kernel was produced, in one call of a kernel that reports it (Instance::traced).
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace halyard::command {

struct Slice {
    std::string stage;              // as the op's file calls it
    int thread = 0;                 // counted as they came
    double begin = 0, seconds = 0;  // since the call began, on the clock
};

// One call, the quickest of a few. Slices of one thread are nested or apart: Halide produces stages within each other. Throws
// DispatchError for `op` where the call has no slices or too many to look at.
std::vector<Slice> timeline_of(const std::string &op, const std::function<void()> &call);

// In the format of Chrome's trace viewer and of Perfetto: complete events in microseconds, a track per thread. Throws IoError.
// `plain`: seconds of a call that nobody watches.
void save_timeline(const std::string &path, const std::string &headline, double plain, const std::vector<Slice> &slices);

}  // namespace halyard::command
