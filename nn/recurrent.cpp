#include "nn/recurrent.h"

#include <cmath>

#include "nn/sizes.h"
#include "primitives/composites/concat.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/cast.h"
#include "primitives/ops/composites.h"
#include "primitives/ops/dense.h"
#include "primitives/ops/dropout.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/recurrent.h"
#include "primitives/ops/select.h"
#include "primitives/ops/unary.h"
#include "primitives/ops/views.h"

namespace halyard::nn {
namespace {

// Returns x converted to `dtype`, or x itself.
Tensor as(const Tensor &x, DType dtype) {
    return x.dtype() == dtype ? x : F::cast(x, dtype);
}

void expect_shape(const std::string &layer, const char *name, const Tensor &t, const Shape &shape) {
    if (!(t.shape() == shape)) {
        throw ShapeError(layer, std::string(name) + " has shape " + t.shape().text() +
                                    ", expected " + shape.text());
    }
}

// Returns a mask [n,1] of bool: true for the sequences that have a step t.
Tensor running(const Tensor &seq_length, int64_t t) {
    return F::reshape(F::greater(seq_length, int(t)), {-1, 1});
}

}  // namespace

// Runs one direction of one layer, in f32 or f64.
struct Recurrent::Run {
    Kind kind;
    int64_t steps, n, hidden;
    Tensor seq_length;

    int64_t gates() const { return kind == Kind::lstm ? 4 : kind == Kind::gru ? 3 : 1; }
    Tensor by_gates(const Tensor &x) const {
        return gates() == 1 ? x : F::reshape(x, {n, gates(), hidden});
    }

    // Returns the next {h} or {h, c}.
    std::vector<Tensor> step(const Tensor &of_x, const Tensor &of_h,
                             const std::vector<Tensor> &state) const {
        static const Primitive lstm_gates("lstm_gates"), gru_gates("gru_gates");
        if (kind == Kind::gru) return gru_gates.run({by_gates(of_x), by_gates(of_h), state[0]});
        const Tensor sum = of_x + of_h;
        if (kind != Kind::lstm) return {kind == Kind::relu ? F::relu(sum) : F::tanh(sum)};
        std::vector<Tensor> next = lstm_gates.run({by_gates(sum), state[1]});
        std::swap(next[0], next[1]);
        return next;
    }

