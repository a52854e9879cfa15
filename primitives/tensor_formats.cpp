// The layouts of Ascend's cube unit (records: kernels/tensor_formats.cpp).
#include "primitives/composite.h"
#include "primitives/composition.h"

namespace halyard {
namespace {

constexpr int64_t block = 16;

int64_t blocks(int64_t n) { return (n + block - 1) / block; }
int64_t missing(int64_t n) { return blocks(n) * block - n; }

Result nchw_to_nc1hwc0(Tensors in, const Attrs &) {
    const Shape s = in[0].shape();
    const Tensor whole = run1("pad", {in[0]}, {{"padding", Ints{0, 0, 0, 0, 0, missing(s[1])}}});
    return {dense(transposed(reshaped(whole, {s[0], blocks(s[1]), block, s[2], s[3]}), {0, 1, 3, 4, 2}))};
}

Result nc1hwc0_to_nchw(Tensors in, const Attrs &a) {
    const Shape s = in[0].shape();
    const Tensor channels = reshaped(transposed(in[0], {0, 1, 4, 2, 3}), {s[0], s[1] * s[4], s[2], s[3]});
    const Shape out{s[0], integer(a, "channels"), s[2], s[3]};
    return {dense(window_of(channels, {Shape{0, 0, 0, 0}, out, Shape{1, 1, 1, 1}}))};
}

Result nchw_to_fractal_z(Tensors in, const Attrs &) {
    const Shape s = in[0].shape();
    const Tensor whole = run1("pad", {in[0]}, {{"padding", Ints{0, 0, 0, 0, 0, missing(s[1]), 0, missing(s[0])}}});
    const Tensor apart = reshaped(whole, {blocks(s[0]), block, blocks(s[1]), block, s[2], s[3]});
    return {reshaped(transposed(apart, {2, 4, 5, 0, 1, 3}), {blocks(s[1]) * s[2] * s[3], blocks(s[0]), block, block})};
}

}  // namespace

Family tensor_format_family() {
    static const Family::value_type all[] = {
        {"nchw_to_nc1hwc0", nchw_to_nc1hwc0}, {"nc1hwc0_to_nchw", nc1hwc0_to_nchw}, {"nchw_to_fractal_z", nchw_to_fractal_z}};
    return all;
}

}  // namespace halyard
