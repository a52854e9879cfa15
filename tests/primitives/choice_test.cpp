#include "primitives/choice.h"

#include <gtest/gtest.h>

#include <map>
#include <type_traits>

#include "primitives/library.h"
#include "primitives/ops/avg_pool2d.h"
#include "primitives/ops/conv1d_conv3d.h"
#include "primitives/ops/conv2d.h"
#include "primitives/ops/indexing.h"
#include "primitives/ops/losses.h"
#include "primitives/ops/max_pool2d.h"
#include "primitives/ops/scatter.h"
#include "primitives/ops/scatter_kernel.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

Tensor small_numbers(const Shape &shape) {
    Tensor t = Tensor::empty(shape);
    for (int64_t i = 0; i < t.elements(); i++)
        t.data<float>()[i] = float(i % 7) - 2;
    return t;
}

TEST(Choices, ConstantsAndTextAreTheSame) {
    const Tensor x = small_numbers({1, 2, 5, 5});
    const Tensor weight = small_numbers({3, 2, 3, 3});
    const std::string same = "same";
    const Tensor y = F::conv2d(x, weight, {2, 2}, F::PadMode::same);
    EXPECT_EQ(y.shape(), (Shape{1, 3, 3, 3}));
    for (const F::PadMode &mode : {F::PadMode(F::PadMode::same), F::PadMode("same"),
                                   F::PadMode(same), F::PadMode(std::string_view(same))}) {
        EXPECT_EQ(F::conv2d(x, weight, {2, 2}, mode).to_vector<float>(), y.to_vector<float>());
        EXPECT_EQ(mode, F::PadMode::same);
        EXPECT_EQ(mode.text(), "same");
        EXPECT_NE(mode, F::PadMode::pad);
    }
    EXPECT_EQ(F::conv2d(x, weight, {2, 2}, "same").to_vector<float>(), y.to_vector<float>());
    EXPECT_EQ(F::conv2d(x, weight, {2, 2}, same).to_vector<float>(), y.to_vector<float>());
    EXPECT_EQ(ops::Conv2D({2, 2}, F::PadMode::same)(x, weight).to_vector<float>(),
              y.to_vector<float>());
}

TEST(Choices, ArgumentsOfTheCallAndOfInternalOps) {
    const Tensor x = small_numbers({1, 5});
    EXPECT_EQ(F::pad(x, {2, 1}, F::BorderMode::reflect).to_vector<float>(),
              F::pad(x, {2, 1}, "reflect").to_vector<float>());
    EXPECT_NE(F::pad(x, {2, 1}).to_vector<float>(),
              F::pad(x, {2, 1}, F::BorderMode::reflect).to_vector<float>());
    const Tensor rows = small_numbers({1, 5, 1});
    const Tensor index = Tensor::from(std::vector<int32_t>{1, 1}, {2});
    const Tensor updates = small_numbers({1, 2, 1});
    EXPECT_EQ(kernel::scatter(rows, index, updates, F::ScatterReduction::mul).to_vector<float>(),
              kernel::scatter(rows, index, updates, "mul").to_vector<float>());
}

TEST(Choices, OtherTextIsTheOpsError) {
    const Tensor x = small_numbers({1, 2, 5, 5});
    const Tensor weight = small_numbers({3, 2, 3, 3});
    expect_error<AttrError>("[conv2d] pad_mode is 'sme', expected one of valid, same, pad", [&] {
        F::conv2d(x, weight, {1, 1}, "sme");
    });
    expect_error<AttrError>("[max_pool2d] data_format is '', expected one of NCHW, NHWC", [&] {
        F::max_pool2d(x, {1, 1}, {1, 1}, F::PadMode::valid, {0, 0, 0, 0}, std::string());
    });
    expect_error<AttrError>(
        "[pad] mode is 'mirror', expected one of constant, reflect, replicate, circular, symmetric",
        [&] {
            F::pad(x, {1, 1}, "mirror");
        });
    expect_error<AttrError>("[mse_loss] reduction is 'batchmean', expected one of mean, none, sum",
                            [&] { F::mse_loss(x, x, "batchmean"); });
}

// A default member initialiser that uses others: see primitives/choice.h.
struct Options {
    F::PadMode first = F::PadMode::same;
    F::PadMode second = "pad";
    int more = 0;
};
struct Layer {
    Options options{.more = 1};
};

TEST(Choices, AreDefaultsOfMembers) {
    const Layer layer;
    EXPECT_EQ(layer.options.first, F::PadMode::same);
    EXPECT_EQ(layer.options.second, F::PadMode::pad);
}

template<class C>
concept HasSme = requires {
    C::sme;
};
template<class C>
concept HasSame = requires {
    C::same;
};
template<class C>
concept HasBatchmean = requires {
    C::batchmean;
};

TEST(Choices, TheCompilerChecksConstants) {
    static_assert(HasSame<F::PadMode> && !HasSme<F::PadMode>);
    static_assert(HasBatchmean<F::KlDivReduction> && !HasBatchmean<F::Reduction>);
    static_assert(!std::is_convertible_v<F::DataFormat::Name, F::PadMode>);
    static_assert(!std::is_convertible_v<F::DataFormat, F::PadMode>);
    static_assert(!std::is_convertible_v<int, F::PadMode>);
}

TEST(Choices, EqualChoicesOfSeveralOpsHaveOneClass) {
    static_assert(std::is_same_v<ops::Conv2D::PadMode, F::PadMode>);
    static_assert(std::is_same_v<ops::Conv2D::PadMode, ops::MaxPool2d::PadMode>);
    static_assert(std::is_same_v<ops::Conv2D::PadMode, ops::Conv3D::PadMode>);
    static_assert(
        std::is_same_v<ops::TensorScatterElements::ScatterReduction, F::ScatterReduction>);
    std::map<std::string, std::vector<std::string>> classes;
    for (const RegisteredOp *op : library().ops()) {
        for (const AttrSpec &a : op->record.attrs) {
            if (a.kind != AttrKind::choice) continue;
            const auto [other, is_new] = classes.emplace(choice_type(a), a.choices);
            EXPECT_EQ(other->second, a.choices)
                << op->record.name << "." << a.name
                << " needs a class of its own, not F::" << choice_type(a);
        }
    }
    EXPECT_GE(classes.size(), 9u);
}

}  // namespace
}  // namespace halyard
