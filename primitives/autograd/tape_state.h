// The recordings of a Tape. tape_recording.cpp writes them, and backward.cpp computes gradients
// from them.
//
// A tensor's identity is the address of its TensorImpl, so the tape holds a handle of every tensor
// it has recorded. Once that handle is the last one, nobody can present the tensor again; unless a
// gradient needs it, the handle is dropped.
#pragma once
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "primitives/autograd/tape.h"
#include "registry/tensor/graph_listener.h"

namespace halyard {

// A recorded tensor.
struct TapeNode {
    Tensor handle;
    Shape shape;
    DType dtype = DType::f32;
};

// A recorded call.
struct TapeEntry {
    const RegisteredOp *op = nullptr;  // null: `backward` computes the gradient
    std::optional<Attrs> attrs;
    std::vector<int> in, out;  // nodes; -1: no gradient passes
    std::vector<Tensor> kept;  // the inputs, then the outputs, that gradients read
    Tape::Backward backward;
    const OpRecord *composite = nullptr;  // the composite op that made the call
    const char *method = nullptr;         // the tensor's method that was called
    std::string part;                     // of the program, if a graph is recorded
};

struct Tape::State {
    std::vector<TapeNode> nodes;
    std::vector<TapeEntry> entries;
    std::unordered_map<const TensorImpl *, int> ids;
    std::vector<int> weak;  // nodes whose handle is dropped once it is the last one
    size_t sweep_at = 8;
    bool in_gradient = false;  // gradient() runs, and this tape records nothing
    bool consumed = false;     // gradient() has released the recordings

    int find(const Tensor &t) const {
        const auto it = t.defined() ? ids.find(t.impl()) : ids.end();
        return it == ids.end() ? -1 : it->second;
    }

    int add(const Tensor &t) {
        const int id = int(nodes.size());
        if (!ids.emplace(t.impl(), id).second) {
            throw GradError("tape", "an output is already on the tape; a function records tensors "
                                    "of its own, made where a StopTape lives");
        }
        nodes.push_back({t, t.shape(), t.dtype()});
        return id;
    }

    // Sets the nodes of `e`. Returns false if no gradient can pass from an output to an input.
    bool connect(TapeEntry &e, std::span<const Tensor> in, std::span<const Tensor> out) {
        bool any = false, differentiable = false;
        for (const Tensor &t : out)
            differentiable |= is_float(t.dtype());
        if (!differentiable || in_gradient || consumed) return false;
        e.in.reserve(in.size());
        for (const Tensor &t : in)
            any |= e.in.emplace_back(find(t)) >= 0;
        if (!any) return false;
        for (const Tensor &t : out)
            e.out.push_back(is_float(t.dtype()) ? add(t) : -1);
        return true;
    }

    void push(TapeEntry e) {
        for (size_t k = 0; k < e.out.size(); k++) {
            if (e.out[k] >= 0 && (e.kept.empty() || !e.kept[e.in.size() + k].defined()))
                weak.push_back(e.out[k]);
        }
        if (call_listener()) e.part = current_part();
        entries.push_back(std::move(e));
        if (weak.size() >= sweep_at) sweep();
    }

    // Drops handles that nobody else holds. The next sweep comes when the list has doubled, so the
    // cost per recorded tensor is constant.
    void sweep() {
        std::erase_if(weak, [&](int id) {
            Tensor &t = nodes[id].handle;
            if (t.impl()->references.load(std::memory_order_acquire) > 1) return false;
            ids.erase(t.impl());
            t = {};
            return true;
        });
        sweep_at = std::max<size_t>(8, 2 * weak.size());
    }

    void forget() {
        ids.clear();
        weak.clear();
        for (TapeNode &n : nodes)
            n.handle = {};
        consumed = true;
    }

    static void record_method(const Tensor &given, const Tensor &made, const TensorMethod &how);
    // Installs record_method() while this thread has a tape, so that methods cost nothing without
    // one.
    static void set_recorder();
};

}  // namespace halyard
