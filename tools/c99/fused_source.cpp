#include "tools/c99/fused_source.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "dsl/c99/function.h"
#include "dsl/c99/fused.h"
#include "graph/view.h"
#include "registry/base/error.h"
#include "tools/c99/elements.h"
#include "tools/fixed_call.h"

namespace halyard::c99 {
namespace {

using graph::Graph;
using graph::Node;
using graph::Role;
using graph::View;

std::vector<OperandMeta> metas_of(const Node &n) {
    std::vector<OperandMeta> in;
    for (const View &v : n.in)
        in.push_back({v.dtype, v.shape, v.strides});
    return in;
}

// Returns true if the op's tensors are all of its type variable, and elementwise if that is asked.
bool is_of_one_type(const Signature &sig, bool any_rank) {
    const auto fits = [&](const TensorSpec &t) {
        return t.dtype == "T" && (t.any_rank || !any_rank);
    };
    return sig.outputs.size() == 1 && std::ranges::all_of(sig.inputs, fits) &&
           std::ranges::all_of(sig.outputs, fits);
}

// Returns true if the view has the elements of a step's result in their order, if in another shape.
bool is_all_of(const View &v, const View &result) {
    return v == result ||
           (v.buffer == result.buffer && v.offset == result.offset && v.dtype == result.dtype &&
            is_dense(v) && is_dense(result) && v.shape.elements() == result.shape.elements());
}

// Returns the strides of an operand, which is broadcast to `shape`.
Shape broadcast_strides(const View &v, const Shape &shape) {
    Shape strides = shape;
    const int missing = shape.rank() - v.shape.rank();
    for (int d = 0; d < shape.rank(); d++) {
        const bool has = d >= missing && v.shape[d - missing] > 1;
        strides[d] = has ? v.strides[d - missing] : 0;
    }
    return strides;
}

// Returns a tensor's layout over dimensions that merge neighbours of its own; none if it has no one
// stride for them.
std::optional<FixedCall::Layout> layout_over(const FixedCall::Layout &dims, const Shape &shape,
                                             const Shape &strides) {
    FixedCall::Layout layout;
    int d = shape.rank() - 1;
    for (const FixedCall::Dim &merged : dims) {
        int64_t extent = 1, stride = 0;
        while (d >= 0 && (shape[d] == 1 || extent < merged.extent)) {
            if (shape[d] > 1) {
                if (extent > 1 && strides[d] != stride * extent) return std::nullopt;
                if (extent == 1) stride = strides[d];
                extent *= shape[d];
            }
            d--;
        }
        if (extent != merged.extent) return std::nullopt;
        layout.push_back({merged.extent, int(stride)});
    }
    return d < 0 ? std::optional(layout) : std::nullopt;
}

// Returns the first step; none if its function can't have others in it.
std::optional<FusedStep> first_step(const Node &n) {
    if (!is_of_one_type(n.op->signature, false)) return std::nullopt;
    const Plan plan = plan_of(*n.op, metas_of(n), *n.attrs);
    FusedStep step{op_table().make(n.op->record.name), fixed_call_of(plan),
                   reals_of(plan, *n.attrs), std::vector<bool>(n.in.size())};
    if (!step.op || is_wrapped(plan) || !FixedCall::is_dense(step.call.outputs[0]))
        return std::nullopt;
    return step;
}

// The variant of a pool that reads each element of its operand once, at a place that the loops
// alone decide.
constexpr const char *pool_of_windows = "pool2x2";

// Returns true if the op has that variant: it may be a pool that can join its operand.
bool is_pool(const OpRecord &op) {
    return std::ranges::any_of(op.variants,
                               [](const VariantSpec &v) { return v.name == pool_of_windows; });
}

// Returns the step of a pool of `result`, which has these dimensions; none for other windows.
std::optional<FusedStep> pool_step(const Node &n, const View &result,
                                   const FixedCall::Layout &dims) {
    if (n.in.size() != 1 || !is_all_of(n.in[0], result) || !is_of_one_type(n.op->signature, false))
        return std::nullopt;
    const Plan plan = plan_of(*n.op, metas_of(n), *n.attrs);
    const auto windows = std::ranges::find_if(
        n.op->record.variants, [](const VariantSpec &v) { return v.name == pool_of_windows; });
    if (is_wrapped(plan) || !holds(windows->when, plan.dims)) return std::nullopt;
    FusedStep step{op_table().make(n.op->record.name),
                   fixed_call_of(plan),
                   reals_of(plan, *n.attrs),
                   {true},
                   pool_of_windows};
    const auto equal = [](const FixedCall::Dim &a, const FixedCall::Dim &b) {
        return a.extent == b.extent && (a.extent == 1 || a.stride == b.stride);
    };
    if (!step.op || !std::ranges::equal(step.call.inputs[0], dims, equal)) return std::nullopt;
    return FixedCall::is_dense(step.call.outputs[0]) ? std::optional(std::move(step))
                                                     : std::nullopt;
}

// Returns the step of a node that takes `result`, the step's before, over its dimensions. None if
// it isn't computed by one function with that.
std::optional<FusedStep> next_step(const Node &n, const View &result,
                                   const FixedCall::Layout &dims) {
    if (is_pool(n.op->record)) return pool_step(n, result, dims);
    if (n.op->record.form != Form::elementwise || !is_of_one_type(n.op->signature, true))
        return std::nullopt;
    const Shape &shape = n.out[0].shape;
    if (shape.elements() != result.shape.elements()) return std::nullopt;
    const Plan plan = plan_of(*n.op, metas_of(n), *n.attrs);
    FusedStep step{
        op_table().make(n.op->record.name), fixed_call_of(plan), reals_of(plan, *n.attrs), {}};
    if (!step.op) return std::nullopt;
    step.call.inputs.clear();
    step.call.outputs = {dims};
    for (const View &v : n.in) {
        const bool takes_result = is_all_of(v, result);
        step.takes_result.push_back(takes_result);
        const auto layout = takes_result ? std::optional(dims)
                                         : layout_over(dims, shape, broadcast_strides(v, shape));
        if (!layout) return std::nullopt;
        step.call.inputs.push_back(*layout);
    }
    return step;
}

// Returns the steps of a fused node; none if the calls aren't one function.
std::optional<std::vector<FusedStep>> steps_of(const std::vector<Node> &parts) {
    std::vector<FusedStep> steps;
    std::optional<FusedStep> first = first_step(parts[0]);
    if (!first) return std::nullopt;
    steps.push_back(std::move(*first));
    for (size_t k = 1; k < parts.size(); k++) {
        std::optional<FusedStep> next = next_step(parts[k], parts[k - 1].out[0],
                                                  steps.back().call.outputs[0]);
        if (!next) return std::nullopt;
        steps.push_back(std::move(*next));
    }
    return steps;
}

bool reads(const Node &n, int buffer) {
    return std::ranges::any_of(n.in, [&](const View &v) { return v.buffer == buffer; });
}
bool writes(const Node &n, int buffer) {
    return std::ranges::any_of(n.out, [&](const View &v) { return v.buffer == buffer; });
}

class Fuser {
public:
    explicit Fuser(Graph graph) : graph_(std::move(graph)), uses_(graph_.buffers.size()) {
        for (const Node &n : graph_.nodes) {
            for (const std::vector<View> *views : {&n.in, &n.out})
                for (const View &v : *views)
                    if (v.buffer >= 0) uses_[size_t(v.buffer)]++;
        }
        for (const View &v : graph_.outputs)
            if (v.buffer >= 0) uses_[size_t(v.buffer)]++;
    }

