// The description of a graph that stands alone (graph/standalone.h), as JSON: for files. Tensors
// are not in it, but named.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace halyard::graph {

struct DescribedGraph {
    std::string text;
    std::vector<std::pair<std::string, Tensor>> tensors;  // that the graph holds; names are unique
    size_t numbers = 0;  // number_count(): that a run takes from outside
};

// Parameters keep their names; other tensors get some. Throws GraphError for a step on the host
// that can't be made again by its name.
DescribedGraph described(const Graph &graph);

// Returns the graph, which holds the given tensors. Throws GraphError if the text is not the
// description of a graph, names a tensor or an op that is missing, or describes a graph that reads
// or writes memory that it doesn't have.
Graph graph_of(const std::string &text, const std::map<std::string, Tensor> &tensors);

}  // namespace halyard::graph
