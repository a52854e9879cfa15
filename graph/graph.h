// Graph: the calls of a function, recorded while it ran (graph/capture.h). graph/program.h runs it
// again.
//
// Nodes are in the order of the run. A tensor is a view of a buffer, so reshape, slice and
// transpose are no nodes. Buffers may be written several times, and in parts.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/call_listener.h"
#include "registry/tensor/graph_listener.h"
#include "registry/tensor/tensor.h"

namespace halyard {
struct Plan;
}

namespace halyard::graph {

enum class Role {
    temporary,  // memory of the program's arena
    input,      // an argument of the function
    captured,   // a tensor that existed before the run, such as a parameter
    constant,   // made in the run from nothing that the graph computes
    host,       // a result of a step on the host
    output,     // returned by the function: new memory in each run
    prepared,   // computed of parameters alone, when one has changed (graph/prepare.h)
};

struct Buffer {
    Role role = Role::temporary;
    size_t bytes = 0;
    int input = -1;    // the argument's number
    Tensor held = {};  // captured and constant: the memory; views are relative to its first element
    // The places of the nodes that use the buffer first and last; -1 if none does.
    int first = -1, last = -1;
    std::string name = {};     // of a parameter or another captured tensor, if it has one
    DType dtype = DType::f32;  // of an argument
    Shape shape = {};          // of an argument
};

// Returns true for memory from outside: two such buffers may be the same in a later run.
inline bool is_from_outside(const Buffer &b) {
    return b.role == Role::input || b.role == Role::captured;
}
// Returns true for memory that only a run's calls and copies write.
inline bool is_of_run(const Buffer &b) {
    return b.role == Role::temporary || b.role == Role::output;
}

struct View {
    int buffer = -1;     // -1: an undefined tensor
    int64_t offset = 0;  // in bytes from the buffer's first element
    Shape shape, strides;
    DType dtype = DType::f32;
    friend bool operator==(const View &, const View &) = default;
};

// A real attribute of a call, or the value of a fill, that is a number of the step.
struct NumberPlace {
    size_t attribute = 0;  // of a call
    size_t number = 0;     // among those of all sources
};

// Where numbers of the step come from, and where they go: the places in the nodes that the source's
// run made, by their order then.
struct GraphNumbers {
    NumberSource source;
    int64_t phase = 0;
    std::vector<std::pair<size_t, NumberPlace>> places;
};

struct Node {
    enum class Kind { call, copy, fill, host };
    Kind kind = Kind::call;
    const RegisteredOp *op = nullptr;  // a call's
    std::optional<Attrs> attrs;        // a call's
    double value = 0;                  // a fill's
    HostFunction function;             // a host step's
    std::string name;                  // the op's or the step's
    std::vector<View> in, out;
    std::vector<NumberPlace> numbers;
    int draw = -1;     // the draw of random numbers that the attributes hold
    std::string part;  // the cells and the phase that it belongs to: "Net/Conv2d"
};

// Calls f(view) for each view that the node reads or writes.
template<class N, class F> void for_each_view(N &node, const F &f) {
    for (auto &v : node.in)
        f(v);
    for (auto &v : node.out)
        f(v);
}

struct Graph {
    std::string name;
    std::vector<Buffer> buffers;
    std::vector<Node> nodes;
    std::vector<View> outputs;
    std::vector<GraphNumbers> numbers;
    int draws = 0;  // draws of the default generator in a run
};

// Returns a call of the op with its default attributes and no tensors yet. `part` is Node::part.
Node call_of(const char *op, const std::string &part);
// Returns how a call is planned. Throws what make_plan() throws.
Plan plan_of(const Node &call);
// Adds a temporary, and returns the dense view of all of it.
View add_temporary(Graph &graph, const Shape &shape, DType dtype);

// Removes nodes whose results nobody reads. Steps on the host stay, because they check values.
void remove_dead_nodes(Graph &graph);
// Makes buffers that are only filled constants.
void hold_constant_fills(Graph &graph);
// Folds normalizations of inference into the weights of the convolutions before them, together with
// a shortcut and an activation after them, where numerics allow it (primitives/context.h).
void fold_normalizations(Graph &graph);
// Removes calls and copies that compute what an earlier one has computed. Those that draw random
// numbers and those on the host stay.
void merge_duplicates(Graph &graph);
// Removes copies of whole results into their place in another tensor, as concat and stack make
// them: what computes the result stores it there. Copies stay where more memory would be needed
// without them, because the place is taken earlier.
void remove_copies(Graph &graph);
// Copies the weights of products, x weight^T, into panels of columns, which is the layout that
// products read; the same bits. For programs, which make such copies when a parameter has changed.
void pack_weights(Graph &graph);
// Sets the places where each buffer is used first and last.
void find_lifetimes(Graph &graph);

// Returns what differs between two recordings of one function, naming the first node; "" if
// nothing does. Numbers of the step may.
std::string difference(const Graph &a, const Graph &b);

// Returns true if a step on the host made the tensor that the view describes.
bool is_as_captured(const View &v, const Tensor &made);

// Names the captured tensors that are in this memory.
void name_captured(Graph &graph, const std::vector<std::pair<std::string, Tensor>> &named);

// Returns the graph as text: what nodes read from outside, then one line per node:
//   %p1 = parameter conv1.weight : f32[6,1,5,5]
//   %7 = conv2d(%x0, %p1) stride=1,1 : f32[32,6,28,28]    # LeNet5/Conv2d
std::string text_of(const Graph &graph);
// Returns "argument 0 : f32[6,1,8,8]" for a buffer that is not made by nodes.
std::string text_of_source(const Buffer &b);

}  // namespace halyard::graph
