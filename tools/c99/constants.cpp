#include "tools/c99/constants.h"

#include <algorithm>
#include <optional>

#include "primitives/library.h"
#include "registry/dispatch/dispatch.h"

namespace halyard::c99 {
namespace {

using graph::Buffer;
using graph::Graph;
using graph::Node;
using graph::Role;
using graph::View;

// Returns by buffer the number of nodes that write it.
std::vector<int> writes_of(const Graph &graph) {
    std::vector<int> writes(graph.buffers.size());
    for (const Node &n : graph.nodes)
        for (const View &v : n.out)
            writes[size_t(v.buffer)]++;
    return writes;
}

bool holds_elements(const Buffer &b) {
    return b.role == Role::constant || b.role == Role::captured;
}

class Folder {
public:
    explicit Folder(Graph &graph) : graph_(graph), writes_(writes_of(graph)) {
        for (size_t k = 0; k < graph.buffers.size(); k++)
            known_.push_back(holds_elements(graph.buffers[k]) && writes_[k] == 0);
    }

    void fold() {
        std::erase_if(graph_.nodes, [&](const Node &n) { return folds(n); });
    }

private:
    Graph &graph_;
    std::vector<int> writes_;
    std::vector<char> known_;  // by buffer

    // Runs a node if its operands are known. Returns false if they aren't.
    bool folds(const Node &n) {
        const auto is_known = [&](const View &v) {
            return v.buffer >= 0 && known_[size_t(v.buffer)] != 0;
        };
        const bool runs = n.kind == Node::Kind::copy || (n.kind == Node::Kind::call && n.draw < 0);
        if (!runs || !std::ranges::all_of(n.in, is_known)) return false;
        if (!std::ranges::all_of(n.out, [&](const View &v) { return is_whole(v); })) return false;
        const std::vector<Tensor> results = results_of(n);
        for (size_t k = 0; k < results.size(); k++) {
            const auto id = size_t(n.out[k].buffer);
            Buffer &b = graph_.buffers[id];
            b.role = Role::constant;
            b.held = results[k];
            b.bytes = results[k].bytes();
            known_[id] = 1;
        }
        return true;
    }

    // Returns true if nothing else writes the view's buffer, and nothing before or behind the view
    // is read.
    bool is_whole(const View &v) const {
        const Buffer &b = graph_.buffers[size_t(v.buffer)];
        return b.role == Role::temporary && writes_[size_t(v.buffer)] == 1 && v.offset == 0 &&
               v.strides == dense_strides(v.shape);
    }

    std::vector<Tensor> results_of(const Node &n) const {
        std::vector<Tensor> in;
        for (const View &v : n.in)
            in.push_back(constant_of(graph_, v));
        if (n.kind == Node::Kind::call) return dispatch(*n.op, in, *n.attrs);
        const Tensor copy = Tensor::empty(n.out[0].shape, n.out[0].dtype);
        copy.assign(in[0]);
        return {copy};
    }
};

// A convolution and the normalisation that reads it.
struct Normalized {
    Node &conv, &norm;
};

class NormFolder {
public:
    explicit NormFolder(Graph &graph)
        : graph_(graph), reads_(reads_of(graph)), writes_(writes_of(graph)) {}

    int fold() {
        int folded = 0;
        for (Node &norm : graph_.nodes) {
            const std::optional<Normalized> pair = pair_of(norm);
            if (!pair) continue;
            fold_pair(*pair);
            folded++;
        }
        return folded;
    }

private:
    Graph &graph_;
    std::vector<int> reads_, writes_;

    // Returns true for a constant of one value for each of the channels: [o,1,1].
    bool is_for_channels(const View &v, int64_t channels) const {
        if (v.buffer < 0 || !holds_elements(graph_.buffers[size_t(v.buffer)])) return false;
        return writes_[size_t(v.buffer)] == 0 && v.shape == Shape{channels, 1, 1} &&
               v.dtype == DType::f32;
    }

