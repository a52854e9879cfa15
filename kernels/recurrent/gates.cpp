// Recurrent cells. A cell is two matrix products, followed by its gates, which are one kernel;
// primitives/composites/recurrent/recurrent.cpp composes them. The gates and their order are those
// of MindSpore and PyTorch: i f g o for an LSTM, r z n for a GRU.
#include <cmath>
#include <functional>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}
// Return the derivative of sigmoid, given its value s.
double sigmoid_derivative(double s) {
    return s * (1 - s);
}
Expr sigmoid_derivative(const Expr &s) {
    return s * (1_r - s);
}
// The gates of an LSTM and of a GRU, in their order in tensors.
constexpr int input_gate = 0, forget_gate = 1, cell_gate = 2, output_gate = 3;
constexpr int reset_gate = 0, update_gate = 1, new_gate = 2;

// Returns a + b, strict: LLVM assumes that other sums are never NaN, and drops tests for it.
Expr plus(const Expr &a, const Expr &b) {
    return strict_float(a + b);
}

// The base of the gates' kernels: elementwise over n rows of h elements. Gates are Funcs of (x, q,
// n), q the gate; other tensors are Funcs of (x, n).
struct Gates : Op {
    Gates(const std::string &name, const std::string &signature, double ulps)
        : Op(name, signature) {
        internal = true;
        // primitives/composites/recurrent/recurrent.cpp computes cells of 16 bits in f32.
        dtypes = {"f32", "f64"};
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
    // For references: calls element(row, x) for each element.
    static void each(const Problem &p, const std::function<void(int64_t row, int64_t x)> &element) {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t k = 0; k < p["h"]; k++)
                element(i, k);
        }
    }
};

