#include "graph/dot.h"

#include <algorithm>
#include <set>
#include <vector>

namespace halyard::graph {
namespace {

std::string in_quotes(const std::string &text) {
    std::string s = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') s += '\\';
        if (c == '\n')
            s += "\\n";
        else
            s += c;
    }
    return s + "\"";
}

std::string label_of(const View &v) {
    return name_of(v.dtype) + v.shape.text();
}

class Picture {
public:
    explicit Picture(const Graph &graph) : graph_(graph), maker_(graph.buffers.size(), -1) {}

    std::string text() {
        for (size_t k = 0; k < graph_.nodes.size(); k++)
            add(k);
        for (size_t k = 0; k < graph_.outputs.size(); k++)
            add_result(k);
        std::string text = "digraph " + in_quotes(graph_.name) +
                           " {\n    node [shape=box, fontname=Helvetica, fontsize=11];\n"
                           "    edge [fontname=Helvetica, fontsize=9];\n";
        int number = 0;
        for (const Frame &f : frames_) {
            if (f.part.empty()) {
                text += f.boxes;
                continue;
            }
            text += "    subgraph cluster_" + std::to_string(number++) +
                    " {\n        label=" + in_quotes(f.part) +
                    ";\n        fontname=Helvetica;\n        color=gray;\n" + f.boxes + "    }\n";
        }
        return text + sources_ + edges_ + "}\n";
    }

private:
    // The boxes of consecutive nodes of one part.
    struct Frame {
        std::string part, boxes;
    };

    void add(size_t k) {
        const Node &n = graph_.nodes[k];
        const std::string id = "n" + std::to_string(k);
        for (const View &v : n.in)
            edges_ += "    " + source(v) + " -> " + id + " [label=" + in_quotes(label_of(v)) +
                      "];\n";
        std::string label = n.name + (n.attrs ? " " + n.attrs->text() : "");
        std::ranges::replace(label, ' ', '\n');  // a line for each attribute
        if (frames_.empty() || frames_.back().part != n.part) frames_.push_back({n.part, ""});
        frames_.back().boxes += std::string(n.part.empty() ? "    " : "        ") + id +
                                " [label=" + in_quotes(label) + "];\n";
        for (const View &v : n.out) {
            if (v.buffer < 0) continue;
            maker_[size_t(v.buffer)] = int(k);
            const Role role = graph_.buffers[size_t(v.buffer)].role;
            if (role != Role::captured && role != Role::input) continue;
            edges_ += "    " + id + " -> " + named(v.buffer) + " [style=dashed];\n";
        }
    }

    void add_result(size_t k) {
        const View &v = graph_.outputs[k];
        const std::string id = "result" + std::to_string(k);
        sources_ += "    " + id + " [shape=ellipse, style=bold, label=" +
                    in_quotes("result " + std::to_string(k)) + "];\n";
        if (v.buffer < 0) return;
        edges_ += "    " + source(v) + " -> " + id + " [label=" + in_quotes(label_of(v)) + "];\n";
    }

    // Returns the box or ellipse that the elements come from.
    std::string source(const View &v) {
        const int maker = maker_[size_t(v.buffer)];
        const Role role = graph_.buffers[size_t(v.buffer)].role;
        const bool is_named = role == Role::captured || role == Role::input;
        return maker >= 0 && !is_named ? "n" + std::to_string(maker) : named(v.buffer);
    }

    std::string named(int buffer) {
        std::string id = "b" + std::to_string(buffer);
        if (!declared_.insert(buffer).second) return id;
        const Buffer &b = graph_.buffers[size_t(buffer)];
        const std::string label = text_of_source(b);
        sources_ += "    " + id + " [shape=ellipse, label=" + in_quotes(label) + "];\n";
        return id;
    }

    const Graph &graph_;
    std::vector<int> maker_;  // by buffer: the node that wrote it last
    std::vector<Frame> frames_;
    std::set<int> declared_;
    std::string sources_, edges_;
};

}  // namespace

std::string dot_of(const Graph &graph) {
    return Picture(graph).text();
}

}  // namespace halyard::graph
