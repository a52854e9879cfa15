// Tests which share of its roof each automatic schedule reaches in simulated cycles, and which roof
// binds it. A second slot never costs time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "ascend/passes/passes.h"
#include "ascend/simulator/simulate.h"
#include "dsl/all_ops.h"
#include "dsl/ascend/compile.h"
#include "dsl/ascend/least.h"

namespace halyard::ascend {
namespace {

struct Call {
    std::string op, dtypes;
    std::vector<std::vector<int>> inputs, outputs;
    int share = 0;  // The share of the roof that binds, in percent.
    std::map<std::string, int> integers = {};
};

Instance instance_of(const Call &c) {
    list_kit_ops();
    auto call = std::make_shared<FixedCall>();
    const auto dense = [](const std::vector<int> &outermost_first) {
        FixedCall::Layout l;
        int stride = 1;
        for (size_t k = outermost_first.size(); k-- > 0;) {
            l.push_back({outermost_first[k], stride});
            stride *= outermost_first[k];
        }
        return l;
    };
    for (auto &e : c.inputs)
        call->inputs.push_back(dense(e));
    for (auto &e : c.outputs)
        call->outputs.push_back(dense(e));
    const OpPtr op = op_table().make(c.op);
    for (size_t k = 0; k < c.inputs.size(); k++) {
        const std::vector<std::string> names = op->extents_of(op->sig.inputs[k]);
        for (size_t d = 0; d < names.size(); d++)
            call->dims[names[d]] = c.inputs[k][d];
    }
    for (const ScalarSpec &s : op->scalars)
        call->integers.push_back(c.integers.count(s.name) ? c.integers.at(s.name) : 0);
    Instance i;
    i.backend = "ascend";
    i.dtypes = c.dtypes;
    i.call = call;
    return i;
}

// The cores' work doesn't depend on data, so only time is simulated.
double cycles_of(const dv::Program &p) {
    dv::SimOptions options;
    options.functional = options.races = false;
    const dv::SimResult r = dv::simulate(p, {}, dv::Scalars(p.scalars.size()), options);
    EXPECT_TRUE(r.ok()) << dv::to_text(r.issues);
    return r.cycles;
}

double min_vector_cycles_of(const Call &c) {
    Instance i = instance_of(c);
    i.scheduled = false;
    return min_vector_cycles(Kernel(op_table().make(c.op), i));
}

const std::vector<int> large = {1, 1, 16777216}, rows = {4096, 1024}, row = {1024},
                       maps = {4, 64, 112, 112}, quarter = {4, 64, 56, 56};
const std::map<std::string, int> windows = {{"kernel_h", 3}, {"kernel_w", 3},   {"stride_h", 2},
                                            {"stride_w", 2}, {"pad_bottom", 1}, {"pad_right", 1}};

TEST(VectorRoof, CountsTheAlgorithmsOperations) {
    const dv::Profile &chip = dv::Profile::named("ascend910");
    const double start = chip.at("vec.head") / 255;
    const double points = 4096 * 1024 / chip.at("cores");
    const double wide = points / 64;
    const double narrow = points / 128;
    const auto each = [&](double cycles) { return cycles + start; };
    // To f32, - row_max, exp, the sum, * scale, to f16; the maximum is one of f16. Work that is
    // done once per row is less than a hundredth.
    const double softmax = wide * (5 * each(1) + each(chip.at("vec.cost.exp.f32"))) +
                           narrow * each(1);
    EXPECT_NEAR(min_vector_cycles_of({"softmax", "f16", {rows}, {rows}}), softmax, 0.01 * softmax);
    // To f32, the sum, - mean, its sum, its square and the sum of that, * scale, - shift, * gamma,
    // + beta, to f16.
    const double layer_norm = wide * 11 * each(1);
    EXPECT_NEAR(min_vector_cycles_of({"layer_norm_kernel", "f16", {rows, row, row}, {rows}}),
                layer_norm, 0.01 * layer_norm);
    // A sum of two f16 rounded to f16 needs no f32.
    EXPECT_DOUBLE_EQ(min_vector_cycles_of({"add", "f16", {large, large}, {large}}),
                     4 * narrow * each(1));
}

class RooflineShare : public testing::TestWithParam<Call> {};

TEST_P(RooflineShare, ReachesItsMinimum) {
    const Call &c = GetParam();
    // The scalar unit computes no element.
    const Compiled compiled = compile(op_table(), c.op, instance_of(c), true);
    double cycles = 0, bytes = 0;
    for (auto &p : compiled.lowered.programs)
        cycles += cycles_of(p);
    const size_t element = c.dtypes == "f16" ? 2 : 4;
    for (auto *all : {&c.inputs, &c.outputs}) {
        for (auto &extents : *all) {
            size_t n = element;
            for (int e : extents)
                n *= size_t(e);
            bytes += double(n);
        }
    }
    const double memory = bytes / compiled.lowered.programs[0].chip().at("gm.chip");
    const double vector = min_vector_cycles_of(c);
    const double share = 100 * std::max(memory, vector) / cycles;
    std::printf("%s %s: %.0f %% of %s\n", c.op.c_str(), c.dtypes.c_str(), share,
                memory > vector ? "global memory" : "the vector unit");
    EXPECT_GE(share, c.share);
}
INSTANTIATE_TEST_SUITE_P(
    Ops, RooflineShare,
    testing::Values(
        Call{"add", "f32", {large, large}, {large}, 94},
        Call{"add", "f16", {large, large}, {large}, 94}, Call{"relu", "f32", {large}, {large}, 97},
        Call{"relu", "f16", {large}, {large}, 97}, Call{"sigmoid", "f32", {large}, {large}, 94},
        Call{"sigmoid", "f16", {large}, {large}, 74}, Call{"softmax", "f32", {rows}, {rows}, 91},
        Call{"softmax", "f16", {rows}, {rows}, 56},
        Call{"layer_norm_kernel", "f32", {rows, row, row}, {rows}, 75},
        Call{"layer_norm_kernel", "f16", {rows, row, row}, {rows}, 55},
        Call{"rms_norm_kernel", "f32", {rows, row}, {rows}, 97},
        Call{"rms_norm_kernel", "f16", {rows, row}, {rows}, 73},
        Call{"max_pool2d", "f16", {maps}, {quarter}, 15, windows},
        Call{"avg_pool2d", "f16", {maps}, {quarter}, 9, windows}),
    [](const auto &p) { return p.param.op + "_" + p.param.dtypes; });

void single(dv::Body &body) {
    for (dv::Node &n : body) {
        if (auto *f = std::get_if<dv::For>(&n.is))
            single(f->body);
        else if (auto *c = std::get_if<dv::If>(&n.is)) {
            single(c->then);
            single(c->otherwise);
        } else if (auto *i = std::get_if<dv::Instr>(&n.is)) {
            for (const dv::Operand &o : dv::operands(*i))
                o.ref->slot = 0;
        }
    }
}

// Compares with the same tiles in buffers of one slot.
TEST(DoubleBuffering, IsNeverSlowerThanSingleBuffering) {
    const std::vector<int> some = {1, 1, 4194304};
    for (const Call &c :
         {Call{"add", "f32", {some, some}, {some}}, Call{"relu", "f16", {some}, {some}},
          Call{"tanh", "f32", {some}, {some}}}) {
        Instance i = instance_of(c);
        const Compiled two = compile(op_table(), c.op, i);
        i.tunables = two.tunables;
        Kernel k(op_table().make(c.op), i);
        dv::Program one = lower(k).programs.at(0);
        int rings = 0;
        for (dv::Buffer &b : one.buffers) {
            rings += b.slots > 1;
            b.slots = 1;
        }
        single(one.body);
        EXPECT_GT(rings, 1) << c.op;
        ASSERT_TRUE(dv::place_buffers(one).empty());
        dv::insert_sync(one);
        EXPECT_LT(cycles_of(two.lowered.programs.at(0)), cycles_of(one)) << c.op;
    }
}

}  // namespace
}  // namespace halyard::ascend
