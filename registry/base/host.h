// The machine and the time, for the head of what is saved.
#pragma once
#include <string>

namespace halyard {

std::string processor();  // the CPU's name
std::string now();        // UTC: "2026-11-21T23:50:12Z"

}  // namespace halyard