    std::optional<Normalized> pair_of(Node &norm) const {
        if (norm.kind != Node::Kind::call || norm.name != "normalize_kernel") return std::nullopt;
        const View &x = norm.in[0];
        const auto id = size_t(x.buffer);
        if (x.buffer < 0 || reads_[id] != 1 || writes_[id] != 1) return std::nullopt;
        const auto conv = std::ranges::find_if(graph_.nodes, [&](const Node &n) {
            return n.kind == Node::Kind::call && n.name == "conv2d" && n.out[0] == x;
        });
        if (conv == graph_.nodes.end()) return std::nullopt;
        const int layout = conv->attrs->find("data_format");
        if (layout < 0 || conv->attrs->integer(size_t(layout)) != 0) return std::nullopt;
        const View &weight = conv->in[1];
        if (weight.buffer < 0 || !holds_elements(graph_.buffers[size_t(weight.buffer)]) ||
            writes_[size_t(weight.buffer)] != 0 || weight.dtype != DType::f32)
            return std::nullopt;
        for (size_t k = 1; k < norm.in.size(); k++)
            if (!is_for_channels(norm.in[k], weight.shape[0])) return std::nullopt;
        return Normalized{*conv, norm};
    }

    View held(const Tensor &t, const std::string &name) {
        graph_.buffers.push_back({Role::constant, t.bytes(), -1, t});
        graph_.buffers.back().name = name;
        writes_.push_back(0);
        reads_.push_back(1);
        return {int(graph_.buffers.size()) - 1, 0, t.shape(), t.strides(), t.dtype()};
    }

    // (conv(x, weight) - mean) scale + offset = conv(x, weight scale) + (offset - mean scale), with
    // the constants computed in double and rounded once.
    void fold_pair(const Normalized &pair) {
        const Tensor weight = constant_of(graph_, pair.conv.in[1]);
        const Tensor mean = constant_of(graph_, pair.norm.in[1]);
        const Tensor scale = constant_of(graph_, pair.norm.in[2]);
        const Tensor offset = constant_of(graph_, pair.norm.in[3]);
        const Tensor scaled = Tensor::empty(weight.shape(), DType::f32);
        const Tensor sum = Tensor::empty(mean.shape(), DType::f32);
        const int64_t channels = weight.shape()[0];
        const int64_t inner = weight.elements() / channels;
        const auto floats = [](const Tensor &t) { return static_cast<float *>(t.raw()); };
        for (int64_t o = 0; o < channels; o++) {
            const double s = floats(scale)[o];
            floats(sum)[o] = float(double(floats(offset)[o]) - double(floats(mean)[o]) * s);
            for (int64_t i = o * inner; i < (o + 1) * inner; i++)
                floats(scaled)[i] = float(double(floats(weight)[i]) * s);
        }
        const std::string name = graph_.buffers[size_t(pair.conv.in[1].buffer)].name;
        pair.conv.in[1] = held(scaled, name.empty() ? "" : name + "_scaled");
        const View x = pair.norm.in[0];
        pair.norm.op = &library().at("add");
        pair.norm.name = "add";
        pair.norm.attrs = Attrs(pair.norm.op->record);
        pair.norm.in = {x, held(sum, name.empty() ? "" : name + "_bias")};
    }
};

}  // namespace

Tensor constant_of(const Graph &graph, const View &view) {
    const Tensor &held = graph.buffers[size_t(view.buffer)].held;
    const Tensor dense = Tensor::empty(view.shape, view.dtype);
    dense.assign(held.with_memory(view.dtype, view.shape, view.strides, view.offset));
    return dense;
}

std::vector<int> reads_of(const Graph &graph) {
    std::vector<int> reads(graph.buffers.size());
    for (const Node &n : graph.nodes)
        for (const View &v : n.in)
            if (v.buffer >= 0) reads[size_t(v.buffer)]++;
    for (const View &v : graph.outputs)
        if (v.buffer >= 0) reads[size_t(v.buffer)]++;
    return reads;
}

void fold_constants(Graph &graph) {
    Folder(graph).fold();
    graph::find_lifetimes(graph);
}

int fold_norms(Graph &graph) {
    const int folded = NormFolder(graph).fold();
    graph::find_lifetimes(graph);
    return folded;
}

}  // namespace halyard::c99
