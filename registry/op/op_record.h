// OpRecord: the data of an operator that exists at run time. The DSL fills it in the op's file and
// the generator writes it out as C++. Dispatch, primitives, commands, tests and benches read it.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "registry/tensor/dtype.h"

namespace halyard {

// How a caller's tensors become the few dimensions of a kernel (registry/dispatch/canonical.h).
enum class Form : uint8_t {
    // The dimensions of the signature. A leading `..g` stands for any number of dimensions; `axis`
    // selects the dimension that goes last.
    plain,
    elementwise,  // x[*]: dimensions are broadcast and merged; any strides
    // x[o,r,i,s] -> y[o,i]: the dimensions in `axis` become r and s, the others o and i.
    reduction,
    composite,  // no kernel: primitives/ states it in terms of other ops
};

enum class AttrKind : uint8_t { integer, real, boolean, choice, ints, dtype, text };

struct AttrSpec {
    static constexpr const char *no_default = "!";

    std::string name;
    AttrKind kind = AttrKind::integer;
    // The default as text: "1", "1e-5", "same", "1,1"; no_default for a required attribute.
    std::string value;
    // The names of a choice. In expressions the attribute's value is the index, and each name a
    // constant.
    std::vector<std::string> choices;
    // For a fixed number of integers: the name of each in expressions ("stride_h", "stride_w").
    std::vector<std::string> parts;
    // A call-time attribute: an argument of the call, not of the primitive's constructor.
    bool at_call = false;
    // The class of a choice in C++, without F::; empty: `name` in CamelCase. Ops whose attributes
    // have the same name but other choices have classes of other names: F::KlDivReduction.
    std::string type = {};

    bool is_required() const { return value == no_default; }
};

// A derived dimension: an expression over attributes, dimensions and earlier lets. For an input x,
// the lets x_end and x_least limit the inputs that checks and benchmarks make: integers are less
// than x_end, and they and reals are at least x_least.
struct LetSpec {
    std::string name, value;
};
// A kernel argument: an expression, or the name of a real attribute.
struct ScalarSpec {
    std::string name, value;
    bool real = false;
};

// Instructions that no ISA level includes (registry/op/extension.h).
enum class Extension : uint8_t { none, vnni, amx };

// A way to compute the op. `when` is its condition: "m>=8 n>=lanes", where every word must hold.
struct VariantSpec {
    std::string name, when;
    Extension extension = Extension::none;  // its kernels need it
};

// The accuracy spec: the largest error that an element of a float result may have. eps is the
// rounding unit of the kernel's arithmetic: 2^-52 for f64, 2^-23 for f32, f16 and bf16, as 16-bit
// floats are computed in f32. So {normwise, 10} allows errors of 10 * 2^-23 times the largest exact
// element. Checks add half a unit in the last place of a 16-bit result, for its one rounding, and
// 4 eps for f64, for the reference's own error. Integers are always exact; `ulps` 0 states that
// floats are, too.
struct Contract {
    enum Measure : uint8_t {
        elementwise,  // |error| <= ulps * eps * |exact element|
        normwise,     // |error| <= ulps * eps * max |exact element|
        // |error| <= ulps * eps * abs_sum, as in BLAS. abs_sum is the sum of the absolute values of
        // the terms that make up the element (of a product: sum |a||b|). The reference computes it.
        products,
    } measure = elementwise;
    double ulps = 1;
};

struct OpRecord {
    std::string name;       // "softmax": also the kernel's name and the test's
    std::string signature;  // "x[..n,c] -> y[..n,c]"
    std::string doc;        // the formula, one line
    // The primitive's class, by MindSpore's name: "Softmax"; empty: `name` in CamelCase.
    std::string alias;
    // MindSpore's functional name if it differs from `name`: "tensor_pow".
    std::string functional;
    // NumPy's and PyTorch's names if they differ: "power". They find the op and are functions too.
    std::vector<std::string> other_names;
    Form form = Form::plain;
    // The dtype sets that have kernels; "f32,i32" binds T and U.
    std::vector<std::string> dtypes = {"f32", "f16", "bf16", "f64"};
    std::vector<AttrSpec> attrs;
    std::vector<LetSpec> lets;
    std::vector<ScalarSpec> scalars;
    // "stride_h>=1": a call that violates it throws AttrError if it names an attribute, else
    // ShapeError.
    std::vector<std::string> conditions;
    std::vector<VariantSpec> variants = {{"", ""}};  // best first; the last takes every shape
    // The kernels for a GPU, likewise. Their names are other than those of `variants`. If there are
    // none, a GPU has one kernel, that of the last of `variants`.
    std::vector<VariantSpec> gpu_variants = {};
    std::vector<std::string> samples, bench;  // problem instances: "n=3 c=7 axis=1"
    // Form plain: the dimension that attribute `axis` selects ("c").
    std::string axis;
    // Kernels take any innermost stride of inputs and outputs, not only 1.
    bool any_strides = false;
    bool internal = false;  // a gradient or helper kernel, without a public function
    Contract contract;
};

// Returns the variants of the CPU, then those of GPUs, as long as `op` lives.
std::vector<const VariantSpec *> all_variants(const OpRecord &op);
// Returns the variant of this name, of the CPU or of a GPU; null if there is none.
const VariantSpec *find_variant(const OpRecord &op, const std::string &name);
std::string class_name(const OpRecord &op);            // its alias, or CamelCase of its name
const std::string &function_name(const OpRecord &op);  // its functional name, or its name
// Returns the name of an internal op's C++ function in namespace kernel: its name without
// "_kernel".
std::string kernel_function_name(const OpRecord &op);
// Returns the name of a choice's class: "PadMode".
std::string choice_type(const AttrSpec &choice);
// Returns the constants of that class: the choices' names. A name that is no identifier of C++, or
// reserved, is turned into one: "3x3" into as_3x3, "default" into default_.
std::vector<std::string> choice_constants(const AttrSpec &choice);
// Returns all further names that find the op; none for internal ops.
std::vector<std::string> further_names(const OpRecord &op);

// A compiled kernel. Its arguments are the inputs, scalars (int32 or double) and outputs, in the
// record's order.
using KernelFn = int (*)(void **args);

// The levels of x86-64, each with all that the one before it has: baseline: x86-64; avx2: AVX2, FMA
// and F16C too; avx512: AVX-512 as in Skylake too. neon: AArch64, whose only level it is.
enum class Isa : uint8_t { baseline, avx2, avx512, neon };
inline constexpr int isa_count = 4;
const char *name_of(Isa isa);
Isa isa_of(const std::string &name);  // throws AttrError
Isa host_isa();                       // the highest level of this CPU
Isa lowest_isa();                     // the level that every CPU of this architecture has
bool host_runs(Isa isa);
// Returns host_isa(), limited by HALYARD_ISA. Throws DispatchError if that is a level the CPU
// lacks.
Isa active_isa();

struct KernelEntry {
    std::string op, backend, dtypes, variant;  // backend: "cpu", "opencl", "cuda"
    Isa isa = Isa::baseline;
    int lanes = 4;  // vector lanes of the arithmetic type
    // the schedule's choices: names in the variant's predicate
    std::map<std::string, int64_t> tunables;
    KernelFn fn = nullptr;
};

// The ops and kernels of one op file, as the generator wrote them.
struct OpFile {
    std::string name;  // "softmax": kernels/rowwise/softmax.cpp
    std::vector<OpRecord> ops;
    std::vector<KernelEntry> kernels;
    // The folder of the file below kernels/ or primitives/composites/: "rowwise". Listings group
    // ops by it.
    std::string family = {};
};

}  // namespace halyard
