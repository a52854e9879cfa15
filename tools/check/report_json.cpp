#include "tools/check/report_json.h"

namespace halyard::check {

nlohmann::json json_of(const Report &r) {
    nlohmann::json j = {{"passed", r.passed},   {"failed", r.failed},     {"skipped", r.skipped},
                        {"seconds", r.seconds}, {"failures", r.failures}, {"kinds", r.kinds},
                        {"notes", r.notes}};
    if (r.check.empty()) {
        j["op"] = r.op;
        j["checks"] = nlohmann::json::array();
    } else {
        j["check"] = r.check;
    }
    for (auto &part : r.checks)
        j["checks"].push_back(json_of(part));
    return j;
}

Report report_of(const nlohmann::json &j) {
    Report r;
    r.op = j.value("op", "");
    r.check = j.value("check", "");
    j.at("passed").get_to(r.passed);
    j.at("failed").get_to(r.failed);
    j.at("skipped").get_to(r.skipped);
    j.at("seconds").get_to(r.seconds);
    j.at("failures").get_to(r.failures);
    j.at("kinds").get_to(r.kinds);
    j.at("notes").get_to(r.notes);
    if (!j.contains("checks")) return r;
    for (auto &part : j["checks"]) {
        r.checks.push_back(report_of(part));
        r.checks.back().op = r.op;
    }
    return r;
}

}  // namespace halyard::check
