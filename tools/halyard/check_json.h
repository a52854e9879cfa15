// What `check --json` writes, and what its worker processes send back. docs/command.md describes the members.
#pragma once
#include <nlohmann/json.hpp>

#include "tools/check/check.h"

namespace halyard::command {

nlohmann::json json_of(const check::Report &r);
check::Report report_of(const nlohmann::json &j);  // the inverse; throws nlohmann's exceptions

// One run of `halyard check`, whole: `seconds` are those of the wall, reports hold their own. Throws IoError.
struct CheckRun {
    std::vector<check::Report> reports;
    std::vector<std::string> isas;  // that were checked
    bool quick = false;
    unsigned seed = 1;
    double seconds = 0;
};
void save_checks(const std::string &path, const CheckRun &run);

}  // namespace halyard::command
