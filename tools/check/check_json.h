// What `check --json` writes. docs/command.md describes the members.
#pragma once
#include <string>
#include <vector>

#include "tools/check/report.h"

namespace halyard::check {

// One run of `halyard check`, whole: `seconds` are those of the wall, reports hold their own.
// Throws IoError.
struct CheckRun {
    std::vector<Report> reports;
    std::vector<std::string> isas;  // that were checked
    bool quick = false;
    unsigned seed = 1;
    double seconds = 0;
};
void save_checks(const std::string &path, const CheckRun &run);

}  // namespace halyard::check
