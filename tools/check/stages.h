// Stages of a scheduled pipeline by their author's names: maps a name in generated code to its Func
// and its directives.
#pragma once
#include "dsl/kernel.h"

namespace halyard::check {

struct Stage {
    std::string func;   // "total"
    std::string where;  // "`total` update 0"
    // The directives that make its loops parallel: "allow_race_conditions(), gpu_blocks(n),
    // gpu_threads(ri) over a reduction".
    std::string directives;
    std::string mangled;  // the prefix of its loops' and kernels' names in code: "total_9_s1_"
};
// Returns the stages of all Funcs of a kernel's pipeline.
std::vector<Stage> stages_of(const Kernel &k);

// Returns the stage of the loop or kernel called `name` ("_kernel_total__9_s1_n_n_block_id_x"), or
// null.
const Stage *stage_named(const std::vector<Stage> &stages, const std::string &name);

// Returns "`total` update 0: gpu_threads(ri) over a reduction", or `name` itself if no stage has
// it.
std::string explained(const std::vector<Stage> &stages, const std::string &name);

}  // namespace halyard::check
