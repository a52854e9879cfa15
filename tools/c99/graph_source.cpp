#include "tools/c99/graph_source.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "dsl/c99/names.h"
#include "graph/capture.h"
#include "graph/memory_plan.h"
#include "graph/passes.h"
#include "graph/view.h"
#include "primitives/primitive.h"
#include "registry/base/error.h"
#include "registry/dispatch/planner.h"
#include "tools/c99/elements.h"

namespace halyard::c99 {
namespace {

using graph::Buffer;
using graph::Graph;
using graph::Node;
using graph::Role;
using graph::View;

constexpr int64_t alignment = 8;  // of arrays in the arena

class GraphWriter {
public:
    GraphWriter(const FusedGraph &fused, const Signature &signature,
                const std::vector<View> &inputs, const std::string &name, int lanes)
        : lanes_(lanes), graph_(fused.graph), parts_(fused.parts), signature_(signature),
          inputs_(inputs), memory_(graph::plan_memory(graph_, false)) {
        call_.name = name;
        call_.arena_bytes = int64_t(memory_.bytes);
    }

    CallSource source() {
        declare_inputs();
        declare_outputs();
        for (size_t k = 0; k < graph_.nodes.size(); k++)
            write_node(k);
        for (size_t k = 0; k < graph_.outputs.size(); k++)
            write_result(k);
        call_.arena_bytes = std::max(call_.arena_bytes, most_arena_);
        std::string unread;
        for (const Parameter &p : call_.parameters)
            if (!read_.count(p.name)) unread += "    (void)" + p.name + ";\n";
        call_.text = steps_ + prototype_of(call_) + " {\n" + unread + lines_ + "}\n";
        return call_;
    }

private:
    const int lanes_;
    const Graph &graph_;
    const std::vector<std::vector<Node>> &parts_;  // by node
    const Signature &signature_;
    const std::vector<View> &inputs_;
    const graph::MemoryPlan memory_;
    CallSource call_;
    Names names_;
    std::map<int, std::string> places_;               // of buffers: "x", or "arena.bytes + 64"
    std::map<int, DType> typed_;                      // the dtype of buffers that are typed arrays
    std::set<std::string> read_;                      // parameters
    std::map<std::string, std::string> known_steps_;  // name by text
    std::string steps_, lines_;
    size_t depth_ = 1;
    int64_t most_arena_ = 0;

    [[noreturn]] void refuse(const std::string &what) const {
        throw DispatchError(signature_.op, "no C99 function: " + what);
    }

    void add_parameter(const std::string &name, const View &v, bool is_output, int buffer) {
        const std::string key = (is_output ? "output " : "input ") + name;
        const std::string declared = names_.declare(key, name);
        call_.parameters.push_back({declared, v.dtype, v.shape, is_output, is_output});
        if (buffer < 0) return;
        places_[buffer] = declared;
        typed_[buffer] = v.dtype;
    }

    // Declares the parameters of the graph's arguments, in their order.
    void declare_inputs() {
        for (size_t k = 0; k < signature_.inputs.size(); k++) {
            const auto at = std::ranges::find_if(graph_.buffers, [&](const Buffer &b) {
                return b.role == Role::input && b.input == int(k);
            });
            if (at == graph_.buffers.end()) refuse("an argument is missing");
            const int buffer = int(at - graph_.buffers.begin());
            add_parameter(signature_.inputs[k].name, inputs_[k], false, buffer);
        }
    }

    // An output that is all of a buffer is written where the caller wants it. Others are copied.
    void declare_outputs() {
        for (size_t k = 0; k < graph_.outputs.size(); k++) {
            const View &v = graph_.outputs[k];
            if (v.buffer < 0) refuse("it returns no tensor for an output");
            const Buffer &b = graph_.buffers[size_t(v.buffer)];
            const bool is_whole = b.role == Role::output && is_dense(v) && v.offset == 0 &&
                                  places_.count(v.buffer) == 0;
            const std::string name = k < signature_.outputs.size() ? signature_.outputs[k].name
                                                                   : "y" + std::to_string(k);
            add_parameter(name, v, true, is_whole ? v.buffer : -1);
        }
        for (size_t k = 0; k < graph_.buffers.size(); k++)
            if (graph_.buffers[k].role == Role::output && !places_.count(int(k)))
                place_in_arena(int(k));
    }

    void place_in_arena(int buffer) {
        places_[buffer] = "arena.bytes + " + std::to_string(call_.arena_bytes);
        const auto bytes = int64_t(graph_.buffers[size_t(buffer)].bytes);
        call_.arena_bytes += (bytes + alignment - 1) / alignment * alignment;
    }

    void line(const std::string &text) { lines_ += std::string(depth_ * 4, ' ') + text + "\n"; }

