#include "registry/dispatch/call_rows.h"

#include <algorithm>

namespace halyard {
namespace {

// Returns the number of dimensions that a leading ..g stands for.
int group_rank(const TensorSpec &t, const Shape &shape) {
    return t.group.empty() ? 0 : shape.rank() - int(t.extents.size());
}

int first_reduced(const RegisteredOp &op, const Attrs &attrs, const Shape &x) {
    const int axis = attrs.find("axis");
    if (axis < 0) return 0;
    const Ints &axes = attrs.ints(size_t(axis));
    int first = axes.empty() ? 0 : x.rank();
    for (const int64_t a : axes)
        first = std::min(first, normal_axis(op.record.name.c_str(), a, x.rank()));
    return first;
}

// Returns true if the tensor has the dimension that `axis` selects.
bool has_axis(const OpRecord &op, const TensorSpec &t) {
    return !op.axis.empty() && !t.extents.empty() && t.extents.back() == op.axis;
}

int rows_of_reduction(const RegisteredOp &op, const Attrs &attrs, const std::vector<Shape> &in) {
    // x[o,r,i,s], and [o,i] without the reduced dimensions.
    const auto has_rows = [](const TensorSpec &t) {
        return t.extents.size() == 4 || t.extents.size() == 2;
    };
    if (!std::ranges::all_of(op.signature.inputs, has_rows) ||
        !std::ranges::all_of(op.signature.outputs, has_rows))
        return 0;
    for (size_t k = 0; k < in.size(); k++)
        if (op.signature.inputs[k].extents.size() == 4) return first_reduced(op, attrs, in[k]);
    return 0;
}

int rows_of_groups(const RegisteredOp &op, const Attrs &attrs, const std::vector<Shape> &in,
                   const Shape &out) {
    const Signature &s = op.signature;
    const std::string &group = s.outputs[0].group;
    if (group.empty()) return 0;
    for (const TensorSpec &t : s.outputs)
        if (t.group != group) return 0;
    int rows = group_rank(s.outputs[0], out);
    const auto end_at_axis = [&](const TensorSpec &t, const Shape &shape) {
        if (!has_axis(op.record, t)) return;
        const int64_t axis = attrs.integer(size_t(attrs.find("axis")));
        rows = std::min(rows, normal_axis(op.record.name.c_str(), axis, shape.rank()));
    };
    end_at_axis(s.outputs[0], out);
    for (size_t k = 0; k < in.size(); k++) {
        const TensorSpec &t = s.inputs[k];
        if (!t.group.empty() && t.group != group) return 0;
        end_at_axis(t, in[k]);
        // Groups are broadcast; dimensions before an axis in their middle are not aligned then.
        const bool is_aligned = t.group.empty() || op.record.axis.empty() ||
                                group_rank(t, in[k]) == group_rank(s.outputs[0], out);
        if (!is_aligned) return 0;
    }
    return rows;
}

int row_dimensions(const RegisteredOp &op, const Attrs &attrs, const std::vector<Shape> &in,
                   const Shape &out) {
    switch (op.record.form) {
    case Form::elementwise: return out.rank();
    case Form::reduction: return rows_of_reduction(op, attrs, in);
    case Form::plain: return rows_of_groups(op, attrs, in, out);
    case Form::composite: break;
    }
    return 0;
}

}  // namespace

Shape row_extents(const RegisteredOp &op, const Attrs &attrs, const std::vector<Shape> &in,
                  const Shape &out) {
    return {out.begin(), out.begin() + row_dimensions(op, attrs, in, out)};
}

int row_dimension_of_input(const RegisteredOp &op, size_t k, const Shape &in, const Shape &out,
                           int d) {
    const TensorSpec &t = op.signature.inputs[k];
    switch (op.record.form) {
    case Form::elementwise: return std::max(d - (out.rank() - in.rank()), -1);
    case Form::plain: {
        if (t.group.empty()) return -1;
        const int missing = group_rank(op.signature.outputs[0], out) - group_rank(t, in);
        return std::max(d - missing, -1);
    }
    default: return d;
    }
}

}  // namespace halyard
