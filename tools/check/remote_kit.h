// A kit that was built for another machine, which an emulator runs: its kernels, and calls of its
// ops. The other machine has no compiler and no references, so what it computes is judged here.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "registry/op/op_record.h"
#include "tools/calls/call_file.h"

namespace halyard::check {

class RemoteKit {
public:
    // `program` are the words that start that kit's halyard_calls. Throws Error, with what it
    // prints, if it doesn't run.
    explicit RemoteKit(std::vector<std::string> program);

    // Returns the op's kernels for CPUs; their functions are null.
    const std::vector<KernelEntry> &kernels(const std::string &op) const;

    // Runs the calls and returns a result for each. A call in which the program ends early doesn't
    // keep the later ones from running.
    std::vector<calls::Result> run(const std::vector<calls::Call> &all) const;

private:
    std::vector<calls::Result> run_from(const std::vector<calls::Call> &all, size_t first) const;

    std::vector<std::string> program_;
    std::map<std::string, std::vector<KernelEntry>> kernels_;
};

// Returns the kit in the build for AArch64 beside this program's build, run by QEMU. It is opened
// once in a process. Throws Error, of `command`, with what is missing.
const RemoteKit &aarch64_kit(const std::string &command);

}  // namespace halyard::check
