// What a project for MindSpore has of its ops: the Python functions, and the C++ functions' list.
#pragma once
#include <string>

#include "tools/export/selection.h"

namespace halyard::exporting {

// Returns the functions of the project's module, one for each op, which follow module.py:
//   def relu():
//       """x[*] -> y[*]"""
//       run_relu_dx = _operator("relu_dx", 2, [0], ["f32", "f32"], {})
//
//       def bprop(x, out, dout):
//           of_run_relu_dx = run_relu_dx(out, dout)
//           return (of_run_relu_dx,)
//       return _operator("relu", 1, [0], ["f32"], {}, bprop)
std::string mindspore_functions(const Selection &selection);

// Returns "HALYARD_OP(relu)" for each op, a line each.
std::string mindspore_entries(const Selection &selection);

}  // namespace halyard::exporting
