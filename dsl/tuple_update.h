// A workaround for a defect of Halide 21 in updates of Tuples.
//
// Halide stores the components of a Tuple one after another. If a component reads one that is
// stored before it, all have to be computed first. Halide looks for such reads in operators, but
// not in the arguments of calls (halide/Halide#8672). A strict comparison is a call, and so is
// every function of dsl/math/math.h.
//
// The workaround binds each read of another component to a variable, around the rest of its
// component, where Halide's pass finds it. This has to be done immediately before that pass,
// because inlining removes variables that are used once. So libhalyard_dsl.so defines
// split_tuples(), which calls Halide's function of this name; dsl/directives.h describes the
// mechanism.
#pragma once
#include "Halide.h"

namespace halyard {

// Returns true if the index that update number `update` of `f` writes depends on `f`. For a Tuple,
// Halide would evaluate this index again after it has stored the first component.
bool update_index_reads_self(const Halide::Internal::Function &f, int update);

// Returns true if, in an update of a Tuple, a component reads another one. The code of such kernels
// has changed since split_tuples() is defined here, so their cache keys are different.
bool components_read_each_other(const Halide::Pipeline &p);

}  // namespace halyard
