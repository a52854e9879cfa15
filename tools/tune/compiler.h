// Compiler: builds and compiles candidates in child processes. A code generator or an autoscheduler
// that aborts or hangs ends only its own process. Names inside a kernel then don't depend on what
// was built before, so that the kernel cache finds it again.
#pragma once
#include <memory>

#include "bench/harness/line_process.h"
#include "tools/tune/job.h"

namespace halyard::tune {

class Compiler {
public:
    // Forks, so it must be made before anything builds a kernel or starts a thread.
    Compiler();

    Built offers(const Job &job) { return ask("offers", job); }  // compiles nothing
    Built build(const Job &job) { return ask("build", job); }
    // Proves that the schedule gives the bits of the unscheduled algorithm, in modular integers,
    // for all the op's samples that the variant accepts. `error` is a difference or, beginning with
    // "not proved: ", why it can't be decided.
    Built prove(const Job &job) { return ask("prove", job); }

private:
    Built ask(const char *what, const Job &job);
    std::unique_ptr<bench::LineProcess> server_;
};

// Loads the library of build() and returns the kernel. Throws DispatchError.
KernelFn load(const Built &built);

}  // namespace halyard::tune
