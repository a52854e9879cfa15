// What subcommands show of the simulated Ascend device. All times are its simulator's.
#pragma once
#include <string>
#include <vector>

#include "bench/harness/problem_instance.h"
#include "dsl/kernel.h"

namespace halyard::command {

inline const char *const ascend_note =
    "Cycles and microseconds are the simulator's: no Ascend chip was measured.\n";

// The call that an Ascend kernel is made for.
Instance ascend_call(const bench::ProblemInstance &t, const std::string &dtypes,
                     const std::string &variant = "");
// The same with the picks of a schedule that fits the chip. Throws DispatchError where the op has
// none, or, with `strict`, where the scalar unit would have to step in.
Instance ascend_instance(const bench::ProblemInstance &t, const std::string &dtypes,
                         const std::string &variant, const Tunables &tunables, bool strict);

// bench: a line per problem, and one per variant that is written by hand, with the pipes' shares
// and that of the roof that binds. False where a result left the op's bounds.
bool bench_ascend(const std::string &op, const std::vector<std::string> &problems,
                  const std::string &dtype);
// profile: what each unit of a core did, metric by metric; `trace`: a timeline's file, a picture
// where it ends in .svg.
void profile_ascend(const std::string &op, const std::string &problem, const std::string &dtype,
                    const std::string &variant, const std::string &trace);

}  // namespace halyard::command
