// Compiler: candidates are built and compiled in processes of their own. A code generator or an
// autoscheduler that aborts or hangs takes nothing down with it, and names inside a kernel don't
// depend on what was built before, so that the kernel cache knows it again.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard::tune {

// The tensors that a kernel is for, as the canonical problem lays them out. Autoschedulers need
// them.
struct Layouts {
    std::vector<std::vector<int64_t>> inputs, outputs;  // extents, innermost first
    std::vector<bool> dense_inputs, dense_outputs;      // innermost stride is 1
    std::map<std::string, double> scalars;
};

struct Job {
    std::string op, dtypes = "f32", variant, backend = "cpu";
    Isa isa = Isa::baseline;
    std::map<std::string, int> tunables;  // of the schedule; the others are at their defaults
    // "adams2019": its schedule instead of the op's, for `layouts` and `threads`
    std::string autoscheduler;
    Layouts layouts;
    int threads = 1;
    std::string problem;  // for prove(): beside the op's samples; "" = only those
    double seconds = 60;  // after which it is given up
};

struct Built {
    std::string error;            // why there is nothing below, in one line; "" = there is
    std::string algorithm, code;  // as in a record
    std::string library, symbol;  // the shared library, and its function; build() only
    int lanes = 1;
    std::map<std::string, int> tunables;
    std::map<std::string, std::vector<int>> offered;  // the first is the default
    std::string source;                               // the autoscheduler's schedule, as C++
};

class Compiler {
public:
    // Forks: make it before anything builds a kernel or starts a thread.
    Compiler();
    ~Compiler();
    Compiler(const Compiler &) = delete;
    Compiler &operator=(const Compiler &) = delete;

    Built offers(const Job &job) { return ask("offers", job); }  // compiles nothing
    Built build(const Job &job) { return ask("build", job); }
    // Does the schedule give the bits of the algorithm as written, in modular integers, for all the
    // op's samples that the variant takes? `error` says where it doesn't, or, beginning with "not
    // proved: ", why that can't be told.
    Built prove(const Job &job) { return ask("prove", job); }

private:
    Built ask(const char *what, const Job &job);
    pid_t server_ = 0;
    int to_ = -1, from_ = -1;
};

// build() of a job as a function: loads the library. Throws DispatchError.
KernelFn load(const Built &built);

}  // namespace halyard::tune
