// Tests of sorting ops beyond their records: special values, ties, errors, gradients, MindSpore's
// and PyTorch's answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "primitives/autograd/tape.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/scan.h"
#include "primitives/ops/sorting.h"
#include "registry/base/parallel.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Floats = std::vector<float>;
using Ints32 = std::vector<int32_t>;
using Tensors = std::vector<Tensor>;

const float nan = NAN;
const float inf = INFINITY;

// Returns NaN as 1e9, so that lists compare.
Floats values(const Tensor &t) {
    Floats v = t.to_vector<float>();
    for (float &e : v)
        e = std::isnan(e) ? 1e9f : e;
    return v;
}
Ints32 indices(const Tensor &t) {
    return t.to_vector<int32_t>();
}

const Tensor &specials() {
    static const Tensor x = Tensor::from<float>(
        {1, -nan, 3, 3, -inf, nan, 2, -0.f, 0.f, inf, 1e-45f, -1e-45f});
    return x;
}

TEST(Sorting, IsStableAndPutsNaNLast) {
    for (DType d : {DType::f32, DType::f64}) {
        const Tensor x = specials().to(d);
        const auto [y, at] = F::sort(x);
        EXPECT_EQ(indices(at), (Ints32{4, 11, 7, 8, 10, 0, 6, 2, 3, 9, 1, 5}));
        EXPECT_TRUE(std::signbit(y.at({2})) && !std::signbit(y.at({3})))
            << "zeros keep their signs";
        EXPECT_TRUE(std::isnan(y.at({10})) && std::signbit(y.at({10})) &&
                    !std::signbit(y.at({11})));
        EXPECT_EQ(indices(F::sort(x, -1, true)[1]), (Ints32{1, 5, 9, 2, 3, 6, 0, 10, 7, 8, 11, 4}));
        EXPECT_EQ(indices(F::argsort(x)), indices(at));
    }
    for (DType d : {DType::f16, DType::bf16}) {
        const Tensor x = Tensor::from<float>({1, -nan, 3, 3, -inf, nan, 2, -0.f, 0.f, inf}).to(d);
        EXPECT_EQ(indices(F::argsort(x)), (Ints32{4, 7, 8, 0, 6, 2, 3, 9, 1, 5})) << name_of(d);
    }
}

TEST(Sorting, FullRangesOfIntegers) {
    const int32_t least = INT32_MIN;
    const int32_t most = INT32_MAX;
    EXPECT_EQ(indices(F::sort(Tensor::from<int32_t>({0, most, -1, least, 1}))[0]),
              (Ints32{least, -1, 0, 1, most}));
    EXPECT_EQ(indices(F::argsort(Tensor::from<int64_t>({0, INT64_MAX, -1, INT64_MIN, 1}))),
              (Ints32{3, 2, 0, 4, 1}));
    EXPECT_EQ(indices(F::argsort(Tensor::from<int8_t>({0, 127, -1, -128, 1}), -1, true)),
              (Ints32{1, 4, 0, 2, 3}));
    EXPECT_EQ(indices(F::argsort(Tensor::from<uint8_t>({0, 127, 255, 128, 1}))),
              (Ints32{0, 4, 1, 3, 2}));
}

// Compares with std::stable_sort, at lengths around those at which another algorithm or packing
// starts, with many ties.
TEST(Sorting, LongRowsMatchTheStandardLibrary) {
    for (DType d : {DType::f32, DType::f16, DType::i32}) {
        for (int64_t n : {23, 24, 255, 257, 4099, 65536, 65537, 200003}) {
            Floats v(static_cast<size_t>(n));
            for (size_t i = 0; i < v.size(); i++)
                v[i] = float((i * 7919 + 12345) % 1021) - 500;
            Ints32 want(static_cast<size_t>(n));
            for (size_t i = 0; i < want.size(); i++)
                want[i] = int32_t(i);
            std::stable_sort(want.begin(), want.end(),
                             [&](int32_t a, int32_t b) { return v[size_t(a)] < v[size_t(b)]; });
            const Tensor x = Tensor::from(v, {n}).to(d);
            ASSERT_EQ(indices(F::argsort(x)), want) << name_of(d) << " " << n;
            for (int64_t k : {int64_t(1), n / 9, n / 8 + 1, n}) {
                const auto [y, at] = F::topk(x, k, -1, false);
                ASSERT_EQ(indices(at), Ints32(want.begin(), want.begin() + k))
                    << name_of(d) << " " << n << " " << k;
                ASSERT_EQ(y.at({k - 1}), v[size_t(want[size_t(k) - 1])]);
            }
            ASSERT_EQ(indices(F::median(x)[1])[0], want[size_t(n - 1) / 2]);
        }
    }
}

TEST(Sorting, TopKAndMedian) {
    EXPECT_EQ(indices(F::topk(specials(), 4)[1]), (Ints32{1, 5, 9, 2}));
    EXPECT_EQ(indices(F::topk(specials(), 4, 0, false)[1]), (Ints32{4, 11, 7, 8}));
    EXPECT_EQ(F::topk(specials(), 0)[0].shape().text(), "[0]");
    // The median is the lower one, as in MindSpore and PyTorch.
    EXPECT_EQ(F::median(Tensor::from<float>({1, 3, 2, 4}))[0].item(), 2);
    EXPECT_EQ(F::median(Tensor::from<float>({1, 3, 2, 4}))[0].rank(), 0);
    const auto [m, at] = F::median(Tensor::from<float>({1, nan, 3, 5, 2, 2}, {2, 3}));
    EXPECT_EQ(values(m), (Floats{1e9f, 2}));
    EXPECT_EQ(indices(at), (Ints32{1, 2}));
    // A NaN near the end follows many elements that aren't in the first k.
    Tensor x = Tensor::full({5000}, 1);
    x.set({4999}, nan);
    x.set({4998}, 2);
    EXPECT_EQ(indices(F::topk(x, 3)[1]), (Ints32{4999, 4998, 0}));
}

