// Reads what `halyard check` writes: its results with --json, the planted faults with --mutants
// --json.
#include <set>

#include "tools/report/run_file.h"

namespace halyard::report {
namespace {

// Returns the file's members that are shown nowhere else on the page.
Json conditions_beside(const Json &file, const char *list) {
    static const std::set<std::string> counts = {"kind", "version", "passed", "failed", "skipped"};
    Json context = Json::object();
    for (auto &[key, value] : file.items())
        if (key != list && !counts.contains(key)) context[key] = value;
    return conditions_of(context);
}

Json counts_of(const Json &part, const char *name) {
    Json counts{{name, part.at(name).get<std::string>()}};
    for (const char *count : {"passed", "failed", "skipped"})
        counts[count] = part.at(count).get<int>();
    return counts;
}

}  // namespace

std::optional<Json> read_check(const Json &file) {
    if (file.value("kind", "") != "halyard check") return std::nullopt;
    Json ops = Json::array();
    for (const Json &op : file.at("ops")) {
        Json shown = counts_of(op, "op");
        shown["failures"] = op.at("failures").get<std::vector<std::string>>();
        shown["notes"] = op.at("notes").get<std::vector<std::string>>();
        if (op.contains("seconds")) shown["seconds"] = op["seconds"].get<double>();
        shown["checks"] = Json::array();
        for (const Json &part : op.value("checks", Json::array()))
            shown["checks"].push_back(counts_of(part, "check"));
        ops.push_back(shown);
    }
    return Json{{"kind", "check"}, {"conditions", conditions_beside(file, "ops")}, {"ops", ops}};
}

std::optional<Json> read_mutants(const Json &file) {
    if (!file.contains("mutants")) return std::nullopt;
    Json mutants = Json::array();
    for (const Json &m : file["mutants"]) {
        const std::string fault = m.at("fault");  // "wrong-index: load of x in e #2"
        const size_t colon = fault.find(": ");
        mutants.push_back({{"op", m.at("op").get<std::string>()},
                           {"variant", m.value("variant", "")},
                           {"kind", fault.substr(0, colon)},
                           {"where", colon == std::string::npos ? "" : fault.substr(colon + 2)},
                           {"fate", m.at("fate").get<std::string>()},
                           {"caught_by", m.value("caught_by", std::vector<std::string>())},
                           {"said", m.value("said", "")}});
    }
    return Json{{"kind", "mutants"},
                {"conditions", conditions_beside(file, "mutants")},
                {"mutants", mutants}};
}

}  // namespace halyard::report
