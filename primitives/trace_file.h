// Chrome's trace format, which chrome://tracing and https://ui.perfetto.dev open.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace halyard {

struct Slice {
    std::string name;
    int thread = 0;                 // counted from 0
    double begin = 0, seconds = 0;  // since the first, on the clock
    std::string detail = {};        // shown where the slice is selected
};

// Complete events in microseconds, a track per thread; `about` stands beside them. Slices of one
// thread are nested or apart. Throws IoError.
void save_trace(const std::string &path, const std::string &process, const std::string &category,
                const std::vector<Slice> &slices,
                const std::vector<std::pair<std::string, std::string>> &about = {});

}  // namespace halyard
