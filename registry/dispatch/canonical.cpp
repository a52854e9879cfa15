#include "registry/dispatch/canonical.h"

namespace halyard {

void merge_dimensions(Shape &extents, std::vector<Shape> &strides, std::vector<int> *classes) {
    auto drop = [&](int d) {
        extents.erase(d);
        for (Shape &s : strides)
            s.erase(d);
        if (classes) classes->erase(classes->begin() + d);
    };
    for (int d = extents.rank(); d-- > 0;)
        if (extents[d] == 1) drop(d);
    for (int d = extents.rank() - 1; d > 0; d--) {
        bool contiguous = !classes || (*classes)[d] == (*classes)[d - 1];
        for (const Shape &s : strides)
            contiguous = contiguous && s[d - 1] == s[d] * extents[d];
        if (!contiguous) continue;
        extents[d] *= extents[d - 1];
        drop(d - 1);
    }
}

namespace {

// Splits merged dimensions into outer loops and the last `rank`, which are padded in front with
// extents of 1.
void split(const Shape &extents, const std::vector<Shape> &strides, int rank, Canonical &c,
           std::vector<Layout> &layouts) {
    const int outer = std::max(0, extents.rank() - rank);
    c.loops = Shape(extents.begin(), extents.begin() + outer);
    for (const Shape &s : strides) {
        Layout l;
        l.outer = Shape(s.begin(), s.begin() + outer);
        for (int pad = extents.rank(); pad < rank; pad++) {
            l.shape.push_back(1);
            l.strides.push_back(0);
        }
        for (int d = outer; d < extents.rank(); d++) {
            l.shape.push_back(extents[d]);
            l.strides.push_back(s[d]);
        }
        layouts.push_back(l);
    }
}

}  // namespace

Canonical canonical_elementwise(const Signature &sig, const std::vector<Operand> &in, Shape extents,
                                int kernel_rank) {
    Canonical c;
    std::vector<Shape> strides;
    for (const Operand &o : in) {
        Shape s;
        const int lead = extents.rank() - o.shape.rank();
        for (int d = 0; d < extents.rank(); d++)
            s.push_back(d < lead || o.shape[d - lead] != extents[d] ? 0 : o.strides[d - lead]);
        strides.push_back(s);
    }
    for (size_t k = 0; k < sig.outputs.size(); k++) {
        c.output_shapes.push_back(extents);
        strides.push_back(dense_strides(extents));
    }
    merge_dimensions(extents, strides);
    std::vector<Layout> layouts;
    split(extents, strides, kernel_rank, c, layouts);
    c.inputs.assign(layouts.begin(), layouts.begin() + long(in.size()));
    c.outputs.assign(layouts.begin() + long(in.size()), layouts.end());
    return c;
}

namespace {

// Returns 1 for each dimension that is reduced, else 0.
std::vector<int> reduced_dimensions(const OpRecord &op, const Ints &axes, int rank) {
    std::vector<int> reduced(static_cast<size_t>(rank), axes.empty());
    for (int64_t a : axes) {
        const int d = normal_axis(op.name.c_str(), a, rank);
        if (reduced[d]) throw ShapeError(op.name, "axis " + std::to_string(a) + " is given twice");
        reduced[d] = 1;
    }
    return reduced;
}

}  // namespace

std::vector<int> kept_first(const OpRecord &op, const Ints &axes, int rank) {
    const std::vector<int> reduced = reduced_dimensions(op, axes, rank);
    std::vector<int> order;
    for (int is_reduced = 0; is_reduced < 2; is_reduced++) {
        for (int d = 0; d < rank; d++)
            if (reduced[d] == is_reduced) order.push_back(d);
    }
    return order;
}

Shape strides_in_order(const Shape &shape, const std::vector<int> &order) {
    Shape s = shape;
    int64_t n = 1;
    for (size_t k = order.size(); k-- > 0;) {
        s[order[k]] = n;
        n *= std::max<int64_t>(1, shape[order[k]]);
    }
    return s;
}

namespace {

bool is_full(const TensorSpec &t) {
    return t.extents.size() == 4;
}
Shape reordered(const Shape &s, const std::vector<int> &order) {
    Shape t;
    for (int d : order)
        t.push_back(s[d]);
    return t;
}

// The tensors of a reduction, over the dimensions of the full ones.
class ReductionSpace {
public:
    ReductionSpace(const OpRecord &op, const Signature &sig, const std::vector<Operand> &in,
                   const Ints &axes, bool keep_dims)
        : op_(op), sig_(sig), in_(in), full_(in[0].shape), keep_dims_(keep_dims),
          reduced_(reduced_dimensions(op, axes, full_.rank())) {
        for (int d = 0; d < full_.rank(); d++) {
            if (!reduced_[d])
                result_.push_back(full_[d]);
            else if (keep_dims)
                result_.push_back(1);
        }
    }

