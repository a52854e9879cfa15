// The machine and the time, for the headers of saved files.
#pragma once
#include <string>

namespace halyard {

std::string processor();  // the CPU's name
std::string now();        // the time in UTC: "2026-11-21T23:50:12Z"

}  // namespace halyard
