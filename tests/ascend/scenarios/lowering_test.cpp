// Tests the way from op files to Da Vinci programs: parts of lowering on their own, and programs as
// text.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "ascend/program/text.h"
#include "ascend/simulator/simulate.h"
#include "dsl/all_ops.h"
#include "dsl/ascend/compile.h"
#include "dsl/ascend/convolution/prove_convolution.h"
#include "dsl/ascend/lowering/narrow.h"
#include "dsl/ascend/lowering/prove.h"
#include "registry/base/error.h"

namespace halyard::ascend {
namespace {

using Halide::Expr;
using Halide::Var;

FixedCall::Layout dense(const std::vector<int> &outermost_first) {
    FixedCall::Layout l;
    int stride = 1;
    for (size_t k = outermost_first.size(); k-- > 0;) {
        l.push_back({outermost_first[k], stride});
        stride *= outermost_first[k];
    }
    return l;
}

struct Call {
    std::string op, dtypes;
    std::vector<std::vector<int>> inputs, outputs;
    std::map<std::string, int> scalars = {};
};

Compiled compiled(const Call &c, bool strict = false) {
    list_kit_ops();
    auto call = std::make_shared<FixedCall>();
    for (auto &e : c.inputs)
        call->inputs.push_back(dense(e));
    for (auto &e : c.outputs)
        call->outputs.push_back(dense(e));
    Instance i;
    i.backend = "ascend";
    i.dtypes = c.dtypes;
    i.call = call;
    const OpPtr op = op_table().make(c.op);
    for (size_t k = 0; k < c.inputs.size(); k++) {
        const std::vector<std::string> names = op->extents_of(op->sig.inputs[k]);
        for (size_t d = 0; d < names.size(); d++)
            call->dims[names[d]] = c.inputs[k][d];
    }
    for (auto &s : op->scalars)
        call->integers.push_back(c.scalars.count(s.name) ? c.scalars.at(s.name) : 0);
    return compile(op_table(), c.op, i, strict);
}

std::string text_of(const Compiled &c) {
    std::string text;
    for (auto &p : c.lowered.programs)
        text += dv::to_text(p);
    return text;
}

int count(const std::string &text, const std::string &part) {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        n++;
    return n;
}

class Golden : public testing::TestWithParam<Call> {};

TEST_P(Golden, ProgramsMatch) {
    const std::string path = std::string(HALYARD_SOURCE_DIR) + "/tests/ascend/goldens/" +
                             GetParam().op + "_" + GetParam().dtypes + ".dv";
    const std::string text = text_of(compiled(GetParam()));
    if (std::getenv("HALYARD_WRITE_GOLDENS")) std::ofstream(path) << text;
    std::ifstream file(path);
    std::stringstream golden;
    golden << file.rdbuf();
    ASSERT_FALSE(golden.str().empty()) << path;
    EXPECT_EQ(text, golden.str());
    for (auto &p : compiled(GetParam()).lowered.programs)
        EXPECT_EQ(dv::to_text(dv::parse_program(dv::to_text(p))), dv::to_text(p));
}
INSTANTIATE_TEST_SUITE_P(
    Programs, Golden,
    testing::Values(Call{"add_relu", "f16", {{1, 1, 100001}, {1, 1, 100001}}, {{1, 1, 100001}}},
                    Call{"softmax", "f16", {{128, 1024}}, {{128, 1024}}},
                    Call{"matmul", "f16", {{1, 37, 130}, {1, 130, 35}}, {{1, 37, 35}}}),
    [](const auto &p) { return p.param.op; });

// float16(f32(a) + f32(b)) becomes one instruction; an expression that rounds in between stays f32.
TEST(Narrow, NarrowsOnlyIfTheBitsAreTheSame) {
    const Halide::ImageParam a(Halide::Float(16), 1);
    const Halide::ImageParam b(Halide::Float(16), 1);
    Var x;
    const Expr p = Halide::cast<float>(a(x));
    const Expr q = Halide::cast<float>(b(x));
    const auto half = [](const Expr &e) {
        return narrowed(Halide::cast(Halide::Float(16), Halide::strict_float(e)));
    };
    EXPECT_EQ(half(p + q).as<Halide::Internal::Cast>(), nullptr);
    EXPECT_EQ(half(Halide::max(p * q, 0.0f)).as<Halide::Internal::Cast>(), nullptr);
    EXPECT_NE(half(p * q + q).as<Halide::Internal::Cast>(), nullptr);
    EXPECT_NE(half(p + 0.1f).as<Halide::Internal::Cast>(), nullptr);
}

TEST(Prove, RejectsAWrongIndex) {
    Var i("i"), j("j"), core("core");
    const std::vector<Loop> loops = {{i.name(), 8}, {j.name(), 16}};
    const Expr index = Expr(core) * 128 + Expr(i) * 16 + Expr(j);
    Affine a = affine(index, loops);
    EXPECT_EQ(a.stride, (std::vector<int64_t>{16, 1}));
    EXPECT_NO_THROW(prove(index, loops, a, {{core.name(), {0, 31}}}));
    a.stride[0] = 17;
    EXPECT_THROW(prove(index, loops, a, {}), Error);
    EXPECT_EQ(affine(Expr(i) / 3 + Expr(j), loops).nonlinear, std::set<std::string>{i.name()});
}

// Returns the first instruction of a kind, which the test changes.
template<class T> T *first_of(dv::Body &body) {
    for (dv::Node &n : body) {
        T *found = nullptr;
        if (auto *f = std::get_if<dv::For>(&n.is))
            found = first_of<T>(f->body);
        else if (auto *c = std::get_if<dv::If>(&n.is))
            found = first_of<T>(c->then);
        else if (auto *i = std::get_if<dv::Instr>(&n.is))
            found = std::get_if<T>(&i->op);
        if (found) return found;
    }
    return nullptr;
}

dv::Program written(const std::vector<std::pair<std::string, int64_t>> &tensors,
                    const std::function<void(Writer &)> &write) {
    dv::Program p;
    p.name = "conv";
    for (auto &[name, size] : tensors)
        p.tensors.push_back({name, DType::f16, (size + 15) / 16 * 16 + 16, dv::GmTensor::inout});
    Writer w(p);
    write(w);
    return p;
}

// Returns the message of `proof` about the program with its first T changed, or "" if it finds
// nothing.
template<class T, class Proof> std::string proof_message(dv::Program p,
                                                         const std::function<void(T &)> &change,
                                                         const Proof &proof) {
    change(*first_of<T>(p.body));
    try {
        proof(p);
    } catch (const Error &e) {
        return e.what();
    }
    return "";
}

Correlation correlation() {
    Correlation c;
    c.n = 2;
    c.c = 20;
    c.h = c.w = 9;
    c.o = 18;
    c.oh = c.ow = 5;
    c.u = c.v = 3;
    c.stride_h = c.stride_w = 2;
    c.top = c.left = c.bottom = c.right = 1;
    return c;
}

TEST(Prove, NamesAWrongProductOfAConvolution) {
    const Correlation c = correlation();
    const CorrelationTensors t{"x", "fractals", "y"};
    const auto p = written({{"x", 2 * 20 * 81}, {"fractals", 2 * 9 * 2 * 256}, {"y", 2 * 18 * 25}},
                           [&](Writer &w) { correlate(w, c, t, 0); });
    const auto proof = [&](const dv::Program &changed) { prove(changed, c, t); };
    const auto load3d = [&](const std::function<void(dv::Load3d &)> &change) {
        return proof_message(p, change, proof);
    };
    const auto load2d = [&](const std::function<void(dv::Load2d &)> &change) {
        return proof_message(p, change, proof);
    };
    const auto mmad = [&](const std::function<void(dv::Mmad &)> &change) {
        return proof_message(p, change, proof);
    };
    const auto out = [&](const std::function<void(dv::CcToUb &)> &change) {
        return proof_message(p, change, proof);
    };
    const std::string wrong = "[conv] its program isn't the convolution: block 0 ";
    EXPECT_EQ(load3d([](auto &) {}), "");
    EXPECT_EQ(load3d([](auto &l) {
                  l.pad[0] = 0;
                  l.pad[1] = 2;
              }),
              wrong + "multiplies filter[0,0,0,0] by x[0,0,1,0], not by 0, for y[0,0,1,0]");
    EXPECT_EQ(load3d([](auto &l) {
                  l.dilation_w = 2;
                  l.pad[1] = 3;
              }),
              wrong +
                  "multiplies filter[0,0,0,1] by x[0,0,1,1], not by x[0,0,1,0], for y[0,0,1,0]");
    EXPECT_EQ(load3d([](auto &l) { l.k_start = 0; }),
              wrong + "multiplies filter[0,0,0,1] by 0, not by x[0,0,1,0], for y[0,0,1,0]");
    EXPECT_EQ(load2d([](auto &l) { l.src = moved(l.src, fractal_size); }),
              wrong + "multiplies filter[16,0,0,0] in another filter's row");
    EXPECT_EQ(mmad([](auto &m) { m.k = 16; }),
              wrong + "multiplies filter[0,0,0,1] where filter[16,0,0,0] is to be");
    EXPECT_EQ(
        out([](auto &o) { o.src_gap = 0; }),
        wrong +
            "lays the sum of row 18 and column 0 of an mmad into y[0,2,3,1], which takes others");
}

TEST(Prove, NamesAWrongProductOfAFilterGradient) {
    const Correlation c = correlation();
    const auto p = written({{"x", 2 * 20 * 81}, {"dy", 2 * 18 * 25}, {"dweight", 18 * 20 * 9}},
                           [&](Writer &w) { correlate_taps(w, c, "x", "dy", "dweight", 0); });
    const auto proof = [&](const dv::Program &changed) {
        prove_taps(changed, c, "x", "dy", "dweight");
    };
    const auto load3d = [&](const std::function<void(dv::Load3d &)> &change) {
        return proof_message(p, change, proof);
    };
    const auto mmad = [&](const std::function<void(dv::Mmad &)> &change) {
        return proof_message(p, change, proof);
    };
    const std::string wrong = "[conv] its program isn't the convolution: block 0 ";
    EXPECT_EQ(load3d([](auto &) {}), "");
    EXPECT_EQ(load3d([](auto &l) { l.stride_h = 1; }),
              wrong +
                  "multiplies dy[0,0,1,0] by x[0,0,0,0], not by x[0,0,1,0], for dweight[0,0,0,1]");
    EXPECT_EQ(mmad([](auto &m) { m.accumulate = 0; }),
              wrong + "has sums without the product of dy[0,0,0,0]");
}

TEST(Prove, NamesAWrongMove) {
    const Filters f{"weight", "fractals", 1, 18, 20, 9, true};
    const auto filters = written({{"weight", 18 * 20 * 9}, {"fractals", f.size()}},
                                 [&](Writer &w) { filters_to_fractals(w, f); });
    const Dilation d{"dy", "dilated", 36, 5, 5, 2, 2, 9, 10};
    const auto dilated = written({{"dy", 36 * 25}, {"dilated", 36 * 90}},
                                 [&](Writer &w) { dilate(w, d); });
    const auto in_filters = [&](const std::function<void(dv::VecTrans &)> &change) {
        return proof_message(filters, change, [&](const auto &p) { prove(p, f); });
    };
    const auto in_dilated = [&](const std::function<void(dv::VecTrans &)> &change) {
        return proof_message(dilated, change, [&](const auto &p) { prove(p, d); });
    };
    const std::string wrong = "[conv] its program isn't what was to be moved: ";
    EXPECT_EQ(in_filters([](auto &) {}), "");
    EXPECT_EQ(in_filters([](auto &t) { t.repeat = 8; }),
              wrong + "fractals[224] gets what nobody wrote, not weight[134]");
    EXPECT_EQ(in_dilated([](auto &) {}), "");
    EXPECT_EQ(in_dilated([](auto &t) { t.src = moved(t.src, fractal_size); }),
              wrong + "dilated[2880] gets dy[816], not dy[800]");
}

TEST(Schedule, DoubleBuffersAndDistributesTiles) {
    const std::string text = text_of(
        compiled({"add", "f32", {{1, 1, 4194304}, {1, 1, 4194304}}, {{1, 1, 4194304}}}));
    EXPECT_NE(text.find("blocks=32"), std::string::npos);
    EXPECT_GE(count(text, "slots=2"), 3);
    EXPECT_EQ(count(text, "scalar_"), 0);
}

// A row fits into no tile, so its sums are a separate stage through global memory.
TEST(Schedule, ReducesLongRowsInASeparateStage) {
    const Compiled c = compiled({"softmax", "f32", {{2, 200000}}, {{2, 200000}}});
    EXPECT_GT(c.lowered.programs.size(), 1u);
    EXPECT_EQ(c.tunables.chosen.at("apart"), 1);
}

TEST(Schedule, StrictModeRejectsTheScalarUnit) {
    const auto warnings = compiled({"softmax", "f16", {{3, 7}}, {{3, 7}}}).lowered.warnings;
    ASSERT_FALSE(warnings.empty());
    EXPECT_EQ(warnings[0], "W-SCALAR y: rows of 14 B are put together one element at a time");
    EXPECT_THROW(compiled({"softmax", "f16", {{3, 7}}, {{3, 7}}}, true), DispatchError);
}

TEST(Schedule, RejectsUnsupportedInstructions) {
    EXPECT_THROW(compiled({"relu", "f64", {{1, 1, 64}}, {{1, 1, 64}}}), DTypeError);
    EXPECT_THROW(compiled({"relu", "bf16", {{1, 1, 64}}, {{1, 1, 64}}}), DTypeError);
}

// Returns the least time that 32 cubes need for these products, at 4096 each per cycle, divided by
// the simulated time. Large calls are not checked for races.
double share_of_the_cubes(const Call &c, double products) {
    double cycles = 0;
    for (const dv::Program &p : compiled(c).lowered.programs) {
        dv::SimOptions options;
        options.functional = false;
        options.races = products <= std::pow(1024, 3);
        const dv::SimResult r = dv::simulate(p, {}, {}, options);
        EXPECT_TRUE(r.ok()) << dv::to_text(r.issues);
        cycles += r.cycles;
    }
    return products / 4096 / 32 / cycles;
}

TEST(Quality, ProductsUseTheCubes) {
    for (const auto &[side, share] :
         std::vector<std::pair<int, double>>{{1024, 0.55}, {2048, 0.79}, {4096, 0.82}}) {
        EXPECT_GE(share_of_the_cubes(
                      {"matmul", "f16", {{1, side, side}, {1, side, side}}, {{1, side, side}}},
                      std::pow(side, 3)),
                  share)
            << side;
    }
}

// The last tile of a row, of a column and of both have branches of their own, two nested.
TEST(Races, ShorterTilesHaveNone) {
    for (const int n : {35, 304}) {
        EXPECT_GT(
            share_of_the_cubes({"matmul", "f16", {{1, 300, 300}, {1, 300, n}}, {{1, 300, n}}}, 1),
            0)
            << n;
    }
}

// Checks a convolution of square images and filters, with a border of half the filter, and its
// gradients.
void expect_no_races(int images, int channels, int side, int filters, int filter, int stride) {
    const int border = filter / 2;
    const int out = (side + 2 * border - filter) / stride + 1;
    const std::map<std::string, int> scalars = {
        {"stride_h", stride},   {"stride_w", stride},  {"dil_h", 1},
        {"dil_w", 1},           {"pad_top", border},   {"pad_left", border},
        {"pad_bottom", border}, {"pad_right", border}, {"group", 1}};
    const std::vector<int> x = {images, channels, side, side};
    const std::vector<int> weight = {filters, channels, filter, filter};
    const std::vector<int> y = {images, filters, out, out};
    for (const Call &c : {Call{"conv2d", "f16", {x, weight}, {y}, scalars},
                          Call{"conv2d_dx", "f16", {x, weight, y}, {x}, scalars},
                          Call{"conv2d_dweight", "f16", {x, weight, y}, {weight}, scalars}})
        EXPECT_GT(share_of_the_cubes(c, 1), 0) << c.op << " of " << side;
}
// Covers blocks with fewer channels than the first one, parts of an image before any results,
// dilated maps of one part and several, planes that end within a block, and 16 planes and fewer.
TEST(Races, ConvolutionsHaveNone) {
    expect_no_races(2, 20, 9, 18, 3, 2);
    expect_no_races(1, 3, 57, 70, 7, 2);
    expect_no_races(2, 5, 13, 20, 3, 2);
    expect_no_races(2, 5, 113, 3, 3, 2);
    expect_no_races(1, 64, 28, 64, 3, 1);
}

TEST(Quality, ConvolutionsUseTheCubes) {
    const std::map<std::string, int> scalars = {
        {"stride_h", 1},   {"stride_w", 1}, {"dil_h", 1},     {"dil_w", 1}, {"pad_top", 1},
        {"pad_bottom", 1}, {"pad_left", 1}, {"pad_right", 1}, {"group", 1}};
    const Call c{"conv2d", "f16", {{32, 64, 56, 56}, {64, 64, 3, 3}}, {{32, 64, 56, 56}}, scalars};
    EXPECT_GE(share_of_the_cubes(c, 32.0 * 64 * 56 * 56 * 64 * 9), 0.60);
}

}  // namespace
}  // namespace halyard::ascend
