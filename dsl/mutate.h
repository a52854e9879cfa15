// Faults that authors make, planted into a kernel's lowered loops, one at a time: the share that
// the checks find is what they are worth.
#pragma once
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard {

class Kernel;

struct FaultKind {
    std::string name, doc;  // "dropped-tail", "a loop stops one iteration early"
};
const std::vector<FaultKind> &fault_kinds();

// What could be planted into the kernel, which has no fault yet, each as "kind: place". Stages and
// loops have the names that `halyard lower` shows, equal places are counted: "wrong-index: load of
// x in e #2". Lowers the kernel, compiles nothing.
std::vector<std::string> faults_of(Kernel &k);
std::string kind_of(const std::string &fault);

// What aborts, instead of going wrong, where it comes to a place at which this fault would show: a
// loop that runs, a comparison of equal numbers. To be planted like the fault itself.
std::string reaches(const std::string &fault);

// Makes every compilation of the pipeline plant this fault. They throw Halide::CompileError where
// it has no such place.
void plant(Halide::Pipeline &pipeline, const std::string &fault);

}  // namespace halyard
