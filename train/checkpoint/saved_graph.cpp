#include "train/checkpoint/saved_graph.h"

#include "graph/description.h"
#include "nn/graph_cell.h"
#include "registry/base/error.h"
#include "train/checkpoint/safetensors.h"

namespace halyard {
namespace {

const std::string graph_key = "halyard.graph", format_key = "halyard.graph_format";
// Files of graphs that take numbers of a step have a format of their own: a reader that doesn't
// know of the numbers would run the graph with those of the capture.
const std::string format = "1", format_with_numbers = "2";

void save(const graph::Graph &graph, const std::string &path) {
    graph::DescribedGraph d = described(graph);
    save_safetensors(path, {std::move(d.tensors),
                            {{graph_key, std::move(d.text)},
                             {format_key, d.numbers ? format_with_numbers : format}}});
}

}  // namespace

void export_graph(const nn::Cell &cell, const std::vector<Tensor> &inputs,
                  const std::string &path) {
    save(nn::graph_of_call(cell, inputs), path);
}

void export_step(const nn::TrainOneStepCell &step, const std::vector<Tensor> &inputs,
                 const std::string &path) {
    save(nn::graph_of_step(step, inputs), path);
}

graph::Graph load_graph(const std::string &path) {
    const NamedTensors all = load_safetensors(path);
    const auto of = all.metadata.find(format_key);
    const auto text = all.metadata.find(graph_key);
    if (of == all.metadata.end() || text == all.metadata.end())
        throw IoError(path, "has no graph: export_graph() writes files that have one");
    if (of->second != format && of->second != format_with_numbers) {
        throw IoError(path, "has a graph of format " + of->second + ", this version reads " +
                                format + " and " + format_with_numbers);
    }
    try {
        return graph::graph_of(text->second, {all.tensors.begin(), all.tensors.end()});
    } catch (const Error &e) {
        throw IoError(path, e.what());
    }
}

bool has_graph(const std::string &path) {
    return load_safetensors_metadata(path).count(graph_key) > 0;
}

}  // namespace halyard
