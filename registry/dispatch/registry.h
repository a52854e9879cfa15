// The registry of ops and their kernels, and the device that calls run on.
#pragma once
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "registry/op/op_record.h"
#include "registry/op/signature.h"

namespace halyard {

// An op with its parsed signature and all its kernels: the best ISA first, within it the best
// variant.
struct RegisteredOp {
    OpRecord record;
    Signature signature;
    // A list, because plans point to its elements and development kernels are inserted.
    std::list<KernelEntry> kernels;
    std::vector<std::string> gradient_inputs;  // those for which Registry::gradient_in finds an op
    std::string file;                          // OpFile::name: "softmax"
    std::string family;                        // OpFile::family: "rowwise"
    // For each attribute: true if it is only a kernel's argument, such as a seed, so that calls
    // that differ in it share a plan.
    std::vector<bool> only_argument;
    bool shares_plans = false;  // there is such an attribute
};

struct GradientOp {
    const RegisteredOp *op = nullptr;  // null: there is none
    size_t output = 0;                 // which of its outputs
};

class Registry {
public:
    // Adds the ops of generated files. Throws Error when a name is taken or a kernel belongs to no
    // op.
    void add(const std::vector<const OpFile *> &files);
    void add_kernel(const KernelEntry &k);  // a development kernel, from the JIT
    // Replaces the kernel of the same backend, dtypes, variant and ISA. Throws Error if there is
    // none.
    void replace_kernel(const KernelEntry &k);
    // Finds an op by its name or a further name (op_names.cpp). Returns null if there is none.
    const RegisteredOp *find(const std::string &name) const;
    // As find(), but throws DispatchError with similar names if there is none.
    const RegisteredOp &at(const std::string &name) const;
    std::vector<const RegisteredOp *> ops() const;  // sorted by name
    // Returns the op that computes the gradient in an input: "<name>_d<input>", or the gradient op
    // of another input that has several outputs ("layer_norm_kernel_dx: ... -> dx dgamma dbeta").
    GradientOp gradient_in(const RegisteredOp &op, const std::string &input) const;

private:
    std::vector<std::unique_ptr<RegisteredOp>> ops_;  // sorted by name
    std::map<std::string, const RegisteredOp *> further_;
};

Registry &registry();

// Selects the device that ops run on: "cpu", "opencl", "cuda", or a simulated Ascend chip:
// "ascend910" (also "ascend"), "ascend910b" or "ascend310". Ops without a GPU kernel for a call's
// dtypes run on the CPU, and a message is logged once for each. Throws DeviceError if there is no
// such device.
void set_device(const std::string &name);
const std::string &
device();  // "cpu", "opencl", "cuda" or "ascend"; simulated_device().chip() is the chip

}  // namespace halyard
