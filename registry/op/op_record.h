// OpRecord: everything about an operator that is data. The DSL fills it once, in the op's file; the
// generator writes it out as C++; dispatch, primitives, the command line, tests and benches read
// it. Nothing here knows a compiler.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "registry/tensor/dtype.h"

namespace halyard {

// How a caller's tensors become the few dimensions a kernel has (registry/dispatch/canonical.h does
// it).
enum class Form : uint8_t {
    // as the signature says; a leading `..g` collapses any number of dimensions; `axis` picks a row
    // dimension
    plain,
    elementwise,  // x[*]: broadcast, merged, any strides
    // x[o,r,i,s] -> y[o,i]: the dimensions in `axis` become r and s, the others o and i
    reduction,
    composite,  // no kernel: primitives/ states it in terms of other ops
};

enum class AttrKind : uint8_t { integer, real, boolean, choice, ints, dtype, text };

struct AttrSpec {
    std::string name;
    AttrKind kind = AttrKind::integer;
    // the default as text: "1", "1e-5", "same", "1,1"; "!" = required
    std::string value;
    // choice: its value in expressions is its place here, under its own name
    std::vector<std::string> choices;
    // ints of fixed number: the name of each in expressions ("stride_h", "stride_w")
    std::vector<std::string> parts;
    // an argument of the call rather than of the primitive's constructor
    bool at_call = false;
};

// a derived dimension: an expression over what is known before it
struct LetSpec {
    std::string name, value;
};
// a kernel argument: an expression, or a real attribute's name
struct ScalarSpec {
    std::string name, value;
    bool real = false;
};

// when: "m>=8 n>=lanes": every word must hold
struct VariantSpec {
    std::string name, when;
};

// What an op promises about its numbers, per float dtype; integer and moved values are always
// exact.
struct Contract {
    enum Measure : uint8_t {
        elementwise,  // |error| <= ulps * ulp(exact value)
        normwise,     // max |error| <= ulps * eps * max |exact|
        // |error| <= ulps * eps * sum |a||b|: the BLAS ratio; the reference supplies the magnitude
        products,
    } measure = elementwise;
    double ulps = 1;
};

struct OpRecord {
    std::string name;       // "softmax": also the kernel's name and the test's
    std::string signature;  // "x[..n,c] -> y[..n,c]"
    std::string doc;        // the formula, one line
    // the primitive's class, MindSpore's name: "Softmax"; empty = CamelCase of `name`
    std::string alias;
    // MindSpore's functional name where it isn't `name`: "tensor_pow"
    std::string functional;
    // NumPy's and PyTorch's where they differ: "power"; they find the op and are functions too
    std::vector<std::string> other_names;
    Form form = Form::plain;
    // one per kernel set; "f32,i32" binds T and U
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    std::vector<AttrSpec> attrs;
    std::vector<LetSpec> lets;
    std::vector<ScalarSpec> scalars;
    // "stride_h>=1": else AttrError where it names an attribute, ShapeError where not
    std::vector<std::string> conditions;
    std::vector<VariantSpec> variants = {{"", ""}};  // best first; the last takes every shape
    std::vector<std::string> samples, bench;     // "n=3 c=7 axis=1": one problem per line
    // plain: the dimension that attribute `axis` selects ("c")
    std::string axis;
    // innermost strides are free, for inputs and outputs
    bool any_strides = false;
    bool gpu = false;       // built for OpenCL and CUDA too
    bool internal = false;  // a gradient or helper kernel: no public face
    Contract contract;
};

std::string class_name(const OpRecord &op);            // its alias, or CamelCase of its name
const std::string &function_name(const OpRecord &op);  // its functional name, or its name
// Returns the name of an internal op's C++ function in namespace kernel: its name without
// "_kernel".
std::string kernel_function_name(const OpRecord &op);
// all that find it beside its name; none for internal ops
std::vector<std::string> further_names(const OpRecord &op);

// A compiled kernel: arguments are halyard's inputs, scalars (int32 or double) and outputs, in the
// record's order.
using KernelFn = int (*)(void **args);

// x86-64; + AVX2, FMA, F16C; + AVX-512 of Skylake
enum class Isa : uint8_t { baseline, avx2, avx512 };
inline constexpr int isa_count = 3;
const char *name_of(Isa isa);
Isa isa_of(const std::string &name);  // throws AttrError
Isa host_isa();                       // the best this CPU has
// host_isa() limited by HALYARD_ISA; a level the CPU lacks throws DispatchError
Isa active_isa();

struct KernelEntry {
    std::string op, backend, dtypes, variant;  // backend: "cpu", "opencl", "cuda"
    Isa isa = Isa::baseline;
    int lanes = 4;  // of the arithmetic type
    // the schedule's choices: names in the variant's predicate
    std::map<std::string, int64_t> tunables;
    KernelFn fn = nullptr;
};

// One op file's worth of the above, as the generator wrote it.
struct OpFile {
    std::string name;  // "softmax": kernels/rowwise/softmax.cpp
    std::vector<OpRecord> ops;
    std::vector<KernelEntry> kernels;
    // The folder of the file below kernels/: "rowwise". Listings group ops by it.
    std::string family = {};
};

}  // namespace halyard
