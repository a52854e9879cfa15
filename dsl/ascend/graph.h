// The call graph of a pipeline's Funcs, from which the automatic schedule is made.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::ascend {

struct Stage {
    std::string func;
    int update = -1;  // -1: the pure definition
    friend auto operator<=>(const Stage &, const Stage &) = default;
};

struct FuncNode {
    Halide::Internal::Function function;
    bool reduces = false;   // has update definitions
    bool computes = false;  // computes more than a call or a conversion of its type
    bool loads = false;     // loads an input of the pipeline
    bool converts = false;  // converts a call's value to another type
    // Reduces to the maximum or minimum, which is one of the elements in any type.
    bool compares = false;
    bool multiplies = false;        // adds up products of two tensors of f16
    std::set<std::string> callers;  // Funcs that call it
    // For each argument, the dimensions of the output along which it changes.
    std::vector<std::set<int>> reach;
    std::set<int> dims() const;  // the union of `reach`
    // The extent of each dimension, which begins at 0; -1 if it isn't known before the call.
    std::vector<int64_t> extents;
};

// The Funcs that `output` reaches.
struct Graph {
    explicit Graph(const Halide::Func &output);
    // Sets the extents of all nodes, given those of the output.
    void infer_extents(const std::vector<int64_t> &output_extents);
    std::vector<std::string> order;  // callers before their callees; the output first
    std::map<std::string, FuncNode> nodes;

private:
    // Extends the extents of the Funcs that a definition of `name` calls.
    void add_extents(const std::string &name, const Halide::Internal::Definition &d);
};

// Returns the Func's own name, "total" for Halide's "total$3".
std::string stage_name(const std::string &halide_name);

// Returns the value of a constant expression. Throws DispatchError, in the name of `what`, for
// others.
int64_t constant(const Halide::Expr &e, const std::string &what);

}  // namespace halyard::ascend
