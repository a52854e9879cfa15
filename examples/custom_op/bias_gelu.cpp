// A custom operator for Ascend in two ways: an algorithm with a schedule, as in TBE, and a program
// of instructions, as in TIK.
//
//   halyard --kernels lib/libcustom_op_kernels.so bench bias_gelu --device ascend
#include <algorithm>
#include <cmath>

#include "ascend/program/builder.h"
#include "dsl/ascend/schedule.h"
#include "dsl/op.h"

namespace halyard {
namespace {

// 2 sqrt(2 / pi), and the same times 0.044715.
constexpr double a = 1.5957691216057308, b = 0.07135481627260025;

// The program in TIK's style. Tiles of whole rows pass through the unified buffer in two slots. The
// bias is stored once for each row of a tile, so that one instruction adds it. c must be a multiple
// of 64 and at most 8192.
dv::Program handwritten(const FixedCall &call) {
    using dv::Expr, dv::Tensor;
    const int c = call.inputs[0][0].extent;
    const int n = call.inputs[0][1].extent;
    int rows = std::max(1, 8192 / c);
    int cores = 32;
    while (n % rows)
        rows--;
    while (n / rows % cores)
        cores--;
    const int tile = rows * c;
    const int turns = n / rows / cores;
    const int repeat = tile / 64;
    dv::Builder k("bias_gelu", call.chip);
    const Tensor x = k.input(DType::f16, n * c, "x");
    const Tensor bias = k.input(DType::f16, c, "bias");
    const Tensor y = k.output(DType::f16, n * c, "y");
    k.for_range(0, cores, {.block_num = cores}, [&](const Expr &core) {
        const auto ub = [&](DType t, int size, const char *name) {
            return k.tensor(t, size, dv::Scope::ub, name);
        };
        const Tensor one = ub(DType::f16, c, "one");
        const Tensor all = ub(DType::f32, tile, "all");
        const Tensor u = ub(DType::f32, tile, "u");
        const Tensor t = ub(DType::f32, tile, "t");
        k.data_move(one, bias, 1, c / 16, 0, 0);
        for (int row = 0; row < rows; row++)
            k.vec_conv(64, dv::Round::none, all[row * c], one, c / 64, 8, 4);
        k.for_range(0, turns, {.thread_num = 2}, [&](const Expr &turn) {
            const Tensor in = ub(DType::f16, tile, "in");
            const Tensor out = ub(DType::f16, tile, "out");
            const Expr at = (core * turns + turn) * tile;
            k.data_move(in, x[at], 1, tile / 16, 0, 0);
            k.vec_conv(64, dv::Round::none, u, in, repeat, 8, 4);
            k.vec_add(64, u, u, all, repeat, {8, 8, 8});
            k.vec_mul(64, t, u, u, repeat, {8, 8, 8});
            k.vec_muls(64, t, t, -b, repeat, {8, 8});
            k.vec_adds(64, t, t, -a, repeat, {8, 8});
            k.vec_mul(64, t, t, u, repeat, {8, 8, 8});
            k.vec_exp(64, t, t, repeat, {8, 8});
            k.vec_adds(64, t, t, 1.0, repeat, {8, 8});
            k.vec_div(64, t, u, t, repeat, {8, 8, 8});
            k.vec_conv(64, dv::Round::none, out, t, repeat, 4, 8);
            k.data_move(y[at], out, 1, tile / 16, 0, 0);
        });
    });
    return k.build();
}

// The operator with its algorithm and schedule, as in TBE.
struct BiasGelu : Op {
    BiasGelu() : Op("bias_gelu", "x[..n,c] bias[c] -> y[..n,c]") {
        doc = "y = u / (1 + exp(-1.5957691 u - 0.071354816 u^3)), u = x + bias: gelu by tanh";
        dtypes = {"f16"};
        samples = {"n=1 c=64", "n=3 c=5", "n=7 c=33", "n=96 c=128", "n=5 c=1024"};
        bench = {"n=4096 c=1024", "n=1024 c=1024"};
        contract = {Contract::elementwise, 1};
    }
    Func x = input("x"), bias = input("bias");
    Func y = output("y");
    Func u{"u"};
    Var c{"c"}, n{"n"};

    void algorithm() override {
        u(c, n) = x(c, n) + bias(c);
        const Expr v = u(c, n);
        y(c, n) = v / (1_r + exp(v * (v * v * math::number(-b) - math::number(a))));
    }
    void schedule(const Cpu &cpu) override {
        Var lane("lane");
        y.split(c, c, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane).parallel(n);
    }
    void schedule(const Ascend &npu) override {
        const int columns = npu.call->inputs[0][0].extent;
        if (columns % 64 == 0 && columns <= 8192)
            npu.handwritten("tik", [&] { return handwritten(*npu.call); });
        npu.automatic();
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t j = 0; j < p["c"]; j++) {
                const double v = p("x")(i, j) + p("bias")(j);
                p("y")(i, j) = v / (1 + std::exp(-v * (a + b * v * v)));
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<BiasGelu>();
}

}  // namespace halyard
