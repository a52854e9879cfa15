// Random graphs: functions of tensors that are composed of random calls, views, writes in place and
// gradients. A seed and a number determine a graph.
//
// Every step is defined for all operands: one that an op refuses gives its first operand. So a
// graph without some of its steps is a graph, too, and can be searched for the smallest one that
// fails.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::fuzz {

struct RandomStep {
    size_t rule = 0;  // what it does: a place in the table of random_graph.cpp
    // Values: the graph's arguments, then its states, then the results of steps.
    std::vector<size_t> operands;
    std::array<uint32_t, 4> numbers = {};
};

struct RandomTensor {
    DType dtype = DType::f32;
    Shape shape;
    bool is_transposed = false;
};

struct RandomGraph {
    std::vector<RandomTensor> arguments, states;
    std::vector<RandomStep> steps;
    std::vector<char> kept;       // by step: 0 stands for its first operand
    std::vector<size_t> outputs;  // values
    bool has_gradient = false;    // it returns gradients in the states, too

    size_t inputs() const { return arguments.size() + states.size(); }
    // Returns the value that stands for one, whose step may be left out.
    size_t standing_for(size_t value) const;
};

RandomGraph random_graph(uint64_t seed, uint64_t number);

// Returns a line per step: "v5 = matmul(v0, v3) 17 2".
std::string text_of(const RandomGraph &graph);

// Returns tensors of random elements, which `seed` determines.
std::vector<Tensor> random_tensors(const std::vector<RandomTensor> &like, uint64_t seed);

// Runs the graph. `states` may be written in place; arguments, too.
std::vector<Tensor> evaluate(const RandomGraph &graph, std::span<const Tensor> arguments,
                             std::span<const Tensor> states);

}  // namespace halyard::fuzz
