#include "nn/amp.h"

#include <gtest/gtest.h>

#include <map>

#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/norm.h"
#include "nn/sequential.h"
#include "primitives/ops/random.h"
#include "registry/base/error.h"

using namespace halyard;
using namespace halyard::nn;

namespace {

SequentialCell network() {
    return SequentialCell({Conv2d(2, 4, 3), BatchNorm2d(4), ReLU(), Flatten(), Dense(64, 8),
                           LayerNorm({8}), Dense(8, 3)});
}

// Returns the dtype in which each layer computes, from its construct()'s result, and that of the
// network's output as "".
std::map<std::string, DType> dtypes_of(const SequentialCell &net) {
    std::map<std::string, DType> all;
    std::vector<HookHandle> hooks;
    for (const auto &[name, cell] : net.name_cells()) {
        hooks.push_back(cell.register_forward_pre_hook([&all, name](const Cell &c, Tensors in) {
            all[name] = c.float_type().value_or(in[0].dtype());
            return std::vector<Tensor>();
        }));
    }
    all[""] = net(F::normal({5, 2, 4, 4})).dtype();
    for (const HookHandle &hook : hooks)
        hook.remove();
    return all;
}

std::map<std::string, DType> dtypes_at(const std::string &level, std::optional<bool> keep = {},
                                       DType dtype = DType::f16) {
    const SequentialCell net = network();
    auto_mixed_precision(net, level, keep, dtype);
    std::map<std::string, DType> all = dtypes_of(net);
    for (const Parameter &p : net.get_parameters())
        EXPECT_EQ(p.data().dtype(), DType::f32) << "parameters stay what they are";
    return all;
}

using Dtypes = std::map<std::string, DType>;
constexpr DType f16 = DType::f16;
constexpr DType f32 = DType::f32;

TEST(Amp, LevelsSelectLayersInHalf) {
    // The layers are 0 Conv2d, 1 BatchNorm2d, 2 ReLU, 3 Flatten, 4 Dense, 5 LayerNorm, 6 Dense.
    EXPECT_EQ(dtypes_at("O0"), (Dtypes{{"", f32},
                                       {"0", f32},
                                       {"1", f32},
                                       {"2", f32},
                                       {"3", f32},
                                       {"4", f32},
                                       {"5", f32},
                                       {"6", f32}}));
    EXPECT_EQ(dtypes_at("O1"), (Dtypes{{"", f32},
                                       {"0", f16},
                                       {"1", f32},
                                       {"2", f32},
                                       {"3", f32},
                                       {"4", f16},
                                       {"5", f32},
                                       {"6", f16}}));
    EXPECT_EQ(dtypes_at("O2"), (Dtypes{{"", f32},
                                       {"0", f16},
                                       {"1", f32},
                                       {"2", f16},
                                       {"3", f16},
                                       {"4", f16},
                                       {"5", f32},
                                       {"6", f16}}));
    EXPECT_EQ(dtypes_at("O3"), (Dtypes{{"", f32},
                                       {"0", f16},
                                       {"1", f16},
                                       {"2", f16},
                                       {"3", f16},
                                       {"4", f16},
                                       {"5", f16},
                                       {"6", f16}}));
    EXPECT_EQ(dtypes_at("auto"), dtypes_at("O0")) << "on the CPU";
}

TEST(Amp, KeepBatchnormOverridesTheLevel) {
    EXPECT_EQ(dtypes_at("O2", false), dtypes_at("O3"));
    EXPECT_EQ(dtypes_at("O3", true), dtypes_at("O2"));
    EXPECT_EQ(dtypes_at("O3", {}, DType::bf16).at("4"), DType::bf16);
}

TEST(Amp, RejectsArgumentsWithoutEffect) {
    EXPECT_THROW(auto_mixed_precision(network(), "O4"), AttrError);
    EXPECT_THROW(auto_mixed_precision(network(), "O0", true), AttrError);
    EXPECT_THROW(auto_mixed_precision(network(), "O1", false), AttrError);
    EXPECT_THROW(auto_mixed_precision(network(), "O2", {}, DType::f32), DTypeError);
}

}  // namespace
