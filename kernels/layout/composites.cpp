// Shapes, views and what is made of one number or another: primitives/composites/composite.cpp.
#include "kernels/layout/composite.h"

namespace halyard {
namespace {

struct Reshape : Composite {
    Reshape()
        : Composite("reshape", "x[*] -> y[*]",
                    "y has x's elements in row-major order; one extent of shape may be -1") {
        at_call("shape", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=4 shape=4,6", "d0=2 d1=3 d2=4 shape=-1",
                   "d0=2 d1=3 d2=4 shape=2,-1,2,1"};
    }
    void reference(Problem &p) const override {
        Shape s = list(p, "shape");
        const int64_t known = s.elements();
        const int64_t n = p("x").shape.elements();
        for (int64_t &e : s)
            if (e == -1) e = -n / known;
        same_elements(p, s);
    }
};

struct Transpose : Composite {
    Transpose()
        : Composite("transpose", "x[*] -> y[*]", "y's dimension i is x's dimension perm[i]") {
        other_names = {"permute"};
        at_call("perm", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=4 perm=0,2,1", "d0=2 d1=3 d2=4 perm=2,0,1",
                   "d0=2 d1=3 d2=4 perm=-1,-2,-3"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        Shape perm = list(p, "perm");
        Shape s = perm;
        for (int d = 0; d < perm.rank(); d++) {
            perm[d] += perm[d] < 0 ? x.rank() : 0;
            s[d] = x[perm[d]];
        }
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            for (int d = 0; d < perm.rank(); d++)
                from[perm[d]] = index[d];
            return from;
        });
    }
};

struct Flatten : Composite {
    Flatten() : Composite("flatten", "x[*] -> y[*]", "dimensions start_dim to end_dim become one") {
        attr("start_dim", 1);
        attr("end_dim", -1);
        samples = {"d0=2 d1=3 d2=4", "d0=2 d1=3 d2=4 start_dim=0 end_dim=1"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const int64_t from = p["start_dim"];
        const int64_t to = p["end_dim"] < 0 ? p["end_dim"] + x.rank() : p["end_dim"];
        Shape s;
        for (int d = 0; d < x.rank(); d++) {
            if (d > from && d <= to)
                s[s.rank() - 1] *= x[d];
            else
                s.push_back(x[d]);
        }
        same_elements(p, s);
    }
};

struct ExpandDims : Composite {
    ExpandDims()
        : Composite("expand_dims", "x[*] -> y[*]", "a dimension of extent 1 before `axis`") {
        at_call("axis", AttrKind::integer, "0");
        samples = {"d0=2 d1=3 d2=4 axis=1", "d0=2 d1=3 d2=4 axis=-1"};
    }
    void reference(Problem &p) const override {
        Shape s = p("x").shape;
        s.insert(int(p["axis"] < 0 ? p["axis"] + s.rank() + 1 : p["axis"]), 1);
        same_elements(p, s);
    }
};

struct Squeeze : Composite {
    Squeeze()
        : Composite("squeeze", "x[*] -> y[*]",
                    "the dimensions of `axis`, or all of extent 1 when it is empty, vanish") {
        attrs.push_back({"axis", AttrKind::ints, "", {}, {}});
        samples = {"d0=1 d1=3 d2=1", "d0=1 d1=3 d2=1 axis=2", "d0=1 d1=3 d2=1 axis=0,-1"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape axes = list(p, "axis");
        Shape s;
        for (int d = 0; d < x.rank(); d++) {
            bool drop = axes.empty() && x[d] == 1;
            for (int64_t a : axes)
                drop |= wrapped(a, x.rank()) == d;
            if (!drop) s.push_back(x[d]);
        }
        same_elements(p, s);
    }
};

struct BroadcastTo : Composite {
    BroadcastTo()
        : Composite("broadcast_to", "x[*] -> y[*]",
                    "x repeated along its extents of 1, and new leading ones; -1 keeps an extent") {
        other_names = {"expand"};
        attrs.push_back({"shape", AttrKind::ints, "!", {}, {}});
        samples = {"d0=2 d1=1 d2=4 shape=2,3,4", "d0=1 d1=3 d2=1 shape=5,2,-1,4"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        Shape s = list(p, "shape");
        const int lead = s.rank() - x.rank();
        for (int d = 0; d < s.rank(); d++)
            s[d] = s[d] == -1 ? x[d - lead] : s[d];
        gather(p, s, [&](const Shape &index) {
            Shape from = x;
            for (int d = 0; d < x.rank(); d++)
                from[d] = x[d] == 1 ? 0 : index[d + lead];
            return from;
        });
    }
};

struct Slice : Composite {
    Slice()
        : Composite("slice", "x[*] -> y[*]",
                    "`size` elements from `begin` on of every dimension; -1: all that follow") {
        at_call("begin", AttrKind::ints, "");
        at_call("size", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=5 begin=0,1,2 size=2,2,3",
                   "d0=2 d1=3 d2=5 begin=1,0,1 size=1,-1,-1"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape begin = list(p, "begin");
        Shape s = list(p, "size");
        for (int d = 0; d < s.rank(); d++)
            s[d] = s[d] == -1 ? x[d] - begin[d] : s[d];
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            for (int d = 0; d < s.rank(); d++)
                from[d] += begin[d];
            return from;
        });
    }
};

struct StridedSlice : Composite {
    StridedSlice()
        : Composite(
              "strided_slice", "x[*] -> y[*]",
              "elements begin, begin + stride, ... before end; negative ones count from the end") {
        at_call("begin", AttrKind::ints, "");
        at_call("end", AttrKind::ints, "");
        at_call("strides", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=7 begin=0,0,1 end=2,3,7 strides=1,2,3",
                   "d0=2 d1=3 d2=7 begin=1,-2,-100 end=2,-1,100"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape step = list(p, "strides");
        Shape begin = list(p, "begin");
        Shape end = list(p, "end");
        Shape s = begin;
        for (int d = 0; d < s.rank(); d++) {
            begin[d] = std::clamp<int64_t>(begin[d] < 0 ? begin[d] + x[d] : begin[d], 0, x[d]);
            end[d] = std::clamp<int64_t>(end[d] < 0 ? end[d] + x[d] : end[d], begin[d], x[d]);
            s[d] = 0;
            for (int64_t i = begin[d]; i < end[d]; i += step.empty() ? 1 : step[d])
                s[d]++;
        }
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            for (int d = 0; d < s.rank(); d++)
                from[d] = begin[d] + index[d] * (step.empty() ? 1 : step[d]);
            return from;
        });
    }
};

// The bias has its own name for the channels: which dimension of x they are depends on data_format.
struct BiasAdd : Composite {
    BiasAdd()
        : Composite("bias_add", "x[*] bias[c] -> y[*]",
                    "y = x + bias, along dimension 1 (NCHW) or the last (NHWC)") {
        choice("data_format", {"NCHW", "NHWC"});
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
        contract = {Contract::elementwise, 0.5};
        samples = {"d0=2 d1=3 d2=4 c=3", "d0=2 d1=3 d2=4 c=4 data_format=NHWC"};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &bias = p("bias");
        Array y(x.shape);
        int64_t inner = 1;
        if (p["data_format"] == 0) {
            for (int d = 2; d < x.shape.rank(); d++)
                inner *= x.shape[d];
        }
        for (int64_t i = 0; i < int64_t(y.v.size()); i++)
            y.v[size_t(i)] = x.v[size_t(i)] + bias.v[size_t(i / inner % bias.shape[0])];
        p.tensors["y"] = y;
    }
};

// One weight per channel, or one for all.
struct PRelu : Composite {
    PRelu()
        : Composite("prelu", "x[*] weight[c] -> y[*]",
                    "y = x where x > 0, else weight x; weight has an element per index of x's "
                    "dimension 1, or one") {
        alias = "PReLU";
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::elementwise, 0.5};
        samples = {"d0=2 d1=3 d2=4 c=3", "d0=2 d1=3 d2=5 c=1", "d0=1 d1=17 d2=31 c=17"};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &weight = p("weight");
        Array y(x.shape);
        int64_t inner = 1;
        for (int d = 2; d < x.shape.rank(); d++)
            inner *= x.shape[d];
        for (int64_t i = 0; i < int64_t(y.v.size()); i++) {
            const double v = x.v[size_t(i)];
            const double w = weight.v[size_t(i / inner % weight.shape[0])];
            y.v[size_t(i)] = v > 0 ? v : w * v;
        }
        p.tensors["y"] = y;
    }
};

struct Like : Composite {
    const double value;
    Like(const std::string &n, double v)
        : Composite(n, "x[*] -> y[*]",
                    v == 0 ? "y = 0, of x's shape and dtype" : "y = 1, of x's shape and dtype"),
          value(v) {
        samples = {"d0=2 d1=3 d2=4"};
    }
    void reference(Problem &p) const override { p.tensors["y"] = Array(p("x").shape, value); }
};

struct Fill : Composite {
    Fill()
        : Composite("fill", "-> y:U[n]", "y = value, of `shape`, which has any rank, and `dtype`") {
        at_call("dtype", AttrKind::dtype, "f32");
        at_call("shape", AttrKind::ints, "");
        at_call("value", AttrKind::real, "0");
        samples = {"shape=2,3 value=1", "shape=4 dtype=i32"};
    }
    void reference(Problem &p) const override {
        p.tensors["y"] = Array(list(p, "shape"), p.real("value"));
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Reshape>();
    ops.add<Transpose>();
    ops.add<Flatten>();
    ops.add<ExpandDims>();
    ops.add<Squeeze>();
    ops.add<BroadcastTo>();
    ops.add<Slice>();
    ops.add<StridedSlice>();
    ops.add<BiasAdd>();
    ops.add<Like>("zeros_like", 0.0);
    ops.add<Like>("ones_like", 1.0);
    ops.add<Fill>();
    ops.add<PRelu>();
}

}  // namespace halyard
