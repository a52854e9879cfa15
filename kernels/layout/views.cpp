// Dimensions taken in another order, apart or together: views, and at most one copy
// (primitives/composites/views.cpp).
#include "kernels/layout/composite.h"

namespace halyard {
namespace {

// y's dimension i is x's dimension order(p)[i].
struct Reordered : Composite {
    using Composite::Composite;
    virtual Shape order(const Problem &p, int rank) const = 0;

    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const Shape from_axis = order(p, x.rank());
        Shape s;
        for (int64_t d : from_axis)
            s.push_back(x[int(d)]);
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            for (int d = 0; d < x.rank(); d++)
                from[int(from_axis[d])] = index[d];
            return from;
        });
    }
};

struct SwapAxes : Reordered {
    SwapAxes()
        : Reordered("swapaxes", "x[*] -> y[*]", "y = x with dimensions axis0 and axis1 exchanged") {
        at_call("axis0", AttrKind::integer, "!");
        at_call("axis1", AttrKind::integer, "!");
        samples = {"d0=2 d1=3 d2=4 axis0=0 axis1=-1", "d0=2 d1=3 d2=4 axis0=1 axis1=1"};
    }
    Shape order(const Problem &p, int rank) const override {
        Shape s;
        for (int d = 0; d < rank; d++)
            s.push_back(d);
        std::swap(s[wrapped(p["axis0"], rank)], s[wrapped(p["axis1"], rank)]);
        return s;
    }
};

struct MoveDim : Reordered {
    MoveDim()
        : Reordered(
              "movedim", "x[*] -> y[*]",
              "y = x with dimensions source[i] at destination[i]; the others keep their order") {
        alias = "Movedim";
        at_call("source", AttrKind::ints, "");
        at_call("destination", AttrKind::ints, "");
        samples = {"d0=2 d1=3 d2=4 source=0 destination=-1",
                   "d0=2 d1=3 d2=4 source=2,0 destination=0,1", "d0=2 d1=3 d2=4"};
    }
    Shape order(const Problem &p, int rank) const override {
        const Shape source = list(p, "source");
        const Shape destination = list(p, "destination");
        Shape s;
        for (int d = 0, next = 0; d < rank; d++) {
            int from = -1;
            for (int k = 0; k < source.rank(); k++)
                if (wrapped(destination[k], rank) == d) from = wrapped(source[k], rank);
            auto moved = [&](int axis) {
                return std::any_of(source.begin(), source.end(),
                                   [&](int64_t a) { return wrapped(a, rank) == axis; });
            };
            if (from < 0) {
                while (moved(next))
                    next++;
                from = next++;
            }
            s.push_back(from);
        }
        return s;
    }
};

struct Contiguous : Composite {
    Contiguous()
        : Composite("contiguous", "x[*] -> y[*]",
                    "y = x, its elements in row-major order: a view becomes a tensor of its own, "
                    "another tensor stays as it is") {
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=17"};
    }
    void reference(Problem &p) const override { same_elements(p, p("x").shape); }
};

// Blocks of b x b pixels, out of the channels or into them. `block_first`: the place within a block
// is the slower part of a channel's number (MindSpore's DepthToSpace, ONNX's DCR), else the faster
// one (pixel_shuffle, ONNX's CRD).
struct Blocks : Composite {
    const std::string size;
    const bool to_space, block_first;
    Blocks(const std::string &n, const std::string &doc, const std::string &attr_name, bool spreads,
           bool is_block_first)
        : Composite(n, signature_of(attr_name, spreads), doc), size(attr_name), to_space(spreads),
          block_first(is_block_first) {
        at_call(attr_name, AttrKind::integer, "!");
        const std::string b = " " + attr_name + "=";
        if (to_space) {
            samples = {"n=1 c=1 h=1 w=1" + b + "1", "n=2 c=8 h=3 w=5" + b + "2",
                       "n=1 c=18 h=7 w=17" + b + "3"};
        } else {
            samples = {"n=1 c=1 h=1 w=1" + b + "1", "n=2 c=3 h=4 w=6" + b + "2",
                       "n=1 c=2 h=9 w=33" + b + "3"};
        }
    }
    static std::string signature_of(const std::string &b, bool to_space) {
        if (to_space) return "x[n,c,h,w] -> y[n,c/(" + b + "*" + b + "),h*" + b + ",w*" + b + "]";
        return "x[n,c,h,w] -> y[n,c*" + b + "*" + b + ",h/" + b + ",w/" + b + "]";
    }
    void reference(Problem &p) const override {
        const int64_t b = p[size];
        const Shape x = p("x").shape;
        const Shape y = to_space ? Shape{x[0], x[1] / (b * b), x[2] * b, x[3] * b}
                                 : Shape{x[0], x[1] * b * b, x[2] / b, x[3] / b};
        const int64_t channels = to_space ? y[1] : x[1];
        gather(p, y, [&](const Shape &at) -> Shape {
            if (to_space) {
                const int64_t place = at[2] % b * b + at[3] % b;
                return {at[0], block_first ? place * channels + at[1] : at[1] * b * b + place,
                        at[2] / b, at[3] / b};
            }
            const int64_t place = block_first ? at[1] / channels : at[1] % (b * b);
            const int64_t c = block_first ? at[1] % channels : at[1] / (b * b);
            return {at[0], c, at[2] * b + place / b, at[3] * b + place % b};
        });
    }
};

