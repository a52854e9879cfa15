// The ops of an export: those that are asked for, and their gradients.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"

namespace halyard::exporting {

struct Selection {
    std::vector<const RegisteredOp *> ops;  // sorted by name
    // The inputs of each op whose gradients the selected ops compute.
    std::map<const RegisteredOp *, std::vector<std::string>> gradient_inputs;
    // Those of an op's calls, if its kernels for others are left out.
    std::map<const RegisteredOp *, std::set<DType>> dtypes;
    // Gradient ops that are composed of other ops, which are made for the library.
    std::vector<std::shared_ptr<const RegisteredOp>> composed;
    std::set<std::string> files;     // of composites and composed gradients
    std::vector<std::string> notes;  // what is left out: "[matmul] the gradients in a, b ..."
};

// Throws DispatchError, with the reason, for a name that is no op, and for an op that can't be
// exported: it has no kernel for the CPU, or is a composite that no library can have. Runs the
// samples of composites to find the kernels that they call, which are selected too.
Selection selection_of(const std::vector<std::string> &names);

// Returns the selected op that computes the gradient in an input; no op if there is none.
GradientOp gradient_in(const Selection &selection, const RegisteredOp &op,
                       const std::string &input);

// Returns these ops alone, without gradients. Throws as selection_of().
Selection selection_of_kernels(const std::vector<std::string> &names);

// Returns the op's sets of dtypes that are exported: "f32", "f32,i32".
std::vector<std::string> dtypes_of(const Selection &selection, const RegisteredOp &op);

// Returns the op of a name, which may be a composite. Throws DispatchError if there is none, and
// for an op that takes any number of tensors.
const RegisteredOp &op_called(const std::string &name);

// Returns the op's kernels for the CPU.
std::vector<KernelEntry> cpu_kernels(const RegisteredOp &op);

// Returns the kernels of the selected ops for the CPU, those of the dtypes that are exported.
std::vector<KernelEntry> kernels_of(const Selection &selection);
// Returns kernels_of(selection_of(names)), but selects in a child process, so that this one has
// made no op afterwards (see KernelArchive). What selection_of() throws arrives as a
// std::runtime_error.
std::vector<KernelEntry> kernels_selected_by(const std::vector<std::string> &names);

}  // namespace halyard::exporting
