// Tests conv2d and its gradients: MindSpore's numbers, NHWC, exact integers, threads, errors.
#include <cstring>

#include "primitives/library.h"
#include "primitives/primitive.h"
#include "registry/base/parallel.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/planner.h"
#include "registry/tensor/memory.h"
#include "tests/kernels/golden.h"
#include "tests/registry/expect_error.h"
#include "tests/registry/has_kernels.h"

namespace halyard {
namespace {

struct Line {
    const char *name;
    const char *mode;
    Ints stride = {1, 1}, padding = {0, 0, 0, 0}, dilation = {1, 1};
    int64_t group = 1;
};
const Line lines[] = {
    {"valid_k3s1", "valid"},
    {"valid_k5s1_lenet", "valid"},
    {"same_k3s1", "same"},
    {"same_k3s2_even", "same", {2, 2}},
    {"same_k3s2_odd", "same", {2, 2}},
    {"same_k7s2_stem", "same", {2, 2}},
    {"same_k2s1", "same"},
    {"same_k1s2", "same", {2, 2}},
    {"same_k1s1", "same"},
    {"pad1_k3s1", "pad", {1, 1}, {1, 1, 1, 1}},
    {"pad3_k7s2", "pad", {2, 2}, {3, 3, 3, 3}},
    {"pad_asym_k3s2", "pad", {2, 2}, {1, 2, 0, 3}},
    {"same_k3d2", "same", {1, 1}, {0, 0, 0, 0}, {2, 2}},
    {"valid_k3d2", "valid", {1, 1}, {0, 0, 0, 0}, {2, 2}},
    {"pad2_k3s2d2", "pad", {2, 2}, {2, 2, 2, 2}, {2, 2}},
    {"same_k3s2d2", "same", {2, 2}, {0, 0, 0, 0}, {2, 2}},
    {"group2_pad1_k3", "pad", {1, 1}, {1, 1, 1, 1}, {1, 1}, 2},
    {"depthwise_same_k3s1", "same", {1, 1}, {0, 0, 0, 0}, {1, 1}, 4},
    {"depthwise_same_k3s2", "same", {2, 2}, {0, 0, 0, 0}, {1, 1}, 4},
    {"depthwise_mult2_pad1", "pad", {1, 1}, {1, 1, 1, 1}, {1, 1}, 3},
    {"rect_k3x5_s2x1", "same", {2, 1}},
    {"rect_k1x3_valid", "valid", {1, 2}},
};
Given attributes(const Line &l) {
    return {{"stride", l.stride},
            {"pad_mode", l.mode},
            {"padding", l.padding},
            {"dilation", l.dilation},
            {"group", l.group}};
}

Tensor integers(const Shape &shape, unsigned seed) {  // Integers from -4 to 4.
    const Tensor t = Tensor::empty(shape, DType::f32);
    uint64_t s = seed * 0x9E3779B97F4A7C15u + 1;
    for (int64_t i = 0; i < t.elements(); i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        t.data<float>()[i] = float(int((s >> 40) % 9)) - 4;
    }
    return t;
}

TEST(Conv2d, MatchesMindSpore) {
    for (const Line &l : lines) {
        auto g = golden(std::string("conv2d_") + l.name);
        const Given a = attributes(l);
        const Tensor x = g.at("x0"), weight = g.at("p_weight"), dy = g.at("dy0");
        expect_close(run_op("conv2d", {x, weight}, a), g.at("y0"), 2e-6, l.name);
        expect_close(run_op("conv2d_dx", {x, weight, dy}, a), g.at("dx0"), 2e-6,
                     std::string(l.name) + " dx");
        expect_close(run_op("conv2d_dweight", {x, weight, dy}, a), g.at("dp_weight"), 5e-6,
                     std::string(l.name) + " dweight");
    }
}

TEST(Conv2d, NhwcMatchesNchw) {
    const auto last = [](const Tensor &t) { return t.transpose({0, 2, 3, 1}).copy(); };
    const auto first = [](const Tensor &t) { return t.transpose({0, 3, 1, 2}).copy(); };
    for (const Line &l : lines) {
        auto g = golden(std::string("conv2d_") + l.name);
        Given a = attributes(l);
        const Tensor x = g.at("x0"), weight = g.at("p_weight"), dy = g.at("dy0");
        const Tensor y = run_op("conv2d", {x, weight}, a);
        const Tensor dx = run_op("conv2d_dx", {x, weight, dy}, a);
        const Tensor dw = run_op("conv2d_dweight", {x, weight, dy}, a);
        a.push_back({"data_format", "NHWC"});
        expect_close(first(run_op("conv2d", {last(x), last(weight)}, a)), y, 0, l.name);
        expect_close(first(run_op("conv2d_dx", {last(x), last(weight), last(dy)}, a)), dx, 0,
                     l.name);
        expect_close(first(run_op("conv2d_dweight", {last(x), last(weight), last(dy)}, a)), dw, 0,
                     l.name);
    }
}

// Sums of integers are exact in every order, so every variant gives the plain loop's numbers.
TEST(Conv2d, IntegersAreExactInEveryVariant) {
    const int64_t n = 16, in = 5, out = 33, h = 10, w = 11;
    const Tensor x = integers({n, in, h, w}, 1);
    const Tensor few = integers({out, in, 3, 3}, 2);
    const Tensor deep = integers({n, 40, h, w}, 3);
    const Tensor wide = integers({out, 40, 3, 3}, 4);
    for (const auto &[image, weight] : {std::pair{x, few}, std::pair{deep, wide}}) {
        const int64_t c = image.shape()[1];
        const Given a = {{"pad_mode", "same"}};
        const Tensor y = run_op("conv2d", {image, weight}, a);
        for (int64_t at = 0; at < 400; at++) {
            const int64_t i = at % n;
            const int64_t o = at * 7 % out;
            const int64_t oy = at * 3 % h;
            const int64_t ox = at * 5 % w;
            double sum = 0;
            for (int64_t k = 0; k < c; k++) {
                for (int64_t u = 0; u < 3; u++) {
                    for (int64_t v = 0; v < 3; v++) {
                        const int64_t iy = oy + u - 1;
                        const int64_t ix = ox + v - 1;
                        if (iy >= 0 && iy < h && ix >= 0 && ix < w)
                            sum += weight.at({o, k, u, v}) * image.at({i, k, iy, ix});
                    }
                }
            }
            ASSERT_EQ(y.at({i, o, oy, ox}), sum) << i << " " << o << " " << oy << " " << ox;
        }
        const Tensor dy = integers(y.shape(), 5);
        const Tensor dx = run_op("conv2d_dx", {image, weight, dy}, a);
        const Tensor dw = run_op("conv2d_dweight", {image, weight, dy}, a);
        const auto dot = [](const Tensor &s, const Tensor &t) {
            double sum = 0;
            const auto p = s.to_vector<double>();
            const auto q = t.to_vector<double>();
            for (size_t i = 0; i < p.size(); i++)
                sum += p[i] * q[i];
            return sum;
        };
        EXPECT_EQ(dot(y, dy), dot(image, dx));  // <conv(x, w), dy> = <x, dx> = <w, dw>
        EXPECT_EQ(dot(y, dy), dot(weight, dw));
    }
}

TEST(Conv2d, SameBitsForAnyNumberOfThreads) {
    // Divides integers by three, so that every product and every sum rounds.
    const auto thirds = [](Tensor t) {
        for (int64_t i = 0; i < t.elements(); i++)
            t.data<float>()[i] /= 3;
        return t;
    };
    const Tensor x = thirds(integers({5, 37, 15, 19}, 1));
    const Tensor weight = thirds(integers({45, 37, 3, 3}, 2));
    const Tensor dy = thirds(integers({5, 45, 15, 19}, 3));
    const Given a = {{"pad_mode", "same"}};
    const int before = threads();
    std::vector<Tensor> first;
    for (int t : {1, 2, 3, 8}) {
        set_threads(t);
        const std::vector<Tensor> now = {run_op("conv2d", {x, weight}, a),
                                         run_op("conv2d_dx", {x, weight, dy}, a),
                                         run_op("conv2d_dweight", {x, weight, dy}, a)};
        if (first.empty()) first = now;
        for (size_t k = 0; k < now.size(); k++) {
            EXPECT_EQ(std::memcmp(now[k].raw(), first[k].raw(), now[k].bytes()), 0)
                << t << " threads, " << k;
        }
    }
    set_threads(before);
}

Plan plan_of(const std::string &op, const std::vector<Tensor> &in, const Given &given) {
    const std::vector<OperandMeta> metas = metas_of(in);
    const RegisteredOp &registered = library().at(op);
    return make_plan(registered, metas, Attrs(registered.record, given));
}

// A dimension of extent 1 may have any stride. Kernels that take only dense tensors get the dense
// one.
TEST(Conv2d, AStrideThatIsNeverTakenIsTheDenseOne) {
    const Tensor x = integers({2, 6, 6, 3}, 1);
    const Tensor weight = integers({8, 1, 1, 3}, 2);
    const Tensor dy = integers({2, 6, 6, 8}, 3);
    const Plan plan = plan_of("conv2d_dweight", {x, weight, dy}, {{"data_format", "NHWC"}});
    const Plan::Buffer &dweight = plan.outputs[0];
    ASSERT_EQ(dweight.rank, 4);
    for (int d = 1; d < 4; d++) {
        if (dweight.dims[d].extent > 1) continue;
        EXPECT_EQ(dweight.dims[d].stride, dweight.dims[d - 1].extent * dweight.dims[d - 1].stride)
            << d;
    }
}

// Groups of enough products run one by one, as convolutions without groups.
TEST(Conv2d, GroupsAreConvolutionsOfTheirOwn) {
    const int64_t groups = 3, c = 16, o = 32;
    const Tensor x = integers({2, groups * c, 9, 11}, 1);
    const Tensor weight = integers({groups * o, c, 3, 3}, 2);
    const Tensor dy = integers({2, groups * o, 9, 11}, 3);
    const Given one = {{"pad_mode", "same"}};
    const Given all = {{"pad_mode", "same"}, {"group", groups}};
    for (const std::string op : {"conv2d", "conv2d_dx", "conv2d_dweight"}) {
        std::vector<Tensor> in = {x, weight};
        if (op != "conv2d") in.push_back(dy);
        const Plan plan = plan_of(op, in, all);
        EXPECT_EQ(plan.loops, Shape({groups})) << op;
        EXPECT_EQ(plan.dims.at("group"), 1) << op;
    }
    const Tensor y = run_op("conv2d", {x, weight}, all);
    const Tensor dx = run_op("conv2d_dx", {x, weight, dy}, all);
    const Tensor dw = run_op("conv2d_dweight", {x, weight, dy}, all);
    for (int64_t g = 0; g < groups; g++) {
        const Tensor xg = x.slice(1, g * c, (g + 1) * c);
        const Tensor wg = weight.slice(0, g * o, (g + 1) * o);
        const Tensor dyg = dy.slice(1, g * o, (g + 1) * o);
        const std::string name = "group " + std::to_string(g);
        expect_close(y.slice(1, g * o, (g + 1) * o), run_op("conv2d", {xg, wg}, one), 0, name);
        expect_close(dx.slice(1, g * c, (g + 1) * c), run_op("conv2d_dx", {xg, wg, dyg}, one), 0,
                     name);
        expect_close(dw.slice(0, g * o, (g + 1) * o), run_op("conv2d_dweight", {xg, wg, dyg}, one),
                     0, name);
    }
    EXPECT_TRUE(
        plan_of("conv2d", {integers({1, 4, 3, 3}, 1), integers({4, 2, 3, 3}, 2)}, {{"group", 2}})
            .loops.empty());
}

// A map of width 1 is computed as one of height 1, whose pixels fill vectors.
TEST(Conv2d, MapsOfWidthOneAreRows) {
    const auto turned = [](const Tensor &t) { return t.transpose({0, 1, 3, 2}).copy(); };
    const Tensor x = integers({2, 6, 40, 1}, 1);
    const Tensor weight = integers({8, 3, 5, 1}, 2);
    const Given down = {{"pad_mode", "pad"},
                        {"stride", Ints{2, 3}},
                        {"group", 2},
                        {"dilation", Ints{2, 1}},
                        {"padding", Ints{3, 1, 0, 0}}};
    const Given across = {{"pad_mode", "pad"},
                          {"stride", Ints{3, 2}},
                          {"group", 2},
                          {"dilation", Ints{1, 2}},
                          {"padding", Ints{0, 0, 3, 1}}};
    const Tensor y = run_op("conv2d", {x, weight}, down);
    EXPECT_EQ(plan_of("conv2d", {x, weight}, down).dims.at("w"), 40);
    expect_close(turned(y), run_op("conv2d", {turned(x), turned(weight)}, across), 0, "y");
    const Tensor dy = integers(y.shape(), 3);
    for (const char *op : {"conv2d_dx", "conv2d_dweight"}) {
        const Tensor d = run_op(op, {x, weight, dy}, down);
        expect_close(turned(d), run_op(op, {turned(x), turned(weight), turned(dy)}, across), 0, op);
    }
    // 16-bit floats, which the baseline computes in f32, and NHWC
    if (has_kernels(Isa::baseline)) {
        const Force force(Isa::baseline, "");
        const Tensor half = run_op("conv2d", {x.to(DType::f16), weight.to(DType::f16)}, down);
        expect_close(half, y.to(DType::f16), 0, "f16");
    }
    Given last = down;
    last.push_back({"data_format", "NHWC"});
    const auto moved = [](const Tensor &t) { return t.transpose({0, 2, 3, 1}).copy(); };
    expect_close(run_op("conv2d", {moved(x), moved(weight)}, last), moved(y), 0, "NHWC");
    try {
        run_op("conv2d", {x, integers({8, 3, 50, 1}, 2)}, {{"group", 2}});
        FAIL() << "a filter of 50 rows on 40";
    } catch (const Error &e) {
        EXPECT_NE(std::string(e.what()).find("dil_h"), std::string::npos) << e.what();
    }
}

TEST(Conv2d, RejectsInvalidArguments) {
    const Tensor x = Tensor::zeros({1, 4, 5, 5}), weight = Tensor::zeros({2, 4, 3, 3});
    const auto call = [&](const Given &a) {
        return [&x, &weight, a] { run_op("conv2d", {x, weight}, a); };
    };
    expect_error<AttrError>("[conv2d] needs stride_h>=1: stride_h is 0",
                            call({{"stride", Ints{0, 1}}}));
    expect_error<AttrError>("[conv2d] needs dil_w>=1: dil_w is 0",
                            call({{"dilation", Ints{1, 0}}}));
    expect_error<AttrError>("[conv2d] needs bottom>=0: bottom is -1",
                            call({{"pad_mode", "pad"}, {"padding", Ints{0, -1, 0, 0}}}));
    expect_error<AttrError>("[conv2d] needs pad_mode==pad||top+bottom+left+right==0 "
                            "(pad_mode=valid, top=1, bottom=1, left=1, right=1)",
                            call({{"padding", Ints{1, 1, 1, 1}}}));
    expect_error<AttrError>("[conv2d] needs (u-1)*dil_h+1<=h+border_top+border_bottom: "
                            "(u-1)*dil_h+1 is 7, h+border_top+border_bottom is 5",
                            call({{"dilation", Ints{3, 1}}}));
    expect_error<ShapeError>(
        "[conv2d] weight.c/group is 4, expected 2 from x[1,4,5,5] (weight has shape [2,4,3,3])",
        call({{"group", 2}}));
    expect_error<AttrError>("[conv2d] needs c%group==0: c%group is 1", [] {
        run_op("conv2d", {Tensor::zeros({1, 5, 3, 3}), Tensor::zeros({2, 2, 1, 1})},
               {{"group", 2}});
    });
    expect_error<ShapeError>("[conv2d] x has rank 3, expected 4 (n,c,h,w)", [&] {
        run_op("conv2d", {Tensor::zeros({4, 5, 5}), weight}, {});
    });
}

// With a single window the stride has no effect, and taps outside the map have no distance: neither
// takes memory.
TEST(Conv2d, ScratchDoesNotGrowWithStrideOrDilation) {
    const Tensor x = Tensor::ones({2, 3, 8, 8}), weight = Tensor::ones({4, 3, 3, 3});
    memory::trim();
    memory::set_limit(memory::stats().live_bytes + (32 << 20));
    for (const int64_t far : {100, 20000, 1 << 30}) {
        const Given strided = {{"stride", Ints{far, far}}};
        const Given dilated = {{"pad_mode", "same"}, {"dilation", Ints{far, far}}};
        const Tensor once = run_op("conv2d", {x, weight}, strided);
        const Tensor centre = run_op("conv2d", {x, weight}, dilated);
        EXPECT_EQ(once.shape().text(), "[2,4,1,1]");
        EXPECT_EQ(once.at({1, 3, 0, 0}), 27);
        EXPECT_EQ(centre.shape().text(), "[2,4,8,8]");
        EXPECT_EQ(centre.at({1, 3, 7, 0}), 3);
        const Tensor given = Tensor::ones({2, 4, 1, 1}), whole = Tensor::ones({2, 4, 8, 8});
        EXPECT_EQ(run_op("conv2d_dx", {x, weight, given}, strided).at({0, 0, 2, 2}), 4);
        EXPECT_EQ(run_op("conv2d_dx", {x, weight, given}, strided).at({0, 0, 2, 3}), 0);
        EXPECT_EQ(run_op("conv2d_dx", {x, weight, whole}, dilated).at({0, 0, 0, 7}), 4);
        EXPECT_EQ(run_op("conv2d_dweight", {x, weight, given}, strided).at({0, 0, 2, 2}), 2);
        EXPECT_EQ(run_op("conv2d_dweight", {x, weight, whole}, dilated).at({0, 0, 1, 1}), 128);
        EXPECT_EQ(run_op("conv2d_dweight", {x, weight, whole}, dilated).at({0, 0, 0, 1}), 0);
    }
    memory::set_limit(0);
}

// A call that no kernel can address is rejected in the caller's terms.
TEST(Conv2d, RejectsTooMuchScratch) {
    const Given padded = {{"pad_mode", "pad"},
                          {"padding", Ints{100000, 100000, 100000, 100000}},
                          {"stride", Ints{100000, 100000}}};
    const std::string reported = message([&] {
        run_op("conv2d", {Tensor::ones({1, 3, 8, 8}), Tensor::ones({4, 3, 3, 3})}, padded);
    });
    EXPECT_TRUE(reported.starts_with("[conv2d] out of memory: ")) << reported;
    for (const char *halides : {"$", "buffer", "padded"})
        EXPECT_EQ(reported.find(halides), std::string::npos) << reported;
}

}  // namespace
}  // namespace halyard
