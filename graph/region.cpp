#include "graph/region.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "graph/uses.h"
#include "graph/view.h"
#include "registry/base/text.h"
#include "registry/dispatch/plan.h"

namespace halyard::graph {
namespace {

constexpr size_t most_calls = 24;    // of a region
constexpr size_t most_tensors = 12;  // that its kernel reads and writes
constexpr size_t most_numbers = Plan::max_arguments;

// Returns true if the op's only attributes are real numbers that its kernel takes, so that the
// kernel of a region takes them, too.
bool takes_numbers_only(const OpRecord &op) {
    if (op.attrs.size() != op.scalars.size()) return false;
    for (size_t k = 0; k < op.attrs.size(); k++) {
        const ScalarSpec &s = op.scalars[k];
        if (!s.real || s.name != op.attrs[k].name || s.value != s.name) return false;
    }
    return op.lets.empty() && op.conditions.empty();
}

// Finds the regions of one graph.
class Finder {
public:
    explicit Finder(const Graph &graph) : g_(graph), uses_(graph) {}

    std::vector<Region> find() {
        for (size_t k = 0; k < g_.nodes.size(); k++) {
            if (!is_candidate(g_.nodes[k])) continue;
            if (unfusible_reason(*g_.nodes[k].op).empty())
                add(k);
            else
                add_reduction(k);
        }
        std::vector<Region> regions;
        for (const std::vector<size_t> &nodes : groups_)
            if (nodes.size() > 1) regions.push_back(region_of(nodes));
        return regions;
    }

private:
    // Returns true for a call that may be part of a region.
    bool is_candidate(const Node &n) const {
        if (n.kind != Node::Kind::call || n.draw >= 0 || n.out.size() != 1) return false;
        if (!unfusible_reason(*n.op).empty() && !may_end_region(*n.op)) return false;
        const View &out = n.out[0];
        const Buffer &b = g_.buffers[size_t(out.buffer)];
        const bool is_own = is_of_run(b) && uses_.writers[size_t(out.buffer)].size() == 1;
        return is_own && is_whole(out, b) && b.bytes > 0 && is_float(out.dtype) &&
               std::ranges::all_of(n.in, [](const View &v) { return is_dense(v); });
    }

    // Adds a call to the groups of calls that compute what it reads, or begins a group.
    void add(size_t node) {
        std::vector<size_t> group{node};
        for (const View &v : g_.nodes[node].in) {
            const std::vector<size_t> &writers = uses_.writers[size_t(v.buffer)];
            if (writers.size() != 1 || !group_of_.count(writers[0])) continue;
            const size_t producer = group_of_.at(writers[0]);
            if (!(g_.nodes[writers[0]].out[0] == v) || !(v.shape == g_.nodes[node].out[0].shape))
                continue;
            std::vector<size_t> joined;
            std::ranges::set_union(group, groups_[producer], std::back_inserter(joined));
            if (joined.size() == group.size() || !is_region(joined)) continue;
            group = std::move(joined);
        }
        for (const size_t k : group)
            if (group_of_.count(k)) groups_[group_of_.at(k)].clear();
        for (const size_t k : group)
            group_of_[k] = groups_.size();
        groups_.push_back(std::move(group));
    }

    // Adds a reduction to the group of calls that compute what it reduces, if nobody else reads
    // their results, and what they read has as many elements.
    void add_reduction(size_t node) {
        const View &x = g_.nodes[node].in[0];
        const std::vector<size_t> &writers = uses_.writers[size_t(x.buffer)];
        if (writers.size() != 1 || !group_of_.count(writers[0])) return;
        std::vector<size_t> &group = groups_[group_of_.at(writers[0])];
        std::vector<size_t> joined = group;
        joined.push_back(node);
        if (!(g_.nodes[writers[0]].out[0] == x) || !is_region(joined)) return;
        const Region r = region_of(joined);
        const auto is_whole = [&](const View &v) { return v.shape == x.shape; };
        if (r.outputs.size() == 1 && std::ranges::all_of(r.in, is_whole)) {
            group.clear();
            groups_.push_back(std::move(joined));  // which grows no more: group_of_ lacks it
        }
    }

    static bool contains(const std::vector<size_t> &nodes, size_t node) {
        return std::ranges::binary_search(nodes, node);
    }

    // Returns true if the calls can run together in the last one's place, and one kernel takes
    // their tensors.
    bool is_region(const std::vector<size_t> &nodes) const {
        const size_t last = nodes.back();
        if (nodes.size() > most_calls) return false;
        for (const size_t k : nodes) {
            // Readers in the group take the result as it is written, others come after it.
            for (const size_t reader : uses_.readers[size_t(g_.nodes[k].out[0].buffer)]) {
                const bool is_inside = contains(nodes, reader);
                if (is_inside ? !reads_whole(reader, g_.nodes[k].out[0]) : reader < last)
                    return false;
            }
            for (const View &v : g_.nodes[k].in)
                if (is_written_between(g_, v.buffer, k, last)) return false;
        }
        const Region r = region_of(nodes);
        return r.in.size() + r.out.size() <= most_tensors && r.numbers.size() <= most_numbers;
    }

