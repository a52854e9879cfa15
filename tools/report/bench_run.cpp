// Reads runs in Google Benchmark's format, as `halyard bench --json` writes them.
#include <algorithm>
#include <map>

#include "tools/report/run_file.h"

namespace halyard::report {
namespace {

std::vector<std::string> split(const std::string &text, char by) {
    std::vector<std::string> parts{""};
    for (const char c : text) {
        if (c == by)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

// Parses OP/PROBLEM/DTYPE/LABEL/threads:N. A label may have several parts, and Google Benchmark's
// own parts may follow.
Json line_of(const std::string &name) {
    const std::vector<std::string> parts = split(name, '/');
    Json line{{"op", ""},      {"problem", ""}, {"dtype", ""},
              {"label", name}, {"threads", 1},  {"peer", false}};
    const auto threads = std::find_if(parts.begin(), parts.end(),
                                      [](auto &p) { return p.starts_with("threads:"); });
    // A benchmark of another program.
    if (threads == parts.end() || threads - parts.begin() < 4) return line;
    std::string problem = parts[1];
    std::string label;
    std::replace(problem.begin(), problem.end(), ',', ' ');
    bool isa = false;  // every kernel of the kit has one
    for (auto p = parts.begin() + 3; p != threads; p++) {
        label += (label.empty() ? "" : "/") + *p;
        for (const char *level : {"avx512", "avx2", "baseline"})
            isa |= p->starts_with(level);
    }
    line["op"] = parts[0];
    line["problem"] = problem;
    line["dtype"] = parts[2];
    line["label"] = label;
    line["peer"] = !isa;
    line["threads"] = std::atoi(threads->c_str() + 8);
    return line;
}

double seconds_of(const Json &run) {
    static const std::map<std::string, double> units = {
        {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
    return run.at("real_time").get<double>() * units.at(run.value("time_unit", "ns"));
}

// Adds the counters: all fields that are neither Google Benchmark's own nor the line's.
void add_counters(Json &line, const Json &run) {
    static const std::vector<std::string> own = {
        "threads",          "iterations",   "repetitions",
        "repetition_index", "family_index", "per_family_instance_index",
        "real_time",        "cpu_time",     "threads_used",
        "chosen",           "peer"};
    for (auto &[key, value] : run.items())
        if (value.is_number() && !std::count(own.begin(), own.end(), key)) line[key] = value;
}

}  // namespace

std::optional<Json> read_bench(const Json &file) {
    if (!file.contains("context") || !file.contains("benchmarks")) return std::nullopt;
    std::vector<std::string> order;
    std::map<std::string, Json> lines;
    std::map<std::string, std::vector<double>> samples;
    for (const Json &run : file.at("benchmarks")) {
        if (run.value("run_type", "iteration") != "iteration") continue;
        const std::string name = run.value("run_name", run.at("name").get<std::string>());
        const auto [at, added] = lines.emplace(name, Json());
        if (added) {
            order.push_back(name);
            at->second = line_of(name);
            if (file["context"].contains("command"))
                at->second["repro"] = file["context"]["command"].get<std::string>();
        }
        if (run.contains("label")) at->second["repro"] = run["label"].get<std::string>();
        if (run.contains("chosen")) at->second["chosen"] = run["chosen"] != 0;
        if (run.contains("peer")) at->second["peer"] = run["peer"] != 0;
        if (run.value("error_occurred", false))
            at->second["fail"] = run.value("error_message", "failed");
        else {
            samples[name].push_back(seconds_of(run));
            add_counters(at->second, run);
        }
    }
    Json list = Json::array();
    for (auto &name : order) {
        if (!lines[name].contains("fail")) add_statistics(lines[name], samples[name]);
        list.push_back(lines[name]);
    }
    return Json{
        {"kind", "bench"}, {"conditions", conditions_of(file.at("context"))}, {"lines", list}};
}

}  // namespace halyard::report