    // Returns the address of a view's first element.
    std::string address(const View &v) {
        if (v.buffer < 0) refuse("a step takes no tensor for an operand");
        const Buffer &b = graph_.buffers[size_t(v.buffer)];
        const std::string type = c_type_of(v.dtype);
        if (b.role == Role::host) refuse("a step runs on the host");
        if ((b.role == Role::constant || b.role == Role::captured) && !places_.count(v.buffer))
            write_constant(v);
        if (b.role == Role::temporary) {
            const int64_t at = int64_t(memory_.offsets[size_t(v.buffer)]) + v.offset;
            return "(" + type + " *)(arena.bytes + " + std::to_string(at) + ")";
        }
        const std::string &place = places_.at(v.buffer);
        read_.insert(place);
        const auto typed = typed_.find(v.buffer);
        if (typed != typed_.end() && c_type_of(typed->second) == type) {
            const int64_t elements = v.offset / int64_t(bytes_of(v.dtype));
            return elements == 0 ? place : place + " + " + std::to_string(elements);
        }
        if (typed != typed_.end()) refuse("a step takes a tensor as another dtype");
        return "(" + type + " *)(" + place + " + " + std::to_string(v.offset) + ")";
    }

    // Writes the elements of a constant that views of it reach.
    void write_constant(const View &v) {
        const Buffer &b = graph_.buffers[size_t(v.buffer)];
        const auto bytes = int64_t(bytes_of(v.dtype));
        const int64_t elements = bytes_reached(v.buffer) / bytes;
        const std::string name = name_of_constant(v.buffer);
        call_.constants += array_text("static const " + std::string(c_type_of(v.dtype)) + " " +
                                          name,
                                      b.held.raw(), elements, v.dtype) +
                           "\n";
        call_.constant_bytes += elements * bytes;
        places_[v.buffer] = name;
        typed_[v.buffer] = v.dtype;
    }
    // Returns the number of bytes up to the last element that a view of the buffer has.
    int64_t bytes_reached(int buffer) const {
        int64_t most = 0;
        const auto reach = [&](const View &v) {
            if (v.buffer != buffer || v.shape.elements() == 0) return;
            if (v.offset < 0) refuse("a step reads elements before those of a captured tensor");
            int64_t last = 0;
            for (int d = 0; d < v.shape.rank(); d++)
                last += (v.shape[d] - 1) * v.strides[d];
            most = std::max(most, v.offset + (last + 1) * int64_t(bytes_of(v.dtype)));
        };
        for (const Node &n : graph_.nodes) {
            std::ranges::for_each(n.in, reach);
            std::ranges::for_each(n.out, reach);
        }
        std::ranges::for_each(graph_.outputs, reach);
        return most;
    }
    // Returns "net_conv1_weight", or "net_constant3" for a buffer without a name.
    std::string name_of_constant(int buffer) {
        std::string name = graph_.buffers[size_t(buffer)].name;
        for (char &c : name)
            if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
        if (name.empty()) name = "constant" + std::to_string(buffer);
        return names_.declare("constant " + std::to_string(buffer), call_.name + "_" + name);
    }

    void write_node(size_t k) {
        const Node &n = graph_.nodes[k];
        for (const View &v : n.out) {
            for (Parameter &p : call_.parameters)
                p.is_written |= places_.count(v.buffer) > 0 && places_.at(v.buffer) == p.name;
        }
        if (n.draw >= 0) refuse("it draws random numbers");
        switch (n.kind) {
        case Node::Kind::call: return write_call(n, parts_[k]);
        case Node::Kind::copy: return write_copy(n.in[0], n.out[0]);
        case Node::Kind::fill: return write_fill(n.out[0], n.value);
        case Node::Kind::host: refuse("step " + n.name + " runs on the host");
        }
    }

    CallSource source_of_node(const Node &n, const std::vector<Node> &parts,
                              const std::string &name) const {
        if (parts.size() > 1) return c99::source_of(parts, name, call_.arena_bytes, lanes_);
        std::vector<OperandMeta> in;
        for (const View &v : n.in)
            in.push_back({v.dtype, v.shape, v.strides});
        return c99::source_of(*n.op, in, *n.attrs, name, call_.arena_bytes, lanes_);
    }

    void write_call(const Node &n, const std::vector<Node> &parts) {
        for (const View &v : n.out)
            if (!is_dense(v)) refuse("a step writes a tensor with gaps");
        const std::string placeholder = call_.name + "_step";
        const CallSource step = source_of_node(n, parts, placeholder);
        call_.helpers.insert(step.helpers.begin(), step.helpers.end());
        most_arena_ = std::max(most_arena_, step.arena_bytes);
        std::string arguments;
        for (const std::vector<View> *all : {&n.in, &n.out}) {
            for (const View &v : *all)
                arguments += (arguments.empty() ? "" : ", ") + address(v);
        }
        line(name_of_step(step.text, placeholder, n.name) + "(" + arguments + ");");
    }

