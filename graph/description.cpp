#include "graph/description.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/draw_words.h"
#include "graph/graph_error.h"
#include "graph/standalone.h"
#include "primitives/composites/host_steps.h"
#include "primitives/primitive.h"
#include "registry/base/text.h"

namespace halyard::graph {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<Role, const char *>, 6> roles{{{Role::temporary, "temporary"},
                                                              {Role::input, "argument"},
                                                              {Role::captured, "parameter"},
                                                              {Role::constant, "constant"},
                                                              {Role::host, "host"},
                                                              {Role::output, "result"}}};
constexpr std::array<std::pair<Node::Kind, const char *>, 4> kinds{{{Node::Kind::call, "call"},
                                                                    {Node::Kind::copy, "copy"},
                                                                    {Node::Kind::fill, "fill"},
                                                                    {Node::Kind::host, "host"}}};

template<class Table, class T> const char *name_in(const Table &table, T value) {
    return std::ranges::find(table, value, [](const auto &e) { return e.first; })->second;
}

template<class Table> auto value_in(const Table &table, const std::string &name) {
    const auto found = std::ranges::find(table, name, [](const auto &e) { return e.second; });
    if (found == table.end()) throw GraphError("graph", "'" + name + "' is no part of a graph");
    return found->first;
}

// All digits, and also the numbers that JSON lacks.
std::string exact(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", value);
    return text;
}

double exact(const std::string &text) {
    char *end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end) throw GraphError("graph", "'" + text + "' is no number");
    return value;
}

Json json_of(const View &v) {
    if (v.buffer < 0) return nullptr;
    Json j{{"buffer", v.buffer}, {"dtype", name_of(v.dtype)}, {"shape", v.shape.vec()}};
    if (v.offset) j["offset"] = v.offset;
    if (!(v.strides == dense_strides(v.shape))) j["strides"] = v.strides.vec();
    return j;
}

Json json_of(const std::vector<View> &views) {
    Json list = Json::array();
    for (const View &v : views)
        list.push_back(json_of(v));
    return list;
}

Json json_of(const Node &n) {
    Json j{{"kind", name_in(kinds, n.kind)}, {"name", n.name}};
    if (n.attrs) {
        Json attributes = Json::object();
        for (size_t k = 0; k < n.attrs->op().attrs.size(); k++)
            attributes[n.attrs->op().attrs[k].name] = n.attrs->exact_text(k);
        j["attributes"] = std::move(attributes);
    }
    if (n.kind == Node::Kind::fill) j["value"] = exact(n.value);
    if (n.kind == Node::Kind::host) {
        const auto settings = host_steps::settings_of(n.function);
        if (!settings) {
            throw GraphError("graph", "the step '" + n.name +
                                          "' on the host can only be made by this program");
        }
        j["words"] = settings->words;
        j["numbers"] = settings->numbers;
    }
    if (n.draw >= 0) j["draw"] = n.draw;
    for (const NumberPlace &place : n.numbers)
        j["step_numbers"].push_back({place.attribute, place.number});
    j["in"] = json_of(n.in);
    j["out"] = json_of(n.out);
    if (!n.part.empty()) j["part"] = n.part;
    return j;
}

Json json_of(const Buffer &b, const std::string &tensor) {
    Json j{{"role", name_in(roles, b.role)}};
    if (!tensor.empty()) {
        j["tensor"] = tensor;
        j["named"] = !b.name.empty();
    } else if (b.role == Role::input) {
        j["argument"] = b.input;
        j["dtype"] = name_of(b.dtype);
        j["shape"] = b.shape.vec();
    } else {
        j["bytes"] = b.bytes;
    }
    return j;
}

}  // namespace

DescribedGraph described(const Graph &graph) {
    DescribedGraph made;
    std::set<std::string> names;
    for (const Buffer &b : graph.buffers)
        if (!b.name.empty()) names.insert(b.name);
    Json buffers = Json::array();
    for (size_t k = 0; k < graph.buffers.size(); k++) {
        const Buffer &b = graph.buffers[k];
        std::string tensor = b.name;
        const bool is_held = b.role == Role::captured || b.role == Role::constant;
        if (is_held && tensor.empty()) {
            tensor = std::string(name_in(roles, b.role)) + "." + std::to_string(k);
            while (!names.insert(tensor).second)
                tensor += "_";
        }
        if (is_held) made.tensors.emplace_back(tensor, b.held);
        buffers.push_back(json_of(b, tensor));
    }
    Json nodes = Json::array();
    for (const Node &n : graph.nodes)
        nodes.push_back(json_of(n));
    const Json all{{"name", graph.name},
                   {"draws", graph.draws},
                   {"buffers", std::move(buffers)},
                   {"nodes", std::move(nodes)},
                   {"results", json_of(graph.outputs)}};
    made.text = all.dump();
    made.numbers = number_count(graph);
    return made;
}

