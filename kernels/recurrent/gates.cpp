// The gates of recurrent cells, one kernel each, which follow the cells' two products
// (primitives/composites/recurrent/recurrent.cpp). Gates and formulas are those of MindSpore
// and PyTorch: i f g o for an LSTM, r z n for a GRU.
#include <cmath>
#include <functional>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}
double slope(double s) {
    return s * (1 - s);
}  // of sigmoid, by its value
Expr slope(const Expr &s) {
    return s * (1_r - s);
}
// Sums are strict: LLVM takes others as free of NaN, and drops what functions ask about it.
Expr plus(const Expr &a, const Expr &b) {
    return strict_float(a + b);
}

// Elementwise over n rows of h elements, with 3 or 4 gates between: Funcs of (x, n) or (x, q, n).
struct Gates : Op {
    Gates(const std::string &name, const std::string &signature, double ulps)
        : Op(name, signature) {
        internal = true;
        dtypes = {
            "f32",
            "f64"};  // cells of 16 bits are computed in f32: primitives/composites/recurrent/recurrent.cpp
        contract = {Contract::normwise, ulps};
        samples = {"n=1 h=1", "n=3 h=7", "n=2 h=33", "n=70 h=17"};
        bench = {"n=64 h=512"};
    }
    Var x{"x"}, q{"q"}, n{"n"};

    void schedule(const Cpu &cpu) override {
        Var vec("vec"), lane("lane"), task("task"), row("row");
        for (Func f : out.size() > 1 ? out : std::vector<Func>{store()}) {
            f.compute_root()
                .split(f.args()[0], vec, lane, cpu.lanes, Tail::GuardWithIf)
                .vectorize(lane);
            const Var rows = f.args().back();
            f.split(rows, task, row, max(1, 16384 / max(1, size("h"))), Tail::GuardWithIf)
                .parallel(task);
            if (f.dimensions() == 3) f.reorder(lane, q, vec, row, task);
        }
    }
    // For references: calls `row` with the place of each element.
    static void each(const Problem &p, const std::function<void(int64_t row, int64_t x)> &element) {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t k = 0; k < p["h"]; k++)
                element(i, k);
        }
    }
};

// cy = s(f) c + s(i) tanh g, hy = s(o) tanh cy, with s the sigmoid
struct LstmGates : Gates {
    LstmGates() : Gates("lstm_gates", "gates[n,4,h] c[n,h] -> cy[n,h] hy[n,h]", 8) {}
    Func gates = input("gates"), c = input("c");
    Func cy = output("cy"), hy = output("hy");
    void algorithm() override {
        cy(x, n) = math::sigmoid(gates(x, 1, n)) * c(x, n) +
                   math::sigmoid(gates(x, 0, n)) * tanh(gates(x, 2, n));
        hy(x, n) = math::sigmoid(gates(x, 3, n)) * tanh(cy(x, n));
    }
    void reference(Problem &p) const override {
        const Array &gate = p("gates");
        each(p, [&](int64_t i, int64_t k) {
            const double cell = sigmoid(gate(i, 1, k)) * p("c")(i, k) +
                                sigmoid(gate(i, 0, k)) * std::tanh(gate(i, 2, k));
            p("cy")(i, k) = cell;
            p("hy")(i, k) = sigmoid(gate(i, 3, k)) * std::tanh(cell);
        });
    }
};

struct LstmGatesDc : Gates {
    LstmGatesDc()
        : Gates("lstm_gates_dc", "gates[n,4,h] cy[n,h] dcy[n,h] dhy[n,h] -> dc[n,h]", 24) {}
    Func gates = input("gates"), cy = input("cy"), dcy = input("dcy"), dhy = input("dhy");
    Func dc = output("dc");
    void algorithm() override {
        const Expr t = tanh(cy(x, n));
        const Expr cell = dcy(x, n) +
                          dhy(x, n) * math::sigmoid(gates(x, 3, n)) * ((1_r - t) * (1_r + t));
        dc(x, n) = cell * math::sigmoid(gates(x, 1, n));
    }
    void reference(Problem &p) const override {
        const Array &gate = p("gates");
        each(p, [&](int64_t i, int64_t k) {
            const double t = std::tanh(p("cy")(i, k));
            p("dc")(i,
                    k) = (p("dcy")(i, k) + p("dhy")(i, k) * sigmoid(gate(i, 3, k)) * (1 - t * t)) *
                         sigmoid(gate(i, 1, k));
        });
    }
};