    bool reads_whole(size_t reader, const View &written) const {
        return std::ranges::all_of(g_.nodes[reader].in, [&](const View &v) {
            return v.buffer != written.buffer || v == written;
        });
    }

    Region region_of(const std::vector<size_t> &nodes) const {
        Region r;
        r.nodes = nodes;
        std::map<int, std::string> results;  // of the group, by buffer
        const auto input = [&](const View &v) {
            const auto place = std::ranges::find(r.in, v);
            const auto k = size_t(place - r.in.begin());
            if (place == r.in.end()) r.in.push_back(v);
            return "i" + std::to_string(k);
        };
        for (const size_t k : nodes) {
            const Node &n = g_.nodes[k];
            std::vector<std::string> arguments;
            for (const View &v : n.in) {
                const auto inner = results.find(v.buffer);
                arguments.push_back(inner == results.end() ? input(v) : inner->second);
            }
            const std::string result = "t" + std::to_string(results.size());
            r.body += (r.body.empty() ? "" : "; ") + result + " = " + n.name + "(" +
                      join(arguments) + ")";
            if (n.op->record.form == Form::elementwise) {
                for (size_t a = 0; a < n.attrs->op().attrs.size(); a++)
                    r.numbers.push_back(n.attrs->real(a));
            } else {
                r.body += " " + n.attrs->text();
            }
            results[n.out[0].buffer] = result;
            if (!is_read_outside(n.out[0].buffer, nodes)) continue;
            r.out.push_back(n.out[0]);
            r.outputs.push_back(result);
        }
        return r;
    }

    bool is_read_outside(int buffer, const std::vector<size_t> &nodes) const {
        return std::ranges::any_of(uses_.readers[size_t(buffer)],
                                   [&](size_t reader) { return !contains(nodes, reader); });
    }

    const Graph &g_;
    const Uses uses_;
    std::vector<std::vector<size_t>> groups_;
    std::map<size_t, size_t> group_of_;  // by node
};

// Returns the call of a region's kernel.
Node call_of(const Graph &graph, const Fused &f) {
    const Region &r = *f.region;
    const Node &last = graph.nodes[r.nodes.back()];
    Node n;
    n.op = f.op;
    const bool has_reduction = last.op->record.form != Form::elementwise;
    if (has_reduction)
        n.attrs.emplace(f.op->record, last.op->record, *last.attrs);
    else
        n.attrs.emplace(f.op->record);
    n.name = f.op->record.name;
    n.in = r.in;
    n.out = r.out;
    n.part = last.part + " " + r.body;
    for (size_t k = 0; k < r.numbers.size(); k++)
        n.attrs->set(k, r.numbers[k]);
    size_t first_attribute = 0;  // of the member
    for (const size_t member : r.nodes) {
        for (NumberPlace place : graph.nodes[member].numbers) {
            place.attribute += first_attribute;
            n.numbers.push_back(place);
        }
        first_attribute += graph.nodes[member].attrs->op().attrs.size();
    }
    return n;
}

}  // namespace

std::string unfusible_reason(const RegisteredOp &op) {
    const auto is_t = [](const TensorSpec &t) { return t.dtype == "T"; };
    if (op.record.form != Form::elementwise) return "isn't elementwise";
    if (op.signature.outputs.size() != 1) return "has several outputs";
    if (!std::ranges::all_of(op.signature.inputs, is_t) || !is_t(op.signature.outputs[0]))
        return "has tensors of several dtypes: " + op.record.signature;
    return takes_numbers_only(op.record) ? "" : "has attributes other than real numbers";
}

bool may_end_region(const RegisteredOp &op) {
    const auto is_t = [](const TensorSpec &t) { return t.dtype == "T"; };
    return op.record.form == Form::reduction && op.signature.inputs.size() == 1 &&
           op.signature.outputs.size() == 1 && is_t(op.signature.inputs[0]) &&
           is_t(op.signature.outputs[0]);
}

void end_with(OpRecord &chain, const OpRecord &reduction) {
    chain.form = reduction.form;
    chain.lets = reduction.lets;
    chain.conditions = reduction.conditions;
    chain.axis = reduction.axis;
    chain.any_strides = false;  // the reduction's schedule looks at the strides of one input only
}

std::string Region::text() const {
    std::string text = body + " ->";
    for (const std::string &output : outputs)
        text += " " + output;
    for (const View &v : in)
        text += std::string(" ") + name_of(v.dtype) + v.shape.text();
    return text;
}

std::vector<Region> find_regions(const Graph &graph) {
    return Finder(graph).find();
}

Graph with_fused(const Graph &graph, const std::vector<Fused> &fused) {
    std::map<size_t, std::optional<Node>> replaced;  // the fused call in the last one's place
    for (const Fused &f : fused) {
        for (const size_t k : f.region->nodes)
            replaced[k] = std::nullopt;
        replaced[f.region->nodes.back()] = call_of(graph, f);
    }
    Graph made = graph;
    made.nodes.clear();
    for (size_t k = 0; k < graph.nodes.size(); k++) {
        const auto found = replaced.find(k);
        if (found == replaced.end())
            made.nodes.push_back(graph.nodes[k]);
        else if (found->second)
            made.nodes.push_back(std::move(*found->second));
    }
    find_lifetimes(made);
    return made;
}

}  // namespace halyard::graph
