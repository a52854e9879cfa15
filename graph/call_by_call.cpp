#include "graph/call_by_call.h"

#include "graph/draw_words.h"
#include "graph/graph_error.h"
#include "graph/memory_plan.h"
#include "primitives/profiler.h"
#include "registry/dispatch/dispatch.h"
#include "registry/tensor/host_step.h"

namespace halyard::graph {
namespace {

class Run {
public:
    Run(const Graph &graph, std::span<const Tensor> arguments) : graph_(graph) {
        for (const Buffer &b : graph.buffers)
            memories_.push_back(b.role == Role::input ? arguments[size_t(b.input)] : b.held);
        for (int k = 0; k < graph.draws; k++)
            draws_.push_back(Random::next().state());
    }

    std::vector<Tensor> results() {
        for (size_t k = 0; k < graph_.nodes.size(); k++) {
            run(graph_.nodes[k]);
            release_after(k);
        }
        std::vector<Tensor> out;
        for (const View &v : graph_.outputs)
            out.push_back(result(v));
        return out;
    }

private:
    Tensor operand(const View &v) {
        const Buffer &b = graph_.buffers[size_t(v.buffer)];
        Tensor &memory = memories_[size_t(v.buffer)];
        if (!memory.defined()) memory = memory_of(b.bytes);
        return memory.with_memory(v.dtype, v.shape, v.strides, v.offset);
    }

    std::vector<Tensor> operands(const std::vector<View> &views) {
        std::vector<Tensor> all;
        for (const View &v : views)
            all.push_back(operand(v));
        return all;
    }

    void run(const Node &n) {
        const std::vector<Tensor> in = operands(n.in);
        if (n.kind == Node::Kind::host) return run_host_step(n, in);
        const std::vector<Tensor> out = operands(n.out);
        switch (n.kind) {
        case Node::Kind::copy: out[0].assign(in[0]); break;
        case Node::Kind::fill: out[0].fill(n.value); break;
        default: call(n, in, out);
        }
    }

    void call(const Node &n, std::span<const Tensor> in, std::span<const Tensor> out) const {
        const profiler::Call call(n.op->record, in);
        if (n.draw < 0) return dispatch_into(*n.op, in, *n.attrs, out);
        Attrs attrs = *n.attrs;
        set_draw(attrs, draws_[size_t(n.draw)]);
        dispatch_into(*n.op, in, attrs, out);
    }

    // What a step makes never shares memory with what it read, which later nodes may write.
    void run_host_step(const Node &n, std::span<const Tensor> in) {
        const auto always = [](size_t) { return true; };
        const std::vector<Tensor> made = call_listener() ? run_on_host(n.name, in, n.function)
                                                         : run_apart(n.function, in, always);
        for (size_t k = 0; k < n.out.size(); k++) {
            const View &v = n.out[k];
            if (k >= made.size() || !is_as_captured(v, made[k])) {
                throw GraphError("graph", graph_.name + ": '" + n.name +
                                              "' gives other tensors than it did when the graph "
                                              "was captured");
            }
            memories_[size_t(v.buffer)] = made[k];
        }
    }

    void release_after(size_t node) {
        for (size_t k = 0; k < memories_.size(); k++) {
            const Buffer &b = graph_.buffers[k];
            const bool ends = b.role == Role::temporary || b.role == Role::host;
            if (ends && b.last == int(node) && !is_result(int(k))) memories_[k] = {};
        }
    }

    bool is_result(int buffer) const {
        for (const View &v : graph_.outputs)
            if (v.buffer == buffer) return true;
        return false;
    }

    Tensor result(const View &v) {
        if (v.buffer < 0) return {};
        const Buffer &b = graph_.buffers[size_t(v.buffer)];
        const Tensor t = operand(v);
        return b.role == Role::constant ? t.copy() : t;
    }

    const Graph &graph_;
    std::vector<Tensor> memories_;  // by buffer; undefined until a temporary is first used
    std::vector<RngState> draws_;
};

}  // namespace

std::vector<Tensor> run_call_by_call(const Graph &graph, std::span<const Tensor> arguments) {
    return Run(graph, arguments).results();
}

}  // namespace halyard::graph