    // Appends the strides of all tensors and the shapes of the outputs.
    void lay_over(const std::vector<int> &order, std::vector<Shape> &strides,
                  std::vector<Shape> &output_shapes) const {
        for (size_t k = 0; k < in_.size(); k++) {
            const TensorSpec &t = sig_.inputs[k];
            const Shape &expected = is_full(t) ? full_ : result_;
            if (!(in_[k].shape == expected)) {
                throw ShapeError(op_.name, t.name + " has shape " + in_[k].shape.text() +
                                               ", expected " + expected.text());
            }
            strides.push_back(is_full(t) ? in_[k].strides : along_full(in_[k].strides));
        }
        for (const TensorSpec &t : sig_.outputs) {
            const bool full = is_full(t);
            output_shapes.push_back(full ? full_ : result_);
            if (full && !order.empty())
                strides.push_back(strides_in_order(full_, order));
            else
                strides.push_back(full ? dense_strides(full_) : along_full(dense_strides(result_)));
        }
    }

    const Shape &full() const { return full_; }
    const std::vector<int> &reduced() const { return reduced_; }

private:
    // Returns a reduced tensor's strides along the full tensor's dimensions: 0 along reduced ones.
    Shape along_full(const Shape &own) const {
        Shape s;
        int at = 0;
        for (int d = 0; d < full_.rank(); d++) {
            s.push_back(reduced_[d] ? 0 : own[at]);
            at += !reduced_[d] || keep_dims_;
        }
        return s;
    }

    const OpRecord &op_;
    const Signature &sig_;
    const std::vector<Operand> &in_;
    const Shape full_;
    const bool keep_dims_;
    const std::vector<int> reduced_;  // 1 for dimensions that are reduced
    Shape result_;                    // the shape of reduced tensors
};

// The merged dimensions that are o, r, i and s of the kernel (-1: none), and those that are outer
// loops.
struct KernelDimensions {
    int slots[4] = {-1, -1, -1, -1};
    std::vector<int> loops;
};

// Assigns merged dimensions from the innermost outward: s (reduced), i (kept), r (reduced), o
// (kept). A kept dimension left over is an outer loop. Returns false if a reduced one is left over.
bool assign_dimensions(const std::vector<int> &reduced, int rank, KernelDimensions &k) {
    int slot = 3;
    for (int d = rank; d-- > 0;) {
        const bool is_reduced = reduced[d] == 1;
        while (slot >= 0 && (slot % 2 == 1) != is_reduced)
            slot--;
        if (slot >= 0)
            k.slots[slot--] = d;
        else if (!is_reduced)
            k.loops.insert(k.loops.begin(), d);
        else
            return false;
    }
    return true;
}

Layout layout_of(const KernelDimensions &k, const Shape &extents, const Shape &strides, bool full) {
    Layout l;
    for (int d : k.loops)
        l.outer.push_back(strides[d]);
    for (int s = 0; s < 4; s++) {
        if (!full && s % 2 == 1) continue;
        const int d = k.slots[s];
        l.shape.push_back(d < 0 ? 1 : extents[d]);
        l.strides.push_back(d < 0 ? 0 : strides[d]);
    }
    return l;
}

}  // namespace

Canonical canonical_reduction(const OpRecord &op, const Signature &sig,
                              const std::vector<Operand> &in, const Ints &axes, bool keep_dims,
                              const std::vector<int> &order) {
    const ReductionSpace space(op, sig, in, axes, keep_dims);
    Canonical c;
    std::vector<Shape> strides;
    space.lay_over(order, strides, c.output_shapes);
    Shape extents = space.full();
    std::vector<int> reduced = space.reduced();
    if (!order.empty()) {
        extents = reordered(extents, order);
        for (Shape &s : strides)
            s = reordered(s, order);
        for (size_t d = 0; d < order.size(); d++)
            reduced[d] = space.reduced()[order[d]];
    }
    merge_dimensions(extents, strides, &reduced);
    KernelDimensions k;
    if (!assign_dimensions(reduced, extents.rank(), k)) {
        c.needs_copies = true;
        return c;
    }
    for (int d : k.loops)
        c.loops.push_back(extents[d]);
    for (size_t t = 0; t < strides.size(); t++) {
        const bool output = t >= in.size();
        const TensorSpec &spec = output ? sig.outputs[t - in.size()] : sig.inputs[t];
        (output ? c.outputs : c.inputs).push_back(layout_of(k, extents, strides[t], is_full(spec)));
    }
    return c;
}

}  // namespace halyard
