// The file that `check --json` writes. docs/command.md describes its members.
#pragma once
#include <string>
#include <vector>

#include "tools/check/report.h"

namespace halyard::check {

// One whole run of `halyard check`. `seconds` is its wall time; reports have their own.
// save_checks() throws IoError.
struct CheckRun {
    std::vector<Report> reports;
    std::vector<std::string> isas;  // that were checked
    bool quick = false;
    unsigned seed = 1;
    double seconds = 0;
};
void save_checks(const std::string &path, const CheckRun &run);

}  // namespace halyard::check
