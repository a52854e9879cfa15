// Files of captured graphs: a cell's computation and its parameters, without its class.
//
//   export_graph(net, {image}, "lenet5.graph");
//   nn::GraphCell loaded(load_graph("lenet5.graph"));   // in another program
//   const Tensor logits = loaded(image);
//
// A file is a safetensors file. Its tensors are the parameters, by name, and what else the graph
// holds; its metadata has the graph. It has a checksum of all bytes, and the number of its format.
#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "nn/cell.h"
#include "nn/wrap.h"

namespace halyard {

// Calls the cell once with these inputs, whose dtypes and shapes the graph then has, and writes
// what it computed. The call changes nothing. `path` is afterwards either the old file or the
// complete new one. Throws GraphError if the call can't be captured or saved, with the reason, and
// IoError.
void export_graph(const nn::Cell &cell, const std::vector<Tensor> &inputs, const std::string &path);

// Runs the step once with these inputs and writes what it computed, with its update: parameters and
// the optimiser's state by name, and the places of the step's numbers, such as learning rates. The
// file is for `halyard compile`, which makes a library of it. Nothing changes, `path` and errors
// are as with export_graph(); GraphError, too, for an update that can't be captured or that makes
// other calls in a later step.
void export_step(const nn::TrainOneStepCell &step, const std::vector<Tensor> &inputs,
                 const std::string &path);

// Returns the graph of a file, for nn::GraphCell; it computes the same bits as the cell did. Throws
// as load_safetensors() does for a file that is missing, damaged or truncated, and IoError if it
// has no graph, one of a newer format, an op that this program lacks, or a graph that contradicts
// itself. Memory is only accessed as the graph's own tensors allow, but kernels trust the indices
// that they are given: load files only from those whose programs you would run.
graph::Graph load_graph(const std::string &path);

// Returns true if the file's metadata says that it has a graph. Throws IoError if it can't be read.
bool has_graph(const std::string &path);

}  // namespace halyard
