// Suites: groups of problems with goals, held against the best of all peers. bench/suites/cpu.txt
// is the kit's own:
//   [matmul] ratio=1.0 roof=0.92 dtype=f32
//   matmul g=1 m=512 k=512 n=512  # a note
// ratio: the fastest peer's time over ours, geometric mean of the group; roof: the share of the
// binding roof. Either may be missing.
#pragma once
#include <string>
#include <vector>

#include "bench/harness/shape_set.h"

namespace halyard::bench {

struct SuiteGroup {
    std::string title, dtype;      // dtype: one of the ops' sets; "" = each op's first
    double ratio = 0, roof = 0;    // goals; 0 = none
    std::vector<ShapeLine> lines;  // problems
};

// A file, or the name of a suite that comes with the kit. Throws IoError for what is neither, and
// for a line it can't read.
std::vector<SuiteGroup> suite(const std::string &name);

}  // namespace halyard::bench
