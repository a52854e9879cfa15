#include "tools/report/run_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "registry/base/error.h"

namespace halyard::report {
namespace {
namespace fs = std::filesystem;

constexpr uintmax_t max_bytes = 64 << 20;  // a larger page is not usable

std::string contents_of(const std::string &path) {
    std::error_code none;
    if (fs::is_directory(path, none)) throw IoError(path, "is a folder, expected a file");
    if (const uintmax_t size = fs::file_size(path, none); !none && size > max_bytes) {
        throw IoError(path, "has " + std::to_string(size) + " bytes, the limit is " +
                                std::to_string(max_bytes));
    }
    std::ifstream file(path, std::ios::binary);
    std::stringstream s;
    s << file.rdbuf();
    if (!file || (s.str().empty() && file.fail())) throw IoError(path, "can't be read");
    return s.str();
}

// Returns numbers with three digits, and lists of words with commas; nothing for nested values. Of
// load averages it returns the last minute's.
std::string text_of(const Json &v) {
    if (v.is_string()) return v;
    if (v.is_boolean()) return v ? "yes" : "no";
    if (v.is_number_float()) {
        char text[32];
        std::snprintf(text, sizeof text, std::abs(v.get<double>()) < 1000 ? "%.3g" : "%.0f",
                      v.get<double>());
        return text;
    }
    if (v.is_number()) return v.dump();
    if (!v.is_array() || v.empty()) return "";
    if (v[0].is_number()) return text_of(v[0]);
    std::string words;
    for (const Json &word : v)
        if (word.is_string()) words += (words.empty() ? "" : ", ") + word.get<std::string>();
    return words;
}

std::optional<Json> read_text(const std::string &text) {
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos || text[first] != '{') {
        if (auto run = read_roofs(text)) return run;
        return read_tune(text);
    }
    const Json file = Json::parse(text);
    if (!file.is_object()) return std::nullopt;
    for (auto *reader : {read_bench, read_check, read_mutants, read_dispatch, read_train})
        if (auto run = reader(file)) return run;
    return std::nullopt;
}

}  // namespace

Json read_run(const std::string &path) {
    const std::string text = contents_of(path);
    std::optional<Json> run;
    try {
        run = read_text(text);
    } catch (const Json::exception &e) {
        // [json.exception.parse_error.101] parse error at line 3, ...
        const std::string what = e.what();
        throw IoError(path, "is damaged: " + what.substr(what.find("] ") + 2));
    }
    if (run && run->contains("lines") && (*run)["lines"].empty())
        throw IoError(path, "has no measurements");
    if (!run) {
        throw IoError(path, "is no saved run: expected JSON of bench, check, explain or train, "
                            "records of tune, or roofs");
    }
    (*run)["file"] = fs::path(path).filename().string();
    return *run;
}

Json conditions_of(const Json &context) {
    // Google Benchmark's own keys: those without information about the run are left out, the others
    // get words. All further keys are ours. The command is shown with its measurements.
    static const std::vector<std::string> left_out = {
        "host_name",          "executable",      "mhz_per_cpu",         "caches",
        "library_build_type", "library_version", "json_schema_version", "command"};
    static const std::vector<std::pair<std::string, std::string>> first = {
        {"cpu", "CPU"}, {"date", "date"}, {"num_cpus", "cores"}, {"load_avg", "load"}};
    Json list = Json::array();
    if (!context.is_object()) return list;
    for (auto &[key, word] : first)
        if (context.contains(key)) list.push_back({word, text_of(context[key])});
    if (context.value("cpu_scaling_enabled", false))
        list.push_back({"frequency", "scaled by the system"});
    for (auto &[key, value] : context.items()) {
        const bool known = key == "cpu_scaling_enabled" ||
                           std::count(left_out.begin(), left_out.end(), key) ||
                           std::any_of(first.begin(), first.end(),
                                       [&, &k = key](auto &f) { return f.first == k; });
        if (const std::string text = text_of(value); !known && !text.empty())
            list.push_back({key, text});
    }
    return list;
}

void add_statistics(Json &line, std::vector<double> seconds) {
    if (seconds.empty()) return;
    std::sort(seconds.begin(), seconds.end());
    const size_t n = seconds.size();
    // The k-th smallest and the k-th largest of n samples enclose the median unless fewer than k
    // are on one side of it. This takes the largest k for which that happens in at most 5 % of all
    // cases. With fewer than 6 samples there is none, and the range is used.
    double tail = 0;
    double binomial = std::pow(0.5, double(n));
    size_t k = 0;
    while (2 * (tail += binomial) <= 0.05) {
        binomial *= double(n - k) / double(k + 1);
        k++;
    }
    const size_t low = k == 0 ? 0 : k - 1;
    line["samples"] = n;
    line["median"] = n % 2 ? seconds[n / 2] : (seconds[n / 2 - 1] + seconds[n / 2]) / 2;
    line["low"] = seconds[low];
    line["high"] = seconds[n - 1 - low];
    line["min"] = seconds[0];
}

}  // namespace halyard::report
