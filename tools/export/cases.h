// The samples of exported ops as a file of inputs, expected results and error bounds, which the
// exported test reads (tools/export/project/test.c).
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "tools/export/selection.h"

namespace halyard::exporting {

struct Cases {
    std::string bytes;
    size_t count = 0;
};

// Returns the samples of each selected op in each of its sets of dtypes. Of samples with many
// elements there is only one, the smallest, if there is no other.
Cases cases_of(const Selection &selection);

// Returns the number of elements of all tensors of a case.
int64_t elements_of(const check::Case &c);

}  // namespace halyard::exporting
