// Stages of a scheduled pipeline, in an author's words: what finds the Func and the directives
// behind a name in generated code.
#pragma once
#include "dsl/kernel.h"

namespace halyard::check {

struct Stage {
    std::string func;   // "total"
    std::string where;  // "`total` update 0"
    // "allow_race_conditions(), gpu_blocks(n), gpu_threads(ri) over a reduction": what makes its
    // loops parallel
    std::string directives;
    std::string mangled;  // how names of its loops and kernels begin, in code: "total_9_s1_"
};
std::vector<Stage> stages_of(const Kernel &k);

// The stage whose loop or kernel `name` is ("_kernel_total__9_s1_n_n_block_id_x"), or null.
const Stage *stage_named(const std::vector<Stage> &stages, const std::string &name);

// "`total` update 0: gpu_threads(ri) over a reduction", or `name` itself where no stage is known by
// it.
std::string explained(const std::vector<Stage> &stages, const std::string &name);

}  // namespace halyard::check
