// Statistics of timings. Nothing here knows a kernel or a clock, so that tests feed it noise of their own.
#pragma once
#include <vector>

namespace halyard::command {

double median(std::vector<double> values);
double least(const std::vector<double> &values);

}  // namespace halyard::command
