// The layouts of Ascend's cube unit (records: kernels/layout/tensor_formats.cpp).
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"

namespace halyard {
namespace {

constexpr int64_t block = 16;

int64_t blocks(int64_t n) {
    return (n + block - 1) / block;
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

Result nchw_to_nc1hwc0(Tensors in, const Attrs &) {
    expect_rank("nchw_to_nc1hwc0", in[0], 4, "n,c,h,w");
    const Shape s = in[0].shape();
    const Tensor whole = run1("pad", {in[0]}, {{"padding", Ints{0, 0, 0, 0, 0, missing(s[1])}}});
    return {dense(
        transposed(reshaped(whole, {s[0], blocks(s[1]), block, s[2], s[3]}), {0, 1, 3, 4, 2}))};
}

Result nc1hwc0_to_nchw(Tensors in, const Attrs &a) {
    expect_rank("nc1hwc0_to_nchw", in[0], 5, "n,a,h,w,b");
    const Shape s = in[0].shape();
    const int64_t c = integer(a, "channels");
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
    const Tensor channels = reshaped(transposed(in[0], {0, 1, 4, 2, 3}),
                                     {s[0], s[1] * s[4], s[2], s[3]});
    const Shape out{s[0], c, s[2], s[3]};
    return {dense(window_of(channels, {Shape{0, 0, 0, 0}, out, Shape{1, 1, 1, 1}}))};
}

Result nchw_to_fractal_z(Tensors in, const Attrs &) {
    expect_rank("nchw_to_fractal_z", in[0], 4, "o,c,h,w");
    const Shape s = in[0].shape();
    const Tensor whole = run1("pad", {in[0]},
                              {{"padding", Ints{0, 0, 0, 0, 0, missing(s[1]), 0, missing(s[0])}}});
    const Tensor apart = reshaped(whole, {blocks(s[0]), block, blocks(s[1]), block, s[2], s[3]});
    return {reshaped(transposed(apart, {2, 4, 5, 0, 1, 3}),
                     {blocks(s[1]) * s[2] * s[3], blocks(s[0]), block, block})};
}

}  // namespace

Family tensor_format_family() {
    static const Family::value_type all[] = {{"nchw_to_nc1hwc0", nchw_to_nc1hwc0},
                                             {"nc1hwc0_to_nchw", nc1hwc0_to_nchw},
                                             {"nchw_to_fractal_z", nchw_to_fractal_z}};
    return all;
}

}  // namespace halyard
