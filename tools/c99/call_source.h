// A call of an op as C99: a function of dense tensors, for one shape, one set of dtypes and fixed
// attributes.
#pragma once
#include <set>
#include <span>
#include <string>
#include <vector>

#include "registry/dispatch/plan.h"

namespace halyard::c99 {

struct Parameter {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    bool is_output = false;
    bool is_written = false;  // also of an input: a running mean
};

struct CallSource {
    std::string name;                   // of the function
    std::vector<Parameter> parameters;  // the op's inputs, then its outputs
    std::string text;                   // the function's definition, after those that it calls
    int64_t arena_bytes = 0;            // of static memory
    std::set<std::string> helpers;      // that it calls (dsl/c99/functions.h)
};

// Returns the source of a call with inputs of these dtypes, shapes and strides, and dense outputs.
// The first `arena_begin` bytes of the arena are its caller's. Throws Error, with the reason, for a
// call that the op refuses, that computes nothing, or that can't be stated in C99. The op is one of
// op_table().
CallSource source_of(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
                     const std::string &name, int64_t arena_begin = 0);

// Returns "void softmax(const float *x, float *y)".
std::string prototype_of(const CallSource &call);

// Returns a source file with these functions, after `head`: their helpers, and one arena, which
// they share.
std::string unit_of(const std::vector<CallSource> &calls, const std::string &head);

}  // namespace halyard::c99
