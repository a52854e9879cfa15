// A mutant: a kernel with one planted fault (dsl/mutate.h), and what has become of it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tools/check/check.h"

namespace halyard::check {

// In the place of a fault's text: the checks run on the right kernel, where they must find nothing.
inline constexpr const char *no_fault = "none";

struct Mutant {
    enum Status {
        caught,
        survived,
        equivalent,  // survived, and no check can find it, for the reason in `output`
        // survived, and none of MutantOptions::search_calls executes its place, or none of the
        // checks' calls uses the number that it changes
        unreached,
        same_code,  // the compiler generated the same code: no fault
        refused,    // it can't be compiled
    };
    std::string op, variant, fault;
    // "f16/avx2": the kernel's dtypes and instruction set, if they aren't the op's first and those
    // of the options.
    std::string place = "";
    Status status = survived;
    bool reached = false;                // survived: a call executed its place
    bool compares_one_number = false;    // survived: a comparison in a function of one number
    std::vector<std::string> caught_by;  // names of all_checks(), or "crash", "hang", "search",
                                         // "legality"
    // The first failure, the compiler's message, why a known survivor survives, or the call that
    // executes its place if no check does.
    std::string output;
    // Returns true if the kernel is for the CPU.
    bool on_cpu() const { return !place.ends_with("/ascend") && !place.ends_with("/cuda"); }
    // Returns the kind of fault: "wrong-offset".
    std::string kind() const;
    std::string text() const {
        return op + (variant.empty() ? "" : "/" + variant) + " " +
               (place.empty() ? "" : place + " ") + fault;
    }
};
// Returns the status as it is printed and saved.
const char *name_of(Mutant::Status status);

struct MutantOptions {
    std::vector<std::string> ops;
    int per_op = 2;             // faults to plant in each op
    int in_all = 0;             // > 0: that many instead, in ops drawn from `ops`
    bool until_caught = false;  // stop after the first check that finds the fault
    // Random calls of each faulted kernel. All of them reach it; without faults, those of an op are
    // of any of its kernels.
    int random_calls = 1000;
    // Calls that are made of a survivor's kernel if no check executes the fault's place. One that
    // does is then made with many values. If a check does, random calls are compared.
    int search_calls = 20'000;
    double search_seconds = 45;  // no further calls after this time
    unsigned seed = 1;
    int at_once = 2;  // processes
    Isa isa = Isa::baseline;
    // Plant faults in kernels of any dtypes, on any instruction set of this CPU, instead of the
    // first dtypes on `isa`.
    bool everywhere = false;
    bool programs = false;  // only into programs of the simulated Ascend device
    bool cuda = false;      // only into CUDA kernels, which run on the PTX machine
    double seconds = 240;   // of processor time, with compilation; a longer run counts as a hang
    std::vector<std::string> only;  // Mutant::text()s, instead of a selection
    // done, of how many
    std::function<void(size_t, size_t, const std::string &doing)> on_progress = {};
};

}  // namespace halyard::check
