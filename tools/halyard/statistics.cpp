#include "tools/halyard/statistics.h"

#include <algorithm>

namespace halyard::command {

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

double least(const std::vector<double> &v) { return *std::min_element(v.begin(), v.end()); }

}  // namespace halyard::command
