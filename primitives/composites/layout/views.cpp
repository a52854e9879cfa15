// Dimensions in another order, split or merged: views, and at most one copy.
#include "primitives/composites/composite.h"
#include "primitives/composites/indexing/indexing.h"
#include "primitives/ops/reduce.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace halyard {
namespace {

// The base of ops whose dimension i is x's dimension order(p)[i].
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
        required_at_call("axis0", AttrKind::integer);
        required_at_call("axis1", AttrKind::integer);
        samples = {"d0=2 d1=3 d2=4 axis0=0 axis1=-1", "d0=2 d1=3 d2=4 axis0=1 axis1=1"};
    }
    Shape order(const Problem &p, int rank) const override {
        Shape s;
        for (int d = 0; d < rank; d++)
            s.push_back(d);
        std::swap(s[wrapped(p["axis0"], rank)], s[wrapped(p["axis1"], rank)]);
        return s;
    }
    Result compose(const Call &call) const override {
        const int rank = call[0].rank();
        const int p = normal_axis("swapaxes", call.integer("axis0"), rank);
        const int q = normal_axis("swapaxes", call.integer("axis1"), rank);
        std::vector<int> order(static_cast<size_t>(rank));
        std::iota(order.begin(), order.end(), 0);
        std::swap(order[size_t(p)], order[size_t(q)]);
        return {transposed(call[0], order)};
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
    Result compose(const Call &call) const override {
        const Ints &source = call.ints("source");
        const Ints &destination = call.ints("destination");
        const int rank = call[0].rank();
        if (source.size() != destination.size()) {
            throw AttrError("movedim", "destination has " + std::to_string(destination.size()) +
                                           " values, expected " + std::to_string(source.size()) +
                                           " as source");
        }
        std::vector<int> order(static_cast<size_t>(rank), -1);
        unsigned moved = 0;
        for (size_t k = 0; k < source.size(); k++) {
            const int from = normal_axis("movedim", source[k], rank);
            const int to = normal_axis("movedim", destination[k], rank);
            if (moved >> from & 1)
                throw AttrError("movedim",
                                "source " + std::to_string(source[k]) + " is given twice");
            if (order[size_t(to)] >= 0) {
                throw AttrError("movedim", "destination " + std::to_string(destination[k]) +
                                               " is given twice");
            }
            moved |= 1u << from;
            order[size_t(to)] = from;
        }
        int next = 0;
        for (int &from : order) {
            if (from >= 0) continue;
            while (moved >> next & 1)
                next++;
            from = next++;
        }
        return {transposed(call[0], order)};
    }
};

struct Contiguous : Composite {
    Contiguous()
        : Composite("contiguous", "x[*] -> y[*]",
                    "y = x, its elements in row-major order: a view becomes a tensor of its own, "
                    "another tensor stays as it is") {
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=17"};
    }
    Result compose(const Call &call) const override {
        return {call[0].dense() ? alias_of(call[0]) : dense(call[0])};
    }
    void reference(Problem &p) const override { same_elements(p, p("x").shape); }
};

