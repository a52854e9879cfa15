// The output of subcommands for the simulated Ascend device. All times are the simulator's.
#pragma once
#include <string>
#include <vector>

#include "bench/harness/problem_instance.h"
#include "dsl/kernel.h"

namespace halyard::command {

inline const char *const ascend_note =
    "Cycles and microseconds are the simulator's: no Ascend chip was measured.\n";

// Returns the instance of an Ascend kernel for this call.
Instance ascend_call(const bench::ProblemInstance &t, const std::string &dtypes,
                     const std::string &variant = "");
// Returns the same with the tunables of a schedule that fits the chip. Throws DispatchError if the
// op has none, or, with `strict`, if the scalar unit would be needed.
Instance ascend_instance(const bench::ProblemInstance &t, const std::string &dtypes,
                         const std::string &variant, const Tunables &tunables, bool strict);

// bench: prints a line per problem, and one per handwritten variant, with the shares of the pipes
// and of the binding roof. Returns false if a result violates the op's contract.
bool bench_ascend(const std::string &op, const std::vector<std::string> &problems,
                  const std::string &dtype);
// profile: prints the work of each unit of a core, metric by metric. `trace` is a timeline's file,
// a picture if it ends in .svg.
void profile_ascend(const std::string &op, const std::string &problem, const std::string &dtype,
                    const std::string &variant, const std::string &trace);

}  // namespace halyard::command
