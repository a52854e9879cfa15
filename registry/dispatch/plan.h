// Plan: one call, prepared. It is made once for given shapes, strides, dtypes and attributes
// (registry/dispatch/planner.h) and run many times (registry/dispatch/run_plan.h).
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
    static constexpr size_t max_arguments = 24;  // of tensors, and of scalars
    struct Buffer {
        halide_type_t type = {};
        int rank = 0;
        halide_dimension_t dims[max_rank] = {};  // innermost first
        int64_t bytes_per_element = 4;
        Shape outer;  // byte strides of the outer loops
        // Not empty when no kernel takes this tensor's strides: the tensor is expanded to
        // copy_shape and copied, dense with its dimensions in this order.
        std::vector<int> copy_order;
        Shape copy_shape;
    };
    struct Output : Buffer {
        Shape shape;
        DType dtype = DType::f32;
    };
    // The value of a scalar argument. `attr` or `integer_attr`, if it is not -1, is the attribute
    // whose value at each call is passed; else `i` is passed, computed when the call was planned.
    struct Scalar {
        int32_t i = 0;
        int attr = -1;          // a real attribute
        int integer_attr = -1;  // an integer attribute
    };
    // A kernel that was considered. `rejection` is the reason why it can't run this call; it is
    // empty for the selected kernel and for those ranked below it.
    struct Candidate {
        const KernelEntry *kernel;
        std::string rejection;
        bool is_elsewhere = false;  // the call runs on another device than the kernel
    };

    const RegisteredOp *op = nullptr;
    const KernelEntry *kernel = nullptr;  // null when `converted` computes
    std::vector<Buffer> inputs;
    std::vector<Output> outputs;
    std::vector<Scalar> scalars;
    Shape loops;                        // extents of the loops around the kernel
    bool parallel_loops = false;        // their iterations may run in any order
    bool on_device = false;             // runs on a device other than the CPU
    bool simulated = false;             // runs on simulated_device()
    std::string stays_on_cpu;           // the reason why device() doesn't run it; else empty
    Dims dims;                          // the values that conditions of variants read
    std::vector<Candidate> candidates;  // for the dtypes of the call, or of `converted`
    // The plan that computes this call in other dtypes, between conversions. It is in f32 for f16
    // and bf16 on a CPU below AVX2, for which there are no kernels; kernels compute in f32 and
    // round once, so the bits are the same. It is in f16 for f32 on Ascend, if
    // set_narrows_on_ascend() allows that.
    std::shared_ptr<const Plan> converted;
    std::vector<DType> converted_inputs;  // the dtypes of the inputs of `converted`
};

}  // namespace halyard
