"""Writes opt_lamb.npz, opt_lars.npz, opt_lion.npz and clip_norms.npz: five steps of updates that MindSpore has no CPU kernel for, in double
from the papers' formulas, and MindSpore's own results of clipping by norm.

usage: updates.py DIR      (needs numpy and MindSpore)
"""
import sys

import numpy as np

LR, BETA1, BETA2, EPS, DECAY = 0.1, 0.9, 0.999, 1e-6, 0.05


def gen(shape, s, scale=1.0):
    i = np.arange(np.prod(shape), dtype=np.int64)
    return (((i * 389 + s * 97) % 997 - 498) / 512 * scale).reshape(shape).astype(np.float32)


def run(step, shape=(4, 3, 3, 5)):
    """step(p, g, t, state) gives the next p, in double."""
    p = gen(shape, 1, 0.5)
    files, state = {"p0": p}, {}
    p = p.astype(np.float64)
    for t in range(5):
        g = gen(shape, 10 + t, 0.25)
        p = step(p, g.astype(np.float64), t + 1, state)
        files[f"g{t}"], files[f"p{t + 1}"] = g, p.astype(np.float32)
    return files


# You et al., "Large batch optimization for deep learning: training BERT in 76 minutes", 2019: algorithm 2, phi(z) = z.
def lamb(p, g, t, s):
    s["m"] = BETA1 * s.get("m", 0) + (1 - BETA1) * g
    s["v"] = BETA2 * s.get("v", 0) + (1 - BETA2) * g * g
    r = s["m"] / (1 - BETA1**t) / (np.sqrt(s["v"] / (1 - BETA2**t)) + EPS) + DECAY * p
    return p - LR * np.linalg.norm(p) / np.linalg.norm(r) * r


# You, Gitman, Ginsburg, "Large batch training of convolutional networks", 2017; then momentum 0.9.
def lars(p, g, t, s):
    norm_p, norm_g = np.linalg.norm(p), np.linalg.norm(g)
    local = 0.02 * norm_p / (norm_g + DECAY * norm_p + 1e-5)
    s["v"] = 0.9 * s.get("v", 0) + local * (g + DECAY * p)
    return p - LR * s["v"]


# Chen et al., "Symbolic discovery of optimization algorithms", 2023: algorithm 2.
def lion(p, g, t, s):
    m = s.get("m", np.zeros_like(p))
    s["m"] = 0.99 * m + 0.01 * g
    return p - 0.01 * (np.sign(0.9 * m + 0.1 * g) + DECAY * p)


def main():
    folder = sys.argv[1]
    for name, step in (("lamb", lamb), ("lars", lars), ("lion", lion)):
        np.savez(f"{folder}/opt_{name}.npz", **run(step))

    import mindspore as ms

    x = [gen((3, 5), 1), gen((7,), 2, 4.0), gen((2, 2, 3), 3)]
    files = {f"x{k}": a for k, a in enumerate(x)}
    tensors = [ms.Tensor(a) for a in x]
    for name, norm, ord in (("two", 1.0, 2.0), ("inf", 0.5, float("inf"))):
        files[f"by_norm_{name}"] = ms.ops.clip_by_norm(tensors[0], norm, ord).asnumpy()
    for limit in (1.0, 100.0):
        for k, y in enumerate(ms.ops.clip_by_global_norm(tuple(tensors), limit)):
            files[f"global_{int(limit)}_{k}"] = y.asnumpy()
    np.savez(f"{folder}/clip_norms.npz", **files)


if __name__ == "__main__":
    main()