// Moves blocks of b x b pixels from the channels to the image or back. If `block_first`, the
// position within a block is the slower part of a channel's number (MindSpore's DepthToSpace,
// ONNX's DCR), else the faster one (pixel_shuffle, ONNX's CRD).
struct Blocks : Composite {
    const std::string size;
    const bool to_space, block_first;
    Blocks(const std::string &n, const std::string &doc, const std::string &attr_name, bool spreads,
           bool is_block_first)
        : Composite(n, signature_of(attr_name, spreads), doc), size(attr_name), to_space(spreads),
          block_first(is_block_first) {
        required_at_call(attr_name, AttrKind::integer);
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
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const int64_t b = call.integer(size.c_str());
        if (x.rank() != 4) {
            throw ShapeError(name,
                             "x has rank " + std::to_string(x.rank()) + ", expected 4 (n,c,h,w)");
        }
        if (b < 1 || b > 32767)
            throw AttrError(name, size + " is " + std::to_string(b) + ", expected 1 to 32767");
        return {to_space ? spread(x, b) : gathered(x, b)};
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

private:
    void expect_multiple(const Tensor &x, int d, const char *dim, int64_t of) const {
        if (x.shape()[d] % of) {
            throw ShapeError(name, std::string("x.") + dim + " is " + std::to_string(x.shape()[d]) +
                                       ", expected a multiple of " + std::to_string(of));
        }
    }
    // Returns x with channels as blocks of b x b pixels.
    Tensor spread(const Tensor &x, int64_t b) const {
        expect_multiple(x, 1, "c", b * b);
        const int64_t n = x.size(0);
        const int64_t c = x.size(1) / (b * b);
        const int64_t h = x.size(2);
        const int64_t w = x.size(3);
        const Tensor y = block_first
                             ? transposed(reshaped(x, {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2})
                             : transposed(reshaped(x, {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3});
        return reshaped(y, {n, c, h * b, w * b});
    }
    // Returns x with blocks of b x b pixels as channels.
    Tensor gathered(const Tensor &x, int64_t b) const {
        expect_multiple(x, 2, "h", b);
        expect_multiple(x, 3, "w", b);
        const int64_t n = x.size(0);
        const int64_t c = x.size(1);
        const int64_t h = x.size(2) / b;
        const int64_t w = x.size(3) / b;
        const Tensor pixels = reshaped(x, {n, c, h, b, w, b});
        const Tensor y = transposed(pixels, block_first ? std::vector<int>{0, 3, 5, 1, 2, 4}
                                                        : std::vector<int>{0, 1, 3, 5, 2, 4});
        return reshaped(y, {n, c * b * b, h, w});
    }
};

struct DiagonalPart : Composite {
    DiagonalPart()
        : Composite("diagonal", "x[*] -> y[*]",
                    "y[..., i] = x[..., i, i + offset, ...] along dimensions dim1 and dim2, which "
                    "go last as one") {
        at_call("offset", AttrKind::integer, "0");
        at_call("dim1", AttrKind::integer, "0");
        at_call("dim2", AttrKind::integer, "1");
        samples = {"d0=1 d1=1 d2=1", "d0=3 d1=4 d2=5", "d0=3 d1=4 d2=5 offset=2 dim1=-1 dim2=1",
                   "d0=3 d1=4 d2=17 offset=-2 dim1=1 dim2=2", "d0=3 d1=4 d2=5 offset=7"};
    }
    Result compose(const Call &call) const override {
        const int rank = call[0].rank();
        if (rank < 2) {
            throw ShapeError("diagonal",
                             "x has rank " + std::to_string(rank) + ", expected at least 2");
        }
        const int p = normal_axis("diagonal", call.integer("dim1"), rank);
        const int q = normal_axis("diagonal", call.integer("dim2"), rank);
        if (p == q)
            throw AttrError("diagonal", "dim1 and dim2 are both dimension " + std::to_string(p));
        return {diagonal_of(call[0], {call.integer("offset"), p, q})};
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
    Result compose(const Call &call) const override {
        const int64_t k = call.integer("diagonal");
        if (call[0].rank() == 2) return {diagonal_of(call[0], {k, 0, 1})};
        if (call[0].rank() != 1) {
            throw ShapeError("diag",
                             "x has rank " + std::to_string(call[0].rank()) + ", expected 1 or 2");
        }
        if (k < -INT32_MAX || k > INT32_MAX)
            throw AttrError("diag", "diagonal is " + std::to_string(k) + ", past 2^31-1");
        const int64_t n = call[0].shape()[0] + std::abs(k);
        return {on_diagonal(call[0], {n, n}, {k, 0, 1})};
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
    Result compose(const Call &call) const override {
        if (call[0].rank() != 2) {
            throw ShapeError("trace",
                             "x has rank " + std::to_string(call[0].rank()) + ", expected 2 (r,c)");
        }
        return {F::reduce_sum(diagonal_of(call[0], {0, 0, 1}))};
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
    Result compose(const Call &call) const override {
        const Ints &dims = call.ints("dims");
        if (dims.size() != 2)
            throw AttrError("rot90",
                            "dims has " + std::to_string(dims.size()) + " values, expected 2");
        const int rank = call[0].rank();
        const int p = normal_axis("rot90", dims[0], rank);
        const int q = normal_axis("rot90", dims[1], rank);
        if (p == q) throw AttrError("rot90", "dims are both dimension " + std::to_string(p));
        const int64_t turns = (call.integer("k") % 4 + 4) % 4;
        if (turns == 0) return {alias_of(call[0])};
        if (turns == 2) return {composite::flip(call[0], {p, q})};
        std::vector<int> order(static_cast<size_t>(rank));
        std::iota(order.begin(), order.end(), 0);
        std::swap(order[size_t(p)], order[size_t(q)]);
        return {transposed(composite::flip(call[0], {turns == 1 ? q : p}), order)};
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

HALYARD_COMPOSITES {
    composites.add<SwapAxes>();
    composites.add<MoveDim>();
    composites.add<Contiguous>();
    composites.add<Blocks>(
        "depth_to_space",
        "y[n, c, h b + i, w b + j] = x[n, (i b + j) C + c, h, w], of b = block_size "
        "and y's C channels",
        "block_size", true, true);
    composites.add<Blocks>(
        "space_to_depth",
        "y[n, (i b + j) C + c, h, w] = x[n, c, h b + i, w b + j], of b = block_size "
        "and x's C channels",
        "block_size", false, true);
    composites.add<Blocks>(
        "pixel_shuffle",
        "y[n, c, h r + i, w r + j] = x[n, c r r + i r + j, h, w], of r = upscale_factor",
        "upscale_factor", true, false);
    composites.add<Blocks>(
        "pixel_unshuffle",
        "y[n, c r r + i r + j, h, w] = x[n, c, h r + i, w r + j], of r = downscale_factor",
        "downscale_factor", false, false);
    composites.add<DiagonalPart>();
    composites.add<Diag>();
    composites.add<MatrixTrace>();
    composites.add<Rot90>();
}

}  // namespace halyard
