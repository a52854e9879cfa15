// Compositions of recurrent cells (records: kernels/recurrent/recurrent.cpp).
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"

namespace halyard {
namespace {

// The inputs in the cell's arithmetic, which is f32 for 16 bits, and its two products. `given`: x,
// the state, (the cell,) then w_ih, w_hh, b_ih, b_hh.
struct Products {
    Products(Tensors given, const Attrs &a, size_t weights, int64_t gates)
        : op(a.op().name), dtype(given[0].dtype()) {
        for (const Tensor &t : given)
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
        of_x = run1("dense_kernel", {x, w_ih, in[weights + 2]}, {{"transpose_b", true}});
        of_h = run1("dense_kernel", {hx, w_hh, in[weights + 3]}, {{"transpose_b", true}});
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

Result rnn_cell(Tensors in, const Attrs &a) {
    const Products p(in, a, 2, 1);
    return p.results(
        {run1(a.op().name == "rnn_relu_cell" ? "relu" : "tanh", {run1("add", {p.of_x, p.of_h})})});
}

Result lstm_cell(Tensors in, const Attrs &a) {
    const Products p(in, a, 3, 4);
    if (!(p.in[2].shape() == p.in[1].shape())) {
        throw ShapeError("lstm_cell", "cx has shape " + in[2].shape().text() + ", expected " +
                                          in[1].shape().text() + " as hx");
    }
    const std::vector<Tensor> y =
        Primitive("lstm_gates").run({run1("add", {p.of_x, p.of_h}), p.in[2]});
    return p.results({y[1], y[0]});
}

Result gru_cell(Tensors in, const Attrs &a) {
    const Products p(in, a, 2, 3);
    return p.results({run1("gru_gates", {p.of_x, p.of_h, p.in[1]})});
}

}  // namespace

Family recurrent_family() {
    static const Family::value_type all[] = {{"rnn_tanh_cell", rnn_cell},
                                             {"rnn_relu_cell", rnn_cell},
                                             {"lstm_cell", lstm_cell},
                                             {"gru_cell", gru_cell}};
    return all;
}

}  // namespace halyard
