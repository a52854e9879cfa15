"""Chains of elementwise ops in PyTorch, eager and with torch.compile: the same work as bench/chain_step.cpp. Prints "NAME MEDIAN_US MIN_US
PEAK_MB" per framework.

usage: chain_step.py [pytorch-SIZE|pytorch-compiled-SIZE ...] [--threads N] [--steps N], SIZE small, middle or large
"""
import numpy as np

from step import main, timed

SHAPES = {"small": (32, 128), "middle": (256, 1024), "large": (4096, 1024)}


def pytorch(shape, compiled, threads, steps):
    import torch

    torch.set_num_threads(threads)
    x = torch.from_numpy((np.arange(shape[0] * shape[1]) % 97 / 48 - 1).astype(np.float32).reshape(shape))
    scale, shift = torch.full((shape[1],), 0.7), torch.full((shape[1],), -0.1)

    def chain(x):
        y = x * scale + shift
        return torch.relu(torch.tanh(y) * x + y)

    run = torch.compile(chain) if compiled else chain
    with torch.inference_mode():
        timed(f"PyTorch-{torch.__version__}-{'compiled' if compiled else 'eager'}", lambda: run(x), steps)


if __name__ == "__main__":
    main({f"pytorch{'-compiled' if compiled else ''}-{size}": lambda threads, steps, shape=shape, compiled=compiled: pytorch(
        shape, compiled, threads, steps) for size, shape in SHAPES.items() for compiled in (False, True)}, 500)
