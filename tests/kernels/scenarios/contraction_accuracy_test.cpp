// Tests products of every kernel: the BLAS tester's ratio for sums of up to 65536 terms, and
// integers, whose sums are exact in any order.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "primitives/library.h"
#include "registry/base/error.h"
#include "registry/dispatch/dispatch.h"

namespace halyard {
namespace {

constexpr double unit = 0x1p-24;  // The unit roundoff of f32.
constexpr double max_ratio = 4;   // The contract allows 16.

// Returns splitmix64 of a counter.
uint64_t random_bits(uint64_t seed, uint64_t i) {
    uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u + seed * 0xD1B54A32D192ED03u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

Tensor reals(const Shape &shape, uint64_t seed) {  // Values in [-1, 1).
    const Tensor t = Tensor::empty(shape);
    for (int64_t i = 0; i < t.elements(); i++)
        t.data<float>()[i] = float(random_bits(seed, uint64_t(i)) >> 40) * 0x1p-23F - 1;
    return t;
}

// Returns values -1, 0 and 1, with so few that are not 0 that a sum of `terms` products stays below
// `most`.
Tensor integers(const Shape &shape, DType dtype, int64_t terms, int64_t most, uint64_t seed) {
    const Tensor t = Tensor::empty({shape.elements()}, dtype);
    const auto every = uint64_t(std::max<int64_t>(1, 4 * terms / most));
    for (int64_t i = 0; i < t.elements(); i++) {
        const uint64_t bits = random_bits(seed, uint64_t(i));
        t.set({i}, (bits >> 8) % every ? 0.0 : bits % 2 ? 1.0 : -1.0);
    }
    return t.reshape(shape);
}

// Calls every kernel of the op for these dtypes that supports the call, and returns their number.
template<class Use> int each_kernel(const RegisteredOp &op, const std::vector<Tensor> &in,
                                    const Attrs &attrs, const Use &use) {
    std::set<std::pair<Isa, std::string>> all;
    for (const KernelEntry &k : op.kernels) {
        if (k.backend == "cpu" && k.isa <= host_isa() && k.dtypes == name_of(in[0].dtype()))
            all.emplace(k.isa, k.variant);
    }
    int taken = 0;
    for (auto &[isa, variant] : all) {
        const Force force(isa, variant);
        try {
            const Tensor y = dispatch1(op, in, attrs);
            use(std::string(name_of(isa)) + "/" + variant, y);
            taken++;
        } catch (const DispatchError &) {  // The variant doesn't support this shape.
        }
    }
    return taken;
}

struct Dense {
    std::vector<double> sum, abs_sum;  // of a[m,k] b[k,n]
    Dense(const Tensor &a, const Tensor &b) {
        const auto m = size_t(a.shape()[0]);
        const auto k = size_t(a.shape()[1]);
        const auto n = size_t(b.shape()[1]);
        const std::vector<double> x = a.to_vector<double>();
        const std::vector<double> y = b.to_vector<double>();
        sum.resize(m * n);
        abs_sum.resize(m * n);
        for (size_t i = 0; i < m; i++) {
            for (size_t t = 0; t < k; t++) {
                for (size_t j = 0; j < n; j++) {
                    const double p = x[i * k + t] * y[t * n + j];
                    sum[i * n + j] += p;
                    abs_sum[i * n + j] += std::fabs(p);
                }
            }
        }
    }
};

TEST(Products, KeepTheBlasRatioForAnyK) {
    const RegisteredOp &op = library().at("matmul");
    double worst = 0;
    std::string where;
    int kernels = 0;
    for (const int64_t k : {1, 17, 1000, 4096, 65536}) {
        for (auto [m, n] : {std::pair<int64_t, int64_t>{1, 33}, {12, 64}, {17, 3}}) {
            for (const bool swapped : {false, true}) {
                const Tensor a = reals({m, k}, 1);
                const Tensor b = reals({k, n}, 2);
                const Dense expected(a, b);
                const Attrs attrs(op.record, std::vector<std::pair<std::string, AttrValue>>{
                                                 {"transpose_b", swapped}});
                kernels += each_kernel(
                    op, {a, swapped ? b.swap_axes(0, 1).copy() : b}, attrs,
                    [&](const std::string &kernel, const Tensor &c) {
                        const std::vector<double> got = c.to_vector<double>();
                        for (size_t i = 0; i < got.size(); i++) {
                            const double ratio = std::fabs(got[i] - expected.sum[i]) /
                                                 (unit * expected.abs_sum[i]);
                            if (ratio > worst) {
                                worst = ratio;
                                where = kernel + " k=" + std::to_string(k) +
                                        " m=" + std::to_string(m) + " n=" + std::to_string(n);
                            }
                        }
                    });
            }
        }
    }
    std::printf("  worst of %d calls: %.2f, %s\n", kernels, worst, where.c_str());
    EXPECT_GT(kernels, 30);
    EXPECT_LE(worst, max_ratio) << where;
}

TEST(Products, IntegersAreExact) {
    const RegisteredOp &op = library().at("matmul");
    int kernels = 0;
    // Above this limit integers are rounded.
    const std::pair<DType, int64_t> most[] = {
        {DType::f32, 1 << 24}, {DType::f16, 1 << 11}, {DType::bf16, 1 << 8}};
    for (auto &[dtype, limit] : most) {
        for (const int64_t k : {17, 1000, 65536}) {
            const Tensor a = integers({12, k}, dtype, k, limit, 3);
            const Tensor b = integers({k, 64}, dtype, k, limit, 4);
            const Dense expected(a, b);
            for (const double v : expected.abs_sum)
                ASSERT_LT(v, double(limit));
            kernels += each_kernel(op, {a, b}, Attrs(op.record),
                                   [&](const std::string &kernel, const Tensor &c) {
                                       EXPECT_EQ(c.to_vector<double>(), expected.sum)
                                           << kernel << " " << name_of(dtype) << " k=" << k;
                                   });
        }
    }
    EXPECT_GT(kernels, 9);
}

// A convolution of 3 x 3 with padding 1 of one image in NCHW, as plain loops.
struct NaiveConvolution {
    int64_t c, o, h, w, stride;
    std::vector<double> pixels, taps;

    int64_t out_h() const { return (h - 1) / stride + 1; }
    int64_t out_w() const { return (w - 1) / stride + 1; }

    double at(int64_t oc, int64_t i, int64_t j) const {
        double sum = 0;
        for (int64_t ic = 0; ic < c; ic++) {
            for (int64_t u = 0; u < 3; u++) {
                for (int64_t v = 0; v < 3; v++) {
                    const int64_t at_h = i * stride + u - 1;
                    const int64_t at_w = j * stride + v - 1;
                    if (at_h >= 0 && at_h < h && at_w >= 0 && at_w < w) {
                        sum += pixels[size_t((ic * h + at_h) * w + at_w)] *
                               taps[size_t(((oc * c + ic) * 3 + u) * 3 + v)];
                    }
                }
            }
        }
        return sum;
    }
    std::vector<double> result() const {
        std::vector<double> y;
        for (int64_t oc = 0; oc < o; oc++) {
            for (int64_t i = 0; i < out_h(); i++) {
                for (int64_t j = 0; j < out_w(); j++)
                    y.push_back(at(oc, i, j));
            }
        }
        return y;
    }
};

TEST(Products, IntegerConvolutionsAreExact) {
    const RegisteredOp &op = library().at("conv2d");
    int kernels = 0;
    const std::pair<DType, int64_t> most[] = {
        {DType::f32, 1 << 24}, {DType::f16, 1 << 11}, {DType::bf16, 1 << 8}};
    for (auto &[dtype, limit] : most) {
        for (const int64_t stride : {1, 2}) {
            const int64_t c = 32, o = 32, h = 12, w = 16;
            const Tensor x = integers({1, c, h, w}, dtype, 9 * c, limit, 5);
            const Tensor weight = integers({o, c, 3, 3}, dtype, 9 * c, limit, 6);
            const NaiveConvolution naive{
                c, o, h, w, stride, x.to_vector<double>(), weight.to_vector<double>()};
            const std::vector<double> expected = naive.result();
            const Attrs attrs(op.record, std::vector<std::pair<std::string, AttrValue>>{
                                             {"pad_mode", "pad"},
                                             {"padding", Ints{1, 1, 1, 1}},
                                             {"stride", Ints{stride, stride}}});
            kernels += each_kernel(
                op, {x, weight}, attrs, [&](const std::string &kernel, const Tensor &y) {
                    EXPECT_EQ(y.to_vector<double>(), expected)
                        << kernel << " " << name_of(dtype) << " stride " << stride;
                });
        }
    }
    EXPECT_GT(kernels, 9);
}

}  // namespace
}  // namespace halyard
