// Diagnostics: Halide's errors, reported with the op's own names, its lines, and what would be
// legal.
#pragma once
#include <string>
#include <vector>

#include "dsl/directives.h"
#include "dsl/op.h"
#include "registry/base/error.h"

namespace halyard {

// The exception that Halide throws while a Kernel is built and compiled.
struct HalideFailure : Halide::Error {
    HalideFailure(const char *what, CallSite site) : Halide::Error(what), site(std::move(site)) {}
    // The call of the op file that Halide rejected; unknown for errors of lowering.
    CallSite site;
};

// Makes Halide throw HalideFailure from now on, in the whole process. Its warnings are discarded:
// the frequent one, that f16 is emulated, is intended.
void throw_halide_errors();

// Returns a text of Halide's with the names of the op file: without counters ("peak$3"), without
// the stages in names of loops ("peak.s0.n"), with inputs as in the signature.
std::string with_author_names(const Op &op, std::string text);

// Returns the error to report for `error`. `directives` are all that the op gave to Halide.
//   [softmax] kernels/rowwise/softmax.cpp:41: e.compute_at(y, n): that loop isn't around every use
//   of e, by y; legal are compute_root(), ...
Error diagnostic(const Op &op, const Halide::Error &error,
                 const std::vector<Directive> &directives);

// Returns the same for an error of interpret() (dsl/real.h).
DTypeError diagnostic(const Op &op, const DTypeError &error,
                      const std::vector<Directive> &directives);

}  // namespace halyard
