// What check and explain write: objects whose "kind" says so, or else the name of their list.
#include <set>

#include "tools/report/run_file.h"

namespace halyard::report {
namespace {

const std::set<std::string> counts = {"kind", "version", "passed", "failed", "skipped"};  // said elsewhere on the page, or not needed

// The file's list, and as conditions its other members.
std::optional<Json> run_of(const Json &file, const char *file_kind, const char *kind, const char *list) {
    if (!file.contains(list) || file.value("kind", file_kind) != file_kind) return std::nullopt;
    Json context = file.value("context", Json::object());
    for (auto &[key, value] : file.items())
        if (!value.is_object() && !counts.contains(key)) context[key] = value;
    return Json{{"kind", kind}, {"conditions", conditions_of(context)}, {list, file.at(list)}};
}

void need(const Json &list, std::initializer_list<const char *> names) {
    for (const Json &item : list)
        for (const char *name : names) (void)item.at(name);
}

}  // namespace

std::optional<Json> read_check(const Json &file) {
    auto run = run_of(file, "halyard check", "check", "ops");
    if (!run) return run;
    need((*run)["ops"], {"op", "passed", "failed", "skipped", "failures", "notes"});
    for (Json &op : (*run)["ops"])
        if (op.contains("checks")) need(op["checks"], {"check", "passed", "failed"});
    return run;
}

std::optional<Json> read_mutants(const Json &file) {
    auto run = run_of(file, "halyard mutants", "mutants", "mutants");
    if (!run) return run;
    for (Json &m : (*run)["mutants"]) {
        const std::string fault = m.at("fault");  // "wrong-index: load of x in e #2"
        const size_t colon = fault.find(": ");
        m["kind"] = fault.substr(0, colon), m["where"] = colon == std::string::npos ? "" : fault.substr(colon + 2);
        (void)m.at("op"), (void)m.at("fate").get<std::string>();
    }
    return run;
}

std::optional<Json> read_dispatch(const Json &file) {
    auto run = run_of(file, "halyard explain", "dispatch", "calls");
    if (!run) return run;
    for (const Json &call : (*run)["calls"]) need(call.at("candidates"), {"kernel", "verdict"});
    return run;
}

}  // namespace halyard::report
