#include "tools/halyard/runs.h"

#include <fstream>

#include "registry/error.h"

namespace halyard::command {

void save_json(const std::string &path, const Runs &runs) {
    std::ofstream file(path);
    benchmark::JSONReporter json;
    json.SetOutputStream(&file);
    json.SetErrorStream(&file);
    json.ReportContext(benchmark::BenchmarkReporter::Context());
    for (auto &r : runs)
        if (!r.empty()) json.ReportRuns(r);
    json.Finalize();
    file.close();
    if (!file) throw IoError(path, "can't be written");
}

}  // namespace halyard::command
