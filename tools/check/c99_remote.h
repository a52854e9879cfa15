// Calls in C99 on another machine, which an emulator runs: one program with the calls of an op. It
// reads cases from a file and writes their results to another.
#pragma once
#include <string>
#include <vector>

#include "registry/base/temporary_folder.h"
#include "registry/tensor/tensor.h"
#include "tools/c99/call_source.h"
#include "tools/c99/target.h"

namespace halyard::check {

struct RemoteCase {
    size_t call = 0;  // of the program's
    std::vector<Tensor> in, out;
};

// Returns the bytes that a call's tensors take in the program.
int64_t remote_bytes(const c99::CallSource &call);

class RemoteCalls {
public:
    // Compiles `source`, with a function "void entry_NAME(void **tensors)" for each call. Throws
    // Error with the compiler's messages, or with the tools that are missing.
    RemoteCalls(const std::string &op, c99::Target target, const std::string &source,
                const std::vector<c99::CallSource> &calls);

    struct Outcome {
        bool has_ended = false;  // and `out` has its results
        std::string error;       // how the program ended, or which memory the call wrote; or ""
    };
    // Runs the cases and overwrites their `out`, which are dense. A case in which the program ends
    // early doesn't keep the later ones from running.
    std::vector<Outcome> run(const std::vector<RemoteCase> &cases) const;

private:
    // Runs the cases from `first` on, and returns those outcomes that it has.
    std::vector<Outcome> run_from(const std::vector<RemoteCase> &cases, size_t first) const;

    const TemporaryFolder folder_{"halyard_c99"};
    c99::Tools tools_;
    std::string program_;
};

}  // namespace halyard::check
