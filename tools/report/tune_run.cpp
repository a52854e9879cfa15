// Reads records of `halyard tune`: name=value words, one measurement per line; # begins a comment.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "tools/report/run_file.h"

namespace halyard::report {
namespace {

using Words = std::map<std::string, std::string>;

// Returns nothing if the line isn't made of words. A value with a space is in double quotes, with
// \" and \\ inside of them.
std::optional<Words> words_of(const std::string &line) {
    Words words;
    for (size_t at = 0; at < line.size();) {
        const size_t equals = line.find('=', at);
        if (equals == std::string::npos || equals == at || line.find(' ', at) < equals)
            return std::nullopt;
        std::string &value = words[line.substr(at, equals - at)];
        at = equals + 1;
        const bool quoted = at < line.size() && line[at] == '"';
        at += quoted;
        for (; at < line.size() && line[at] != (quoted ? '"' : ' '); at++) {
            if (quoted && line[at] == '\\' && at + 1 < line.size()) at++;
            value += line[at];
        }
        if (quoted && (at == line.size() || (at + 1 < line.size() && line[at + 1] != ' ')))
            return std::nullopt;
        at += quoted;  // now at the space, or at the end
        at += at < line.size();
    }
    return words;
}

Json record_of(const Words &words) {
    Json record;
    for (auto &[name, value] : words)
        record[name] = value;
    const auto number = [&](const char *name, const char *as, double factor) {
        if (!words.contains(name)) return;
        char *end = nullptr;
        const double v = std::strtod(words.at(name).c_str(), &end);
        if (end != words.at(name).c_str() && *end == '\0') record[as] = v * factor;
    };
    number("threads", "threads", 1);
    number("n", "samples", 1);
    const std::string verdict = words.contains("verdict") ? words.at("verdict") : "";
    if (verdict != "ok" && verdict != "proved")
        record["fail"] = verdict;
    else {
        number("median_us", "median", 1e-6);
        number("min_us", "min", 1e-6);
    }
    for (const char *name : {"ratio", "low", "high", "spread"}) {
        record.erase(name);
        number(name, name, 1);
    }
    record["target"] = record.value("dtypes", "") + " " + record.value("isa", "");
    return record;
}

}  // namespace

std::optional<Json> read_tune(const std::string &text) {
    Json records = Json::array(), conditions = Json::array();
    std::vector<std::string> cpus, dates;
    int refused = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        const auto words = words_of(line);
        if (!words || !words->contains("op") || !words->contains("verdict")) {
            refused++;
            continue;
        }
        records.push_back(record_of(*words));
        if (words->contains("cpu") && !std::count(cpus.begin(), cpus.end(), words->at("cpu")))
            cpus.push_back(words->at("cpu"));
        if (words->contains("date")) dates.push_back(words->at("date"));
    }
    if (records.empty()) return std::nullopt;
    if (dates.size() == records.size()) {  // merged files have another order
        std::stable_sort(records.begin(), records.end(),
                         [](const Json &a, const Json &b) { return a["date"] < b["date"]; });
    }
    for (auto &cpu : cpus)
        conditions.push_back({"CPU", cpu});
    if (!dates.empty()) {
        const auto [first, last] = std::minmax_element(dates.begin(), dates.end());
        conditions.push_back({"date", *first == *last ? *first : *first + " to " + *last});
    }
    if (refused) conditions.push_back({"lines that are no records:", std::to_string(refused)});
    return Json{{"kind", "tune"}, {"conditions", conditions}, {"records", records}};
}

}  // namespace halyard::report
