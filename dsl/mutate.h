// Mutation testing of kernels: faults as authors make them, planted into the lowered loops one at a
// time. The share of faults that the checks find measures the checks (`halyard mutants`).
#pragma once
#include <string>
#include <vector>

#include "dsl/call_facts.h"

namespace halyard {

struct FaultKind {
    std::string name, doc;  // "dropped-tail", "a loop stops one iteration early"
};
const std::vector<FaultKind> &fault_kinds();

// Returns the kind of a fault "kind: location".
std::string kind_of(const std::string &fault);

// Returns a fault that is planted at the location of `fault` and aborts the process when execution
// reaches a state in which `fault` would have an effect. For a wrong comparison, that is a
// comparison of equal numbers. A fault whose probe never aborts is not reached by the checks. The
// reverse doesn't hold: a probe also aborts for an effect in lanes that a mask excludes.
std::string probe_of(const std::string &fault);

// Returns faults that are planted at the location of `fault`, and put a large positive or negative
// number in the place of each that `fault` changes. If no check finds either, no call of theirs
// uses that number. A compilation throws Halide::CompileError if `fault` changes no float of 32
// bits or more.
std::vector<std::string> spoilers_of(const std::string &fault);

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
