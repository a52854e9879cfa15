// Reads records of `halyard tune` (tools/tune/record.h): name=value words, one measurement per
// line. Lines that begin with # are comments.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "tools/report/run_file.h"

namespace halyard::report {
namespace {

using Words = std::map<std::string, std::string>;

// Reads a value in double quotes, which begins at line[at], and leaves `at` behind it. Returns
// nothing if the second quote is missing.
std::optional<std::string> quoted_value(const std::string &line, size_t &at) {
    std::string value;
    for (at++; at < line.size() && line[at] != '"'; at++) {
        if (line[at] == '\\' && at + 1 < line.size()) at++;
        value += line[at];
    }
    if (at == line.size()) return std::nullopt;
    at++;
    return value;
}

// Reads a line of words that are separated by one space each:
//   word = name=text | name="text"
// A text in quotes may contain spaces, and \" and \\ for a quote and a backslash. Returns nothing
// for another line, or if a name occurs twice.
std::optional<Words> words_of(const std::string &line) {
    Words words;
    for (size_t at = 0; at < line.size();) {
        const size_t equals = line.find('=', at);
        if (equals == std::string::npos || equals == at || line.find(' ', at) < equals)
            return std::nullopt;
        const std::string name = line.substr(at, equals - at);
        at = equals + 1;
        std::optional<std::string> value;
        if (at < line.size() && line[at] == '"')
            value = quoted_value(line, at);
        else {
            const size_t end = std::min(line.find(' ', at), line.size());
            value = line.substr(at, end - at);
            at = end;
        }
        const bool ends_word = at == line.size() || line[at] == ' ';
        if (!value || !ends_word || !words.emplace(name, *value).second) return std::nullopt;
        if (at < line.size()) at++;
    }
    return words;
}

std::optional<double> parsed_number(const std::string &text) {
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0') return std::nullopt;
    return value;
}

Json record_of(const Words &words) {
    Json record;
    for (auto &[name, value] : words)
        record[name] = value;
    // Sets member `as` to the number that word `name` has, times `factor`.
    const auto set_number = [&](const char *name, const char *as, double factor) {
        if (!words.contains(name)) return;
        if (const auto value = parsed_number(words.at(name))) record[as] = *value * factor;
    };
    set_number("threads", "threads", 1);
    set_number("n", "samples", 1);
    // "proved" means that the schedule gives the bits of the algorithm, "ok" that this was not
    // proved (tools/tune/record.h). Other verdicts are reasons why there is no time.
    const std::string &verdict = words.at("verdict");
    if (verdict != "ok" && verdict != "proved")
        record["fail"] = verdict;
    else {
        set_number("median_us", "median", 1e-6);
        set_number("min_us", "min", 1e-6);
    }
    // The page computes with these, so a text that is no number is left out.
    for (const char *name : {"ratio", "low", "high", "spread"}) {
        record.erase(name);
        set_number(name, name, 1);
    }
    record["target"] = record.value("dtypes", "") + " " + record.value("isa", "");
    return record;
}

}  // namespace

std::optional<Json> read_tune(const std::string &text) {
    Json records = Json::array(), conditions = Json::array();
    std::vector<std::string> cpus, dates;
    int skipped = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        const auto words = words_of(line);
        if (!words || !words->contains("op") || !words->contains("verdict")) {
            skipped++;
            continue;
        }
        records.push_back(record_of(*words));
        if (words->contains("cpu") && !std::count(cpus.begin(), cpus.end(), words->at("cpu")))
            cpus.push_back(words->at("cpu"));
        if (words->contains("date")) dates.push_back(words->at("date"));
    }
    if (records.empty()) return std::nullopt;
    // Merged files are in the order of the records' keys. Without a date for each record the order
    // of the file is kept.
    if (dates.size() == records.size()) {
        std::stable_sort(records.begin(), records.end(),
                         [](const Json &a, const Json &b) { return a["date"] < b["date"]; });
    }
    for (auto &cpu : cpus)
        conditions.push_back({"CPU", cpu});
    if (!dates.empty()) {
        const auto [first, last] = std::minmax_element(dates.begin(), dates.end());
        conditions.push_back({"date", *first == *last ? *first : *first + " to " + *last});
    }
    if (skipped) conditions.push_back({"lines skipped:", std::to_string(skipped)});
    return Json{{"kind", "tune"}, {"conditions", conditions}, {"records", records}};
}

}  // namespace halyard::report
