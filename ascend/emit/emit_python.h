// What the emitted Python files have in common, TIK's and TBE's: names, types, and how a kernel is
// registered.
#pragma once
#include "ascend/program/ir.h"

namespace halyard::dv {

std::string python_type(DType t);  // "float16"; a bool is an int8
// without dots, and none that Python or the emitted code has taken
std::string python_name(const std::string &name);
std::string python_number(double v);  // a float's text, also of inf and nan

struct PythonAttribute {      // a number given when the kernel is built
    std::string name, value;  // value: where none is given
};
// MindSpore's TBERegOp file of a kernel haly_NAME, in which the tensors stand in their order;
// workspaces aren't told.
std::string mindspore_registration(const std::string &name, const std::vector<GmTensor> &tensors,
                                   const std::vector<PythonAttribute> &attributes = {});
// The same for other frameworks: the operator's .ini.
std::string framework_ini(const std::string &name, const std::vector<GmTensor> &tensors);

}  // namespace halyard::dv
