// Files in Chrome's trace format, which chrome://tracing and https://ui.perfetto.dev open.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace halyard {

struct Slice {
    std::string name;
    int thread = 0;           // counted from 0
    double begin = 0;         // seconds since the first slice
    double seconds = 0;       // the duration
    std::string detail = {};  // shown when the slice is selected
};

// Writes complete events in microseconds, with a track per thread, and `about` as other data.
// Slices of one thread are nested or don't overlap. Throws IoError.
void save_trace(const std::string &path, const std::string &process, const std::string &category,
                const std::vector<Slice> &slices,
                const std::vector<std::pair<std::string, std::string>> &about = {});

}  // namespace halyard
