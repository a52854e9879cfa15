// Plan: one call, prepared. Made once for given shapes, strides, dtypes and attributes; run many
// times.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "HalideRuntime.h"
#include "registry/dispatch/canonical.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

struct OperandMeta {
    DType dtype = DType::f32;
    Shape shape, strides;
    friend bool operator==(const OperandMeta &, const OperandMeta &) = default;
};
OperandMeta meta_of(const Tensor &t);

struct Plan {
    static constexpr size_t max_arguments = 24;  // tensors, and scalars
    struct Buffer {
        halide_type_t type = {};
        int rank = 0;
        halide_dimension_t dims[max_rank] = {};  // innermost first
        int64_t bytes_per_element = 4;
        Shape outer;  // byte strides of the outer loops
        // Not empty: no kernel takes this tensor as it lies. It is expanded to copy_shape, and its
        // copy has the dimensions in this order, dense.
        std::vector<int> copy_order;
        Shape copy_shape;
    };
    struct Output : Buffer {
        Shape shape;
        DType dtype = DType::f32;
    };
    struct Scalar {
        int32_t i = 0;  // an integer as it was when the call was planned
        int attr = -1;  // >= 0: a real, this attribute's value at the call
        // >= 0: this attribute's value at the call, of which `i` is the first
        int integer_attr = -1;
    };

    const RegisteredOp *op = nullptr;
    const KernelEntry *kernel = nullptr;  // null where `converted` computes
    std::vector<Buffer> inputs;
    std::vector<Output> outputs;
    std::vector<Scalar> scalars;
    Shape loops;
    bool on_device = false;               // not the CPU
    bool simulated = false;               // by simulated_device()
    std::string stays_on_cpu;             // why device() doesn't run it; "" where it does
    std::map<std::string, int64_t> dims;  // what predicates saw
    struct Candidate {
        const KernelEntry *kernel;
        std::string refused;
    };                                  // refused: empty for the choice and what it beats
    std::vector<Candidate> candidates;  // those for the dtypes of the call, or of `converted`
    // This call in other dtypes, between conversions. In f32 that of f16 and bf16 on a CPU before
    // AVX2, for which there are no kernels: kernels compute in f32 and round once, so the bits are
    // the same. In f16 that of f32 on Ascend, where set_narrows_on_ascend() allows it.
    std::shared_ptr<const Plan> converted;
    std::vector<DType> converted_inputs;  // what `converted` takes
};

// Names that expressions may use: integer attributes, their parts and choices; then lets and
// derived scalars, each as soon as everything it needs is in `dims`. A let join_h_w that isn't 0
// allows kernels to see maps of h rows as one row of h*w.
void bind_attributes(const Attrs &attrs, std::map<std::string, int64_t> &dims);
void bind_derived(const OpRecord &op, std::map<std::string, int64_t> &dims);
// An expression of the op's; a ShapeError (overflow, division by zero) names the op and the
// expression.
int64_t value_of(const OpRecord &op, const std::string &expression,
                 const std::map<std::string, int64_t> &dims);
// Throws AttrError or ShapeError where a condition of the op's fails. Not `all`: only those whose
// names are in `dims` already.
void check_conditions(const OpRecord &op, const std::map<std::string, int64_t> &dims, bool all);

// What the condition of the kernel's variant says against a problem of `dims`: "c<=256: c is 512";
// "" where the kernel takes it. Variants are CPU schedules: others take everything.
std::string refusal_of(const OpRecord &op, const KernelEntry &k,
                       const std::map<std::string, int64_t> &dims);

// Throws the error that tells the caller what is wrong; `candidates` is filled only when
// `explaining`.
Plan make_plan(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
               bool explaining = false);

// What run_plan() makes of t where a plan copies: expanded to the buffer's copy_shape, dense with
// its dimensions in copy_order. It is seen with its dimensions as they were.
Tensor gathered(const Tensor &t, const Plan::Buffer &b);

void run_plan(const Plan &p, std::span<const Tensor> in, const Attrs &attrs,
              std::span<const Tensor> out);

}  // namespace halyard
