// Recurrent cells and layers. Gates and formulas are MindSpore's and PyTorch's: i f g o for an
// LSTM, r z n for a GRU. Parameters start in U(+-1/sqrt(hidden_size)); without has_bias there are
// no biases. Throws AttrError, ShapeError.
#pragma once
#include <vector>

#include "nn/cell.h"
#include "nn/initializer.h"

namespace halyard::nn {

// One step. Parameters: weight_ih[gates * hidden_size, input_size], weight_hh[gates * hidden_size,
// hidden_size], bias_ih, bias_hh.
class RecurrentCell : public Cell {
public:
    Parameter weight_ih, weight_hh, bias_ih, bias_hh;

protected:
    RecurrentCell(int64_t input_size, int64_t hidden_size, bool has_bias, int64_t gates);
    Tensor bias(const Parameter &b, const Tensor &x) const;  // zeros when there is none
};

// x[n,input_size], hx[n,hidden_size] -> the next hx.
class RNNCell : public RecurrentCell {
public:
    // or "relu"
    RNNCell(int64_t input_size, int64_t hidden_size, bool has_bias = true,
            const std::string &nonlinearity = "tanh");
    Tensor construct(const Tensor &x, const Tensor &hx) const override;

private:
    bool relu_;
};

class GRUCell : public RecurrentCell {
public:
    GRUCell(int64_t input_size, int64_t hidden_size, bool has_bias = true);
    Tensor construct(const Tensor &x, const Tensor &hx) const override;
};

// x, hx, cx -> {the next hx, the next cx}.
class LSTMCell : public RecurrentCell {
public:
    LSTMCell(int64_t input_size, int64_t hidden_size, bool has_bias = true);
    std::vector<Tensor> construct(Tensors in) const override;
    std::array<Tensor, 2> operator()(const Tensor &x, const Tensor &hx, const Tensor &cx) const;
};

struct RecurrentOptions {
    int64_t num_layers = 1;
    bool has_bias = true;
    bool batch_first = false;    // x[n,t,...] and output[n,t,...] instead of [t,n,...]
    double dropout = 0;          // in training, between layers
    bool bidirectional = false;  // each layer runs both ways; its output has both, side by side
};

// A stack of layers over the t steps of x[t,n,input_size]. Parameters, with d directions:
// weight_ih_l<k>[gates * hidden_size, input_size, or d * hidden_size from layer 1 on],
// weight_hh_l<k>, bias_ih_l<k>, bias_hh_l<k>, and <each>_reverse.
//   h0 (and an LSTM's c0) [num_layers * d, n, hidden_size], zeros when undefined: what each starts
//   from seq_length:i32[n], all t when undefined: image i's steps from seq_length[i] on leave the
//   state as it is, and their outputs are 0
// Outputs: output[t,n,d * hidden_size] of the last layer, and each layer's last state, shaped like
// h0.
class Recurrent : public Cell {
public:
    // x, h0, (c0,) seq_length; from the second on they may be missing or undefined
    std::vector<Tensor> construct(Tensors in) const override;
    std::string extend_repr() const override;

protected:
    enum class Kind : uint8_t { tanh, relu, lstm, gru };
    Recurrent(Kind kind, int64_t input_size, int64_t hidden_size, const RecurrentOptions &options);

private:
    struct Weights {
        Parameter w_ih, w_hh, b_ih, b_hh;
    };
    struct Run;
    Kind kind_;
    int64_t input_size_, hidden_size_;
    RecurrentOptions options_;
    std::vector<Weights> weights_;  // layer by layer, each with its directions
};

class RNN : public Recurrent {
public:
    RNN(int64_t input_size, int64_t hidden_size, const RecurrentOptions &options = {},
        const std::string &nonlinearity = "tanh");
    struct Result {
        Tensor output, h;
    };
    Result operator()(const Tensor &x, const Tensor &h0 = {}, const Tensor &seq_length = {}) const;
};

class GRU : public Recurrent {
public:
    GRU(int64_t input_size, int64_t hidden_size, const RecurrentOptions &options = {})
        : Recurrent(Kind::gru, input_size, hidden_size, options) {}
    using Result = RNN::Result;
    Result operator()(const Tensor &x, const Tensor &h0 = {}, const Tensor &seq_length = {}) const;
};

class LSTM : public Recurrent {
public:
    LSTM(int64_t input_size, int64_t hidden_size, const RecurrentOptions &options = {})
        : Recurrent(Kind::lstm, input_size, hidden_size, options) {}
    struct Result {
        Tensor output, h, c;
    };
    Result operator()(const Tensor &x, const Tensor &h0 = {}, const Tensor &c0 = {},
                      const Tensor &seq_length = {}) const;
};

}  // namespace halyard::nn
