"""Chains of elementwise ops in PyTorch, eager and with torch.compile: the same work as bench/chain_step.cpp. Prints "NAME MEDIAN_US MIN_US
PEAK_MB" per framework.

usage: chain_step.py [pytorch-SIZE|pytorch-compiled-SIZE ...] [--threads N] [--steps N], SIZE small, middle, large, rms or rms-large
"""
import numpy as np

from step import main, timed

SHAPES = {"small": (32, 128), "middle": (256, 1024), "large": (4096, 1024), "rms": (1024, 1024), "rms-large": (4096, 1024)}


def pytorch(size, compiled, threads, steps):
    import torch

    shape = SHAPES[size]

    torch.set_num_threads(threads)
    x = torch.from_numpy((np.arange(shape[0] * shape[1]) % 97 / 48 - 1).astype(np.float32).reshape(shape))
    scale, shift = torch.full((shape[1],), 0.7), torch.full((shape[1],), -0.1)

    def chain(x):
        y = x * scale + shift
        return torch.relu(torch.tanh(y) * x + y)

    def rms_norm(x):
        return x * torch.rsqrt(torch.mean(torch.square(x), dim=1, keepdim=True) + 1e-5) * scale

    function = rms_norm if size.startswith("rms") else chain
    run = torch.compile(function) if compiled else function
    with torch.inference_mode():
        timed(f"PyTorch-{torch.__version__}-{'compiled' if compiled else 'eager'}", lambda: run(x), steps)


if __name__ == "__main__":
    main({f"pytorch{'-compiled' if compiled else ''}-{size}": lambda threads, steps, size=size, compiled=compiled: pytorch(
        size, compiled, threads, steps) for size in SHAPES for compiled in (False, True)}, 500)
