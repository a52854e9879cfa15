// The layouts of Ascend's cube unit, whose blocks have 16 channels (Ascend C's reference, "data
// formats"): NC1HWC0 of feature maps and FRACTAL_Z of filters. Lowered convolutions don't need
// them: they convert what they read (dsl/ascend/convolution/convolution.h).
#include "primitives/composites/composite.h"
#include "primitives/composites/indexing/indexing.h"

namespace halyard {
namespace {

constexpr int64_t block = 16;  // Channels of a block.

int64_t blocks(int64_t n) {
    return n / block + (n % block != 0);
}

int64_t missing(int64_t n) {
    return blocks(n) * block - n;
}

void expect_rank(const char *op, const Tensor &x, int rank, const char *names) {
    if (x.rank() != rank) {
        throw ShapeError(op, "x has rank " + std::to_string(x.rank()) + ", expected " +
                                 std::to_string(rank) + " (" + names + ")");
    }
}

struct ToBlocks : Composite {
    ToBlocks()
        : Composite("nchw_to_nc1hwc0", "x[n,c,h,w] -> y[n,cdiv(c,16),h,w,16]",
                    "y[n, i, h, w, k] = x[n, 16 i + k, h, w], 0 past the last channel") {
        samples = {"n=1 c=1 h=1 w=1", "n=2 c=17 h=3 w=5", "n=1 c=15 h=7 w=2", "n=3 c=32 h=1 w=17"};
    }
    Result compose(const Call &call) const override {
        expect_rank("nchw_to_nc1hwc0", call[0], 4, "n,c,h,w");
        const Shape s = call[0].shape();
        const Tensor whole = composite::pad(call[0], {0, 0, 0, 0, 0, missing(s[1])});
        return {dense(
            transposed(reshaped(whole, {s[0], blocks(s[1]), block, s[2], s[3]}), {0, 1, 3, 4, 2}))};
    }
    void reference(Problem &p) const override {
        const Shape s = p("x").shape;
        Array y({s[0], (s[1] + block - 1) / block, s[2], s[3], block});
        for (int64_t n = 0; n < s[0]; n++) {
            for (int64_t c = 0; c < s[1]; c++) {
                for (int64_t h = 0; h < s[2]; h++) {
                    for (int64_t w = 0; w < s[3]; w++)
                        y(n, c / block, h, w, c % block) = p("x")(n, c, h, w);
                }
            }
        }
        p.tensors["y"] = y;
    }
};

struct FromBlocks : Composite {
    FromBlocks()
        : Composite("nc1hwc0_to_nchw", "x[n,a,h,w,b] -> y[n,channels,h,w]",
                    "y[n, c, h, w] = x[n, c / 16, h, w, c mod 16]") {
        required_at_call("channels", AttrKind::integer);
        samples = {"n=1 a=1 h=1 w=1 b=16 channels=1", "n=2 a=2 h=3 w=5 b=16 channels=17",
                   "n=1 a=1 h=7 w=2 b=16 channels=16"};
    }
    Result compose(const Call &call) const override {
        expect_rank("nc1hwc0_to_nchw", call[0], 5, "n,a,h,w,b");
        const Shape s = call[0].shape();
        const int64_t c = call.integer("channels");
        if (c < 0) {
            throw AttrError("nc1hwc0_to_nchw",
                            "channels is " + std::to_string(c) + ", expected 0 or more");
        }
        auto expect = [&](int d, const char *name, int64_t wanted) {
            if (s[d] != wanted) {
                throw ShapeError("nc1hwc0_to_nchw", std::string("x.") + name + " is " +
                                                        std::to_string(s[d]) + ", expected " +
                                                        std::to_string(wanted) + " for " +
                                                        std::to_string(c) + " channels");
            }
        };
        expect(1, "a", blocks(c));
        expect(4, "b", block);
        const Tensor channels = reshaped(transposed(call[0], {0, 1, 4, 2, 3}),
                                         {s[0], s[1] * s[4], s[2], s[3]});
        const Shape out{s[0], c, s[2], s[3]};
        return {dense(window_of(channels, {Shape{0, 0, 0, 0}, out, Shape{1, 1, 1, 1}}))};
    }
    void reference(Problem &p) const override {
        const Shape x = p("x").shape;
        gather(p, {x[0], p["channels"], x[2], x[3]}, [](const Shape &at) -> Shape {
            return {at[0], at[1] / block, at[2], at[3], at[1] % block};
        });
    }
};

struct ToFractals : Composite {
    ToFractals()
        : Composite("nchw_to_fractal_z", "x[o,c,h,w] -> y[cdiv(c,16)*h*w,cdiv(o,16),16,16]",
                    "y[(i h + u) w + v, j, l, k] = x[16 j + l, 16 i + k, u, v], 0 past the last "
                    "output and channel") {
        samples = {"o=1 c=1 h=1 w=1", "o=17 c=3 h=3 w=3", "o=16 c=33 h=1 w=2", "o=5 c=15 h=2 w=5"};
    }
    Result compose(const Call &call) const override {
        expect_rank("nchw_to_fractal_z", call[0], 4, "o,c,h,w");
        const Shape s = call[0].shape();
        const Tensor whole = composite::pad(call[0],
                                            {0, 0, 0, 0, 0, missing(s[1]), 0, missing(s[0])});
        const Tensor apart = reshaped(whole,
                                      {blocks(s[0]), block, blocks(s[1]), block, s[2], s[3]});
        return {reshaped(transposed(apart, {2, 4, 5, 0, 1, 3}),
                         {blocks(s[1]) * s[2] * s[3], blocks(s[0]), block, block})};
    }
    void reference(Problem &p) const override {
        const Shape s = p("x").shape;
        Array y(
            {(s[1] + block - 1) / block * s[2] * s[3], (s[0] + block - 1) / block, block, block});
        for (int64_t o = 0; o < s[0]; o++) {
            for (int64_t c = 0; c < s[1]; c++) {
                for (int64_t u = 0; u < s[2]; u++) {
                    for (int64_t v = 0; v < s[3]; v++) {
                        y((c / block * s[2] + u) * s[3] + v, o / block, o % block,
                          c % block) = p("x")(o, c, u, v);
                    }
                }
            }
        }
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<ToBlocks>();
    composites.add<FromBlocks>();
    composites.add<ToFractals>();
}

}  // namespace halyard
