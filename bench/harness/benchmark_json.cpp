#include "bench/harness/benchmark_json.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "bench/harness/machine.h"
#include "bench/harness/system_load.h"
#include "bench/harness/table.h"
#include "registry/base/atomic_file.h"

namespace halyard::bench {
namespace {

using TimedRun = benchmark::BenchmarkReporter::Run;

std::map<std::string, double> counters_of(const BenchmarkCase &s) {
    std::map<std::string, double> all = s.counters;
    all["threads_used"] = s.threads;
    all["chosen"] = s.dispatched;
    all["peer"] = s.peer;
    if (s.computes && !s.out.empty()) all["error"] = s.accuracy.error;
    if (!s.relative) return all;
    all["noise"] = s.relative->noise;
    if (s.dispatched) return all;
    all["ratio"] = s.relative->ratio;
    all["ratio_low"] = s.relative->low;
    all["ratio_high"] = s.relative->high;
    all["verdict"] = s.relative->answer;
    return all;
}

}  // namespace

void collect(const std::deque<BenchmarkCase> &cases, const std::string &name,
             const std::string &repro_command, Runs &runs) {
    for (const BenchmarkCase &s : cases) {
        std::vector<TimedRun> all = s.runs;
        if (!s.accuracy.violation.empty()) {
            all.resize(1);
            all[0].error_occurred = true;
            all[0].error_message = s.accuracy.violation;
        }
        for (size_t r = 0; r < all.size(); r++) {
            all[r].run_name = {};
            all[r].run_name.function_name = name + "/" + s.label;
            all[r].run_name.threads = "threads:" + std::to_string(s.threads);
            all[r].report_label = repro_command;
            all[r].family_index = int64_t(runs.size());
            all[r].repetitions = int64_t(all.size());
            all[r].repetition_index = int64_t(r);
            for (auto &[key, value] : counters_of(s)) {
                // JSON has no infinity and no NaN.
                if (std::isfinite(value)) all[r].counters[key] = value;
            }
        }
        runs.push_back(std::move(all));
    }
}

void add_context() {
    std::ifstream file("/proc/self/cmdline");
    std::string command, word;
    while (std::getline(file, word, '\0')) {
        command += (command.empty() ? "" : " ") +
                   (word.find(' ') == std::string::npos ? word : "'" + word + "'");
    }
    const Load load = load_of_others();
    int busy = 0;
    for (auto &core : load.cores)
        busy += core.is_busy();
    benchmark::AddCustomContext("command", command);
    benchmark::AddCustomContext("cpu", processor());
    benchmark::AddCustomContext("isa", name_of(host_isa()));
    benchmark::AddCustomContext("busy_cores",
                                std::to_string(busy) + " of " + std::to_string(load.cores.size()));
    benchmark::AddCustomContext("cpu_pressure", text_of("%.3f", load.pressure));
}

void save_json(const std::string &path, const Runs &runs) {
    std::ostringstream text;
    benchmark::JSONReporter json;
    json.SetOutputStream(&text);
    json.SetErrorStream(&text);
    json.ReportContext(benchmark::BenchmarkReporter::Context());
    for (auto &r : runs)
        if (!r.empty()) json.ReportRuns(r);
    json.Finalize();
    write_file(path, text.str(), Durability::to_system);
}

}  // namespace halyard::bench
