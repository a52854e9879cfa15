// Ops that move elements by lists of places: primitives/composites/indexing.cpp states them in
// terms of gather_kernel.
#include "kernels/layout/composite.h"

namespace halyard {
namespace {

// What x[*] says of indices: their shape takes the place of x's axis.
struct GatherAxis : Composite {
    GatherAxis()
        : Composite("gather", "x[*] indices:i32[*] -> y[*]",
                    "y = x's elements at indices along axis; negative ones count from the end") {
        at_call("axis", AttrKind::integer, "0");
        let("indices_end", "d0");
        samples = {"d0=2 d1=3 d2=5", "d0=2 d1=3 d2=5 axis=1", "d0=2 d1=3 d2=5 axis=-1"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape at = p("indices").shape;
        const int axis = wrapped(p["axis"], x.rank());
        Shape s;
        for (int d = 0; d < axis; d++)
            s.push_back(x[d]);
        for (int d = 0; d < at.rank(); d++)
            s.push_back(at[d]);
        for (int d = axis + 1; d < x.rank(); d++)
            s.push_back(x[d]);
        gather(p, s, [&](const Shape &index) {
            Shape from;
            int64_t place = 0;
            for (int d = 0; d < axis; d++)
                from.push_back(index[d]);
            for (int d = 0; d < at.rank(); d++)
                place = place * at[d] + index[axis + d];
            from.push_back(wrapped(int64_t(p("indices").v[size_t(place)]), x[axis]));
            for (int d = axis + 1; d < x.rank(); d++)
                from.push_back(index[d + at.rank() - 1]);
            return from;
        });
    }
};

struct IndexSelect : Composite {
    IndexSelect()
        : Composite("index_select", "x[*] index:i32[m] -> y[*]",
                    "y = x's elements at index along axis; negative ones count from the end") {
        at_call("axis", AttrKind::integer, "0");
        let("index_end", "d0");
        samples = {"d0=2 d1=3 d2=5 m=4", "d0=2 d1=3 d2=5 m=7 axis=-2"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const int axis = wrapped(p["axis"], x.rank());
        Shape s = x;
        s[axis] = p("index").shape[0];
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            from[axis] = wrapped(int64_t(p("index").v[size_t(index[axis])]), x[axis]);
            return from;
        });
    }
};

struct Embedding : Composite {
    Embedding()
        : Composite("embedding", "indices:i32[*] weight[v,d] -> y[*]",
                    "y = weight's rows at indices; negative ones count from the end") {
        let("indices_end", "v");
        samples = {"d0=2 d1=3 d2=5 v=7 d=4", "d0=1 d1=1 d2=1 v=1 d=1"};
    }
    void reference(Problem &p) const override {
        Shape s = p("indices").shape;
        s.push_back(p["d"]);
        Array y(s);
        for (size_t i = 0; i < y.v.size(); i++) {
            const int64_t row = wrapped(int64_t(p("indices").v[i / size_t(p["d"])]), p["v"]);
            y.v[i] = p("weight")(row, int64_t(i) % p["d"]);
        }
        p.tensors["y"] = y;
    }
};

struct Flip : Composite {
    Flip() : Composite("flip", "x[*] -> y[*]", "y = x with the axes `dims` reversed") {
        at_call("dims", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=5 dims=0,2", "d0=2 d1=3 d2=5 dims=-2"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape dims = list(p, "dims");
        gather(p, x, [&](const Shape &index) {
            Shape from = index;
            for (int64_t d : dims) {
                from[wrapped(d, x.rank())] = x[wrapped(d, x.rank())] - 1 -
                                             index[wrapped(d, x.rank())];
            }
            return from;
        });
    }
};

struct Roll : Composite {
    Roll()
        : Composite("roll", "x[*] -> y[*]",
                    "y = x moved by `shifts` along `dims`; what leaves at the end comes in at the "
                    "start") {
        at_call("shifts", AttrKind::ints, "");
        at_call("dims", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=5 shifts=1,-7 dims=0,2", "d0=2 d1=3 d2=5 shifts=2 dims=-2"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape shifts = list(p, "shifts");
        const Shape dims = list(p, "dims");
        gather(p, x, [&](const Shape &index) {
            Shape from = index;
            for (int k = 0; k < dims.rank(); k++) {
                const int d = wrapped(dims[k], x.rank());
                from[d] = ((from[d] - shifts[k]) % x[d] + x[d]) % x[d];
            }
            return from;
        });
    }
};

struct Tile : Composite {
    Tile()
        : Composite("tile", "x[*] -> y[*]",
                    "y = x put side by side, multiples[d] times along axis d; more multiples than "
                    "axes add axes in front") {
        at_call("multiples", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=5 multiples=1,2,3", "d0=2 d1=1 d2=3 multiples=2,1,1,2"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape multiples = list(p, "multiples");
        const int lead = multiples.rank() - x.rank();
        Shape s = multiples;
        for (int d = 0; d < x.rank(); d++)
            s[d + lead] *= x[d];
        gather(p, s, [&](const Shape &index) {
            Shape from = x;
            for (int d = 0; d < x.rank(); d++)
                from[d] = index[d + lead] % x[d];
            return from;
        });
    }
};

struct RepeatInterleave : Composite {
    RepeatInterleave()
        : Composite("repeat_interleave", "x[*] -> y[*]",
                    "y = every element of x `repeats` times in a row along axis") {
        at_call("repeats", AttrKind::integer, "!");
        at_call("axis", AttrKind::integer, "0");
        samples = {"d0=2 d1=3 d2=5 repeats=3 axis=1", "d0=2 d1=3 d2=5 repeats=2 axis=-1"};
    }
    void reference(Problem &p) const override {
        Shape s = p("x").shape;
        const int axis = wrapped(p["axis"], s.rank());
        s[axis] *= p["repeats"];
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            from[axis] /= p["repeats"];
            return from;
        });
    }
};

// Pairs from the last axis on, as in MindSpore and PyTorch.
struct Pad : Composite {
    Pad()
        : Composite("pad", "x[*] -> y[*]",
                    "y = x with padding[0] elements before and padding[1] after along the last "
                    "axis, padding[2], [3] along the one before it, ...") {
        at_call("padding", AttrKind::ints, "");
        attrs.push_back({"mode",
                         AttrKind::choice,
                         "constant",
                         {"constant", "reflect", "replicate", "circular", "symmetric"},
                         {},
                         true});
        at_call("value", AttrKind::real, "0");
        samples = {"d0=2 d1=3 d2=5 padding=1,2",
                   "d0=2 d1=3 d2=5 padding=2,4,1,0 mode=reflect",
                   "d0=2 d1=3 d2=5 padding=0,3,2,1 mode=replicate",
                   "d0=2 d1=3 d2=5 padding=5,1 mode=circular",
                   "d0=2 d1=3 d2=5 padding=5,2,1,3 mode=symmetric",
                   "d0=2 d1=3 d2=5 padding=1,0,0,2,1,1 value=1"};
    }
    void reference(Problem &p) const override {
        const Array x = p("x");
        const Shape padding = list(p, "padding");
        const int rank = x.shape.rank();
        Shape s = x.shape;
        for (int k = 0; 2 * k < padding.rank(); k++)
            s[rank - 1 - k] += padding[2 * k] + padding[2 * k + 1];
        Array y(s, p.real("value"));
        Shape index(s);
        for (int64_t e = 0; e < int64_t(y.v.size()); e++) {
            int64_t rest = e;
            int64_t at = 0;
            for (int d = rank; d-- > 0;) {
                index[d] = rest % s[d];
                rest /= s[d];
            }
            bool inside = true;
            for (int d = 0; d < rank; d++) {
                const int k = rank - 1 - d;
                const int64_t n = x.shape[d];
                const int64_t i = index[d] - (2 * k < padding.rank() ? padding[2 * k] : 0);
                const int64_t mirrored = i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
                const int64_t repeated = i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
                const int64_t from[] = {i, mirrored, std::clamp<int64_t>(i, 0, n - 1),
                                        (i % n + n) % n, repeated};
                const int64_t place = from[p["mode"]];
                inside &= place >= 0 && place < n;
                at = at * n + place;
            }
            if (inside) y.v[size_t(e)] = x.v[size_t(at)];
        }
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<GatherAxis>();
    ops.add<IndexSelect>();
    ops.add<Embedding>();
    ops.add<Flip>();
    ops.add<Roll>();
    ops.add<Tile>();
    ops.add<RepeatInterleave>();
    ops.add<Pad>();
}

}  // namespace halyard
