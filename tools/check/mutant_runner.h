// A planted fault in a child process (tools/check/mutants.h): the faulty kernel replaces the right
// one, and the checks run on it.
#pragma once
#include <string>
#include <vector>

#include "dsl/kernel.h"
#include "primitives/library.h"
#include "registry/base/process_pool.h"
#include "tools/check/mutant.h"

namespace halyard::check {

using Faults = std::vector<std::string>;

// The name that check_all_numbers() has in messages.
inline constexpr const char *all_numbers = "all numbers";
// The name of the calls that are made of survivors only.
inline const std::string search_check = "search";
// The seed of these calls: others than those of the checks.
inline constexpr unsigned search_seed = 77;
// The name of the part of `check --legality` that tries survivors only.
inline const std::string sanitizers = "legality";

// A fault to plant, with others of its kind in the same kernel, for when the compiler generates the
// same code for the first.
struct Choice {
    KernelEntry kernel;
    Faults candidates;
};

Instance instance_of(const KernelEntry &k, const std::string &fault = "");

// Returns the processes that compile and check mutants, which may crash and hang. What they print
// is lost.
ProcessPool pool_of(const MutantOptions &o);

// Tries the mutants of a kernel, in a child process. What it finds it sends to the parent.
class MutantRunner {
public:
    MutantRunner(const Choice &c, const MutantOptions &o, const ProcessPool::Send &send)
        : MutantRunner(c, o, o.until_caught, send) {}
    MutantRunner(const Choice &c, const MutantOptions &o, bool until_caught,
                 const ProcessPool::Send &send)
        : choice_(c), random_calls_(o.random_calls), until_caught_(until_caught), send_(send) {}

    // Compiles the fault, replaces the right kernel by the faulty one and runs the checks. It sends
    // "fault ..." for what it tries, "same" or "compiled", "check ..." before each check and
    // "caught ..." after one that failed.
    void run();
    // Runs the checks on a kernel that aborts at the place of the fault.
    void reach(const std::string &fault);
    // Runs the checks on kernels with large numbers in the place of those that the fault changes.
    // Sends "unused" if they find nothing.
    void spoil(const std::string &fault);
    // Makes random calls of a kernel that aborts at the place of the fault. Sends "call ..." before
    // each, and "calls N" if none aborts.
    void search(const std::string &fault, int calls, double seconds, unsigned seed);
    // Makes the calls of the faulty kernel with values of all kinds, and sends "caught ..." for the
    // first wrong result.
    void repeat(const std::string &fault, const std::vector<std::string> &calls);
    // Makes random calls of the faulty kernel for so many seconds, and sends "caught ..." for the
    // first wrong result.
    void compare(const std::string &fault, double seconds);
    // Repeats the op's samples, and the problems of the calls, on the faulty kernel under the
    // sanitizers. Sends "caught ..." for what they report, unless they report something about the
    // right kernel too.
    void sanitize(const std::string &fault, const std::vector<std::string> &calls);

private:
    bool changes_no_number(const Op &op, const std::string &fault);
    bool is_of_values(const std::string &fault) const;
    Kernel kernel(const std::string &fault) const;
    std::string symbol() const;
    void replace_by(Kernel &k) const;
    void run_programs(const std::string &fault);
    Options options_for(const std::string &fault) const;
    void run_checks(const Op &op, const std::string &fault);
    void run_checks(const Op &op, const NamedChecks &checks, const Options &o);

    const Choice &choice_;
    const int random_calls_;
    const bool until_caught_;
    bool was_caught_ = false;
    const ProcessPool::Send &send_;
};

}  // namespace halyard::check
