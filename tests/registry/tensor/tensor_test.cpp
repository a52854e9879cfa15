#include "registry/tensor/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "registry/base/parallel.h"
#include "registry/tensor/memory.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

Tensor counting(const Shape &shape, DType dtype = DType::f32) {
    std::vector<float> v(static_cast<size_t>(shape.elements()));
    std::iota(v.begin(), v.end(), 0.0f);
    return Tensor::from(v, shape).to(dtype);
}

// A naive view for comparison with a strided tensor: its shape and the value at each index, in
// row-major order.
struct Naive {
    Shape shape;
    std::vector<double> values;

    double at(const Shape &index) const {
        int64_t i = 0;
        for (int d = 0; d < shape.rank(); d++)
            i = i * shape[d] + index[d];
        return values[size_t(i)];
    }
    template<class F> static Naive make(const Shape &shape, const F &f) {
        Naive n{shape, {}};
        Shape index(std::vector<int64_t>(size_t(shape.rank()), 0));
        for (int64_t left = shape.elements(); left > 0; left--) {
            n.values.push_back(f(index));
            for (int d = shape.rank(); d-- > 0;) {
                if (++index[d] < shape[d]) break;
                index[d] = 0;
            }
        }
        return n;
    }
};

void expect_same(const Tensor &t, const Naive &n, const std::string &history) {
    ASSERT_EQ(t.shape(), n.shape) << history;
    ASSERT_EQ(t.to_vector<double>(), n.values) << history;
    const Naive read = Naive::make(t.shape(), [&](const Shape &i) { return t.at(i); });
    ASSERT_EQ(read.values, n.values) << history;
    const bool one_piece = t.elements() < 2 ||
                           (t.can_reshape({-1}) && t.reshape({-1}).strides() == Shape{1});
    ASSERT_EQ(t.dense(), one_piece) << history;
}

// A tensor and its naive twin, to which the same random views are applied.
class RandomViews {
public:
    explicit RandomViews(std::mt19937 &random) : random_(random) {
        Shape start;
        for (int64_t r = below(5); r >= 0; r--)
            start.push_back(below(12) == 0 ? 0 : 1 + below(5));
        t_ = counting(start);
        n_ = {start, t_.to_vector<double>()};
        history_ = start.text();
    }
    void step() {
        switch (below(6)) {
        case 0: transpose(); break;
        case 1: slice(); break;
        case 2: expand(); break;
        case 3: reshape(); break;
        case 4: unsqueeze(); break;
        default: squeeze();
        }
        expect_same(t_, n_, history_);
    }

private:
    int64_t below(int64_t n) { return int64_t(random_() % uint64_t(std::max<int64_t>(n, 1))); }

    void transpose() {
        const int rank = t_.rank();
        std::vector<int> p(static_cast<size_t>(rank));
        std::iota(p.begin(), p.end(), 0);
        std::shuffle(p.begin(), p.end(), random_);
        Shape s = n_.shape;
        for (int i = 0; i < rank; i++)
            s[i] = n_.shape[p[size_t(i)]];
        n_ = Naive::make(s, [&](const Shape &index) {
            Shape from = index;
            for (int i = 0; i < rank; i++)
                from[p[size_t(i)]] = index[i];
            return n_.at(from);
        });
        t_ = t_.transpose(p);
        history_ += " transpose";
    }
    void slice() {
        const int rank = t_.rank();
        if (!rank) return;
        const int axis = int(below(rank));
        const int64_t from = below(n_.shape[axis] + 1);
        const int64_t to = from + below(n_.shape[axis] - from + 1);
        const int64_t by = 1 + below(3);
        Shape s = n_.shape;
        s[axis] = 0;
        for (int64_t i = from; i < to; i += by)
            s[axis]++;
        n_ = Naive::make(s, [&](Shape index) {
            index[axis] = from + index[axis] * by;
            return n_.at(index);
        });
        t_ = t_.slice(axis - (below(2) ? rank : 0), from, to, by);
        history_ += " slice " + std::to_string(axis) + ":" + std::to_string(from) + "," +
                    std::to_string(to) + "," + std::to_string(by);
    }
    // Expands extents of 1, and may insert a dimension in front.
    void expand() {
        const int rank = t_.rank();
        Shape s = n_.shape;
        for (int i = 0; i < rank; i++)
            if (s[i] == 1) s[i] = below(4);
        const bool front = rank < 6 && below(2);
        if (front) s.insert(0, 2);
        n_ = Naive::make(s, [&](Shape index) {
            if (front) index.erase(0);
            for (int i = 0; i < rank; i++)
                if (n_.shape[i] == 1) index[i] = 0;
            return n_.at(index);
        });
        t_ = t_.expand(s);
        history_ += " expand " + s.text();
    }
    // Reshapes to a random factorisation, through a copy if no view has that shape.
    void reshape() {
        Shape s;
        int64_t left = t_.elements();
        while (left > 1 && s.rank() < 6) {
            int64_t f = 1 + below(left);
            while (left % f)
                f--;
            s.push_back(f);
            left /= f;
        }
        if (t_.elements() > 0 && s.rank() < 7) s.push_back(-1);
        if (t_.elements() == 0) s = {0, 3};
        history_ += " reshape " + s.text();
        if (!t_.can_reshape(s)) {
            EXPECT_THROW(t_.reshape(s), ShapeError) << history_;
            EXPECT_FALSE(t_.dense()) << history_;
            t_ = t_.contiguous();
        }
        t_ = t_.reshape(s);
        n_.shape = t_.shape();
    }
    void unsqueeze() {
        if (t_.rank() == max_rank) return;
        t_ = t_.unsqueeze(int(below(t_.rank() + 1)));
        n_.shape = t_.shape();
    }
    void squeeze() {
        if (!t_.rank() || t_.shape().back() != 1) return;
        t_ = t_.squeeze(-1);
        n_.shape.erase(n_.shape.rank() - 1);
    }

