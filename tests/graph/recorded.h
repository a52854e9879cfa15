// Functions of tensors, and the graphs that are recorded of them.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <vector>

#include "graph/capture.h"
#include "graph/passes.h"

namespace halyard {

using Tensors = std::vector<Tensor>;
using Computation = std::function<Tensors(std::span<const Tensor>)>;

// Returns numbers from -1 to 1; `salt` selects others.
inline Tensor tensor_of(const Shape &shape, int salt) {
    std::vector<float> v;
    for (int64_t k = 0; k < shape.elements(); k++)
        v.push_back(float((k * 37 + salt * 11) % 101) / 50 - 1);
    return Tensor::from(v, shape);
}

inline graph::Graph recorded(const Computation &f, const Tensors &arguments) {
    graph::Capture capture("f", arguments);
    capture.run(f);
    EXPECT_EQ(capture.reason(), "");
    return capture.take();
}

// As recorded(), after the passes that make it a program's.
inline graph::Graph graph_for_program(const Computation &f, const Tensors &arguments) {
    graph::Graph g = recorded(f, arguments);
    graph::run_passes_for_program(g);
    return g;
}

}  // namespace halyard
