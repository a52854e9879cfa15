#include "nn/transformer.h"

#include <array>
#include <cmath>

#include "nn/sizes.h"
#include "primitives/composites/concat.h"
#include "primitives/operators.h"
#include "primitives/ops/attention.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/cast.h"
#include "primitives/ops/composites.h"
#include "primitives/ops/dense.h"
#include "primitives/ops/dropout.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/select.h"
#include "primitives/ops/softmax.h"
#include "primitives/ops/unary.h"

namespace halyard::nn {
namespace {

constexpr const char *op = "MultiheadAttention";

// Returns 0 for visible keys and -infinity for hidden ones.
Tensor additive(const Tensor &mask, DType dtype) {
    if (mask.dtype() == DType::boolean)
        return F::select(mask, Tensor::scalar(-INFINITY, dtype), Tensor::scalar(0, dtype));
    return mask.dtype() == dtype ? mask : F::cast(mask, dtype);
}

void expect_shape(const char *name, const Tensor &t, const Shape &shape) {
    if (!(t.shape() == shape)) {
        throw ShapeError(op, std::string(name) + " has shape " + t.shape().text() + ", expected " +
                                 shape.text());
    }
}

Tensor swapped(const Tensor &x) {
    return F::transpose(x, {1, 0, 2});
}

// Rearranges x[n,t,heads*d] to [n,heads,t,d], and back.
Tensor split_heads(const Tensor &x, int64_t heads) {
    return F::transpose(F::reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}),
                        {0, 2, 1, 3});
}
Tensor joined_heads(const Tensor &x) {
    return F::reshape(F::transpose(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                                       const MultiheadAttentionOptions &o)
    : out_proj(embed_dim, embed_dim, {}, {}, o.has_bias), embed_dim_(embed_dim),
      num_heads_(num_heads), options_(o) {
    check_min(op, "num_heads", num_heads, 1);
    if (embed_dim % num_heads) {
        throw AttrError(op, "embed_dim is " + std::to_string(embed_dim) +
                                ", expected a multiple of num_heads " + std::to_string(num_heads));
    }
    if (!(o.dropout >= 0 && o.dropout < 1)) {
        throw AttrError(op,
                        "dropout is " + std::to_string(o.dropout) + ", expected 0 <= dropout < 1");
    }
    check_min(op, "kdim", o.kdim, 0);
    check_min(op, "vdim", o.vdim, 0);
    const auto weight = [&](const char *name, int64_t rows, int64_t columns) {
        return parameter(name, initializer(XavierUniform(), {rows, columns}));
    };
    if (o.kdim || o.vdim) {
        q_proj_weight = weight("q_proj_weight", embed_dim, embed_dim);
        k_proj_weight = weight("k_proj_weight", embed_dim, o.kdim ? o.kdim : embed_dim);
        v_proj_weight = weight("v_proj_weight", embed_dim, o.vdim ? o.vdim : embed_dim);
    } else {
        in_proj_weight = weight("in_proj_weight", 3 * embed_dim, embed_dim);
    }
    if (o.has_bias) in_proj_bias = parameter("in_proj_bias", Tensor::zeros({3 * embed_dim}));
    child("out_proj", out_proj);
}

std::array<Tensor, 3> MultiheadAttention::projected(const Tensor &query, const Tensor &key,
                                                    const Tensor &value) const {
    const Tensor bias = in_proj_bias.defined() ? computed(in_proj_bias)
                                               : Tensor::zeros({3 * embed_dim_}, query.dtype());
    const bool one_weight = in_proj_weight.defined();
    std::vector<Tensor> y;
    if (one_weight && query.same_memory(key) && key.same_memory(value)) {
        y = F::split(F::dense(query, computed(in_proj_weight), bias), -1, 3);
    } else {
        const std::vector<Tensor> weights = one_weight ? F::split(computed(in_proj_weight), 0, 3)
                                                       : std::vector{computed(q_proj_weight),
                                                                     computed(k_proj_weight),
                                                                     computed(v_proj_weight)};
        const std::vector<Tensor> biases = F::split(bias, 0, 3);
        const Tensor x[] = {query, key, value};
        for (size_t i = 0; i < 3; i++)
            y.push_back(F::dense(x[i], weights[i], biases[i]));
    }
    return {split_heads(y[0], num_heads_), split_heads(y[1], num_heads_),
            split_heads(y[2], num_heads_)};
}

// Query, key and value as [n,t,e]. Inputs that are one tensor stay one, which saves projections.
std::array<Tensor, 3> MultiheadAttention::batched(Tensors in) const {
    const auto one = [&](const Tensor &x) {
        if (x.rank() == 2) return F::reshape(x, {1, x.size(0), x.size(1)});
        return options_.batch_first ? x : swapped(x);
    };
    const Tensor query = one(in[0]);
    const Tensor key = in[1].same_memory(in[0]) ? query : one(in[1]);
    if (in[2].same_memory(in[1])) return {query, key, key};
    return {query, key, in[2].same_memory(in[0]) ? query : one(in[2])};
}

Tensor MultiheadAttention::combined_mask(Tensors in, int64_t n, int64_t t, int64_t s,
                                         DType dtype) const {
    Tensor mask = in.size() > 4 && in[4].defined() ? additive(in[4], dtype) : Tensor();
    if (mask.defined() && mask.rank() == 3) {
        expect_shape("attn_mask", mask, {n * num_heads_, t, s});
        mask = F::reshape(mask, {n, num_heads_, t, s});
    } else if (mask.defined()) {
        expect_shape("attn_mask", mask, {t, s});
    }
    if (in.size() <= 3 || !in[3].defined()) return mask;
    const bool unbatched = in[0].rank() == 2 && in[3].rank() == 1;
    const Tensor padding = unbatched ? F::reshape(in[3], {1, s}) : in[3];
    expect_shape("key_padding_mask", padding, {n, s});
    const Tensor hidden = F::reshape(additive(padding, dtype), {n, 1, 1, s});
    return mask.defined() ? mask + hidden : hidden;
}

void MultiheadAttention::check_inputs(Tensors in) const {
    if (in.size() < 3 || in.size() > 5) {
        throw ShapeError(op,
                         "inputs are " + std::to_string(in.size()) + " tensors, expected 3 to 5");
    }
    const char *names[] = {"query", "key", "value"};
    const int rank = in[0].rank();
    for (size_t i = 0; i < 3; i++) {
        if ((rank != 2 && rank != 3) || in[i].rank() != rank) {
            throw ShapeError(op, std::string(names[i]) + "'s rank is " +
                                     std::to_string(in[i].rank()) + ", expected 3, or 2 for all");
        }
    }
    if (in[0].size(rank - 1) != embed_dim_) {
        throw ShapeError(op, "query's last extent is " + std::to_string(in[0].size(rank - 1)) +
                                 ", expected embed_dim " + std::to_string(embed_dim_));
    }
}

std::vector<Tensor> MultiheadAttention::construct(Tensors in) const {
    check_inputs(in);
    const auto [query, key, value] = batched(in);
    const int64_t n = query.size(0), t = query.size(1);
    const int64_t s = key.size(1);
    const auto [q, k, v] = projected(query, key, value);
    const Tensor mask = combined_mask(in, n, t, s, q.dtype());

    Tensor y, weights;
    const bool drops = options_.dropout > 0 && training();
    if (options_.need_weights || drops) {
        Tensor scores = F::matmul(q * (1 / std::sqrt(double(q.size(3)))), k, false, true);
        if (mask.defined()) scores = scores + mask;
        weights = F::softmax(scores, -1);
        y = F::matmul(drops ? F::dropout(weights, options_.dropout)[0] : weights, v);
    } else {
        y = F::scaled_dot_product_attention(q, k, v, mask);
    }
    const bool unbatched = in[0].rank() == 2;
    y = out_proj(joined_heads(y));
    y = unbatched ? F::reshape(y, {t, embed_dim_}) : options_.batch_first ? y : swapped(y);
    if (!options_.need_weights) return {y};
    if (options_.average_attn_weights) weights = F::reduce_mean(weights, {1});
    if (unbatched)
        weights = F::reshape(weights, Ints(weights.shape().begin() + 1, weights.shape().end()));
    return {y, weights};
}

std::string MultiheadAttention::extend_repr() const {
    return "embed_dim=" + std::to_string(embed_dim_) + ", num_heads=" + std::to_string(num_heads_);
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                                                 const TransformerEncoderLayerOptions &o)
    : self_attn(child("self_attn",
                      MultiheadAttention(d_model, nhead,
                                         {.dropout = o.dropout, .batch_first = o.batch_first}))),
      dense1(child("dense1", Dense(d_model, o.dim_feedforward))),
      dropout(child("dropout", Dropout(o.dropout))),
      dense2(child("dense2", Dense(o.dim_feedforward, d_model))),
      norm1(child("norm1", LayerNorm({d_model}, {.epsilon = o.layer_norm_eps}))),
      norm2(child("norm2", LayerNorm({d_model}, {.epsilon = o.layer_norm_eps}))),
      dropout1(child("dropout1", Dropout(o.dropout))),
      dropout2(child("dropout2", Dropout(o.dropout))), d_model_(d_model), nhead_(nhead),
      options_(o) {
    if (o.activation != "relu" && o.activation != "gelu") {
        throw AttrError("TransformerEncoderLayer",
                        "activation is " + o.activation + ", expected relu or gelu");
    }
}

Tensor TransformerEncoderLayer::attention(const Tensor &x, Tensors masks) const {
    const Tensor mask = !masks.empty() ? masks[0] : Tensor();
    const Tensor padding = masks.size() > 1 ? masks[1] : Tensor();
    return dropout1(self_attn(x, x, x, padding, mask));
}

Tensor TransformerEncoderLayer::feedforward(const Tensor &x) const {
    const Tensor inner = dense1(x);
    return dropout2(
        dense2(dropout(options_.activation == "relu" ? F::relu(inner) : F::gelu(inner))));
}

std::vector<Tensor> TransformerEncoderLayer::construct(Tensors in) const {
    if (in.empty() || in.size() > 3) {
        throw ShapeError("TransformerEncoderLayer",
                         "inputs are " + std::to_string(in.size()) + " tensors, expected 1 to 3");
    }
    Tensor x = in[0];
    if (options_.norm_first) {
        x = x + attention(norm1(x), in.subspan(1));
        return {x + feedforward(norm2(x))};
    }
    x = norm1(x + attention(x, in.subspan(1)));
    return {norm2(x + feedforward(x))};
}

TransformerEncoderLayer TransformerEncoderLayer::like() const {
    const TransformerEncoderLayer other(d_model_, nhead_, options_);
    const ParameterTuple from = get_parameters();
    const ParameterTuple to = other.get_parameters();
    for (size_t k = 0; k < from.size(); k++)
        to[k].set_data(from[k]);
    return other;
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer &layer, int64_t num_layers,
                                       const AnyCell &last)
    : norm(last) {
    check_min("TransformerEncoder", "num_layers", num_layers, 1);
    for (int64_t k = 0; k < num_layers; k++)
        layers.append(layer.like());
    child("layers", layers);
    if (norm) child("norm", norm);
}

std::vector<Tensor> TransformerEncoder::construct(Tensors in) const {
    if (in.empty()) throw ShapeError("TransformerEncoder", "inputs are 0 tensors, expected 1 to 3");
    std::vector<Tensor> x(in.begin(), in.end());
    for (const AnyCell &layer : layers)
        x[0] = layer.call(x)[0];
    return {norm ? norm(x[0]) : x[0]};
}

}  // namespace halyard::nn