    std::mt19937 &random_;
    Tensor t_;
    Naive n_;
    std::string history_;
};

TEST(Tensors, RandomChainsOfViewsMatchNaiveIndexing) {
    std::mt19937 random(7);
    for (int round = 0; round < 400; round++) {
        RandomViews views(random);
        for (int step = 0; step < 6; step++) {
            views.step();
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(Tensors, ViewsShareMemory) {
    const Tensor t = counting({2, 3});
    const Tensor column = t.slice(1, 2, 3).squeeze(1);
    column.set({1}, 50);
    EXPECT_EQ(t.at({1, 2}), 50);
    EXPECT_EQ(t.swap_axes(0, 1).at({2, 1}), 50);
    EXPECT_TRUE(t.overlaps(column));
    EXPECT_FALSE(t.slice(0, 0, 1).overlaps(t.slice(0, 1, 2)));
    EXPECT_FALSE(t.copy().overlaps(t));
    EXPECT_FALSE(t.slice(0, 0, 0).overlaps(t));
    EXPECT_TRUE(t.contiguous().same_memory(t));
    EXPECT_FALSE(t.swap_axes(0, 1).contiguous().overlaps(t));
}

TEST(Tensors, ReshapeOfStridedViews) {
    const Tensor t = counting({4, 6, 5});
    EXPECT_TRUE(t.slice(1, 1, 4).can_reshape({4, 15})) << "rows of a slice stay in one piece";
    EXPECT_FALSE(t.slice(1, 1, 4).can_reshape({12, 5}));
    EXPECT_TRUE(t.slice(2, 0, 1).can_reshape({24})) << "one stride of 5";
    EXPECT_EQ(t.slice(2, 0, 1).reshape({24}).strides(), Shape{5});
    EXPECT_TRUE(t.transpose({2, 0, 1}).can_reshape({5, 24}));
    EXPECT_TRUE(t.transpose({2, 0, 1}).can_reshape({5, 2, 12, 1}));
    EXPECT_FALSE(t.transpose({2, 0, 1}).can_reshape({120}));
    EXPECT_FALSE(t.can_reshape({7}));
    EXPECT_FALSE(t.can_reshape({-1, -1}));
    EXPECT_EQ(t.reshape({2, -1, 10}).shape(), (Shape{2, 6, 10}));
}

TEST(Tensors, EmptyAndScalar) {
    const Tensor none = Tensor::empty({3, 0, 2});
    EXPECT_EQ(none.elements(), 0);
    EXPECT_TRUE(none.dense());
    EXPECT_TRUE(none.copy().to(DType::i8).to_vector<float>().empty());
    EXPECT_EQ(none.transpose({2, 1, 0}).reshape({0}).shape(), Shape{0});
    none.assign(Tensor::full({3, 0, 2}, 1));
    const Tensor one = Tensor::scalar(2.5);
    EXPECT_EQ(one.rank(), 0);
    EXPECT_EQ(one.item(), 2.5);
    EXPECT_EQ(one.item<int32_t>(), 2);
    EXPECT_EQ(one.expand({2, 2}).to_vector<float>(), (std::vector<float>{2.5, 2.5, 2.5, 2.5}));
    EXPECT_EQ(one.reshape({1, 1}).item(), 2.5);
    EXPECT_FALSE(Tensor().defined());
}

TEST(Tensors, FactoriesOfEveryDtype) {
    for (int i = 0; i < dtype_count; i++) {
        const auto t = (DType)i;
        EXPECT_EQ(Tensor::ones({3}, t).to_vector<double>(), (std::vector<double>{1, 1, 1}))
            << name_of(t);
        EXPECT_EQ(Tensor::zeros({2}, t).to_vector<double>(), (std::vector<double>{0, 0}))
            << name_of(t);
        EXPECT_EQ(Tensor::empty({5}, t).bytes(), 5 * bytes_of(t));
    }
    EXPECT_TRUE(std::signbit(Tensor::full({1}, -0.0).item()));
    EXPECT_EQ(Tensor::from({true, false}).dtype(), DType::boolean);
    EXPECT_EQ(Tensor::from<bool>({true, false, true}).to_vector<bool>(),
              (std::vector<bool>{true, false, true}));
    EXPECT_EQ(Tensor::from({int64_t{1} << 40}).to_vector<int64_t>(),
              (std::vector<int64_t>{int64_t{1} << 40}));
}

TEST(Tensors, ConversionsOfEveryPair) {
    const std::vector<double> values = {0, 1, 2, 5, 100};
    for (int a = 0; a < dtype_count; a++) {
        for (int b = 0; b < dtype_count; b++) {
            const Tensor from = Tensor::from(values, {5}).to((DType)a);
            const Tensor to = from.to((DType)b);
            for (int64_t i = 0; i < 5; i++) {
                const double v = values[size_t(i)];
                const double expected = (DType)a == DType::boolean || (DType)b == DType::boolean
                                            ? v != 0
                                            : v;
                EXPECT_EQ(to.at({i}), expected) << name_of((DType)a) << " to " << name_of((DType)b);
            }
        }
    }
}

TEST(Tensors, LargeCopiesAreRightForAnyNumberOfThreads) {
    for (const int n : {1, 3}) {
        set_threads(n);
        const Tensor t = counting({37, 61, 53});
        for (const std::vector<int> &p :
             {std::vector<int>{2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}}) {
            const Tensor view = t.transpose(p);
            const Tensor copy = view.copy();
            const Tensor doubles = view.to(DType::f64);
            for (int64_t i = 0; i < view.shape()[0]; i += 3) {
                for (int64_t j = 0; j < view.shape()[1]; j++) {
                    for (int64_t k = 0; k < view.shape()[2]; k += 2) {
                        const int64_t at[] = {i, j, k};
                        int64_t source = 0;
                        for (int d = 0; d < 3; d++)
                            source += at[d] * t.strides()[p[size_t(d)]];
                        const int64_t target = (i * view.shape()[1] + j) * view.shape()[2] + k;
                        ASSERT_EQ(copy.data<float>()[target], float(source));
                        ASSERT_EQ(doubles.data<double>()[target], double(source));
                    }
                }
            }
        }
        EXPECT_EQ(Tensor::scalar(3).expand({300, 400}).copy().to_vector<float>(),
                  std::vector<float>(120000, 3));
    }
    set_threads(0);
}

// Copies a transposed matrix of `rows` x `columns`, both with gaps of `gap` elements behind their
// rows, and returns the number of wrong elements.
int64_t wrong_in_transposed_copy(DType t, int64_t rows, int64_t columns, int64_t gap) {
    const Tensor from = Tensor::empty({columns, rows + gap}, DType::i32);
    for (int64_t e = 0; e < from.elements(); e++)
        from.data<int32_t>()[e] = int32_t(e * 37 % 251);
    const Tensor whole = Tensor::zeros({rows, columns + gap}, t);
    whole.slice(1, 0, columns).assign(from.to(t).slice(1, 0, rows).transpose({1, 0}));
    const std::vector<double> got = whole.to_vector<double>();
    int64_t wrong = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t j = 0; j < columns + gap; j++) {
            wrong += got[size_t(i * (columns + gap) + j)] !=
                     (j < columns ? double((j * (rows + gap) + i) * 37 % 251) : 0);
        }
    }
    return wrong;
}

// Copies elements of every size, with tiles that fit and that don't, few rows and few columns,
// dense and with gaps. Each instruction set of this machine runs as HALYARD_ISA selects it for the
// whole program.
TEST(Tensors, TransposedCopiesMoveEveryElement) {
    const int64_t extents[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33, 64, 300};
    for (DType t : {DType::u8, DType::f16, DType::i32, DType::f64}) {
        for (int64_t rows : extents) {
            for (int64_t columns : extents) {
                for (int64_t gap : {0, 3}) {
                    ASSERT_EQ(wrong_in_transposed_copy(t, rows, columns, gap), 0)
                        << name_of(t) << " " << rows << " x " << columns << " gap " << gap;
                }
            }
        }
    }
}

TEST(Tensors, AssignIntoViewsAndItself) {
    const Tensor t = Tensor::zeros({3, 4});
    t.slice(1, 1, 3).assign(counting({3, 2}));
    EXPECT_EQ(t.to_vector<float>(), (std::vector<float>{0, 0, 1, 0, 0, 2, 3, 0, 0, 4, 5, 0}));
    const Tensor v = counting({5});
    v.slice(0, 1, 5).assign(v.slice(0, 0, 4));
    EXPECT_EQ(v.to_vector<float>(), (std::vector<float>{0, 0, 1, 2, 3}))
        << "overlapping memory is read before it is written";
    const Tensor square = counting({2, 2});
    square.assign(square.swap_axes(0, 1));
    EXPECT_EQ(square.to_vector<float>(), (std::vector<float>{0, 2, 1, 3}));
    expect_error<ShapeError>("[assign] shape is [4], expected [5]",
                             [&] { v.assign(Tensor::zeros({4})); });
    expect_error<ShapeError>("[assign] dimension 1 of [5,3] has stride 0: its 3 elements are one",
                             [&] {
                                 v.reshape({5, 1}).expand({5, 3}).assign(Tensor::zeros({5, 3}));
                             });
    v.assign(Tensor::from<int32_t>({9, 8, 7, 6, 5}));
    EXPECT_EQ(v.at({4}), 5);
}

TEST(Tensors, BorrowedMemory) {
    float data[12] = {};
    {
        const Tensor t = Tensor::borrow(data, {2, 3}, {4, 1}, DType::f32);
        EXPECT_FALSE(t.dense());
        t.set({1, 2}, 7);
        EXPECT_EQ(data[6], 7);
    }
    EXPECT_TRUE(Tensor::borrow(data, {3, 4}, {4, 1}, DType::f32).dense());
    EXPECT_TRUE(Tensor::borrow(data, {1, 4}, {99, 1}, DType::f32).dense())
        << "the stride of an extent of 1 means nothing";
    EXPECT_FALSE(Tensor::borrow(data, {3}, {0}, DType::f32).dense());
    EXPECT_NO_THROW(Tensor::borrow(nullptr, {0}, {1}, DType::f32));
    EXPECT_THROW(Tensor::borrow(nullptr, {1}, {1}, DType::f32), MemoryError);
    expect_error<ShapeError>("[tensor] stride 0 of [-1] is negative",
                             [&] { Tensor::borrow(data, {2}, {-1}, DType::f32); });
    EXPECT_THROW(Tensor::borrow(data, {2}, {1, 1}, DType::f32), ShapeError);
    expect_error<MemoryError>("[tensor] borrowed memory of f32 is 2 bytes off a multiple of 4",
                              [&] { Tensor::borrow((char *)data + 2, {2}, {1}, DType::f32); });
    const int64_t far = int64_t{1} << 30;
    const int64_t most = std::numeric_limits<int64_t>::max();
    expect_error<ShapeError>("[tensor] shape [3] with strides [1073741824] spans more than "
                             "2147483647 elements (sizes past 2^31 are not supported)",
                             [&] { Tensor::borrow(data, {3}, {far}, DType::f32); });
    EXPECT_THROW(Tensor::borrow(data, {2, 2}, {far, far}, DType::f32), ShapeError);
    EXPECT_THROW(Tensor::borrow(data, {3, 2}, {most, most}, DType::f32), ShapeError);
    EXPECT_NO_THROW(Tensor::borrow(data, {1, 0}, {most, most}, DType::f32)) << "nothing is read";
}

TEST(Tensors, ErrorsNameBothValues) {
    const Tensor t = counting({2, 3});
    expect_error<DTypeError>("[tensor] asked for f64 data, the tensor is f32",
                             [&] { (void)t.data<double>(); });
    expect_error<ShapeError>("[tensor] item() of shape [2,3], expected one element",
                             [&] { (void)t.item(); });
    expect_error<ShapeError>("[tensor] 2 values for shape [3], expected 3", [] {
        Tensor::from(std::vector<float>{1, 2}, {3});
    });
    expect_error<ShapeError>("[tensor] index 1 is 3, expected 0 to 2", [&] { (void)t.at({0, 3}); });
    expect_error<ShapeError>("[tensor] index has rank 1, expected 2", [&] { (void)t.at({0}); });
    expect_error<ShapeError>("[tensor] axis is 2, expected -2 to 1", [&] { (void)t.size(2); });
    expect_error<ShapeError>("[reshape] shape [4] has 4 elements, expected 6 from [2,3]",
                             [&] { (void)t.reshape({4}); });
    expect_error<ShapeError>("[reshape] no extent for the -1 in [-1,4] makes 6 elements of [2,3]",
                             [&] {
                                 (void)t.reshape({-1, 4});
                             });
    expect_error<ShapeError>(
        "[reshape] no strides show [3,2] with strides [1,3] as [6]; contiguous() first",
        [&] { (void)t.swap_axes(0, 1).reshape({6}); });
    expect_error<ShapeError>("[transpose] axis 1 occurs twice in the permutation", [&] {
        (void)t.transpose({1, 1});
    });
    expect_error<ShapeError>("[transpose] permutation has 1 axes, expected 2",
                             [&] { (void)t.transpose({0}); });
    expect_error<ShapeError>("[slice] range is 1 to 4, expected within 0 to 3 of axis 1",
                             [&] { (void)t.slice(1, 1, 4); });
    expect_error<ShapeError>("[slice] step is 0, expected 1 or more",
                             [&] { (void)t.slice(1, 0, 1, 0); });
    expect_error<ShapeError>("[expand] dimension 1 is 3, expected 1 or 4 to make [2,4]", [&] {
        (void)t.expand({2, 4});
    });
    expect_error<ShapeError>("[expand] rank is 1, expected at least 2",
                             [&] { (void)t.expand({3}); });
    expect_error<ShapeError>("[squeeze] axis 0 is 2, expected 1", [&] { (void)t.squeeze(0); });
    expect_error<ShapeError>("[unsqueeze] axis is 3, expected -3 to 2",
                             [&] { (void)t.unsqueeze(3); });
    expect_error<ShapeError>("[tensor] extent 0 of [-1] is negative", [] { Tensor::empty({-1}); });
    EXPECT_THROW(Tensor::scalar(1).expand({1 << 16, 1 << 16}), ShapeError);
}

TEST(Tensors, Text) {
    EXPECT_EQ(Tensor::from<int32_t>({1, 2, 3, 4}).reshape({2, 2}).text(),
              "[[1, 2], [3, 4]] i32[2,2]");
    EXPECT_EQ(counting({3}).slice(0, 0, 3, 2).text(), "[0, 2] f32[2]");
    EXPECT_EQ(counting({9}).text(2), "[0, 1, ...] f32[9]");
    EXPECT_EQ(Tensor::scalar(0.1).text(), "0.1 f32[]");
    EXPECT_EQ(Tensor::from({true}).text(), "[true] bool[1]");
    EXPECT_EQ(Tensor::empty({0}).text(), "[] f32[0]");
    EXPECT_EQ(Tensor().text(), "undefined");
}

TEST(Tensors, LeakNothing) {
    const int64_t live = memory::stats().live_blocks;
    {
        Tensor a = counting({8, 8});
        Tensor b = a.slice(0, 1, 3);
        Tensor c = b.swap_axes(0, 1).copy();
        EXPECT_EQ(memory::stats().live_blocks, live + 2);
        a = c;
        c = a;
        Tensor d = std::move(a);
        EXPECT_EQ(memory::stats().live_blocks, live + 2) << "b still holds the first";
        b = Tensor();
        EXPECT_EQ(memory::stats().live_blocks, live + 1);
        EXPECT_THROW(d.reshape({7}), ShapeError);
    }
    EXPECT_EQ(memory::stats().live_blocks, live);
}

}  // namespace
}  // namespace halyard
