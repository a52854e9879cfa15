// Reports as JSON: what `check --json` writes, and what its child processes send back.
// docs/command.md describes the members.
#pragma once
#include <nlohmann/json.hpp>

#include "tools/check/report.h"

namespace halyard::check {

nlohmann::json json_of(const Report &r);
Report report_of(const nlohmann::json &j);  // the inverse; throws nlohmann's exceptions

}  // namespace halyard::check
