#!/usr/bin/env python3
"""Writes layers_pytorch.npz: layers that MindSpore's CPU lacks or that are too large for one op, as PyTorch computes them in f32.

usage: layers_pytorch.py OUT.npz
Per case NAME: NAME/x<k> inputs, NAME/p_<parameter> with this project's names, NAME/y<k> outputs, NAME/dy<k> their gradients, and
NAME/dx<k>, NAME/dp_<parameter>. Values are formulas, as in README.md: gen(shape, s)[i] = ((i*389 + s*97) % 997 - 498)/512.
"""
import sys

import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

arrays = {}


def gen(shape, s, scale=1.0):
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return torch.from_numpy(((((i * 389 + s * 97) % 997 - 498) / 512.0) * scale).astype(np.float32).reshape(shape))


def own_name(name, module):
    head, _, last = name.rpartition(".")
    inner = module.get_submodule(head)
    if isinstance(inner, (nn.LayerNorm, nn.GroupNorm, nn.RMSNorm, nn.modules.instancenorm._InstanceNorm)):
        last = {"weight": "gamma", "bias": "beta"}[last]
    if isinstance(inner, nn.PReLU):
        last = "w"
    path = f"{head}.{last}" if head else last
    return path.replace("linear1", "dense1").replace("linear2", "dense2")


def case(name, module, inputs, call=None, constants=()):
    """inputs have gradients; constants are handed on as they are: masks, lengths."""
    with torch.no_grad():
        for s, (_, p) in enumerate(module.named_parameters()):
            p.copy_(gen(p.shape, 20 + s, 0.5) + (1 if p.dim() == 1 and isinstance(module, (nn.GroupNorm, nn.RMSNorm)) else 0))
    x = [t.clone().requires_grad_() for t in inputs]
    out = (call or (lambda m, *a: m(*a)))(module, *x, *constants)
    out = list(out) if isinstance(out, (tuple, list)) else [out]
    dy = [gen(t.shape, 50 + k) for k, t in enumerate(out)]
    sum((t * g).sum() for t, g in zip(out, dy)).backward()
    save = {f"x{k}": t for k, t in enumerate([*x, *constants])}
    save |= {f"y{k}": t for k, t in enumerate(out)} | {f"dy{k}": t for k, t in enumerate(dy)} | {f"dx{k}": t.grad for k, t in enumerate(x)}
    for n, p in module.named_parameters():
        save[f"p_{own_name(n, module)}"], save[f"dp_{own_name(n, module)}"] = p, p.grad
    for key, t in save.items():
        a = t.detach().numpy()
        arrays[f"{name}/{key}"] = a[:, :, None] if key.endswith("p_weight") and isinstance(module, (nn.Conv1d, nn.ConvTranspose1d)) else a


def flat(out):
    """(output, (h, c)) -> output, h, c"""
    return [out[0], *(out[1] if isinstance(out[1], tuple) else [out[1]])]


def packed(module, x, lengths):
    sequence = pack_padded_sequence(x, lengths.to(torch.int64), enforce_sorted=False)
    out, state = module(sequence)
    return flat((pad_packed_sequence(out, total_length=x.shape[0])[0], state))


