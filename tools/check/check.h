// Runs the correctness checks that follow from the ops' records. `halyard check` and the tests use
// it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "dsl/kernel.h"
#include "dsl/op.h"
#include "registry/op/op_record.h"
#include "tools/c99/target.h"
#include "tools/check/report.h"

namespace halyard::check {

class RemoteKit;

struct Options {
    std::vector<Isa> isas;  // empty: all that this CPU has and the op was built for
    bool quick = false;     // fewer samples per kernel, no derived adjoints
    bool exact = true;      // the check `exact`, whose kernels no sanitizer instruments
    // Also of CPU kernels: each is compiled twice more, with the sanitizers.
    bool legality = false;
    int fuzz_cases = 40;      // random calls of each op
    double fuzz_seconds = 0;  // > 0: as many as fit
    unsigned seed = 1;        // of the random calls
    // Extents of random calls are often beside these: tools/check/kernel_sizes.h.
    std::vector<int64_t> kernel_sizes;
    double shrink_seconds = 5;
    // Options that the command which repeats a failure needs: " --kernels libmine.so".
    std::string repro_options;
    std::string dtypes, variant;  // only these; "" is all
    // Where random calls run: "" is the CPU, "cuda" and "opencl" those devices.
    std::string device;
    std::string sample;  // check_ascend: only this one, in the program of `variant`
    c99::Target target = c99::Target::x86;  // check_c99: the machine; x86 is this one
    const RemoteKit *kit = nullptr;         // check_remote; null: aarch64_kit()
    // check_exact: compares each variant with its own algorithm only, not with the last variant's.
    bool own_algorithms = false;
    // For check_exact:
    Tunables tunables;  // values of the tunables of the variant's schedule,
    std::string fault;  // the fault that is planted into its kernel (dsl/mutate.h; check_cuda too),
    // or this kernel in modular integers, in place of the one that the schedule makes.
    KernelFn kernel = nullptr;
};

// Runs all checks below for one op of op_table(). An op whose checks were all skipped fails.
Report check_op(const std::string &name, const Options &options = {});

// Returns the op that `op` belongs to, then all its gradients, gradients of gradients too. Finite
// differences of the one check the other, so they are checked together.
std::vector<std::string> family_of(const std::string &op);

// Checks every dtype, ISA, variant and sample against the reference.
void check_reference(const Op &op, const Options &o, Report &r);
// Checks inputs that are strided, offset and broadcast.
void check_views(const Op &op, const Options &o, Report &r);
// Checks every number of a 16-bit float in every layout, in whole vectors and in what remains of a
// row; of a formula of several numbers, every value of one at a time. Returns false if the op is no
// such function.
bool check_all_numbers(const Op &op, const Options &o, Report &r);
// Checks every number of a 16-bit float on Options::device, in dense tensors; of a formula of
// several numbers, every value of one at a time.
void check_numbers_on_device(const Op &op, const Options &o, Report &r);
// Checks that inputs of extent 1 which are broadcast give the bits of expanded copies.
void check_broadcast(const Op &op, const Options &o, Report &r);
// Checks calls with each dimension 0: the result is right, or a typed error is thrown.
void check_zero_sizes(const Op &op, const Options &o, Report &r);
// Checks wrong ranks, dtypes, extents and attributes: the result is right, or a typed error is
// thrown.
void check_refusals(const Op &op, const Options &o, Report &r);
// Checks that NaN and Inf are where the reference has them, and nowhere else.
void check_specials(const Op &op, const Options &o, Report &r);
// Checks that a NaN reaches no output element that doesn't depend on it.
void check_isolation(const Op &op, const Options &o, Report &r);
// Checks that numbers of threads and alignments don't change the bits, also of composed gradients.
void check_threads(const Op &op, const Options &o, Report &r);
// Checks that calls of some rows (registry/dispatch/call_rows.h) have the bits of whole calls.
void check_rows(const Op &op, const Options &o, Report &r);
// Checks for the same bits in poisoned memory, with each iteration of a parallel loop alone.
void check_sandbox(const Op &op, const Options &o, Report &r);
// Checks that scheduled and unscheduled kernels agree in modular integers.
void check_exact(const Op &op, const Options &o, Report &r);
// Checks gradient ops against finite differences of the reference, in gradient_dtypes().
void check_gradients(const Op &op, const Options &o, Report &r);
// Returns the dtypes of the most exact kernels for floats: "f64", or "f32" if the op has no f64; ""
// if it has none.
std::string gradient_dtypes(const OpRecord &op);
// Checks gradient ops against the adjoint that Halide derives.
void check_adjoints(const Op &op, const Options &o, Report &r);
// Checks the OpenCL kernels, if there is a device: samples and random calls.
void check_device(const Op &op, const Options &o, Report &r);
// Its random calls only.
void check_opencl_calls(const Op &op, const Options &o, Report &r);
// The samples but for 16-bit floats, whose kernels have the loops of f32's: an OpenCL driver takes
// a second to compile one.
void check_device_without_half_floats(const Op &op, const Options &o, Report &r);
// Checks the CUDA kernel of every dtype and sample on the PTX machine, or on the driver that
// HALYARD_CUDA_DRIVER names: references, special values, exact mode, random calls, every number of
// 16-bit formulas. check_op() doesn't run it. Throws DeviceError without a driver.
void check_cuda(const Op &op, const Options &o, Report &r);
// Its random calls and numbers only.
void check_cuda_calls(const Op &op, const Options &o, Report &r);
// The part of check_cuda() in modular integers, with o.fault. The op's f32 kernel for CUDA is
// registered.
void check_exact_cuda(const Op &op, const Options &o, Report &r);
// Checks every dtype and sample on the simulated Ascend device against the reference. check_op()
// doesn't run it.
void check_ascend(const Op &op, const Options &o, Report &r);
// Checks every dtype and sample as a function in C99, compiled for o.target, against the
// reference. check_op() doesn't run it.
void check_c99(const Op &op, const Options &o, Report &r);
// Checks every dtype, variant and sample of a kit for another machine against the reference.
// check_op() doesn't run it.
void check_remote(const Op &op, const Options &o, Report &r);
// What calls of a program with a fault show beside the same calls without it.
struct FaultyCalls {
    int calls = 0;
    bool have_same_bits = true;
    std::string wrong;  // how the first result that violates the contract does so; "" if none does
};
// Makes the call of o.sample with different values, with and without a fault in its program, until
// a result with the fault is wrong.
FaultyCalls try_other_values(const Op &op, const Options &o, const std::string &fault);
// Returns the samples that check_ascend runs with --quick, and in which it looks for races.
std::vector<std::string> quick_samples_of(const Op &op, const std::string &dtypes);
// Checks that kernels have no races, access nothing out of bounds and read nothing that wasn't
// written.
void check_legality(const Op &op, const Options &o, Report &r);
// The part of check_legality() that runs the OpenCL kernels under oclgrind.
void check_opencl_legality(const Op &op, const Options &o, Report &r);
// The part of check_legality() that runs one kernel of the CPU under the address and the thread
// sanitizer: all of its op's samples that are small enough.
void check_sanitized(const Op &op, const Instance &kernel, Report &r);
// Checks random calls (tools/check/fuzz.h).
void check_fuzz(const Op &op, const Options &o, Report &r);
// Checks the primitive of an op without a kernel against the reference.
void check_composite(const Op &op, const Options &o, Report &r);

// The part of check_zero_sizes() that differentiates; all of it for composite ops.
void check_zero_gradients(const Op &op, const Options &o, Report &r);

using Check = void (*)(const Op &, const Options &, Report &);
using NamedChecks = std::vector<std::pair<std::string, Check>>;
// In the order in which check_op() runs them.
extern const NamedChecks all_checks;
// Returns the checks of the op; composite ops have others.
NamedChecks checks_of(const Op &op, const Options &o);
// Runs and times a check. An exception is a failure.
Report run_check(const Op &op, const std::string &check, Check run, const Options &o);

bool has_device(const std::string &backend);  // true if one can be opened
// Returns true if this CPU has the instructions of the kernel's variant, and any shape satisfies
// its condition: "lanes>=4" is false for two doubles, whatever the shape.
bool can_run(const OpRecord &op, const KernelEntry &k);
// Returns the sets of dtypes of the op's registered OpenCL kernels.
std::vector<std::string> opencl_dtypes(const Op &op);
// Returns the levels to check: those of the options, or else all levels of this CPU that the op has
// CPU kernels for, lowest first.
std::vector<Isa> isas_of(const Op &op, const Options &o);

}  // namespace halyard::check
