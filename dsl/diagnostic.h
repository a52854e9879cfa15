// Refusal: what Halide objects to in an op, said with the op's own names, its lines, and what would
// be legal.
#pragma once
#include <string>
#include <vector>

#include "dsl/directives.h"
#include "dsl/op.h"
#include "registry/base/error.h"

namespace halyard {

// What Halide throws while a Kernel is built and compiled. Its warnings go nowhere: emulated f16 is
// meant.
struct HalideFailure : Halide::Error {
    HalideFailure(const char *what, CallSite at) : Halide::Error(what), at(std::move(at)) {}
    CallSite at;  // of the call that was refused, or of lowering
};
void throw_halide_errors();  // from now on, in this process

// Halide's text with the names that the op's file has: no counters, no stages in the names of
// loops, inputs as input() was told.
std::string with_author_names(const Op &op, std::string text);

// `what`: Halide's words; `directives`: all that `op` told Halide.
//   [softmax] kernels/rowwise/softmax.cpp:41: e.compute_at(y, n): no loop n of y is around every
//   use of e; legal are compute_root(), ...
Error diagnostic(const Op &op, const Halide::Error &what, const std::vector<Directive> &directives);

// The same for interpret()'s errors.
DTypeError diagnostic(const Op &op, const DTypeError &what,
                      const std::vector<Directive> &directives);

}  // namespace halyard
