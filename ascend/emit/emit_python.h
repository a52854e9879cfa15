// The common parts of emitted Python files, TIK's and TBE's: names, types, and registrations.
#pragma once
#include "ascend/program/ir.h"

namespace halyard::dv {

std::string python_type(DType t);  // "float16"; "int8" for bool
// Returns a valid identifier that neither Python nor the emitted code uses.
std::string python_name(const std::string &name);
std::string python_number(double v);  // the text of a float, including inf and nan

struct PythonAttribute {      // a number given when the kernel is built
    std::string name, value;  // value: the default
};
// Returns MindSpore's TBERegOp file of the kernel haly_NAME, with the tensors in their order and
// without workspaces.
std::string mindspore_registration(const std::string &name, const std::vector<GmTensor> &tensors,
                                   const std::vector<PythonAttribute> &attributes = {});
// Returns the operator's .ini file for other frameworks.
std::string framework_ini(const std::string &name, const std::vector<GmTensor> &tensors);

}  // namespace halyard::dv
