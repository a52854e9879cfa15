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
    for (int d = extents.rank() - 1; d > 0; d--) {  // inner d, outer d-1
        bool one = !classes || (*classes)[size_t(d)] == (*classes)[size_t(d) - 1];
        for (const Shape &s : strides)
            one = one && s[d - 1] == s[d] * extents[d];
        if (!one) continue;
        extents[d] *= extents[d - 1];
        drop(d - 1);
    }
}

namespace {

// Splits merged dimensions into outer loops and the last `rank`, padded in front with extents of 1.
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

Canonical canonical_elementwise(const OpRecord &op, const Signature &sig,
                                const std::vector<Operand> &in, int kernel_rank) {
    Shape extents;
    for (const Operand &o : in)
        extents = broadcast(op.name.c_str(), extents, o.shape);
    checked_elements(op.name.c_str(), extents);  // each operand was, their broadcast may be larger
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

std::vector<int> reduced_dimensions(const OpRecord &op, const Ints &axes, int rank) {
    std::vector<int> reduced(static_cast<size_t>(rank), axes.empty());
    for (int64_t a : axes) {
        const int d = normal_axis(op.name.c_str(), a, rank);
        if (reduced[size_t(d)])
            throw ShapeError(op.name, "axis " + std::to_string(a) + " is given twice");
        reduced[size_t(d)] = 1;
    }
    return reduced;
}

}  // namespace

std::vector<int> kept_first(const OpRecord &op, const Ints &axes, int rank) {
    const std::vector<int> reduced = reduced_dimensions(op, axes, rank);
    std::vector<int> order;
    for (int klass = 0; klass < 2; klass++) {
        for (int d = 0; d < rank; d++)
            if (reduced[size_t(d)] == klass) order.push_back(d);
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

Canonical canonical_reduction(const OpRecord &op, const Signature &sig,
                              const std::vector<Operand> &in, const Ints &axes, bool keep_dims,
                              const std::vector<int> &order) {
    const Shape x = in[0].shape;
    std::vector<int> reduced = reduced_dimensions(op, axes, x.rank());
    auto is_full = [](const TensorSpec &t) { return t.extents.size() == 4; };
    Shape kept;  // the reduced tensors' shape
    for (int d = 0; d < x.rank(); d++) {
        if (!reduced[size_t(d)])
            kept.push_back(x[d]);
        else if (keep_dims)
            kept.push_back(1);
    }
    Canonical c;
    // Every tensor over the dimensions of x: a reduced tensor doesn't move along what is reduced.
    auto over_x = [&](const Shape &own, bool full) {
        if (full) return own;
        Shape s;
        int at = 0;
        for (int d = 0; d < x.rank(); d++) {
            s.push_back(reduced[size_t(d)] ? 0 : own[at]);
            at += !reduced[size_t(d)] || keep_dims;
        }
        return s;
    };
    std::vector<Shape> strides;
    for (size_t k = 0; k < in.size(); k++) {
        const TensorSpec &t = sig.inputs[k];
        const Shape &expected = is_full(t) ? x : kept;
        if (!(in[k].shape == expected)) {
            throw ShapeError(op.name, t.name + " has shape " + in[k].shape.text() + ", expected " +
                                          expected.text());
        }
        strides.push_back(over_x(in[k].strides, is_full(t)));
    }
    for (const TensorSpec &t : sig.outputs) {
        c.output_shapes.push_back(is_full(t) ? x : kept);
        strides.push_back(over_x(is_full(t) && !order.empty()
                                     ? strides_in_order(x, order)
                                     : dense_strides(c.output_shapes.back()),
                                 is_full(t)));
    }
    Shape extents = x;
    if (!order.empty()) {
        auto reordered = [&](const Shape &s) {
            Shape t;
            for (int d : order)
                t.push_back(s[d]);
            return t;
        };
        extents = reordered(extents);
        for (Shape &s : strides)
            s = reordered(s);
        const std::vector<int> was = reduced;
        for (size_t d = 0; d < order.size(); d++)
            reduced[d] = was[size_t(order[d])];
    }
    merge_dimensions(extents, strides, &reduced);
    // From the inside: s (reduced), i (kept), r (reduced), o (kept); what doesn't fit that pattern
    // is an outer loop or a copy.
    int slot[4] = {-1, -1, -1, -1}, want = 3;  // o r i s
    Shape loops;
    std::vector<int> loop_dims;
    for (int d = extents.rank(); d-- > 0;) {
        const int klass = reduced[size_t(d)];
        while (want >= 0 && (want % 2 == 1) != (klass == 1))
            want--;
        if (want >= 0)
            slot[want--] = d;
        else if (klass == 0) {
            loops.insert(0, extents[d]);
            loop_dims.insert(loop_dims.begin(), d);
        } else {
            c.needs_copies = true;
            return c;
        }
    }
    c.loops = loops;
    for (size_t k = 0; k < strides.size(); k++) {
        const bool output = k >= in.size();
        const bool full = is_full(output ? sig.outputs[k - in.size()] : sig.inputs[k]);
        Layout l;
        for (int d : loop_dims)
            l.outer.push_back(strides[k][d]);
        for (int s = 0; s < 4; s++) {
            if (!full && s % 2 == 1) continue;
            l.shape.push_back(slot[s] < 0 ? 1 : extents[slot[s]]);
            l.strides.push_back(slot[s] < 0 ? 0 : strides[k][slot[s]]);
        }
        (output ? c.outputs : c.inputs).push_back(l);
    }
    return c;
}

}  // namespace halyard
