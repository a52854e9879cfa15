// Attention and transformer layers, as in MindSpore and PyTorch. Sequences are [t,n,e], with
// batch_first [n,t,e], or [t,e] for a single one. A mask of bool is true where a key is hidden; a
// mask of floats is added to the scores. Constructors throw AttrError, calls ShapeError.
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
    int64_t kdim = 0, vdim = 0;  // extents of keys and values; 0 means embed_dim
    bool batch_first = false;
    // Adds a second output, weights[n,t,s]. Without it the weights are never stored.
    bool need_weights = false;
    // Averages the weights over the heads; otherwise they are [n,num_heads,t,s].
    bool average_attn_weights = true;
};

// Computes softmax(q k^T / sqrt(d)) v in num_heads heads of d = embed_dim / num_heads, with
// projections before and after. Inputs are query, key, value and optionally key_padding_mask[n,s],
// which hides keys from all queries, and attn_mask[t,s] or [n * num_heads, t, s].
//
// The parameters are in_proj_weight[3 * embed_dim, embed_dim], or with kdim or vdim q_proj_weight,
// k_proj_weight and v_proj_weight; in_proj_bias[3 * embed_dim]; and those of out_proj. MindSpore
// and PyTorch take need_weights at the call, with true as default.
class MultiheadAttention : public Cell {
public:
    MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                       const MultiheadAttentionOptions &options = {});
    std::vector<Tensor> construct(Tensors in) const override;
    std::string extend_repr() const override;

    Parameter in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight, in_proj_bias;
    Dense out_proj;

private:
    void check_inputs(Tensors in) const;
    std::array<Tensor, 3> batched(Tensors in) const;
    // Returns the projections, split into heads.
    std::array<Tensor, 3> projected(const Tensor &query, const Tensor &key,
                                    const Tensor &value) const;
    // Returns the sum of attn_mask and key_padding_mask for scores [n,num_heads,t,s], or an
    // undefined tensor.
    Tensor combined_mask(Tensors in, int64_t n, int64_t t, int64_t s, DType dtype) const;
    int64_t embed_dim_, num_heads_;
    MultiheadAttentionOptions options_;
};

struct TransformerEncoderLayerOptions {
    int64_t dim_feedforward = 2048;
    double dropout = 0.1;
    std::string activation = "relu";  // or "gelu", the formula with erf
    double layer_norm_eps = 1e-5;
    bool batch_first = false;
    // Normalises before attention and feed-forward layers; otherwise after the residual additions.
    bool norm_first = false;
};

// An encoder layer (Vaswani et al., 2017): x = norm1(src + self_attn(src)) and
// y = norm2(x + dense2(activation(dense1(x)))), with dropout after attention and both dense layers.
// Inputs are src and optionally the attention's src_mask and src_key_padding_mask. The output has
// the shape of src.
class TransformerEncoderLayer : public Cell {
public:
    TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                            const TransformerEncoderLayerOptions &options = {});
    std::vector<Tensor> construct(Tensors in) const override;
    // Returns a new layer with the same options and the same initial values.
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

// Applies num_layers layers like the one given in order, then `norm`, which may be empty.
class TransformerEncoder : public Cell {
public:
    TransformerEncoder(const TransformerEncoderLayer &encoder_layer, int64_t num_layers,
                       const AnyCell &norm = {});
    // Takes src, src_mask and src_key_padding_mask, as a layer does.
    std::vector<Tensor> construct(Tensors in) const override;

    CellList layers;
    AnyCell norm;
};

}  // namespace halyard::nn