    FusedGraph run() {
        for (const Node &n : graph_.nodes) {
            const std::optional<size_t> producer = producer_of(n);
            std::vector<Node> group{n};
            if (producer) {
                group = groups_[*producer];
                group.push_back(n);
                groups_.erase(groups_.begin() + std::ptrdiff_t(*producer));
            }
            groups_.push_back(std::move(group));
        }
        FusedGraph fused{std::move(graph_), groups_};
        fused.graph.nodes.clear();
        for (const std::vector<Node> &group : groups_)
            fused.graph.nodes.push_back(whole(group));
        graph::find_lifetimes(fused.graph);
        return fused;
    }

private:
    Graph graph_;
    std::vector<int> uses_;  // by buffer
    std::vector<std::vector<Node>> groups_;

    // Returns the last group that can compute the node too.
    std::optional<size_t> producer_of(const Node &n) const {
        if (n.kind != Node::Kind::call) return std::nullopt;
        if (n.op->record.form != Form::elementwise && !is_pool(n.op->record)) return std::nullopt;
        for (size_t k = groups_.size(); k-- > 0;)
            if (can_join(n, k)) return k;
        return std::nullopt;
    }

    bool can_join(const Node &n, size_t at) const {
        const std::vector<Node> &group = groups_[at];
        if (group.back().kind != Node::Kind::call || group.back().out.size() != 1) return false;
        const View &result = group.back().out[0];
        const auto taken = std::ranges::count_if(
            n.in, [&](const View &v) { return is_all_of(v, result); });
        const bool is_its_own = uses_[size_t(result.buffer)] == taken + 1 &&
                                graph_.buffers[size_t(result.buffer)].role == Role::temporary;
        if (taken == 0 || !is_its_own || is_disturbed(group, n, at)) return false;
        const bool is_float = result.dtype == DType::f32 || result.dtype == DType::f64;
        if (!is_float || n.out.size() != 1) return false;
        std::vector<Node> all = group;
        all.push_back(n);
        return steps_of(all).has_value();
    }