    // Returns the outputs of x[steps,n,...], computed in the given direction, and sets `state` to
    // the last state.
    Tensor operator()(const Tensor &x, const Weights &w, std::vector<Tensor> &state,
                      bool reverse) const {
        // The two biases are added once, except for a GRU. The inputs of all steps are multiplied
        // in one product. The recurrent weight is transposed once, which makes each step's product
        // faster.
        const bool separate_biases = kind == Kind::gru;
        const Tensor none = Tensor::zeros({gates() * hidden}, x.dtype());
        const Tensor w_hh = F::contiguous(F::transpose(w.w_hh, {1, 0}));
        const Tensor bias = !w.b_ih.defined() ? none
                            : separate_biases ? w.b_ih.data()
                                              : w.b_ih.data() + w.b_hh.data();
        const std::vector<Tensor> of_x = F::unstack(F::dense(x, w.w_ih, bias), 0);
        std::vector<Tensor> outputs(static_cast<size_t>(steps));
        for (int64_t k = 0; k < steps; k++) {
            const int64_t t = reverse ? steps - 1 - k : k;
            Tensor of_h = F::matmul(state[0], w_hh);
            if (separate_biases && w.b_hh.defined()) of_h = of_h + w.b_hh.data();
            std::vector<Tensor> next = step(of_x[size_t(t)], of_h, state);
            Tensor output = next[0];
            if (seq_length.defined()) {
                const Tensor runs = running(seq_length, t);
                for (size_t i = 0; i < next.size(); i++)
                    next[i] = F::select(runs, next[i], state[i]);
                output = F::select(runs, output, 0);
            }
            state = next;
            outputs[size_t(t)] = output;
        }
        return F::stack(outputs, 0);
    }
};

Recurrent::Recurrent(Kind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions &o)
    : kind_(kind), input_size_(input_size), hidden_size_(hidden_size), options_(o) {
    constexpr const char *names[] = {"RNN", "RNN", "LSTM", "GRU"};
    const std::string layer = names[int(kind)];
    check_min(layer, "input_size", input_size, 1);
    check_min(layer, "hidden_size", hidden_size, 1);
    check_min(layer, "num_layers", o.num_layers, 1);
    if (!(o.dropout >= 0 && o.dropout < 1)) {
        throw AttrError(layer,
                        "dropout is " + std::to_string(o.dropout) + ", expected 0 <= dropout < 1");
    }
    const Uniform init(1 / std::sqrt(double(hidden_size)));
    const int64_t rows = Run{kind, 0, 0, 0, {}}.gates() * hidden_size;
    const int64_t directions = o.bidirectional ? 2 : 1;
    for (int64_t k = 0; k < o.num_layers; k++) {
        for (int64_t d = 0; d < directions; d++) {
            const std::string suffix = "_l" + std::to_string(k) + (d ? "_reverse" : "");
            Weights w;
            w.w_ih = parameter(
                "weight_ih" + suffix,
                initializer(init, {rows, k ? directions * hidden_size : input_size}));
            w.w_hh = parameter("weight_hh" + suffix, initializer(init, {rows, hidden_size}));
            if (o.has_bias) {
                w.b_ih = parameter("bias_ih" + suffix, initializer(init, {rows}));
                w.b_hh = parameter("bias_hh" + suffix, initializer(init, {rows}));
            }
            weights_.push_back(w);
        }
    }
}

void Recurrent::check_inputs(const std::string &layer, Tensors in) const {
    if (in.empty() || in.size() > states() + 2) {
        throw ShapeError(layer, "inputs are " + std::to_string(in.size()) +
                                    " tensors, expected 1 to " + std::to_string(states() + 2));
    }
    if (in[0].rank() != 3)
        throw ShapeError(layer, "x's rank is " + std::to_string(in[0].rank()) + ", expected 3");
    if (in[0].size(2) != input_size_) {
        throw ShapeError(layer, "x's last extent is " + std::to_string(in[0].size(2)) +
                                    ", expected input_size " + std::to_string(input_size_));
    }
}

std::vector<std::vector<Tensor>> Recurrent::initial_states(const std::string &layer, Tensors in,
                                                           int64_t n, DType dtype) const {
    // The states are [layers * directions, n, hidden_size].
    const Shape shape{int64_t(weights_.size()), n, hidden_size_};
    std::vector<std::vector<Tensor>> first(states());
    for (size_t i = 0; i < first.size(); i++) {
        const bool given = in.size() > i + 1 && in[i + 1].defined();
        if (given) expect_shape(layer, i ? "c0" : "h0", in[i + 1], shape);
        first[i] = F::unstack(given ? as(in[i + 1], dtype) : Tensor::zeros(shape, dtype), 0);
    }
    return first;
}

std::vector<Tensor> Recurrent::construct(Tensors in) const {
    const std::string layer = cls_name();
    check_inputs(layer, in);
    const DType given = in[0].dtype();
    const DType dtype = bytes_of(given) == 2 ? DType::f32 : given;
    Tensor x = as(options_.batch_first ? F::transpose(in[0], {1, 0, 2}) : in[0], dtype);
    const Run run{kind_, x.size(0), x.size(1), hidden_size_,
                  in.size() > states() + 1 ? in[states() + 1] : Tensor()};
    if (run.seq_length.defined()) expect_shape(layer, "seq_length", run.seq_length, {run.n});
    if (run.steps == 0) throw ShapeError(layer, "x has no steps, expected at least one");

    const std::vector<std::vector<Tensor>> first = initial_states(layer, in, run.n, dtype);
    std::vector<std::vector<Tensor>> last(states());
    const size_t directions = options_.bidirectional ? 2 : 1;
    for (size_t k = 0; k < weights_.size(); k += directions) {
        if (k && options_.dropout > 0 && training()) x = F::dropout(x, options_.dropout)[0];
        std::vector<Tensor> outputs;
        for (size_t d = 0; d < directions; d++) {
            std::vector<Tensor> state;
            for (const std::vector<Tensor> &each : first)
                state.push_back(each[k + d]);
            outputs.push_back(run(x, weights_[k + d], state, d == 1));
            for (size_t i = 0; i < last.size(); i++)
                last[i].push_back(state[i]);
        }
        x = directions == 2 ? F::concat(outputs, 2) : outputs[0];
    }
    std::vector<Tensor> out = {as(options_.batch_first ? F::transpose(x, {1, 0, 2}) : x, given)};
    for (const std::vector<Tensor> &state : last)
        out.push_back(as(F::stack(state, 0), given));
    return out;
}

std::string Recurrent::extend_repr() const {
    return "input_size=" + std::to_string(input_size_) +
           ", hidden_size=" + std::to_string(hidden_size_) +
           ", num_layers=" + std::to_string(options_.num_layers) +
           ", bidirectional=" + (options_.bidirectional ? "True" : "False");
}

namespace {

bool is_relu(const char *layer, const std::string &nonlinearity) {
    if (nonlinearity != "tanh" && nonlinearity != "relu")
        throw AttrError(layer, "nonlinearity is " + nonlinearity + ", expected tanh or relu");
    return nonlinearity == "relu";
}

}  // namespace

RNN::RNN(int64_t input_size, int64_t hidden_size, const RecurrentOptions &options,
         const std::string &nonlinearity)
    : Recurrent(is_relu("RNN", nonlinearity) ? Kind::relu : Kind::tanh, input_size, hidden_size,
                options) {}

RNN::Result RNN::operator()(const Tensor &x, const Tensor &h0, const Tensor &seq_length) const {
    const std::vector<Tensor> out = call(std::array{x, h0, seq_length});
    return {out[0], out[1]};
}

GRU::Result GRU::operator()(const Tensor &x, const Tensor &h0, const Tensor &seq_length) const {
    const std::vector<Tensor> out = call(std::array{x, h0, seq_length});
    return {out[0], out[1]};
}

LSTM::Result LSTM::operator()(const Tensor &x, const Tensor &h0, const Tensor &c0,
                              const Tensor &seq_length) const {
    const std::vector<Tensor> out = call(std::array{x, h0, c0, seq_length});
    return {out[0], out[1], out[2]};
}

RecurrentCell::RecurrentCell(int64_t input_size, int64_t hidden_size, bool has_bias,
                             int64_t gates) {
    check_min("RecurrentCell", "input_size", input_size, 1);
    check_min("RecurrentCell", "hidden_size", hidden_size, 1);
    const Uniform init(1 / std::sqrt(double(hidden_size)));
    const int64_t rows = gates * hidden_size;
    weight_ih = parameter("weight_ih", initializer(init, {rows, input_size}));
    weight_hh = parameter("weight_hh", initializer(init, {rows, hidden_size}));
    if (has_bias) {
        bias_ih = parameter("bias_ih", initializer(init, {rows}));
        bias_hh = parameter("bias_hh", initializer(init, {rows}));
    }
}

Tensor RecurrentCell::bias(const Parameter &b, const Tensor &x) const {
    return b.defined() ? computed(b) : Tensor::zeros({weight_hh.shape()[0]}, x.dtype());
}

RNNCell::RNNCell(int64_t input_size, int64_t hidden_size, bool has_bias,
                 const std::string &nonlinearity)
    : RecurrentCell(input_size, hidden_size, has_bias, 1), relu_(is_relu("RNNCell", nonlinearity)) {
}

Tensor RNNCell::construct(const Tensor &x, const Tensor &hx) const {
    return (relu_ ? F::rnn_relu_cell : F::rnn_tanh_cell)(
        x, hx, computed(weight_ih), computed(weight_hh), bias(bias_ih, x), bias(bias_hh, x));
}

GRUCell::GRUCell(int64_t input_size, int64_t hidden_size, bool has_bias)
    : RecurrentCell(input_size, hidden_size, has_bias, 3) {}

Tensor GRUCell::construct(const Tensor &x, const Tensor &hx) const {
    return F::gru_cell(x, hx, computed(weight_ih), computed(weight_hh), bias(bias_ih, x),
                       bias(bias_hh, x));
}

LSTMCell::LSTMCell(int64_t input_size, int64_t hidden_size, bool has_bias)
    : RecurrentCell(input_size, hidden_size, has_bias, 4) {}

std::vector<Tensor> LSTMCell::construct(Tensors in) const {
    if (in.size() != 3) {
        throw ShapeError("LSTMCell",
                         "inputs are " + std::to_string(in.size()) + " tensors, expected 3");
    }
    const auto [h, c] = F::lstm_cell(in[0], in[1], in[2], computed(weight_ih), computed(weight_hh),
                                     bias(bias_ih, in[0]), bias(bias_hh, in[0]));
    return {h, c};
}

std::array<Tensor, 2> LSTMCell::operator()(const Tensor &x, const Tensor &hx,
                                           const Tensor &cx) const {
    const std::vector<Tensor> out = call(std::array{x, hx, cx});
    return {out[0], out[1]};
}

}  // namespace halyard::nn
