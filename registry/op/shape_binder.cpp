#include "registry/op/shape_binder.h"

#include <fmt/core.h>

#include <algorithm>

#include "registry/base/text.h"
#include "registry/op/expr_cache.h"
#include "registry/op/names.h"

namespace halyard {
namespace {

void require_rank(const Signature &sig, const TensorSpec &t, int rank) {
    const int own = int(t.extents.size());
    if (t.any_rank || rank == own || (rank > own && !t.group.empty())) return;
    std::string list = join(t.extents, ",");
    if (!t.group.empty()) list = ".." + t.group + (list.empty() ? "" : ",") + list;
    throw ShapeError(sig.op, fmt::format("{} has rank {}, expected {}{} ({})", t.name, rank,
                                         t.group.empty() ? "" : "at least ", own, list));
}

// Returns the names of an expression with their values: " with c=6, groups=4".
std::string values_used(const ParsedExpr &e, const Dims &dims) {
    std::string s;
    for (const std::string &name : e.names()) {
        if (const auto it = dims.find(name); it != dims.end())
            s += (s.empty() ? " with " : ", ") + name + "=" + std::to_string(it->second);
    }
    return s;
}

// Returns the expression of a let, for the let's name; else `e`.
ParsedExpr definition_of(const OpRecord &op, const ParsedExpr &e) {
    const auto let = std::ranges::find(op.lets, e.text(), &LetSpec::name);
    return let == op.lets.end() ? e : ParsedExpr(let->value, op.name);
}

bool has_values(const ParsedExpr &e, const Dims &dims) {
    return std::ranges::all_of(e.names(),
                               [&](const std::string &name) { return dims.count(name) > 0; });
}

}  // namespace

ShapeBinder::ShapeBinder(const OpRecord &op, const Signature &sig, std::span<const Shape> called,
                         Dims &dims)
    : op_(op), sig_(sig), called_(called), dims_(dims) {
    require_input_count(sig, called.size());
    for (size_t k = 0; k < called.size(); k++)
        require_rank(sig, sig.inputs[k], called[k].rank());
}

void ShapeBinder::bind(std::span<const Shape> ordered) {
    for (size_t k = 0; k < ordered.size(); k++)
        broadcast_dimensions(sig_.inputs[k], ordered[k]);
    // The broadcast may be larger than each input.
    checked_elements(sig_.op.c_str(), any_rank_);
    checked_elements(sig_.op.c_str(), group_);
    for (const TensorSpec &t : sig_.inputs)
        if (!t.group.empty()) dims_[t.group] = group_.elements();
    for (size_t k = 0; k < ordered.size(); k++) {
        if (sig_.inputs[k].any_rank) continue;
        bind_derived(op_, dims_);
        bind_extents(k, ordered[k]);
    }
    bind_derived(op_, dims_);
    for (const Deferred &e : deferred_)
        check_extent(e.k, e.got, *parsed(sig_.inputs[e.k].extents[e.d], sig_.op));
}

// Broadcasts the dimensions of [*], or the leading ones of ..n, with those of the inputs before.
void ShapeBinder::broadcast_dimensions(const TensorSpec &t, const Shape &ordered) {
    const char *const op = sig_.op.c_str();
    if (t.any_rank) any_rank_ = broadcast(op, any_rank_, ordered);
    if (t.group.empty()) return;
    try {
        const Shape leading(ordered.begin(), ordered.end() - std::ssize(t.extents));
        group_ = broadcast(op, group_, leading);
    } catch (const ShapeError &e) {
        throw ShapeError(sig_.op, e.detail() + " (.." + t.group + " of " + t.name + ")");
    }
}

void ShapeBinder::bind_extents(size_t k, const Shape &ordered) {
    const TensorSpec &t = sig_.inputs[k];
    const int64_t *const own = ordered.end() - std::ssize(t.extents);
    // Names come first, so that the expressions of an input may use them.
    for (size_t d = 0; d < t.extents.size(); d++) {
        if (!is_name(t.extents[d])) continue;
        const int64_t expected = dims_.emplace(t.extents[d], own[d]).first->second;
        if (own[d] != expected) refuse_extent(k, t.extents[d], own[d], expected);
    }
    for (size_t d = 0; d < t.extents.size(); d++) {
        if (is_name(t.extents[d])) continue;
        const std::shared_ptr<const ParsedExpr> e = parsed(t.extents[d], sig_.op);
        if (has_values(*e, dims_))
            check_extent(k, own[d], *e);
        else
            deferred_.push_back({k, d, own[d]});
    }
}

void ShapeBinder::check_extent(size_t k, int64_t got, const ParsedExpr &e) const {
    const int64_t expected = value_of(sig_.op, e, dims_);
    if (got != expected) refuse_extent(k, e.text(), got, expected);
}

void ShapeBinder::refuse_extent(size_t k, const std::string &extent, int64_t got,
                                int64_t expected) const {
    const std::string &name = sig_.inputs[k].name;
    throw ShapeError(sig_.op,
                     fmt::format("{}.{} is {}, expected {}{} ({} has shape {})", name, extent, got,
                                 expected, source_of(k, extent), name, called_[k].text()));
}

// Returns where the expected value of an extent of input k comes from: " from a[2,3]", the first
// other input that has one of its names, or else " with groups=2".
std::string ShapeBinder::source_of(size_t k, const std::string &extent) const {
    const ParsedExpr e(extent, sig_.op);
    for (size_t other = 0; other < called_.size(); other++) {
        const TensorSpec &t = sig_.inputs[other];
        const bool shares_a_name = std::ranges::any_of(e.names(), [&](const std::string &name) {
            return name == t.group || std::ranges::count(t.extents, name) > 0;
        });
        if (shares_a_name && other != k) return " from " + t.name + called_[other].text();
    }
    return is_name(extent) ? "" : values_used(e, dims_);
}

Shape ShapeBinder::output(size_t k) const {
    const TensorSpec &t = sig_.outputs[k];
    if (t.any_rank) return any_rank_;
    Shape shape = t.group.empty() ? Shape() : group_;
    for (int64_t extent : extents_of(op_, t, t.extents, dims_))
        shape.push_back(extent);
    return shape;
}

void require_input_count(const Signature &sig, size_t count) {
    if (count == sig.inputs.size()) return;
    throw ShapeError(
        sig.op, fmt::format("takes {} tensors ({}), got {}", sig.inputs.size(), sig.text, count));
}

Shape extents_of(const OpRecord &op, const TensorSpec &t, const std::vector<std::string> &extents,
                 const Dims &dims) {
    Shape shape;
    for (const std::string &text : extents) {
        const std::shared_ptr<const ParsedExpr> e = parsed(text, op.name);
        const int64_t extent = value_of(op.name, *e, dims);
        if (extent < 0) {
            check_conditions(op, dims, false);
            throw ShapeError(op.name,
                             fmt::format("{}.{} is {}, expected 0 or more{}", t.name, text, extent,
                                         values_used(definition_of(op, *e), dims)));
        }
        shape.push_back(extent);
    }
    return shape;
}

}  // namespace halyard