    // Returns true if the group can't be computed where the node is, because its operands have
    // other values there, or where the node writes.
    bool is_disturbed(const std::vector<Node> &group, const Node &n, size_t at) const {
        for (const Node &part : group) {
            for (const View &v : part.in) {
                if (writes(n, v.buffer)) return true;
                for (size_t k = at + 1; k < groups_.size(); k++)
                    for (const Node &between : groups_[k])
                        if (writes(between, v.buffer)) return true;
            }
        }
        return reads(n, n.out[0].buffer);
    }

    static Node whole(const std::vector<Node> &group) {
        Node n = group[0];
        for (size_t k = 1; k < group.size(); k++) {
            for (const View &v : group[k].in)
                if (!is_all_of(v, group[k - 1].out[0])) n.in.push_back(v);
            n.name += "_" + group[k].name;
        }
        n.out = group.back().out;
        return n;
    }
};

}  // namespace

FusedGraph fused(Graph graph) {
    return Fuser(std::move(graph)).run();
}

FusedGraph not_fused(Graph graph) {
    FusedGraph g{std::move(graph), {}};
    for (const Node &n : g.graph.nodes)
        g.parts.push_back({n});
    return g;
}

CallSource source_of(const std::vector<Node> &parts, const std::string &name, int64_t arena_begin,
                     int lanes) {
    std::optional<std::vector<FusedStep>> steps = steps_of(parts);
    if (!steps) throw DispatchError(parts[0].name, "no C99 function: its steps aren't one");
    Instance i;
    i.backend = "c99";
    i.dtypes = halyard::name_of(parts[0].out[0].dtype);
    FixedCall whole = fixed_call_of(*steps);
    whole.lanes = lanes;
    i.call = std::make_shared<FixedCall>(std::move(whole));
    Kernel kernel(fused_op(std::move(*steps)), i);
    const Function f = function_of(kernel, name, {}, arena_begin);
    CallSource call;
    call.name = name;
    call.arena_bytes = f.arena_bytes;
    call.helpers = f.helpers;
    call.text = "void " + name + f.parameters + f.body;
    return call;
}

}  // namespace halyard::c99
