// The Funcs of a pipeline that an automatic schedule decides about.
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
    bool computes = false;  // more than a call or a conversion of its type
    bool loads = false;     // an input of the pipeline
    bool converts = false;  // a call's value to another type
    // a reduction to the largest or the least, which is one of its elements in any type
    bool compares = false;
    bool multiplies = false;        // adds up products of two tensors of f16
    std::set<std::string> callers;  // Funcs
    // For each argument, the dimensions of the output that it moves with.
    std::vector<std::set<int>> reach;
    std::set<int> dims() const;  // all of them
    // What is asked of each dimension, from 0; -1 where that isn't known before the call.
    std::vector<int64_t> extents;
};

// Every Func that `output` reaches, callers before what they call, itself first.
struct Graph {
    explicit Graph(const Halide::Func &output);
    void measure(const std::vector<int64_t> &output_extents);  // fills in every node's extents
    std::vector<std::string> order;
    std::map<std::string, FuncNode> nodes;
};

// Names of the variables in it.
std::set<std::string> variables_of(const Halide::Expr &e);

// A constant's value. Throws DispatchError in the name of `what` where the expression isn't one.
int64_t constant(const Halide::Expr &e, const std::string &what);

}  // namespace halyard::ascend