TEST(Sorting, Unique) {
    const Tensor x = Tensor::from<float>({3, 1, 2, 2, 9, 3, nan, nan, -0.f, 0.f}, {2, 5});
    const auto [y, inverse, counts] = F::unique(x);
    EXPECT_EQ(values(y), (Floats{3, 1, 2, 9, 1e9f, 1e9f, 0}));  // MindSpore's answer.
    EXPECT_EQ(indices(inverse), (Ints32{0, 1, 2, 2, 3, 0, 4, 5, 6, 6}));
    EXPECT_EQ(inverse.shape().text(), "[2,5]");
    EXPECT_EQ(indices(counts), (Ints32{2, 1, 2, 1, 1, 1, 2}));
    // PyTorch's answer.
    EXPECT_EQ(values(F::unique(x, true)[0]), (Floats{0, 1, 2, 3, 9, 1e9f, 1e9f}));
    EXPECT_EQ(F::unique(Tensor::empty({0}))[0].shape().text(), "[0]");
}

TEST(Sorting, RunningExtrema) {
    const Tensor x = Tensor::from<float>({1, 3, 3, 2, nan, 5, nan});
    EXPECT_EQ(values(F::cummax(x)[0]), (Floats{1, 3, 3, 3, 1e9f, 1e9f, 1e9f}));
    // MindSpore's and PyTorch's answer.
    EXPECT_EQ(indices(F::cummax(x)[1]), (Ints32{0, 1, 2, 2, 4, 4, 6}));
    EXPECT_EQ(indices(F::cummin(x)[1]), (Ints32{0, 0, 0, 0, 4, 4, 6}));
    EXPECT_EQ(values(F::cummax(Tensor::full({40}, -inf))[0]), Floats(40, -inf));
    EXPECT_EQ(indices(F::cummin(Tensor::from<int32_t>({2, 5, 1, 4, 0, 3}, {3, 2}), 0)[0]),
              (Ints32{2, 5, 1, 4, 0, 3}));
    const auto [index,
                value] = F::argmax_with_value(Tensor::from<float>({1, 4, 4, 2, 7, nan}, {3, 2}), 1);
    EXPECT_EQ(indices(index), (Ints32{1, 0, 1}));
    EXPECT_EQ(values(value), (Floats{4, 4, 1e9f}));
}

TEST(Sorting, RejectsInvalidArguments) {
    const Tensor x = Tensor::zeros({2, 3});
    expect_error<AttrError>("[top_k] k is 4, expected 0 to 3, the extent of dimension 1 of x[2,3]",
                            [&] { F::topk(x, 4); });
    expect_error<AttrError>("[top_k] k is -1, expected 0 to 2, the extent of dimension 0 of x[2,3]",
                            [&] { F::topk(x, -1, 0); });
    expect_error<ShapeError>("[median] dimension 1 of x[3,0] is 0, expected 1 or more", [] {
        F::median(Tensor::empty({3, 0}));
    });
    expect_error<ShapeError>("[argmin_with_value] dimension 1 of x[3,0] is 0, expected 1 or more",
                             [] {
                                 F::argmin_with_value(Tensor::empty({3, 0}), 1);
                             });
    EXPECT_EQ(F::sort(Tensor::empty({3, 0}))[0].shape().text(), "[3,0]");
    EXPECT_EQ(F::sort(Tensor::empty({0, 3}))[1].shape().text(), "[0,3]");
}

TEST(Sorting, GradientsMatchDifferences) {
    auto weigh = [](const Tensor &t) { return F::mul(t, numbers(t.shape(), 7)); };
    const Tensor x = numbers({2, 5, 3});
    gradient_check([&](const Tensors &v) { return weigh(F::sort(v[0])[0]); }, {x});
    gradient_check([&](const Tensors &v) { return weigh(F::sort(v[0], 1, true)[0]); }, {x});
    gradient_check([&](const Tensors &v) { return weigh(F::topk(v[0], 2, 1)[0]); }, {x});
    gradient_check([&](const Tensors &v) { return weigh(F::median(v[0], 1)[0]); }, {x});
    gradient_check([&](const Tensors &v) { return weigh(F::cummax(v[0], 1)[0]); }, {x});
    gradient_check([&](const Tensors &v) { return weigh(F::cummin(v[0])[0]); }, {x});
    gradient_check([&](const Tensors &v) { return weigh(F::argmax_with_value(v[0], 1)[1]); }, {x});
    // Second derivatives.
    const auto cubed = [](const Tensor &t) { return F::mul(F::mul(t, t), t); };
    gradient_check(
        [&](const Tensors &v) {
            Tape tape;
            tape.watch(v[0]);
            return weigh(tape.gradient(cubed(F::sort(v[0], 1)[0]), {v[0]})[0]);
        },
        {x});
}

TEST(Sorting, SameBitsForAnyNumberOfThreads) {
    const Tensor x = numbers({300, 1000});
    const auto all = [&] {
        Ints32 v = indices(F::argsort(x));
        for (const Tensor &t : {F::topk(x, 7)[1], F::median(x)[1], F::cummax(x)[1]}) {
            for (int32_t p : indices(t))
                v.push_back(p);
        }
        return v;
    };
    set_threads(1);
    const Ints32 one = all();
    for (int n : {2, 3, 8}) {
        set_threads(n);
        EXPECT_EQ(all(), one) << n << " threads";
    }
    set_threads(0);
}

}  // namespace
}  // namespace halyard
