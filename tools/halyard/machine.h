// Which machine this is and who else uses it, for the head of a measurement.
#pragma once
#include <string>

namespace halyard::command {

std::string processor();  // the CPU's name

// The CPU's name, its cores and, when others use them, a warning.
void print_machine();

}  // namespace halyard::command