// cy = s(f) c + s(i) tanh g, hy = s(o) tanh cy, where s is the sigmoid.
struct LstmGates : Gates {
    LstmGates() : Gates("lstm_gates", "gates[n,4,h] c[n,h] -> cy[n,h] hy[n,h]", 8) {}
    Func gates = input("gates"), c = input("c");
    Func cy = output("cy"), hy = output("hy");
    void algorithm() override {
        cy(x, n) = math::sigmoid(gates(x, forget_gate, n)) * c(x, n) +
                   math::sigmoid(gates(x, input_gate, n)) * tanh(gates(x, cell_gate, n));
        hy(x, n) = math::sigmoid(gates(x, output_gate, n)) * tanh(cy(x, n));
    }
    void reference(Problem &p) const override {
        const Array &gate = p("gates");
        each(p, [&](int64_t i, int64_t k) {
            const double cell = sigmoid(gate(i, forget_gate, k)) * p("c")(i, k) +
                                sigmoid(gate(i, input_gate, k)) * std::tanh(gate(i, cell_gate, k));
            p("cy")(i, k) = cell;
            p("hy")(i, k) = sigmoid(gate(i, output_gate, k)) * std::tanh(cell);
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
        const Expr cell = dcy(x, n) + dhy(x, n) * math::sigmoid(gates(x, output_gate, n)) *
                                          ((1_r - t) * (1_r + t));
        dc(x, n) = cell * math::sigmoid(gates(x, forget_gate, n));
    }
    void reference(Problem &p) const override {
        const Array &gate = p("gates");
        each(p, [&](int64_t i, int64_t k) {
            const double t = std::tanh(p("cy")(i, k));
            p("dc")(i, k) = (p("dcy")(i, k) +
                             p("dhy")(i, k) * sigmoid(gate(i, output_gate, k)) * (1 - t * t)) *
                            sigmoid(gate(i, forget_gate, k));
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
        const Expr i = math::sigmoid(gates(x, input_gate, n));
        const Expr f = math::sigmoid(gates(x, forget_gate, n));
        const Expr g = tanh(gates(x, cell_gate, n));
        const Expr o = math::sigmoid(gates(x, output_gate, n));
        const Expr t = tanh(cy(x, n));
        const Expr cell = dcy(x, n) + dhy(x, n) * o * ((1_r - t) * (1_r + t));
        dgates(x, q, n) = select(q == input_gate, cell * g * sigmoid_derivative(i),
                                 q == forget_gate, cell * c(x, n) * sigmoid_derivative(f),
                                 q == cell_gate, cell * i * ((1_r - g) * (1_r + g)),
                                 dhy(x, n) * t * sigmoid_derivative(o));
    }
    void reference(Problem &p) const override {
        const Array &gate = p("gates");
        each(p, [&](int64_t r, int64_t k) {
            const double i = sigmoid(gate(r, input_gate, k));
            const double f = sigmoid(gate(r, forget_gate, k));
            const double g = std::tanh(gate(r, cell_gate, k));
            const double o = sigmoid(gate(r, output_gate, k));
            const double t = std::tanh(p("cy")(r, k));
            const double dhy = p("dhy")(r, k);
            const double cell = p("dcy")(r, k) + dhy * o * (1 - t * t);
            p("dgates")(r, input_gate, k) = cell * g * sigmoid_derivative(i);
            p("dgates")(r, forget_gate, k) = cell * p("c")(r, k) * sigmoid_derivative(f);
            p("dgates")(r, cell_gate, k) = cell * i * (1 - g * g);
            p("dgates")(r, output_gate, k) = dhy * t * sigmoid_derivative(o);
        });
    }
};

// The gates of a GRU: r = s(x_r + h_r), z = s(x_z + h_z), candidate = tanh(x_n + r h_n). Its result
// is hy = candidate + z (h - candidate).
struct Gru {
    Expr r, z, candidate;
    Gru(const Halide::Func &xs, const Halide::Func &hs, const Halide::Var &x, const Halide::Var &n)
        : r(math::sigmoid(plus(xs(x, reset_gate, n), hs(x, reset_gate, n)))),
          z(math::sigmoid(plus(xs(x, update_gate, n), hs(x, update_gate, n)))),
          candidate(tanh(plus(xs(x, new_gate, n), r * hs(x, new_gate, n)))) {}
};
struct GruValue {
    double r, z, candidate;
    GruValue(Problem &p, int64_t i, int64_t k)
        : r(sigmoid(p("xs")(i, reset_gate, k) + p("hs")(i, reset_gate, k))),
          z(sigmoid(p("xs")(i, update_gate, k) + p("hs")(i, update_gate, k))),
          candidate(std::tanh(p("xs")(i, new_gate, k) + r * p("hs")(i, new_gate, k))) {}
};

// What the errors of r, z and the candidate are measured against: a gate's own size and the
// rounding of its argument, which the sigmoid's or the tangent's derivative passes on.
struct GruTerms {
    double r, z, candidate;
    GruTerms(Problem &p, const GruValue &g, int64_t i, int64_t k) {
        const auto gate_terms = [&](int gate, double value) {
            return value * (1 + (1 - value) * std::fabs(p("xs")(i, gate, k) + p("hs")(i, gate, k)));
        };
        r = gate_terms(reset_gate, g.r);
        z = gate_terms(update_gate, g.z);
        const double argument = std::fabs(p("xs")(i, new_gate, k)) +
                                std::fabs(p("hs")(i, new_gate, k)) * r;
        candidate = std::fabs(g.candidate) + (1 - g.candidate * g.candidate) * argument;
    }
};

// Its sums may cancel, so errors are measured against their terms. In units of eps, with errors of
// 2.5 of the sigmoid and of 2 of tanh, of their size, and 0.5 of each rounding:
// - r has an error of r (2.5 + 0.5 (1 - r) |x_r + h_r|), since (1 - r) r is the sigmoid's
//   derivative. z has the same.
// - The candidate, c, has one of 2 |c| + (1 - c^2) (0.5 |x_n + r h_n| + 0.5 |r h_n| + that of r
//   times |h_n|). hy changes by 1 - z of it.
// - z (h - c) has one of z |h - c| (0.5 + 0.5) and that of z times |h - c|; hy is rounded once.
// The sum is at most 3.5 times abs_sum.
struct GruGates : Gates {
    GruGates() : Gates("gru_gates", "xs[n,3,h] hs[n,3,h] hx[n,h] -> hy[n,h]", 3.5) {
        contract.measure = Contract::products;
    }
    Func xs = input("xs"), hs = input("hs"), hx = input("hx");
    Func hy = output("hy");
    void algorithm() override {
        const Gru g(xs, hs, x, n);
        hy(x, n) = g.candidate + g.z * (hx(x, n) - g.candidate);
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["hy"] = Array(p("hy").shape);
        each(p, [&](int64_t i, int64_t k) {
            const GruValue g(p, i, k);
            const double h = p("hx")(i, k);
            p("hy")(i, k) = g.candidate + g.z * (h - g.candidate);
            const GruTerms terms(p, g, i, k);
            abs_sum(i, k) = std::fabs(p("hy")(i, k)) + (1 - g.z) * terms.candidate +
                            std::fabs(h - g.candidate) * terms.z;
        });
    }
};

// The gradient in xs, or in hs, where that of gate n is multiplied by r. A gate near 1 and a
// candidate near 1 or -1 have few bits left in 1 - z, 1 - r and 1 - c^2, and h - c may cancel. So
// errors are measured against the terms of these differences.
struct GruGatesD : Gates {
    const bool of_h;
    explicit GruGatesD(bool hidden)
        : Gates(hidden ? "gru_gates_dhs" : "gru_gates_dxs",
                std::string("xs[n,3,h] hs[n,3,h] hx[n,h] dhy[n,h] -> ") + (hidden ? "dhs" : "dxs") +
                    "[n,3,h]",
                8),
          of_h(hidden) {
        d = output(sig.outputs[0].name);
        contract.measure = Contract::products;
    }
    Func xs = input("xs"), hs = input("hs"), hx = input("hx"), dhy = input("dhy");
    Func d;
    void algorithm() override {
        const Gru g(xs, hs, x, n);
        const Expr d_candidate = dhy(x, n) * (1_r - g.z) *
                                 ((1_r - g.candidate) * (1_r + g.candidate));
        d(x, q, n) = select(
            q == reset_gate, d_candidate * hs(x, new_gate, n) * sigmoid_derivative(g.r),
            q == update_gate, dhy(x, n) * (hx(x, n) - g.candidate) * sigmoid_derivative(g.z),
            of_h ? d_candidate * g.r : d_candidate);
    }
    void reference(Problem &p) const override {
        Array &result = p(sig.outputs[0].name);
        Array &abs_sum = p.abs_sum[sig.outputs[0].name] = Array(result.shape);
        each(p, [&](int64_t i, int64_t k) {
            const GruValue g(p, i, k);
            const double dy = p("dhy")(i, k);
            const double d_candidate = dy * (1 - g.z) * (1 - g.candidate * g.candidate);
            result(i, reset_gate, k) = d_candidate * p("hs")(i, new_gate, k) *
                                       sigmoid_derivative(g.r);
            result(i, update_gate, k) = dy * (p("hx")(i, k) - g.candidate) *
                                        sigmoid_derivative(g.z);
            result(i, new_gate, k) = of_h ? d_candidate * g.r : d_candidate;

            const GruTerms terms(p, g, i, k);
            const double hs_new = p("hs")(i, new_gate, k);
            const double slope = 1 - g.candidate * g.candidate;
            const double of_candidate = std::fabs(dy) *
                                        (slope * (1 + (1 - g.z) * terms.z) +
                                         (1 - g.z) * 2 * std::fabs(g.candidate) * terms.candidate);
            abs_sum(i, reset_gate, k) = of_candidate * std::fabs(hs_new) * sigmoid_derivative(g.r) +
                                        std::fabs(d_candidate * hs_new) * terms.r;
            abs_sum(i, update_gate,
                    k) = std::fabs(dy) *
                         ((std::fabs(p("hx")(i, k)) + terms.candidate) * sigmoid_derivative(g.z) +
                          std::fabs(p("hx")(i, k) - g.candidate) * terms.z);
            abs_sum(i, new_gate, k) = of_h ? of_candidate * g.r + std::fabs(d_candidate) * terms.r
                                           : of_candidate;
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
