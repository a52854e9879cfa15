// Job: a kernel that a process of the compiler builds, and the result.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard::tune {

// The layouts of a kernel's tensors in the canonical problem, for autoschedulers.
struct Layouts {
    std::vector<std::vector<int64_t>> inputs, outputs;  // extents, innermost first
    std::vector<bool> dense_inputs, dense_outputs;      // innermost stride is 1
    std::map<std::string, double> scalars;
};

struct Job {
    std::string op, dtypes = "f32", variant, backend = "cpu";
    Isa isa = Isa::baseline;
    std::map<std::string, int> tunables;  // of the schedule; the others have their defaults
    // An autoscheduler, such as "adams2019", whose schedule replaces the op's, for `layouts` and
    // `threads`.
    std::string autoscheduler;
    Layouts layouts;
    int threads = 1;
    std::string problem;  // for prove(): in addition to the op's samples
    double seconds = 60;  // the limit
};

struct Built {
    std::string error;            // why there is no result, in one line; "" if there is one
    std::string algorithm, code;  // as in a record
    std::string library, symbol;  // the shared library, and its function; build() only
    int lanes = 1;
    std::map<std::string, int> tunables;
    std::map<std::string, std::vector<int>> offered;  // the first is the default
    std::string source;                               // the autoscheduler's schedule, as C++
};

}  // namespace halyard::tune
