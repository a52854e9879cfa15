// Kernel: one op, instantiated. The choices that turn an op into code stand in `Instance`.
#pragma once
#include "dsl/ascend/schedule.h"
#include "dsl/directives.h"
#include "dsl/op.h"

namespace halyard {

struct Instance {
    std::string backend = "cpu";  // cpu, opencl, cuda, ascend
    // as in OpRecord::dtypes; "exact" = modular integers
    std::string dtypes = "f32";
    std::string variant;      // one of the op's variants
    Isa isa = Isa::baseline;  // cpu
    Picks picks;              // values for the schedule's free choices
    bool scheduled = true;    // false: the algorithm as written
    // "x": not the op but its derived adjoint in x; inputs are the op's, then dy
    std::string adjoint_in;
    // address, thread: the code reports its own reads and writes; "" = it doesn't
    std::string sanitizer;
    // the scheduling call of this number is left out
    int skip = no_directive;
    // planted to try the checks, one of faults_of() (dsl/mutate.h); "" = none
    std::string fault;
    // stages report their time and memory to Halide's profiler
    bool profiled = false;
    // stages report when they begin and end to Halide's tracer
    bool traced = false;
    std::shared_ptr<const FixedCall> call = {};       // ascend
    std::string symbol(const std::string &op) const;  // a C identifier: "hy_softmax_f32_rows_avx2"
};

Halide::Target target_of(const Instance &i);
Halide::Type halide_type(DType t);

class Kernel {
public:
    // Builds and schedules; compiles nothing yet. Throws DTypeError when the op can't be had in
    // these dtypes, Error with the line of the op's source when the algorithm or the schedule is
    // refused.
    Kernel(OpPtr op, Instance i);

    std::vector<Halide::Argument> arguments() const;  // inputs, then scalars
    // the bytes of the compiled object, which the kernel cache keeps
    std::string object(const std::string &symbol);
    // path of a shared library with nothing else in it, in the kernel cache
    std::string library();
    // compiled, linked and opened: the JIT is the same object, dlopened
    KernelFn load();

    // The two halves of load(), without the cache. An object is written in a child process, which
    // may take `seconds` (0: any time); throws DispatchError where the code generator died. open()
    // links the library beside the object.
    void compile(const std::string &object, unsigned seconds = 0);
    KernelFn open(const std::string &object) const;

    // Does the code check its arguments, as Halide has it? Exact mode does, which proves each
    // schedule, and what a sanitizer watches.
    bool checks_arguments() const {
        return instance.backend != "cpu" || instance.dtypes == "exact" ||
               !instance.sanitizer.empty();
    }

    const OpPtr op;
    const Instance instance;  // instance.picks.offered: what the schedule asked for
    const Halide::Target target;
    int lanes = 1;
    Halide::Pipeline pipeline;
    std::vector<Directive> written;  // all that the op told Halide
    ascend::Places places;           // ascend: what lies where on the chip

private:
    void build();
    void check_ascend(const Build &build) const;
    void fix_scalars();
    void schedule_ascend(const Backend &b);
    std::string key(const std::string &symbol);
    void write_object(const std::string &path, const std::string &symbol, unsigned seconds);
    KernelFn opened(const std::string &library) const;
    bool strides_free() const;
    std::string lowered(const std::string &symbol);
    std::string demands(const Halide::Parameter &buffer) const;
};

}  // namespace halyard
