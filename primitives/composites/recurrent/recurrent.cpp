// Recurrent cells: two products, and one kernel for the gates that follow them. Gates and formulas
// are those of MindSpore and PyTorch: i f g o for an LSTM, r z n for a GRU.
#include "primitives/composites/composite.h"
#include "primitives/operators.h"
#include "primitives/ops/dense_kernel.h"
#include "primitives/ops/gates.h"
#include "primitives/ops/unary.h"

#include <algorithm>
#include <cmath>

namespace halyard {
namespace {

// A cell's inputs, in f32 if they have 16 bits, and its two products. The inputs are x, the state,
// the cell for an LSTM, w_ih, w_hh, b_ih, b_hh.
struct Products {
    Products(const Call &call, size_t weights, int64_t gates)
        : op(call.op()), dtype(call[0].dtype()) {
        for (const Tensor &t : call.in)
            in.push_back(cast_to(t, bytes_of(t.dtype()) == 2 ? DType::f32 : t.dtype()));
        const Tensor &x = in[0];
        const Tensor &hx = in[1];
        const Tensor &w_ih = in[weights];
        const Tensor &w_hh = in[weights + 1];
        for (const auto &[name, t, rank] : {Expected{"x", x, 2},
                                            {"hx", hx, 2},
                                            {"w_ih", w_ih, 2},
                                            {"w_hh", w_hh, 2},
                                            {"b_ih", in[weights + 2], 1},
                                            {"b_hh", in[weights + 3], 1}}) {
            if (t.rank() != rank) {
                throw ShapeError(op, std::string(name) + " has rank " + std::to_string(t.rank()) +
                                         ", expected " + std::to_string(rank));
            }
        }
        n = hx.shape()[0];
        h = hx.shape()[1];
        expect("x.n", x.shape()[0], "hx.n", n);
        expect("w_ih.k", w_ih.shape()[1], "x.k", x.shape()[1]);
        expect("w_hh.h", w_hh.shape()[1], "hx.h", h);
        const std::string rows = std::to_string(gates) + " gates of hx.h";
        for (const auto &[name, t] : {std::pair{"w_ih's rows", w_ih},
                                      {"w_hh's rows", w_hh},
                                      {"b_ih", in[weights + 2]},
                                      {"b_hh", in[weights + 3]}})
            expect(name, t.shape()[0], rows.c_str(), gates * h);
        of_x = kernel::dense(x, w_ih, in[weights + 2], false, true);
        of_h = kernel::dense(hx, w_hh, in[weights + 3], false, true);
        if (gates > 1) {
            of_x = reshaped(of_x, {n, gates, h});
            of_h = reshaped(of_h, {n, gates, h});
        }
    }
    void expect(const char *what, int64_t got, const char *as, int64_t expected) const {
        if (got != expected) {
            throw ShapeError(op, std::string(what) + " is " + std::to_string(got) + ", expected " +
                                     std::to_string(expected) + " as " + as);
        }
    }
    struct Expected {
        const char *name;
        const Tensor &t;
        int rank;
    };
    Result results(std::vector<Tensor> y) const {
        for (Tensor &t : y)
            t = cast_to(t, dtype);
        return y;
    }
    const std::string op;
    const DType dtype;
    std::vector<Tensor> in;
    int64_t n = 0, h = 0;
    Tensor of_x, of_h;
};

// A cell with a product of x and one of the state for each gate: w_ih[gates h, k] and w_hh[gates h,
// h] have the gates' weights one below the other.
struct Cell : Composite {
    Cell(const std::string &name, const std::string &signature, const std::string &formula)
        : Composite(name, signature, formula) {
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::normwise, 64};
        samples = {"n=1 k=1 h=1", "n=3 k=5 h=7", "n=2 k=33 h=17"};
    }
    // Calls visit(i, k) for every element of the state.
    template<class F> static void each(const Problem &p, F visit) {
        for (int64_t i = 0; i < p["n"]; i++) {
            for (int64_t k = 0; k < p["h"]; k++)
                visit(i, k);
        }
    }
    static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
    // Returns x w^T + b: [n, rows of w].
    static Array product(const Array &x, const Array &w, const Array &b) {
        Array y({x.shape[0], w.shape[0]});
        for (int64_t i = 0; i < y.shape[0]; i++) {
            for (int64_t j = 0; j < y.shape[1]; j++) {
                y(i, j) = b(j);
                for (int64_t t = 0; t < x.shape[1]; t++)
                    y(i, j) += x(i, t) * w(j, t);
            }
        }
        return y;
    }
};

struct RnnCell : Cell {
    const bool relu;
    explicit RnnCell(bool is_relu)
        : Cell(is_relu ? "rnn_relu_cell" : "rnn_tanh_cell",
               "x[n,k] hx[n,h] w_ih[h,k] w_hh[h,h] b_ih[h] b_hh[h] -> hy[n,h]",
               is_relu ? "hy = max(x w_ih^T + b_ih + hx w_hh^T + b_hh, 0)"
                       : "hy = tanh(x w_ih^T + b_ih + hx w_hh^T + b_hh)"),
          relu(is_relu) {}
    Result compose(const Call &call) const override {
        const Products p(call, 2, 1);
        expect_one_dtype(p.in, {0, 1});
        const Tensor sum = p.of_x + p.of_h;
        return p.results({relu ? F::relu(sum) : F::tanh(sum)});
    }
    void reference(Problem &p) const override {
        Array y = product(p("x"), p("w_ih"), p("b_ih"));
        const Array h = product(p("hx"), p("w_hh"), p("b_hh"));
        for (size_t e = 0; e < y.v.size(); e++)
            y.v[e] = relu ? std::max(0.0, y.v[e] + h.v[e]) : std::tanh(y.v[e] + h.v[e]);
        p.tensors["hy"] = y;
    }
};

struct LstmCell : Cell {
    LstmCell()
        : Cell("lstm_cell",
               "x[n,k] hx[n,h] cx[n,h] w_ih[4*h,k] w_hh[4*h,h] b_ih[4*h] b_hh[4*h] -> hy[n,h] "
               "cy[n,h]",
               "i, f, g, o = x w_ih^T + b_ih + hx w_hh^T + b_hh; cy = sigmoid(f) cx + sigmoid(i) "
               "tanh(g), hy = sigmoid(o) tanh(cy)") {}
    Result compose(const Call &call) const override {
        const Products p(call, 3, 4);
        expect_one_dtype(p.in, {0, 1});
        if (!(p.in[2].shape() == p.in[1].shape())) {
            throw ShapeError("lstm_cell", "cx has shape " + call[2].shape().text() + ", expected " +
                                              call[1].shape().text() + " as hx");
        }
        const auto [cy, hy] = kernel::lstm_gates(p.of_x + p.of_h, p.in[2]);
        return p.results({hy, cy});
    }
    void reference(Problem &p) const override {
        const Array a = product(p("x"), p("w_ih"), p("b_ih"));
        const Array b = product(p("hx"), p("w_hh"), p("b_hh"));
        Array hy({p["n"], p["h"]});
        Array cy = hy;
        each(p, [&](int64_t i, int64_t k) {
            const auto gate = [&](int64_t q) {
                return a(i, q * p["h"] + k) + b(i, q * p["h"] + k);
            };
            cy(i, k) = sigmoid(gate(1)) * p("cx")(i, k) + sigmoid(gate(0)) * std::tanh(gate(2));
            hy(i, k) = sigmoid(gate(3)) * std::tanh(cy(i, k));
        });
        p.tensors["hy"] = hy;
        p.tensors["cy"] = cy;
    }
};

struct GruCell : Cell {
    GruCell()
        : Cell("gru_cell", "x[n,k] hx[n,h] w_ih[3*h,k] w_hh[3*h,h] b_ih[3*h] b_hh[3*h] -> hy[n,h]",
               "x_r, x_z, x_n = x w_ih^T + b_ih; h_r, h_z, h_n = hx w_hh^T + b_hh; r = sigmoid(x_r "
               "+ h_r), z = sigmoid(x_z + h_z), n = tanh(x_n + r h_n); hy = "
               "n + z (hx - n)") {}
    Result compose(const Call &call) const override {
        const Products p(call, 2, 3);
        return p.results({kernel::gru_gates(p.of_x, p.of_h, p.in[1])});
    }
    void reference(Problem &p) const override {
        const Array a = product(p("x"), p("w_ih"), p("b_ih"));
        const Array b = product(p("hx"), p("w_hh"), p("b_hh"));
        Array hy({p["n"], p["h"]});
        each(p, [&](int64_t i, int64_t k) {
            const int64_t h = p["h"];
            const double r = sigmoid(a(i, k) + b(i, k));
            const double z = sigmoid(a(i, h + k) + b(i, h + k));
            const double fresh = std::tanh(a(i, 2 * h + k) + r * b(i, 2 * h + k));
            hy(i, k) = fresh + z * (p("hx")(i, k) - fresh);
        });
        p.tensors["hy"] = hy;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<RnnCell>(false);
    composites.add<RnnCell>(true);
    composites.add<LstmCell>();
    composites.add<GruCell>();
}

}  // namespace halyard
