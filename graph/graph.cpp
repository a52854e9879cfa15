#include "graph/graph.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "registry/dispatch/planner.h"

namespace halyard::graph {
namespace {

// Returns true if what is written to the buffer is seen after the run.
bool is_visible(const Buffer &b) {
    return b.role == Role::output || is_from_outside(b);
}

}  // namespace

Node call_of(const char *op, const std::string &part) {
    Node n;
    n.op = &registry().at(op);
    n.name = op;
    n.part = part;
    n.attrs.emplace(n.op->record);
    return n;
}

Plan plan_of(const Node &call) {
    std::vector<OperandMeta> metas;
    for (const View &v : call.in)
        metas.push_back({v.dtype, v.shape, v.strides});
    return make_plan(*call.op, metas, *call.attrs);
}

View add_temporary(Graph &graph, const Shape &shape, DType dtype) {
    Buffer b;
    b.bytes = size_t(shape.elements()) * bytes_of(dtype);
    graph.buffers.push_back(std::move(b));
    return {int(graph.buffers.size()) - 1, 0, shape, dense_strides(shape), dtype};
}

void remove_dead_nodes(Graph &graph) {
    std::vector<char> read(graph.buffers.size());
    for (size_t k = 0; k < read.size(); k++)
        read[k] = is_visible(graph.buffers[k]);
    for (const View &v : graph.outputs)
        if (v.buffer >= 0) read[size_t(v.buffer)] = 1;
    std::vector<Node> kept;
    for (size_t k = graph.nodes.size(); k-- > 0;) {
        Node &n = graph.nodes[k];
        const bool used = n.kind == Node::Kind::host ||
                          std::ranges::any_of(
                              n.out, [&](const View &v) { return read[size_t(v.buffer)] != 0; });
        if (!used) continue;
        for (const View &v : n.in)
            read[size_t(v.buffer)] = 1;
        kept.push_back(std::move(n));
    }
    std::ranges::reverse(kept);
    graph.nodes = std::move(kept);
}

void hold_constant_fills(Graph &graph) {
    std::vector<int> writes(graph.buffers.size());
    for (const Node &n : graph.nodes)
        for (const View &v : n.out)
            writes[size_t(v.buffer)]++;
    std::erase_if(graph.nodes, [&](const Node &n) {
        if (n.kind != Node::Kind::fill || !n.numbers.empty()) return false;
        const View &v = n.out[0];
        Buffer &b = graph.buffers[size_t(v.buffer)];
        if (b.role != Role::temporary || writes[size_t(v.buffer)] != 1) return false;
        b.role = Role::constant;
        b.held = Tensor::full(v.shape, n.value, v.dtype);
        return true;
    });
}

void find_lifetimes(Graph &graph) {
    for (Buffer &b : graph.buffers)
        b.first = b.last = -1;
    for (size_t k = 0; k < graph.nodes.size(); k++) {
        for_each_view(graph.nodes[k], [&](const View &v) {
            Buffer &b = graph.buffers[size_t(v.buffer)];
            if (b.first < 0) b.first = int(k);
            b.last = int(k);
        });
    }
}

namespace {

std::string text_of_number(double v) {
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", v);
    return text;
}

std::string described(const Node &n) {
    std::string text = "'" + n.name + "'";
    if (n.attrs && !n.attrs->text().empty()) text += " with " + n.attrs->text();
    if (n.kind == Node::Kind::fill) text += " of " + text_of_number(n.value);
    return n.part.empty() ? text : text + " in " + n.part;
}

bool same_attributes(const Node &a, const Node &b) {
    if (a.attrs.has_value() != b.attrs.has_value()) return false;
    // The attributes of a draw differ from run to run.
    if (!a.attrs || a.draw >= 0) return true;
    if (a.numbers.empty()) return a.attrs->text() == b.attrs->text();
    if (a.op != b.op) return false;
    Attrs x = *a.attrs;
    Attrs y = *b.attrs;
    for (const NumberPlace &place : a.numbers) {
        x.set(place.attribute, 0.0);
        y.set(place.attribute, 0.0);
    }
    return x.text() == y.text();
}

bool same_value(const Node &a, const Node &b) {
    const bool is_number = a.kind == Node::Kind::fill && !a.numbers.empty();
    return is_number || a.value == b.value || (a.value != a.value && b.value != b.value);
}

bool same_node(const Node &a, const Node &b) {
    return a.kind == b.kind && a.op == b.op && a.name == b.name && a.draw == b.draw &&
           same_value(a, b) && same_attributes(a, b) && a.in == b.in && a.out == b.out;
}

bool same_elements(const Tensor &a, const Tensor &b) {
    if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
    const Tensor x = a.contiguous();
    const Tensor y = b.contiguous();
    return x.bytes() == 0 || std::memcmp(x.bytes_to_read(), y.bytes_to_read(), x.bytes()) == 0;
}

std::string difference(const Buffer &a, const Buffer &b) {
    if (a.role != b.role || a.input != b.input) return "a tensor has another origin";
    if (a.role == Role::captured && a.held.impl()->storage != b.held.impl()->storage)
        return "a tensor from outside was replaced";
    if (a.role == Role::constant && !same_elements(a.held, b.held))
        return "a constant has other elements";
    return "";
}

}  // namespace

std::string difference(const Graph &a, const Graph &b) {
    for (size_t k = 0; k < std::min(a.nodes.size(), b.nodes.size()); k++) {
        if (!same_node(a.nodes[k], b.nodes[k]))
            return "node " + std::to_string(k) + " is " + described(b.nodes[k]) + ", recorded " +
                   described(a.nodes[k]);
        for (const View &v : a.nodes[k].in) {
            const std::string what = difference(a.buffers[size_t(v.buffer)],
                                                b.buffers[size_t(v.buffer)]);
            if (!what.empty())
                return "node " + std::to_string(k) + ", " + described(b.nodes[k]) + ": " + what;
        }
    }
    if (a.nodes.size() != b.nodes.size()) {
        return "it has " + std::to_string(b.nodes.size()) + " nodes, recorded " +
               std::to_string(a.nodes.size());
    }
    if (!(a.outputs == b.outputs)) return "it returns other tensors";
    return "";
}

namespace {

const char *letter_of(Role role) {
    switch (role) {
    case Role::input: return "x";
    case Role::captured: return "p";
    case Role::constant: return "c";
    case Role::output: return "y";
    case Role::prepared: return "w";
    default: return "";
    }
}

std::string text_of(const Graph &graph, const View &v) {
    if (v.buffer < 0) return "undefined";
    std::string text = std::string("%") + letter_of(graph.buffers[size_t(v.buffer)].role) +
                       std::to_string(v.buffer);
    if (v.offset) text += "+" + std::to_string(v.offset);
    return text;
}

std::string type_of(const View &v) {
    std::string text = name_of(v.dtype) + v.shape.text();
    if (!(v.strides == dense_strides(v.shape))) text += " strides " + v.strides.text();
    return text;
}

std::string list_of(const Graph &graph, const std::vector<View> &views) {
    std::string text;
    for (const View &v : views)
        text += (text.empty() ? "" : ", ") + text_of(graph, v);
    return text;
}

std::string line_of(const Graph &graph, const Node &n) {
    std::string line = "  " + list_of(graph, n.out) + " = " + n.name + "(";
    const bool is_fill = n.kind == Node::Kind::fill;
    line += is_fill ? text_of_number(n.value) : list_of(graph, n.in);
    line += ")";
    if (n.attrs && !n.attrs->text().empty()) line += " " + n.attrs->text();
    for (const NumberPlace &place : n.numbers) {
        line += " [" + (is_fill ? "value" : n.attrs->op().attrs[place.attribute].name) +
                ": number " + std::to_string(place.number) + "]";
    }
    for (size_t k = 0; k < n.out.size(); k++)
        line += (k ? ", " : " : ") + type_of(n.out[k]);
    if (!n.part.empty()) line += "    # " + n.part;
    return line + "\n";
}

}  // namespace

std::string text_of_source(const Buffer &b) {
    if (b.role == Role::input)
        return "argument " + std::to_string(b.input) + " : " + name_of(b.dtype) + b.shape.text();
    if (b.role == Role::constant && b.held.elements() <= 4) return "constant " + b.held.text();
    const std::string type = name_of(b.held.dtype()) + b.held.shape().text();
    if (b.role == Role::constant) return "constant : " + type;
    return (b.name.empty() ? "tensor" : "parameter " + b.name) + " : " + type;
}

bool is_as_captured(const View &v, const Tensor &made) {
    return made.shape() == v.shape && made.strides() == v.strides && made.dtype() == v.dtype;
}

void name_captured(Graph &graph, const std::vector<std::pair<std::string, Tensor>> &named) {
    std::map<const Storage *, const std::string *> names;
    for (const auto &[name, tensor] : named)
        names.emplace(tensor.impl()->storage, &name);
    for (Buffer &b : graph.buffers) {
        if (b.role != Role::captured) continue;
        const auto found = names.find(b.held.impl()->storage);
        if (found != names.end()) b.name = *found->second;
    }
}

std::string text_of(const Graph &graph) {
    std::string text = "graph " + graph.name + " {\n";
    std::vector<char> is_used(graph.buffers.size());
    for (const Node &n : graph.nodes)
        for_each_view(n, [&](const View &v) { is_used[size_t(v.buffer)] = 1; });
    for (size_t k = 0; k < graph.buffers.size(); k++) {
        const Buffer &b = graph.buffers[k];
        const bool is_source = b.role == Role::input || b.role == Role::captured ||
                               b.role == Role::constant;
        if (!is_used[k] || !is_source) continue;
        text += std::string("  %") + letter_of(b.role) + std::to_string(k) + " = " +
                text_of_source(b) + "\n";
    }
    for (const Node &n : graph.nodes)
        text += line_of(graph, n);
    return text + "  return " + list_of(graph, graph.outputs) + "\n}\n";
}

}  // namespace halyard::graph
