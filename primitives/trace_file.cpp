#include "primitives/trace_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "registry/base/atomic_file.h"

namespace halyard {

void save_trace(const std::string &path, const std::string &process, const std::string &category,
                const std::vector<Slice> &slices,
                const std::vector<std::pair<std::string, std::string>> &about) {
    using nlohmann::json;
    json all = json::array();
    json other = json::object();
    auto name = [&](const char *what, int thread, const std::string &text) {
        all.push_back(
            {{"ph", "M"}, {"name", what}, {"pid", 1}, {"tid", thread}, {"args", {{"name", text}}}});
    };
    name("process_name", 0, process);
    int threads = 0;
    for (const Slice &s : slices)
        threads = std::max(threads, s.thread + 1);
    for (int t = 0; t < threads; t++)
        name("thread_name", t, "thread " + std::to_string(t));
    for (const Slice &s : slices) {
        json event{{"ph", "X"},       {"name", s.name},      {"cat", category},       {"pid", 1},
                   {"tid", s.thread}, {"ts", s.begin * 1e6}, {"dur", s.seconds * 1e6}};
        if (!s.detail.empty()) event["args"] = {{"detail", s.detail}};
        all.push_back(std::move(event));
    }
    for (auto &[key, value] : about)
        other[key] = value;
    const json file{{"traceEvents", all}, {"displayTimeUnit", "ns"}, {"otherData", other}};
    write_file(path, file.dump(-1, ' ', false, json::error_handler_t::replace) + "\n",
               Durability::to_system);
}

}  // namespace halyard
