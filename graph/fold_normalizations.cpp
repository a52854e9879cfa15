#include <algorithm>
#include <optional>
#include <utility>

#include "graph/graph.h"
#include "graph/prepare.h"
#include "graph/uses.h"
#include "graph/view.h"
#include "primitives/context.h"

namespace halyard::graph {
namespace {

// A convolution, the normalization of its result, and what follows: y = conv2d(x, weight);
// n = (y - mean) scale + offset; clamp(n + shortcut). Nodes, by their places.
struct Pattern {
    size_t convolution = 0, norm = 0, last = 0;
    std::optional<size_t> sum, activation;
    std::optional<View> shortcut;
};

// Folds the normalizations of one graph.
class Folder {
public:
    explicit Folder(Graph &graph)
        : g_(graph), uses_(graph), of_parameters_(find_of_parameters(graph)),
          is_removed_(graph.nodes.size()) {}

    void run() {
        std::vector<Node> made;
        std::vector<std::vector<Node>> folded(g_.nodes.size());  // in the place of the last node
        for (size_t k = 0; k < folded.size(); k++) {
            if (const std::optional<Pattern> p = pattern_at(k)) folded[p->last] = nodes_for(*p);
        }
        for (size_t k = 0; k < folded.size(); k++) {
            if (!is_removed_[k]) made.push_back(std::move(g_.nodes[k]));
            std::ranges::move(folded[k], std::back_inserter(made));
        }
        g_.nodes = std::move(made);
    }

private:
    bool is_call(size_t node, const char *op) const {
        const Node &n = g_.nodes[node];
        return n.kind == Node::Kind::call && n.op->record.name == op && !is_removed_[node];
    }

    // Returns the node that alone reads the result of this one, all of it; nothing if it is the
    // caller, or there are several.
    std::optional<size_t> only_reader(size_t node) const {
        const View &v = g_.nodes[node].out[0];
        const Buffer &b = g_.buffers[size_t(v.buffer)];
        const std::vector<size_t> &readers = uses_.readers[size_t(v.buffer)];
        const bool is_own = b.role == Role::temporary && is_whole(v, b) &&
                            uses_.writers[size_t(v.buffer)].size() == 1;
        if (!is_own || readers.size() != 1 || readers[0] == g_.nodes.size()) return {};
        const Node &reader = g_.nodes[readers[0]];
        const bool reads_all = std::ranges::count(reader.in, v) == 1;
        return reads_all ? std::optional(readers[0]) : std::nullopt;
    }

    bool is_of_parameters(const View &v) const { return of_parameters_.buffers[size_t(v.buffer)]; }

    // Returns true if the tensor has one element for each of the channels of an NCHW map.
    static bool is_of_channels(const View &v, int64_t channels) {
        return v.shape == Shape{channels, 1, 1} && is_dense(v);
    }

    bool may_be_folded(const Node &convolution, const Node &norm) const {
        const View &y = convolution.out[0];
        const int format = convolution.attrs->find("data_format");
        const bool is_nchw = format >= 0 && convolution.attrs->integer(size_t(format)) == 0;
        if (y.dtype != DType::f32 || y.shape.rank() != 4 || !is_nchw) return false;
        if (!(norm.in[0] == y) || !is_of_parameters(convolution.in[1]) ||
            !is_dense(convolution.in[1]))
            return false;
        return std::all_of(norm.in.begin() + 1, norm.in.end(), [&](const View &v) {
            return is_of_channels(v, y.shape[1]) && is_of_parameters(v);
        });
    }

    std::optional<Pattern> pattern_at(size_t k) const {
        if (!is_call(k, "conv2d")) return {};
        const std::optional<size_t> norm = only_reader(k);
        if (!norm || !is_call(*norm, "normalize_kernel") ||
            !may_be_folded(g_.nodes[k], g_.nodes[*norm]))
            return {};
        Pattern p;
        p.convolution = k;
        p.norm = p.last = *norm;
        add_sum(p);
        add_activation(p);
        return reads_same_later(p) ? std::optional(p) : std::nullopt;
    }

    void add_sum(Pattern &p) const {
        const std::optional<size_t> next = only_reader(p.last);
        if (!next || !is_call(*next, "add")) return;
        const Node &sum = g_.nodes[*next];
        const View &own = g_.nodes[p.last].out[0];
        const View &other = sum.in[0] == own ? sum.in[1] : sum.in[0];
        if (!(other.shape == own.shape) || !is_dense(other)) return;
        p.shortcut = other;
        p.sum = p.last = *next;
    }

    void add_activation(Pattern &p) const {
        const std::optional<size_t> next = only_reader(p.last);
        if (!next || !(is_call(*next, "relu") || is_call(*next, "relu6"))) return;
        p.activation = p.last = *next;
    }

    // Returns true if what the pattern reads is the same where its last node is.
    bool reads_same_later(const Pattern &p) const {
        if (is_written_between(g_, g_.nodes[p.convolution].in[0].buffer, p.convolution, p.last))
            return false;
        return !p.shortcut || !is_written_between(g_, p.shortcut->buffer, *p.sum, p.last);
    }

    // Returns an elementwise call of two tensors, the first of which has the result's shape, with a
    // new temporary for the result.
    Node call(const char *op, const View &a, const View &b, const std::string &part) {
        Node n = call_of(op, part);
        n.in = {a, b};
        n.out = {add_temporary(g_, a.shape, a.dtype)};
        return n;
    }

    // Returns weight' = weight scale, bias = offset - mean scale, and the convolution with them.
    std::vector<Node> nodes_for(const Pattern &p) {
        const Node &convolution = g_.nodes[p.convolution];
        const Node &norm = g_.nodes[p.norm];
        const int64_t channels = convolution.out[0].shape[1];
        const View mean = norm.in[1];
        const View scale = norm.in[2];
        const View offset = norm.in[3];
        std::vector<Node> made;
        made.push_back(
            call("mul", convolution.in[1], reshaped(scale, {channels, 1, 1, 1}), norm.part));
        const View weight = made.back().out[0];
        made.push_back(call("mul", mean, scale, norm.part));
        made.push_back(call("sub", offset, made.back().out[0], norm.part));
        const View bias = reshaped(made.back().out[0], {channels});
        Node folded;
        folded.op = &registry().at(p.shortcut ? "conv2d_bias_add_clamp" : "conv2d_bias_clamp");
        folded.name = folded.op->record.name;
        folded.part = convolution.part;
        folded.in = {convolution.in[0], weight, bias};
        if (p.shortcut) folded.in.push_back(*p.shortcut);
        folded.out = {g_.nodes[p.last].out[0]};
        Attrs &attrs = folded.attrs.emplace(folded.op->record, convolution.op->record,
                                            *convolution.attrs);
        if (p.activation) attrs.set(size_t(attrs.find("low")), 0.0);
        if (p.activation && is_call(*p.activation, "relu6"))
            attrs.set(size_t(attrs.find("high")), 6.0);
        made.push_back(std::move(folded));
        for (const size_t k : {p.convolution, p.norm, p.sum.value_or(p.norm), p.last})
            is_removed_[k] = 1;
        return made;
    }

    Graph &g_;
    const Uses uses_;  // before anything is folded
    const OfParameters of_parameters_;
    std::vector<char> is_removed_;  // by node
};

}  // namespace

void fold_normalizations(Graph &graph) {
    if (allows_contract()) Folder(graph).run();
}

}  // namespace halyard::graph
