// Suites: groups of problems with goals against the best of all peers. bench/suites/cpu.txt is the
// kit's own:
//   [matmul] ratio=1.0 roof=0.92 dtype=f32
//   matmul g=1 m=512 k=512 n=512  # a note
// `ratio` is the fastest peer's time over ours, as the group's geometric mean; `roof` is the share
// of the binding roof. Both are optional.
#pragma once
#include <string>
#include <vector>

#include "bench/harness/shape_set.h"

namespace halyard::bench {

struct SuiteGroup {
    std::string title, dtype;      // dtype: one of the ops' sets; "" is each op's first
    double ratio = 0, roof = 0;    // goals; 0 is none
    std::vector<ShapeLine> lines;  // problems
};

// Reads a file, or a suite that is installed with the kit by its name. Throws IoError for an
// unknown name and for a malformed line.
std::vector<SuiteGroup> suite(const std::string &name);

}  // namespace halyard::bench
