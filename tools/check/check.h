// The one runner of correctness checks, driven by the ops' records: `halyard check` and the tests
// call it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "dsl/op.h"
#include "registry/op/op_record.h"
#include "tools/check/report.h"

namespace halyard::check {

struct Options {
    std::vector<Isa> isas;  // empty: all that this CPU has and the op was built for
    bool quick = false;     // fewer samples per kernel, no derived adjoints
    // of CPU kernels too: each is compiled twice more, with the sanitizers
    bool legality = false;
    int fuzz_cases = 40;      // random calls of each op
    double fuzz_seconds = 0;  // > 0: as many as fit
    unsigned seed = 1;        // of the random calls
    double shrink_seconds = 5;
    // options that the command needs which repeats a failure: " --kernels libmine.so"
    std::string again;
    std::string dtypes, variant;  // only these; "" = all
    std::string sample;           // check_ascend: only this one, in the program of `variant`
    // check_exact:
    Tunables tunables;  // values for the free choices of the variant's schedule,
    std::string fault;  // what is planted into its kernel (dsl/mutate.h),
    // or this kernel in modular integers instead of what its schedule makes
    KernelFn kernel = nullptr;
};

// Everything below, for one op of op_table(). One that passes nothing fails.
Report check_op(const std::string &name, const Options &options = {});

// The op that this one belongs to and all gradients of it, gradients of gradients too: what is
// differentiated is what finite differences are taken of, so that neither is checked without the
// other. The op comes first.
std::vector<std::string> family_of(const std::string &op);

// every dtype x ISA x variant x sample against the reference
void check_reference(const Op &op, const Options &o, Report &r);
// strided, offset and broadcast inputs
void check_views(const Op &op, const Options &o, Report &r);
// extents of 1 that stand in for longer ones: the bits of expanded copies
void check_broadcast(const Op &op, const Options &o, Report &r);
// each dimension 0: right, or a typed error
void check_zero_sizes(const Op &op, const Options &o, Report &r);
// wrong ranks, dtypes, extents, attributes: right, or a typed error
void check_refusals(const Op &op, const Options &o, Report &r);
// NaN and Inf where the reference has them, nowhere else
void check_specials(const Op &op, const Options &o, Report &r);
// a NaN reaches no element that doesn't depend on it
void check_isolation(const Op &op, const Options &o, Report &r);
// same bits for any number of threads and alignment, also of composed gradients
void check_threads(const Op &op, const Options &o, Report &r);
// same bits in poisoned memory, each iteration of a parallel loop alone
void check_sandbox(const Op &op, const Options &o, Report &r);
// scheduled == unscheduled in modular integers
void check_exact(const Op &op, const Options &o, Report &r);
// gradient ops against finite differences of the reference
void check_gradients(const Op &op, const Options &o, Report &r);
// gradient ops against the adjoint Halide derives
void check_adjoints(const Op &op, const Options &o, Report &r);
// OpenCL, where a device answers and the op has a GPU schedule
void check_device(const Op &op, const Options &o, Report &r);
// the simulated device, on its own: every dtype x sample against the reference
void check_ascend(const Op &op, const Options &o, Report &r);
// what check_ascend takes with --quick, and looks for races in
std::vector<std::string> quick_samples_of(const Op &op, const std::string &dtypes);
// no race, no access out of bounds, nothing read that wasn't written
void check_legality(const Op &op, const Options &o, Report &r);
// random calls (tools/check/fuzz.h)
void check_fuzz(const Op &op, const Options &o, Report &r);
// of an op without a kernel: the primitive against the reference
void check_composite(const Op &op, const Options &o, Report &r);

// The part of check_zero_sizes() that differentiates, and all of it for composite ops.
void check_zero_gradients(const Op &op, const Options &o, Report &r);

using Check = void (*)(const Op &, const Options &, Report &);
using NamedChecks = std::vector<std::pair<std::string, Check>>;
// in the order in which check_op() runs them
extern const NamedChecks all_checks;
// composite ops have others
NamedChecks checks_of(const Op &op, const Options &o);
// timed; what it throws is a failure
Report run_check(const Op &op, const std::string &check, Check run, const Options &o);

bool has_device(const std::string &backend);  // does it answer?
std::vector<Isa> isas_of(const Op &op, const Options &o);

}  // namespace halyard::check
