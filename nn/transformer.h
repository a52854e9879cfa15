// Attention and what is built of it. MindSpore's layers, which are PyTorch's: sequences come as
// [t,n,e], with batch_first as [n,t,e], a single one as [t,e]. Masks: a bool is true where a key is
// hidden, a float is added to the scores. Throws AttrError, ShapeError.
#pragma once
#include "nn/basic.h"
#include "nn/cell.h"
#include "nn/dense.h"
#include "nn/norm.h"
#include "nn/sequential.h"

namespace halyard::nn {

struct MultiheadAttentionOptions {
    double dropout = 0;  // of the attention weights, in training
    bool has_bias = true;
    int64_t kdim = 0, vdim = 0;  // extents of keys and values; 0: embed_dim
    bool batch_first = false;
    // a second output: weights[n,t,s], which else need not be in memory
    bool need_weights = false;
    bool average_attn_weights = true;  // over the heads; else weights[n,num_heads,t,s]
};

// softmax(q k^T / sqrt(d)) v in num_heads heads of d = embed_dim / num_heads, between projections.
// Inputs: query, key, value, and where given key_padding_mask[n,s], for keys that nobody sees, and
// attn_mask[t,s] or [n * num_heads, t, s]. Parameters: in_proj_weight[3 embed_dim, embed_dim], or
// with kdim or vdim q_proj_weight, k_proj_weight, v_proj_weight; in_proj_bias[3 embed_dim]; those
// of out_proj. MindSpore and PyTorch have need_weights as an argument of the call, on by default.
class MultiheadAttention : public Cell {
public:
    MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                       const MultiheadAttentionOptions &options = {});
    std::vector<Tensor> construct(Tensors in) const override;
    std::string extend_repr() const override;

    Parameter in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias;
    Dense out_proj;

private:
    std::array<Tensor, 3> projected(const Tensor &query, const Tensor &key,
                                    const Tensor &value) const;
    int64_t embed_dim_, num_heads_;
    MultiheadAttentionOptions options_;
};

struct TransformerEncoderLayerOptions {
    int64_t dim_feedforward = 2048;
    double dropout = 0.1;
    std::string activation = "relu";  // or "gelu", by erf
    double layer_norm_eps = 1e-5;
    bool batch_first = false;
    // norms before attention and feedforward, else after what they are added to
    bool norm_first = false;
};

// src, and where given src_mask and src_key_padding_mask, attention's -> a tensor like src: Vaswani
// et al., 2017. x = norm1(src + self_attn(src)), y = norm2(x + dense2(activation(dense1(x)))), with
// dropout after attention and both layers.
class TransformerEncoderLayer : public Cell {
public:
    TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                            const TransformerEncoderLayerOptions &options = {});
    std::vector<Tensor> construct(Tensors in) const override;
    // another one, with the same options and the same first values
    TransformerEncoderLayer like() const;

    MultiheadAttention self_attn;
    Dense dense1;
    Dropout dropout;
    Dense dense2;
    LayerNorm norm1, norm2;
    Dropout dropout1, dropout2;

private:
    Tensor attention(const Tensor &x, Tensors masks) const;
    Tensor feedforward(const Tensor &x) const;
    int64_t d_model_, nhead_;
    TransformerEncoderLayerOptions options_;
};

// num_layers layers like the one given, one after the other, and norm, which may be empty.
class TransformerEncoder : public Cell {
public:
    TransformerEncoder(const TransformerEncoderLayer &encoder_layer, int64_t num_layers,
                       const AnyCell &norm = {});
    // src, src_mask, src_key_padding_mask, as a layer
    std::vector<Tensor> construct(Tensors in) const override;

    CellList layers;
    AnyCell norm;
};

}  // namespace halyard::nn
