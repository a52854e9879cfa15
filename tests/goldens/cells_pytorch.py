#!/usr/bin/env python3
"""Writes cells_pytorch.npz: recurrent cells and their gradients, as PyTorch computes them in f64.

usage: cells_pytorch.py OUT.npz
Inputs are formulas, as in README.md: gen(shape, s)[i] = ((i*389 + s*97) % 997 - 498)/512.
"""
import sys

import numpy as np
import torch


def gen(shape, s):
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return torch.from_numpy((((i * 389 + s * 97) % 997 - 498) / 512.0).reshape(shape))


def main():
    n, k, h = 3, 5, 7
    cells = {"rnn_tanh": (1, torch.rnn_tanh_cell), "rnn_relu": (1, torch.rnn_relu_cell), "lstm": (4, torch.lstm_cell), "gru": (3, torch.gru_cell)}
    arrays = {}
    for name, (gates, cell) in cells.items():
        shapes = [(n, k), (n, h)] + [(n, h)] * (name == "lstm") + [(gates * h, k), (gates * h, h), (gates * h,), (gates * h,)]
        x = [gen(shape, s).requires_grad_() for s, shape in enumerate(shapes)]
        y = cell(x[0], tuple(x[1:3]), *x[3:]) if name == "lstm" else cell(*x)
        y = list(y) if name == "lstm" else [y]
        sum((t * gen(t.shape, 50 + i)).sum() for i, t in enumerate(y)).backward()
        arrays.update({f"{name}_x{i}": t.detach().numpy() for i, t in enumerate(x)})
        arrays.update({f"{name}_dx{i}": t.grad.numpy() for i, t in enumerate(x)})
        arrays.update({f"{name}_y{i}": t.detach().numpy() for i, t in enumerate(y)})
        arrays.update({f"{name}_dy{i}": gen(t.shape, 50 + i).numpy() for i, t in enumerate(y)})
    np.savez(sys.argv[1], **arrays)


if __name__ == "__main__":
    main()
