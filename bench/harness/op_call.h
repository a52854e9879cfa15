// Parses ops and their arguments as they are typed: names, attributes, dtypes, tensors. The
// subcommands share it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/op/signature.h"

namespace halyard::bench {

// Splits "axis=1" into ("axis", "1"). Throws AttrError if there is no '=' or nothing before it.
std::pair<std::string, std::string> assignment(const std::string &op, const std::string &text);

// Returns the attributes of "axis=1", "stride=2,2". Throws AttrError, also for an attribute that is
// given twice.
Attrs attrs_from(const OpRecord &op, const std::vector<std::string> &texts);

// Returns the value of each tensor in `specs`, or nothing if it has none. A text is "x=value" by
// name, "x0=value" by position (if no tensor is named x0), or "value" for the first tensor without
// one. Throws AttrError for an unknown name and for two values of one tensor; `what` names the
// option.
std::vector<std::optional<std::string>> values_by_tensor(const std::string &op, const char *what,
                                                         const std::vector<TensorSpec> &specs,
                                                         const std::vector<std::string> &texts);

// Returns the extents of "2x3x8x8"; "scalar" is rank 0. Throws ShapeError.
Shape shape_from(const std::string &op, const std::string &text);

// Returns the op's set of dtypes that is `given` or begins with it ("f32" for "f32,i32"); the first
// set if `given` is empty. Throws DTypeError if the op has no such set.
std::string dtype_set(const OpRecord &op, const std::string &given);

// Returns the dtypes of all inputs of `op`, then of all outputs. Concrete dtypes are the
// signature's; type variables get those of `set`, which dtype_set() reads.
std::vector<DType> dtypes_from(const RegisteredOp &op, const std::string &set);

// Returns the positions of the inputs in which `op` has a gradient: by a gradient op, composed of
// other ops, or through the ops that `op` is composed of.
std::vector<size_t> differentiable_inputs(const RegisteredOp &op);

// Returns true for "opencl" and "cuda".
bool is_gpu(const std::string &device);

// Returns the present name of a variant of the op, which `variant` may call by an earlier one; ""
// for "". Throws AttrError if the op has no such variant on that device: a GPU, or a CPU for any
// other text.
std::string variant_called(const OpRecord &op, const std::string &variant,
                           const std::string &device = "cpu");

// Returns the op's variants on a GPU that a benchmark times: the one called `variant`, or all of
// them, best first, if it is "". An op without variants for GPUs has "", what dispatch chooses.
// Throws AttrError as variant_called() does.
std::vector<std::string> variants_to_time(const OpRecord &op, const std::string &variant,
                                          const std::string &gpu);

// Returns the op called `name`. Throws DispatchError if there is none or if it has no kernels of
// its own.
const RegisteredOp &op_with_kernels(const std::string &name);

// Selects what --device, --isa and --variant ask for, as long as it exists. Throws DispatchError
// for a level that this CPU or the device lacks.
class Target {
public:
    Target(const std::string &device, const std::string &isa, const std::string &variant);

private:
    std::optional<Force> force_;
};

}  // namespace halyard::bench
