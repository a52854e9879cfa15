// Which machine this is and who else uses it, for the head of a measurement.
#pragma once
#include <string>

namespace halyard::command {

std::string processor();  // the CPU's name
std::string now();        // UTC: "2026-11-21T23:50:12Z"

// The CPU's name, its cores and, when they have had work, the load average: load.h knows who has them now.
void print_machine();

}  // namespace halyard::command
