// Reports as JSON: `check --json` writes it, and child processes send it. docs/command.md describes
// its members.
#pragma once
#include <nlohmann/json.hpp>

#include "tools/check/report.h"

namespace halyard::check {

nlohmann::json json_of(const Report &r);
Report report_of(const nlohmann::json &j);  // the inverse; throws nlohmann's exceptions

}  // namespace halyard::check
