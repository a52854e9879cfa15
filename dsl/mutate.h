// Mutation testing of kernels: faults as authors make them, planted into the lowered loops one at a
// time. The share of faults that the checks find measures the checks (`halyard mutants`).
#pragma once
#include <string>
#include <vector>

#include "dsl/call_facts.h"
#include "dsl/fault_names.h"

namespace halyard {

// Makes every compilation of the pipeline append the faults that could be planted, as faults_of()
// does (dsl/kernel_faults.h), to `faults`. Both lists must outlive the pipeline's custom passes.
// Those in the computation of a stored value, rather than of an index or a condition of a loop, are
// appended to `of_values` as well.
void list_faults(Halide::Pipeline &pipeline, const CallFacts &facts,
                 std::vector<std::string> &faults, std::vector<std::string> &of_values);

// Makes every compilation of the pipeline plant a fault. A compilation throws Halide::CompileError
// if the kernel does not have the fault's location.
void plant(Halide::Pipeline &pipeline, const CallFacts &facts, const std::string &fault);

}  // namespace halyard