struct Diagonal : Composite {
    Diagonal()
        : Composite("diagonal", "x[*] -> y[*]",
                    "y[..., i] = x[..., i, i + offset, ...] along dimensions dim1 and dim2, which "
                    "go last as one") {
        at_call("offset", AttrKind::integer, "0");
        at_call("dim1", AttrKind::integer, "0");
        at_call("dim2", AttrKind::integer, "1");
        samples = {"d0=1 d1=1 d2=1", "d0=3 d1=4 d2=5", "d0=3 d1=4 d2=5 offset=2 dim1=-1 dim2=1",
                   "d0=3 d1=4 d2=17 offset=-2 dim1=1 dim2=2", "d0=3 d1=4 d2=5 offset=7"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const int a = wrapped(p["dim1"], x.rank());
        const int b = wrapped(p["dim2"], x.rank());
        const int64_t down = std::max<int64_t>(0, -p["offset"]);
        const int64_t right = std::max<int64_t>(0, p["offset"]);
        Shape s;
        for (int d = 0; d < x.rank(); d++)
            if (d != a && d != b) s.push_back(x[d]);
        s.push_back(std::max<int64_t>(0, std::min(x[a] - down, x[b] - right)));
        gather(p, s, [&](const Shape &index) {
            Shape from = x;
            for (int d = 0, k = 0; d < x.rank(); d++) {
                from[d] = d == a   ? index[s.rank() - 1] + down
                          : d == b ? index[s.rank() - 1] + right
                                   : index[k++];
            }
            return from;
        });
    }
};

struct Diag : Composite {
    Diag()
        : Composite("diag", "x[n] -> y[m,m]",
                    "y = the matrix with x on its given diagonal, 0 elsewhere; of a matrix x, that "
                    "diagonal of it") {
        at_call("diagonal", AttrKind::integer, "0");
        let("m", "n+max(diagonal,-diagonal)");
        samples = {"n=1", "n=7", "n=17 diagonal=2", "n=3 diagonal=-4"};
    }
    void reference(Problem &p) const override {
        const int64_t n = p["n"];
        const int64_t k = p["diagonal"];
        const int64_t m = n + std::abs(k);
        Array y({m, m});
        for (int64_t i = 0; i < n; i++)
            y(i + std::max<int64_t>(0, -k), i + std::max<int64_t>(0, k)) = p("x")(i);
        p.tensors["y"] = y;
    }
};

struct MatrixTrace : Composite {
    MatrixTrace() : Composite("trace", "x[r,c] -> y[]", "y = sum x[i, i]") {
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"};
        contract = {Contract::products, 8};
        samples = {"r=1 c=1", "r=7 c=5", "r=31 c=33"};
    }
    void reference(Problem &p) const override {
        double sum = 0, size = 0;
        for (int64_t i = 0; i < std::min(p["r"], p["c"]); i++) {
            sum += p("x")(i, i);
            size += std::fabs(p("x")(i, i));
        }
        p.tensors["y"] = Array({}, sum);
        p.abs_sum["y"] = Array({}, size);
    }
};

struct Rot90 : Composite {
    Rot90()
        : Composite("rot90", "x[*] -> y[*]",
                    "y = x turned k times by 90 degrees, from dimension dims[0] towards dims[1]") {
        at_call("k", AttrKind::integer, "1");
        at_call("dims", AttrKind::ints, "0,1");
        samples = {"d0=2 d1=3 d2=5", "d0=2 d1=3 d2=5 k=2 dims=0,2", "d0=2 d1=3 d2=5 k=-1 dims=-1,0",
                   "d0=2 d1=3 d2=5 k=4"};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        const int a = wrapped(list(p, "dims")[0], x.rank());
        const int b = wrapped(list(p, "dims")[1], x.rank());
        const int64_t turns = (p["k"] % 4 + 4) % 4;
        Shape s = x;
        if (turns % 2) std::swap(s[a], s[b]);
        gather(p, s, [&](const Shape &index) {
            Shape from = index;
            if (turns == 1) {
                from[a] = index[b];
                from[b] = x[b] - 1 - index[a];
            }
            if (turns == 2) {
                from[a] = x[a] - 1 - index[a];
                from[b] = x[b] - 1 - index[b];
            }
            if (turns == 3) {
                from[a] = x[a] - 1 - index[b];
                from[b] = index[a];
            }
            return from;
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<SwapAxes>();
    ops.add<MoveDim>();
    ops.add<Contiguous>();
    ops.add<Blocks>("depth_to_space",
                    "y[n, c, h b + i, w b + j] = x[n, (i b + j) C + c, h, w], of b = block_size "
                    "and y's C channels",
                    "block_size", true, true);
    ops.add<Blocks>("space_to_depth",
                    "y[n, (i b + j) C + c, h, w] = x[n, c, h b + i, w b + j], of b = block_size "
                    "and x's C channels",
                    "block_size", false, true);
    ops.add<Blocks>(
        "pixel_shuffle",
        "y[n, c, h r + i, w r + j] = x[n, c r r + i r + j, h, w], of r = upscale_factor",
        "upscale_factor", true, false);
    ops.add<Blocks>(
        "pixel_unshuffle",
        "y[n, c r r + i r + j, h, w] = x[n, c, h r + i, w r + j], of r = downscale_factor",
        "downscale_factor", false, false);
    ops.add<Diagonal>();
    ops.add<Diag>();
    ops.add<MatrixTrace>();
    ops.add<Rot90>();
}

}  // namespace halyard
