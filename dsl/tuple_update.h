// What Halide 21 gets wrong about updates of Tuples, and how it is made to get them right.
//
// Halide stores the components of a Tuple one after another, unless a component reads one that is
// stored before it: then it computes all of them first. It looks for such reads in operators only,
// not in the arguments of calls (halide/Halide#8672), and a strict comparison is a call, as is
// every function of dsl/math/math.h. So its pass is given statements in which each such read of the
// old Tuple is a variable around the rest of its component, where the pass sees it. That has to be
// just before the pass, because what inlines Funcs takes variables away again that are used once:
// libhalyard_dsl.so defines split_tuples() itself, and calls Halide's, as dsl/directives.h has it
// for directives.
#pragma once
#include "Halide.h"

namespace halyard {

// Does a place that this update of `f` writes depend on `f`? Of a Tuple, Halide would read it again
// after the first component.
bool update_index_reads_self(const Halide::Internal::Function &f, int update);

// Does a component of a Tuple read another one in an update? Such kernels have other code since
// split_tuples() is defined here.
bool components_read_each_other(const Halide::Pipeline &p);

}  // namespace halyard
