// Recurrent cells and layers. Gates and formulas are those of MindSpore and PyTorch: i, f, g, o for
// an LSTM and r, z, n for a GRU. Parameters are drawn from U(-1/sqrt(hidden_size),
// 1/sqrt(hidden_size)); without has_bias there are no biases. Constructors throw AttrError, calls
// ShapeError.
#pragma once
#include <vector>

#include "nn/cell.h"
#include "nn/initializer.h"

namespace halyard::nn {

// Computes one step. The parameters are weight_ih[gates * hidden_size, input_size], weight_hh[gates
// * hidden_size, hidden_size], bias_ih and bias_hh, both [gates * hidden_size].
class RecurrentCell : public Cell {
public:
    Parameter weight_ih, weight_hh, bias_ih, bias_hh;

protected:
    RecurrentCell(int64_t input_size, int64_t hidden_size, bool has_bias, int64_t gates);
    // Returns the bias, or zeros if the cell has none.
    Tensor bias(const Parameter &b, const Tensor &x) const;
};

// Computes the next hx from x[n,input_size] and hx[n,hidden_size].
class RNNCell : public RecurrentCell {
public:
    // `nonlinearity` is "tanh" or "relu".
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

// Computes {next hx, next cx} from x, hx and cx.
class LSTMCell : public RecurrentCell {
public:
    LSTMCell(int64_t input_size, int64_t hidden_size, bool has_bias = true);
    std::vector<Tensor> construct(Tensors in) const override;
    std::array<Tensor, 2> operator()(const Tensor &x, const Tensor &hx, const Tensor &cx) const;
};

struct RecurrentOptions {
    int64_t num_layers = 1;
    bool has_bias = true;
    bool batch_first = false;    // x and output are [n,t,...] instead of [t,n,...]
    double dropout = 0;          // between layers, in training
    bool bidirectional = false;  // each layer runs in both directions and concatenates the outputs
};

// A stack of recurrent layers over the t steps of x[t,n,input_size]. Layer k of d directions has
// the parameters weight_ih_l<k>[gates * hidden_size, input_size] (d * hidden_size columns from
// layer 1 on), weight_hh_l<k>, bias_ih_l<k>, bias_hh_l<k>, and with two directions <each>_reverse.
//
// Further inputs:
//   h0, and c0 of an LSTM   [num_layers * d, n, hidden_size], the initial states; undefined: zeros
//   seq_length              i32[n]; undefined: t. Steps of sequence i from seq_length[i] on leave
//   its
//                           state unchanged, and their outputs are 0.
// Outputs: output[t, n, d * hidden_size] of the last layer, and the last states, shaped like h0.
class Recurrent : public Cell {
public:
    // Takes x, h0, for an LSTM c0, and seq_length. All but x may be missing or undefined.
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
    // Returns the number of states: 2 for an LSTM, else 1.
    size_t states() const { return kind_ == Kind::lstm ? 2 : 1; }
    void check_inputs(const std::string &layer, Tensors in) const;
    // Returns the initial states, each as a list over layers and directions.
    std::vector<std::vector<Tensor>> initial_states(const std::string &layer, Tensors in, int64_t n,
                                                    DType dtype) const;
    Kind kind_;
    int64_t input_size_, hidden_size_;
    RecurrentOptions options_;
    std::vector<Weights> weights_;  // index: layer * directions + direction
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
