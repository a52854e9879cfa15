// Kernel: one op, compiled for one backend, dtype set, variant and schedule.
#pragma once
#include <functional>

#include "dsl/ascend/schedule.h"
#include "dsl/directives.h"
#include "dsl/op.h"

namespace halyard {

// Instance: every choice that turns an op into code.
struct Instance {
    std::string backend = "cpu";  // cpu, opencl, cuda, ascend or c99
    // An entry of OpRecord::dtypes ("f32,i32" binds T and U), or "exact": integers modulo 2^32.
    std::string dtypes = "f32";
    std::string variant;  // the name of one of the op's variants
    // The instruction set, for backend "cpu".
    Isa isa = Isa::baseline;
    // Values of the schedule's tunables; those that are not given take their default.
    Tunables tunables;
    // If false, the op's schedule is ignored and every output is computed by plain loops.
    bool scheduled = true;
    // The name of an input. If not empty, the kernel computes the gradient with respect to this
    // input, which Halide derives from algorithm(). It takes the op's inputs, then dy.
    std::string adjoint_in;
    // "address" or "thread": the kernel's loads and stores are instrumented for that sanitizer.
    std::string sanitizer;
    // The number of a scheduling directive that is left out, counted from 0 (`halyard ablate`).
    int skip = no_directive;
    // A fault to plant, one of faults_of() (dsl/kernel_faults.h); "" for none.
    std::string fault;
    // If true, stages report their time and memory to Halide's profiler.
    bool profiled = false;
    // If true, stages report their beginning and end to Halide's tracer.
    bool traced = false;
    // The call that the program is compiled for, for backends "ascend" and "c99".
    std::shared_ptr<const FixedCall> call = {};

    // Returns the name of the kernel's function, a C identifier: "hy_softmax_f32_rows_avx2".
    std::string symbol(const std::string &op) const;
};

// Returns the Halide target of an instance of `op`, with the features of its instruction set and of
// its variant's extension.
Halide::Target target_of(const Op &op, const Instance &i);
// Returns the type in which elements of a dtype are stored; booleans are UInt(8).
Halide::Type halide_type(DType t);

class Kernel {
public:
    // Builds the pipeline and schedules it, without compiling. Throws DTypeError if the op has no
    // kernel for these dtypes. Throws Error, with the line of the op file, if Halide rejects the
    // algorithm or the schedule.
    Kernel(OpPtr op, Instance i);

    // Returns the inputs and then the scalars of the kernel. Outputs are not listed.
    std::vector<Halide::Argument> arguments() const;

    // Returns the bytes of the object file, from the kernel cache or compiled now.
    std::string object(const std::string &symbol);
    // Returns the path of a shared library, in the kernel cache, that has only this kernel.
    std::string library();
    // Opens library() and returns the kernel's function. The library stays open.
    KernelFn load();

    // compile() and open() are the two halves of load(), without the cache. compile() writes the
    // object file in a child process, which may take `seconds` (0: no limit). It throws
    // DispatchError if the code generator dies. open() links the object to a library in the same
    // folder and opens that.
    void compile(const std::string &object, unsigned seconds = 0);
    KernelFn open(const std::string &object) const;

    // Returns true if the compiled code checks its arguments, as Halide's kernels do by default.
    // Ordinary CPU kernels do not (dsl/argument_checks.h). Those in exact mode and those with a
    // sanitizer do.
    bool checks_arguments() const {
        return instance.backend != "cpu" || instance.dtypes == "exact" ||
               !instance.sanitizer.empty();
    }

    // Returns true if the compiled code uses matrix instructions (dsl/matrix_tiles.h). Exact mode
    // and unscheduled kernels have the variant's algorithm without them.
    bool has_matrix_tiles() const;
    // Returns true if the kernel is for a GPU and has f16 or bf16 (dsl/gpu/half_floats.h).
    bool holds_half_floats() const;
    // Replaces the pipeline's custom lowering passes by those that the kernel needs. Calls
    // `add_faults`, which may add one that plants or lists faults, where those belong: before the
    // conversions of 16-bit floats become integer arithmetic, which is the same in all kernels and
    // has tests of its own.
    void add_lowering_passes(const std::function<void()> &add_faults = [] {});

    const OpPtr op;
    // After construction, instance.tunables.offered has the tunables of the schedule.
    const Instance instance;
    const Halide::Target target;
    int lanes = 1;  // elements of the arithmetic type in a vector register
    Halide::Pipeline pipeline;
    // The op's definitions and scheduling directives, in the order in which Halide received them.
    std::vector<Directive> directives;
    ascend::BufferPlan buffer_plan;  // ascend: the memory of each Func on the chip

private:
    struct TensorTypes;
    // The Funcs that the kernel computes, and the types in which they are stored.
    struct Results {
        std::vector<Halide::Func> funcs;
        std::vector<Halide::Type> storage;
    };

    // build() and its steps, in order.
    void build();
    void check_fixed(const Build &build) const;
    void bind_inputs(const TensorTypes &types);
    Results outputs(const TensorTypes &types) const;
    Results differentiate(const TensorTypes &types);
    void fix_scalars();
    bool stores_outputs_jointly() const;
    Halide::Func joined(const std::vector<Halide::Func> &outputs) const;
    Halide::Expr zero_of_call() const;
    Arithmetic arithmetic(const TensorTypes &types) const;
    void constrain_outputs(const std::vector<Halide::Func> &funcs);
    void schedule(const std::vector<Halide::Func> &funcs, const Halide::Type &real,
                  const Build &build);
    std::vector<Halide::Func> fix_outputs();
    void schedule_ascend(const Backend &b);
    void schedule_c99();

    Halide::Func loaded(const Halide::ImageParam &memory, const TensorSpec &spec,
                        const TensorTypes &types) const;
    bool is_ascend() const { return instance.backend == "ascend"; }
    bool is_c99() const { return instance.backend == "c99"; }
    // Returns true if the program is made for one call.
    bool is_fixed() const { return is_ascend() || is_c99(); }
    // Returns true if the innermost stride of inputs and outputs may differ from 1.
    bool has_free_strides() const { return op->any_strides && !is_fixed(); }

    std::string cache_key(const std::string &symbol);
    void write_object(const std::string &path, const std::string &symbol, unsigned seconds);
    KernelFn open_library(const std::string &library) const;
    std::string lowered_text(const std::string &symbol);
    std::string constraints_of(const Halide::Parameter &buffer) const;
};

}  // namespace halyard
