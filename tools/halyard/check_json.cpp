#include "tools/halyard/check_json.h"

#include <fstream>

#include "registry/error.h"
#include "tools/halyard/machine.h"

namespace halyard::command {

nlohmann::json json_of(const check::Report &r) {
    nlohmann::json j = {{"passed", r.passed},   {"failed", r.failed},     {"skipped", r.skipped},
                        {"seconds", r.seconds}, {"failures", r.failures}, {"notes", r.notes}};
    if (r.check.empty()) j["op"] = r.op, j["checks"] = nlohmann::json::array();
    else j["check"] = r.check;
    for (auto &part : r.checks) j["checks"].push_back(json_of(part));
    return j;
}

check::Report report_of(const nlohmann::json &j) {
    check::Report r;
    r.op = j.value("op", ""), r.check = j.value("check", "");
    j.at("passed").get_to(r.passed), j.at("failed").get_to(r.failed), j.at("skipped").get_to(r.skipped), j.at("seconds").get_to(r.seconds);
    j.at("failures").get_to(r.failures), j.at("notes").get_to(r.notes);
    if (j.contains("checks"))
        for (auto &part : j["checks"]) r.checks.push_back(report_of(part)), r.checks.back().op = r.op;
    return r;
}

void save_checks(const std::string &path, const CheckRun &run) {
    int passed = 0, failed = 0, skipped = 0;
    nlohmann::json ops = nlohmann::json::array();
    for (auto &r : run.reports) passed += r.passed, failed += r.failed, skipped += r.skipped, ops.push_back(json_of(r));
    const nlohmann::json all = {{"kind", "halyard check"}, {"version", 1},       {"date", now()},      {"cpu", processor()},
                                {"isas", run.isas},        {"quick", run.quick}, {"seed", run.seed},   {"seconds", run.seconds},
                                {"passed", passed},        {"failed", failed},   {"skipped", skipped}, {"ops", ops}};
    std::ofstream file(path);
    file << all.dump(1) << "\n";
    file.close();
    if (!file) throw IoError(path, "can't be written");
}

}  // namespace halyard::command