    // Returns the name of a step with this text, which is written once.
    std::string name_of_step(const std::string &text, const std::string &placeholder,
                             const std::string &op) {
        const auto known = known_steps_.find(text);
        if (known != known_steps_.end()) return known->second;
        std::string name = call_.name + "_" + std::to_string(known_steps_.size() + 1) + "_" + op;
        known_steps_[text] = name;
        std::string named = text;
        for (size_t at = 0; (at = named.find(placeholder, at)) != std::string::npos;
             at += name.size())
            named.replace(at, placeholder.size(), name);
        const std::string head = "void " + name + "(";
        const size_t at = named.starts_with(head) ? 0 : named.find("\n" + head) + 1;
        steps_ += named.insert(at, "static ") + "\n";
        return name;
    }

    // Writes loops over a shape, around a statement of indices i0, i1, ...
    void in_loops(const Shape &shape, const std::string &statement) {
        for (int d = 0; d < shape.rank(); d++) {
            const std::string v = "i" + std::to_string(d);
            line("for (int32_t " + v + " = 0; " + v + " < " + std::to_string(shape[d]) + "; " + v +
                 "++) {");
            depth_++;
        }
        line(statement);
        for (int d = 0; d < shape.rank(); d++) {
            depth_--;
            line("}");
        }
    }
    static std::string index_of(const Shape &shape, const Shape &strides) {
        std::string s;
        for (int d = 0; d < shape.rank(); d++) {
            if (shape[d] <= 1 || strides[d] == 0) continue;
            s += s.empty() ? "" : " + ";
            s += (strides[d] == 1 ? "" : std::to_string(strides[d]) + " * ") + "i" +
                 std::to_string(d);
        }
        return s.empty() ? "0" : s;
    }
    std::string element(const View &v, const Shape &shape, const Shape &strides) {
        const std::string a = address(v);
        const bool is_name = a.find_first_of(" (") == std::string::npos;
        return (is_name ? a : "(" + a + ")") + "[" + index_of(shape, strides) + "]";
    }

    // Writes the elements of `from`, converted, into `to`, which it may be broadcast to.
    void write_copy(const View &from, const View &to) {
        if (to.shape.elements() == 0) return;
        const int missing = to.shape.rank() - from.shape.rank();
        Shape strides = to.strides;
        for (int d = 0; d < to.shape.rank(); d++) {
            const bool has = d >= missing && from.shape[d - missing] > 1;
            strides[d] = has ? from.strides[d - missing] : 0;
        }
        in_loops(to.shape, element(to, to.shape, to.strides) + " = " +
                               converted_text(element(from, to.shape, strides), from.dtype,
                                              to.dtype, call_.helpers) +
                               ";");
    }

    void write_fill(const View &to, double value) {
        if (to.shape.elements() == 0) return;
        in_loops(to.shape,
                 element(to, to.shape, to.strides) + " = " + number_of(value, to.dtype) + ";");
    }

    // Copies an output that isn't in the caller's memory.
    void write_result(size_t k) {
        const View &v = graph_.outputs[k];
        const Parameter &p = call_.parameters[signature_.inputs.size() + k];
        const auto place = places_.find(v.buffer);
        if (place != places_.end() && place->second == p.name) return;
        if (v.shape.elements() == 0) return;
        read_.insert(p.name);
        View dense = v;
        int64_t step = 1;
        for (int d = v.shape.rank(); d-- > 0; step *= v.shape[d])
            dense.strides[d] = step;
        const std::string from = element(v, v.shape, v.strides);
        in_loops(v.shape, p.name + "[" + index_of(v.shape, dense.strides) + "] = " + from + ";");
    }
};

}  // namespace

CallSource source_of(const FusedGraph &graph, const Signature &signature,
                     const std::vector<View> &inputs, const std::string &name, int lanes) {
    return GraphWriter(graph, signature, inputs, name, lanes).source();
}

CallSource source_of_call(const RegisteredOp &op, const std::vector<Tensor> &in, const Attrs &attrs,
                          const std::string &name) {
    if (op.record.form != Form::composite) {
        const std::vector<OperandMeta> metas = metas_of(in);
        return source_of(op, metas, attrs, name);
    }
    graph::Capture capture(op.record.name, in);
    const Primitive primitive(op, attrs);
    capture.run([&](std::span<const Tensor> arguments) { return primitive.run(arguments); });
    if (!capture.reason().empty())
        throw DispatchError(op.record.name, "no C99 function: " + capture.reason());
    Graph graph = capture.take();
    graph::run_passes(graph);
    std::vector<View> inputs;
    for (const Tensor &t : in)
        inputs.push_back({-1, 0, t.shape(), t.strides(), t.dtype()});
    return source_of(not_fused(std::move(graph)), op.signature, inputs, name);
}

}  // namespace halyard::c99
