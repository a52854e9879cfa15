// Rows by warps: reductions along what lies side by side in memory.
//
// If one thread reduced a row, the threads of a warp would read from 32 rows at once, and each
// access would move a sector of 32 bytes for four. So the 32 threads of a warp share a row: each
// has every 32nd term, and one of them combines what they have. The tree of a row depends on its
// length alone, so results do not depend on the device.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::gpu {

inline constexpr int warp = 32;       // threads that execute together
inline constexpr int sum_chunk = 64;  // consecutive terms of a thread's sum that are added first

using Functions = std::map<std::string, Halide::Internal::Function>;

// Returns the loop of the update of `f` along which all that it loads lies side by side. There is
// none if `f` has several updates, if an update reads another element of `f` than it writes, if the
// order of the terms counts, or if neighbouring elements of `f` load neighbouring elements: then a
// thread for each element reads memory in order. `all` are the Funcs of the pipeline.
std::optional<std::string> row_loop(const Halide::Internal::Function &f, const Functions &all);

// Returns true if `output` can compute all of `reductions` in its own kernel. It has their
// dimensions, and may have one more, its first, along their rows; each of its elements, and each
// element of a reduction, reads the reductions of its own row; and no other Func of the pipeline
// has updates.
bool shares_rows(const Halide::Internal::Function &output,
                 const std::vector<Halide::Internal::Function> &reductions, const Functions &all);

// Schedules `kernel`, which reads `f`, each element at its own place. An element of `f` combines
// `warp` elements of `terms`, along its dimension `of_lane`: what each thread of a warp has. For
// algorithms that say so themselves.
void reduce_by_warps(Halide::Func &terms, const Halide::Var &of_lane, Halide::Func &f,
                     Halide::Func &kernel);

// Schedules reductions, of which `loops` are the row_loop() of each, and the one Func `kernel` that
// reads them, each element at its own place. None of them reads another.
void reduce_by_warps(std::vector<Halide::Func> &reductions, Halide::Func &kernel,
                     const std::vector<std::string> &loops);

// Schedules `output` and the reductions with which it shares rows in one kernel.
void share_rows(Halide::Func &output, std::vector<Halide::Func> &reductions,
                const std::vector<std::string> &loops);

}  // namespace halyard::gpu
