#include "tools/export/op_by_op.h"

#include "registry/base/error.h"
#include "registry/dispatch/dispatch.h"

namespace halyard::exporting {
namespace {

using graph::Buffer;
using graph::Graph;
using graph::Node;
using graph::Role;
using graph::View;

void run_node(const Node &n, const std::vector<Tensor> &in, const std::vector<Tensor> &out) {
    switch (n.kind) {
    case Node::Kind::call: return dispatch_into(*n.op, in, *n.attrs, out);
    case Node::Kind::copy: return out[0].assign(in[0]);
    case Node::Kind::fill: return out[0].fill(n.value);
    case Node::Kind::host: throw Error(n.name, "runs on the host");
    }
}

}  // namespace

OpByOp::OpByOp(const Graph &graph) : graph_(graph) {
    for (const Buffer &b : graph.buffers) {
        const bool is_held = b.role == Role::captured || b.role == Role::constant;
        const Tensor memory = b.role == Role::input ? Tensor()
                              : is_held             ? b.held
                                                    : Tensor::empty({int64_t(b.bytes)}, DType::u8);
        memories_.push_back(memory);
    }
}

std::vector<Tensor> OpByOp::run(const Tensor &input, const Watch &watch) const {
    const Tensor own = input.copy();  // a node may write it
    for (const Node &n : graph_.nodes) {
        const std::vector<Tensor> in = tensors_of(n.in, own), out = tensors_of(n.out, own);
        run_node(n, in, out);
        if (n.kind != Node::Kind::call) continue;
        for (const Tensor &t : out)
            watch(n, t);
    }
    std::vector<Tensor> results;
    for (const Tensor &t : tensors_of(graph_.outputs, own))
        results.push_back(t.copy());
    return results;
}

std::vector<Tensor> OpByOp::tensors_of(const std::vector<View> &views, const Tensor &input) const {
    std::vector<Tensor> tensors;
    for (const View &v : views) {
        const auto id = size_t(v.buffer);
        const Tensor &memory = graph_.buffers[id].role == Role::input ? input : memories_[id];
        tensors.push_back(memory.with_memory(v.dtype, v.shape, v.strides, v.offset));
    }
    return tensors;
}

}  // namespace halyard::exporting