namespace {

Shape shape_in(const Json &list) {
    if (list.size() > size_t(max_rank))
        throw GraphError("graph", "a shape has more than 8 extents");
    return Shape(list.get<std::vector<int64_t>>());
}

View view_in(const Json &j) {
    if (j.is_null()) return {};
    View v;
    v.buffer = j.at("buffer").get<int>();
    v.dtype = dtype_of(j.at("dtype").get<std::string>());
    v.shape = shape_in(j.at("shape"));
    checked_elements("graph", v.shape);
    v.offset = j.value("offset", int64_t(0));
    v.strides = j.contains("strides") ? shape_in(j.at("strides")) : dense_strides(v.shape);
    return v;
}

std::vector<View> views_in(const Json &list) {
    std::vector<View> views;
    for (const Json &j : list)
        views.push_back(view_in(j));
    return views;
}

Buffer buffer_in(const Json &j, const std::map<std::string, Tensor> &tensors) {
    Buffer b;
    b.role = value_in(roles, j.at("role").get<std::string>());
    if (b.role == Role::captured || b.role == Role::constant) {
        const std::string name = j.at("tensor").get<std::string>();
        const auto found = tensors.find(name);
        if (found == tensors.end()) throw GraphError("graph", "tensor '" + name + "' is missing");
        b.held = found->second;
        b.bytes = b.held.bytes();
        if (j.at("named").get<bool>()) b.name = name;
    } else if (b.role == Role::input) {
        b.input = j.at("argument").get<int>();
        b.dtype = dtype_of(j.at("dtype").get<std::string>());
        b.shape = shape_in(j.at("shape"));
        b.bytes = size_t(checked_elements("graph", b.shape)) * bytes_of(b.dtype);
    } else {
        constexpr auto most = uint64_t(std::numeric_limits<int32_t>::max()) * sizeof(double);
        const auto bytes = j.at("bytes").get<uint64_t>();
        if (bytes > most) {
            throw GraphError("graph", "a buffer of " + std::to_string(bytes) +
                                          " bytes is larger than any tensor");
        }
        b.bytes = bytes;
    }
    return b;
}

Node node_in(const Json &j) {
    Node n;
    n.kind = value_in(kinds, j.at("kind").get<std::string>());
    n.name = j.at("name").get<std::string>();
    if (n.kind == Node::Kind::call) {
        n.op = &find_op(n.name.c_str());
        n.attrs.emplace(n.op->record, j.at("attributes").get<std::map<std::string, std::string>>());
    }
    if (n.kind == Node::Kind::fill) n.value = exact(j.at("value").get<std::string>());
    if (n.kind == Node::Kind::host) {
        n.function = host_steps::made(n.name, {j.at("words").get<std::vector<std::string>>(),
                                               j.at("numbers").get<std::vector<int64_t>>()});
    }
    n.draw = j.value("draw", -1);
    if (j.contains("step_numbers"))
        for (const Json &place : j.at("step_numbers"))
            n.numbers.push_back({place.at(0).get<size_t>(), place.at(1).get<size_t>()});
    n.in = views_in(j.at("in"));
    n.out = views_in(j.at("out"));
    n.part = j.value("part", "");
    return n;
}

void check_draw(const Node &n) {
    if (n.draw < 0) return;
    for (const char *name : draw_attributes) {
        if (!n.attrs || n.attrs->find(name) < 0)
            throw GraphError("graph", "'" + n.name + "' draws no random numbers");
    }
}

Graph graph_in(const Json &all, const std::map<std::string, Tensor> &tensors) {
    Graph graph;
    graph.name = all.at("name").get<std::string>();
    graph.draws = all.at("draws").get<int>();
    for (const Json &j : all.at("buffers"))
        graph.buffers.push_back(buffer_in(j, tensors));
    for (const Json &j : all.at("nodes")) {
        graph.nodes.push_back(node_in(j));
        check_draw(graph.nodes.back());
    }
    graph.outputs = views_in(all.at("results"));
    return graph;
}

}  // namespace

Graph graph_of(const std::string &text, const std::map<std::string, Tensor> &tensors) {
    Graph graph;
    try {
        graph = graph_in(Json::parse(text), tensors);
    } catch (const nlohmann::json::exception &e) {
        throw GraphError("graph", std::string("no description of a graph: ") + e.what());
    }
    check_standalone(graph);
    find_lifetimes(graph);
    return graph;
}

}  // namespace halyard::graph
