// A call of an op as C99: a function of dense tensors, for one shape, one set of dtypes and fixed
// attributes.
#pragma once
#include <map>
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
    std::string constants;              // arrays that the function reads
    int64_t constant_bytes = 0;
    std::string text;               // the function's definition, after those that it calls
    int64_t arena_bytes = 0;        // of static memory
    std::set<std::string> helpers;  // that it calls (dsl/c99/functions.h)
};

// Returns the plan of a call for the CPU's kernels, as every machine would make it. Throws Error,
// with the reason, for a call that the op refuses, or that computes nothing.
Plan plan_of(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs);
// Returns true if the plan's kernel computes on copies of tensors, or several times.
bool is_wrapped(const Plan &plan);
// Returns the values of the record's real scalars, by name.
std::map<std::string, double> reals_of(const Plan &plan, const Attrs &attrs);

// Returns the source of a call with inputs of these dtypes, shapes and strides, and dense outputs.
// The first `arena_begin` bytes of the arena are its caller's. `lanes` are those of FixedCall.
// Throws Error, with the reason, for a call that the op refuses, that computes nothing, or that
// can't be stated in C99. The op is one of op_table().
CallSource source_of(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
                     const std::string &name, int64_t arena_begin = 0, int lanes = 1);

// Returns "void softmax(const float *x, float *y)".
std::string prototype_of(const CallSource &call);

// Returns a source file with these functions, after `head` and the headers of C's library: their
// helpers, and one arena, which they share. `included` stands behind those headers.
std::string unit_of(const std::vector<CallSource> &calls, const std::string &head,
                    const std::string &included = "");

}  // namespace halyard::c99