def main():
    t, n, k, h = 5, 3, 4, 6
    x = gen((t, n, k), 1, 2)
    lengths = torch.tensor([3, 5, 1], dtype=torch.int32)
    case("lstm", nn.LSTM(k, h), [x], lambda m, x: flat(m(x)))
    case("lstm_state", nn.LSTM(k, h, bias=False), [x, gen((1, n, h), 2), gen((1, n, h), 3)], lambda m, x, a, b: flat(m(x, (a, b))))
    case("lstm_2_both_ways", nn.LSTM(k, h, num_layers=2, bidirectional=True), [x], lambda m, x: flat(m(x)))
    case("lstm_lengths", nn.LSTM(k, h, num_layers=2, bidirectional=True), [x], packed, [lengths])
    case("gru_2_both_ways", nn.GRU(k, h, num_layers=2, bidirectional=True, batch_first=True), [x], lambda m, x: flat(m(x)))
    case("gru_lengths", nn.GRU(k, h), [x], packed, [lengths])
    case("rnn_tanh", nn.RNN(k, h, num_layers=2), [x], lambda m, x: flat(m(x)))
    case("rnn_relu", nn.RNN(k, h, nonlinearity="relu"), [x, gen((1, n, h), 2)], lambda m, x, a: flat(m(x, a)))

    e, heads, s = 8, 2, 6
    q, kv = gen((t, n, e), 1, 2), gen((s, n, e), 2, 2)
    above = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
    late = torch.tensor([[False] * 4 + [True] * 2, [False] * 6, [False] * 2 + [True] * 4])
    case("attention_self", nn.MultiheadAttention(e, heads), [q], lambda m, q: m(q, q, q, need_weights=False)[0])
    case("attention_weights", nn.MultiheadAttention(e, heads, batch_first=True), [q], lambda m, q: m(q, q, q))
    case("attention_cross", nn.MultiheadAttention(e, heads, kdim=5, vdim=7), [q, gen((s, n, 5), 3), gen((s, n, 7), 4)],
         lambda m, q, k, v, p: m(q, k, v, key_padding_mask=p, need_weights=False)[0], [late])
    case("attention_masked", nn.MultiheadAttention(e, heads, bias=False), [q, kv],
         lambda m, q, kv, p, a: m(q, kv, kv, key_padding_mask=p, attn_mask=a, need_weights=False)[0], [late, gen((n * heads, t, s), 6) > 0.5])
    case("attention_causal", nn.MultiheadAttention(e, heads), [q], lambda m, q, a: m(q, q, q, attn_mask=a, need_weights=False)[0], [gen((t, t), 6)])
    options = dict(dim_feedforward=10, dropout=0.0)
    case("encoder_layer", nn.TransformerEncoderLayer(e, heads, **options), [q])
    case("encoder_layer_norm_first", nn.TransformerEncoderLayer(e, heads, activation="gelu", batch_first=True, norm_first=True, **options), [q],
         lambda m, x, p: m(x, src_key_padding_mask=p), [torch.tensor([[False, False, True]] * t)])
    case("encoder", nn.TransformerEncoder(nn.TransformerEncoderLayer(e, heads, **options), 2, nn.LayerNorm(e), enable_nested_tensor=False), [q],
         lambda m, x, a: m(x, a), [above])

    case("conv3d", nn.Conv3d(4, 6, (2, 3, 3), stride=(1, 2, 1), padding=(0, 1, 1), dilation=(1, 1, 2), groups=2), [gen((2, 4, 3, 6, 7), 1)])
    case("conv1d_transpose", nn.ConvTranspose1d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), [gen((2, 4, 5), 1)])
    case("conv3d_transpose", nn.ConvTranspose3d(2, 3, 3, stride=2, padding=1), [gen((1, 2, 2, 3, 4), 1)])
    case("groupnorm", nn.GroupNorm(3, 6), [gen((2, 6, 4), 1, 3)])
    case("instancenorm1d", nn.InstanceNorm1d(3, affine=True), [gen((2, 3, 7), 1, 3)])
    case("instancenorm2d", nn.InstanceNorm2d(3, affine=True), [gen((2, 3, 4, 5), 1, 3)])
    case("instancenorm3d", nn.InstanceNorm3d(3, eps=1e-3), [gen((2, 3, 2, 3, 4), 1, 3)])
    case("rmsnorm", nn.RMSNorm(8, eps=1e-6), [gen((3, 5, 8), 1, 3)])
    case("maxpool1d", nn.MaxPool1d(3, 2, 1), [gen((2, 3, 9), 1)])
    case("maxpool3d", nn.MaxPool3d(2, 2, ceil_mode=True), [gen((1, 2, 4, 5, 6), 1)])
    case("avgpool1d", nn.AvgPool1d(3, 2, 1, count_include_pad=False), [gen((2, 3, 9), 1)])
    case("avgpool3d", nn.AvgPool3d((1, 2, 3), (1, 2, 2), divisor_override=5), [gen((1, 2, 3, 5, 6), 1)])
    case("adaptive_maxpool2d", nn.AdaptiveMaxPool2d((3, 2)), [gen((2, 3, 5, 7), 1)])
    case("adaptive_avgpool3d", nn.AdaptiveAvgPool3d((2, 1, 3)), [gen((1, 2, 3, 4, 5), 1)])
    case("upsample_nearest", nn.Upsample(scale_factor=2, mode="nearest"), [gen((1, 2, 3, 4), 1)])
    case("upsample_bilinear", nn.Upsample(size=(5, 7), mode="bilinear"), [gen((1, 2, 3, 4), 1)])
    case("upsample_corners", nn.Upsample(size=(5, 7), mode="bilinear", align_corners=True), [gen((1, 2, 3, 4), 1)])
    case("glu", nn.GLU(1), [gen((2, 6, 4), 1)])
    case("prelu", nn.PReLU(3), [gen((2, 3, 4), 1)])
    np.savez(sys.argv[1], **arrays)


if __name__ == "__main__":
    main()