struct LstmGatesDgates : Gates {
    LstmGatesDgates()
        : Gates("lstm_gates_dgates",
                "gates[n,4,h] c[n,h] cy[n,h] dcy[n,h] dhy[n,h] -> dgates[n,4,h]", 24) {}
    Func gates = input("gates"), c = input("c"), cy = input("cy"), dcy = input("dcy"),
         dhy = input("dhy");
    Func dgates = output("dgates");
    void algorithm() override {
        const Expr i = math::sigmoid(gates(x, 0, n));
        const Expr f = math::sigmoid(gates(x, 1, n));
        const Expr g = tanh(gates(x, 2, n));
        const Expr o = math::sigmoid(gates(x, 3, n));
        const Expr t = tanh(cy(x, n));
        const Expr cell = dcy(x, n) + dhy(x, n) * o * ((1_r - t) * (1_r + t));
        dgates(x, q, n) = select(q == 0, cell * g * slope(i), q == 1, cell * c(x, n) * slope(f),
                                 q == 2, cell * i * ((1_r - g) * (1_r + g)),
                                 dhy(x, n) * t * slope(o));
    }
    void reference(Problem &p) const override {
        const Array &gate = p("gates");
        each(p, [&](int64_t r, int64_t k) {
            const double i = sigmoid(gate(r, 0, k));
            const double f = sigmoid(gate(r, 1, k));
            const double g = std::tanh(gate(r, 2, k));
            const double o = sigmoid(gate(r, 3, k));
            const double t = std::tanh(p("cy")(r, k));
            const double dhy = p("dhy")(r, k);
            const double cell = p("dcy")(r, k) + dhy * o * (1 - t * t);
            p("dgates")(r, 0, k) = cell * g * slope(i);
            p("dgates")(r, 1, k) = cell * p("c")(r, k) * slope(f);
            p("dgates")(r, 2, k) = cell * i * (1 - g * g);
            p("dgates")(r, 3, k) = dhy * t * slope(o);
        });
    }
};

// r = s(x_r + h_r), z = s(x_z + h_z), new = tanh(x_n + r h_n), hy = new + z (h - new)
struct Gru {
    Expr r, z, fresh;
    Gru(const Halide::Func &xs, const Halide::Func &hs, const Halide::Var &x, const Halide::Var &n)
        : r(math::sigmoid(plus(xs(x, 0, n), hs(x, 0, n)))),
          z(math::sigmoid(plus(xs(x, 1, n), hs(x, 1, n)))),
          fresh(tanh(plus(xs(x, 2, n), r * hs(x, 2, n)))) {}
};
struct GruValue {
    double r, z, fresh;
    GruValue(Problem &p, int64_t i, int64_t k)
        : r(sigmoid(p("xs")(i, 0, k) + p("hs")(i, 0, k))),
          z(sigmoid(p("xs")(i, 1, k) + p("hs")(i, 1, k))),
          fresh(std::tanh(p("xs")(i, 2, k) + r * p("hs")(i, 2, k))) {}
};

struct GruGates : Gates {
    GruGates() : Gates("gru_gates", "xs[n,3,h] hs[n,3,h] hx[n,h] -> hy[n,h]", 12) {}
    Func xs = input("xs"), hs = input("hs"), hx = input("hx");
    Func hy = output("hy");
    void algorithm() override {
        const Gru g(xs, hs, x, n);
        hy(x, n) = g.fresh + g.z * (hx(x, n) - g.fresh);
    }
    void reference(Problem &p) const override {
        each(p, [&](int64_t i, int64_t k) {
            const GruValue g(p, i, k);
            p("hy")(i, k) = g.fresh + g.z * (p("hx")(i, k) - g.fresh);
        });
    }
};

// The gradient in xs, or in hs: there what passes to n is multiplied by r.
struct GruGatesD : Gates {
    const bool of_h;
    explicit GruGatesD(bool hidden)
        : Gates(hidden ? "gru_gates_dhs" : "gru_gates_dxs",
                std::string("xs[n,3,h] hs[n,3,h] hx[n,h] dhy[n,h] -> ") + (hidden ? "dhs" : "dxs") +
                    "[n,3,h]",
                24),
          of_h(hidden) {
        d = output(sig.outputs[0].name);
    }
    Func xs = input("xs"), hs = input("hs"), hx = input("hx"), dhy = input("dhy");
    Func d;
    void algorithm() override {
        const Gru g(xs, hs, x, n);
        const Expr fresh = dhy(x, n) * (1_r - g.z) * ((1_r - g.fresh) * (1_r + g.fresh));
        d(x, q, n) = select(q == 0, fresh * hs(x, 2, n) * slope(g.r), q == 1,
                            dhy(x, n) * (hx(x, n) - g.fresh) * slope(g.z),
                            of_h ? fresh * g.r : fresh);
    }
    void reference(Problem &p) const override {
        Array &result = p(sig.outputs[0].name);
        each(p, [&](int64_t i, int64_t k) {
            const GruValue g(p, i, k);
            const double dy = p("dhy")(i, k);
            const double fresh = dy * (1 - g.z) * (1 - g.fresh * g.fresh);
            result(i, 0, k) = fresh * p("hs")(i, 2, k) * slope(g.r);
            result(i, 1, k) = dy * (p("hx")(i, k) - g.fresh) * slope(g.z);
            result(i, 2, k) = of_h ? fresh * g.r : fresh;
        });
    }
};

struct GruGatesDhx : Gates {
    GruGatesDhx() : Gates("gru_gates_dhx", "xs[n,3,h] hs[n,3,h] dhy[n,h] -> dhx[n,h]", 8) {}
    Func xs = input("xs"), hs = input("hs"), dhy = input("dhy");
    Func dhx = output("dhx");
    void algorithm() override { dhx(x, n) = dhy(x, n) * Gru(xs, hs, x, n).z; }
    void reference(Problem &p) const override {
        each(p,
             [&](int64_t i, int64_t k) { p("dhx")(i, k) = p("dhy")(i, k) * GruValue(p, i, k).z; });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<LstmGates>();
    ops.add<LstmGatesDc>();
    ops.add<LstmGatesDgates>();
    ops.add<GruGates>();
    ops.add<GruGatesD>(false);
    ops.add<GruGatesD>(true);
    ops.add<GruGatesDhx>();
}

}  // namespace halyard
