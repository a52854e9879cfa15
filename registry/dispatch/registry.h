// Registry: which ops exist, which kernels they have, and where calls run.
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
    // a list: plans point to them, and development kernels come in between
    std::list<KernelEntry> kernels;
    std::vector<std::string> gradient_inputs;  // those for which Registry::gradient_in finds an op
    std::string file;                          // where it is written: "softmax"
    std::string family;                        // OpFile::family: "rowwise"
    // By attribute: does it do nothing but become a kernel's argument, so that calls which differ
    // in it share a plan? A seed, for one.
    std::vector<bool> only_argument;
    bool shares_plans = false;  // is there such an attribute?
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
    // of the same backend, dtypes, variant and ISA; throws Error when there is none
    void replace_kernel(const KernelEntry &k);
    // by its name or a further one (op_names.cpp); null when there is none
    const RegisteredOp *find(const std::string &name) const;
    // throws DispatchError with the nearest names
    const RegisteredOp &at(const std::string &name) const;
    std::vector<const RegisteredOp *> ops() const;  // sorted by name
    // Op "<name>_dx", or that of another input where one kernel gives several gradients:
    // "<name>_dx: ... -> dx dgamma".
    GradientOp gradient_in(const RegisteredOp &op, const std::string &input) const;

private:
    std::vector<std::unique_ptr<RegisteredOp>> ops_;  // sorted by name
    std::map<std::string, const RegisteredOp *> further_;
};

Registry &registry();

// Where ops run: "cpu", or "opencl" for those that have such a kernel for the call's dtypes (the
// others stay on the CPU, and the log says so once of each), or "ascend", a simulated Ascend 910.
// Throws DeviceError when no such device answers.
void set_device(const std::string &backend);
const std::string &device();

}  // namespace halyard
