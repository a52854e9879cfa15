"""Writes peer_errors.json: PyTorch's f32 errors against its own f64, for peer_errors_test. Run with a Python that has torch.

Inputs are splitmix64 of a counter (tests/train/hash_weights.h), so that the test makes the same ones. Of each case are kept the largest
and the mean relative error, over elements of at least a thousandth of the result's root mean square, and the root mean square of the error.
"""
import json
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(1)


def uniform(shape, seed, low, high):
    i = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = i * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed) * np.uint64(0xD1B54A32D192ED03)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    unit = (z >> np.uint64(40)).astype(np.float64) * 2.0**-24
    return torch.from_numpy((low + (high - low) * unit).astype(np.float32).reshape(shape))


WIDE, POSITIVE, UNIT = (-8, 8), (0.01, 8), (-1, 1)
UNARY = {
    "exp": (torch.exp, WIDE), "exp2": (torch.exp2, WIDE), "expm1": (torch.expm1, WIDE), "log": (torch.log, POSITIVE),
    "log2": (torch.log2, POSITIVE), "log1p": (torch.log1p, POSITIVE), "sqrt": (torch.sqrt, POSITIVE), "rsqrt": (torch.rsqrt, POSITIVE),
    "reciprocal": (torch.reciprocal, POSITIVE), "sin": (torch.sin, WIDE), "cos": (torch.cos, WIDE), "tan": (torch.tan, WIDE),
    "asin": (torch.asin, UNIT), "acos": (torch.acos, UNIT), "atan": (torch.atan, WIDE), "sinh": (torch.sinh, WIDE),
    "cosh": (torch.cosh, WIDE), "tanh": (torch.tanh, WIDE), "erf": (torch.erf, WIDE), "erfc": (torch.erfc, WIDE),
    "sigmoid": (torch.sigmoid, WIDE), "logsigmoid": (F.logsigmoid, WIDE), "softplus": (F.softplus, WIDE), "silu": (F.silu, WIDE),
    "mish": (F.mish, WIDE), "gelu": (F.gelu, WIDE), "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), WIDE), "elu": (F.elu, WIDE),
    "selu": (F.selu, WIDE), "softsign": (F.softsign, WIDE), "hard_swish": (F.hardswish, WIDE),
}  # fmt: skip
BINARY = {"add": torch.add, "mul": torch.mul, "div": torch.div, "pow": torch.pow, "atan2": torch.atan2, "xlogy": torch.xlogy}
ROWS = {
    "softmax": lambda x: F.softmax(x, -1), "log_softmax": lambda x: F.log_softmax(x, -1), "cumsum": lambda x: torch.cumsum(x, -1),
    "reduce_sum": lambda x: x.sum(-1), "reduce_mean": lambda x: x.mean(-1), "reduce_l1": lambda x: x.abs().sum(-1),
    "reduce_l2": lambda x: torch.linalg.vector_norm(x, dim=-1), "logsumexp": lambda x: torch.logsumexp(x, -1),
    "var": lambda x: torch.var(x, -1, correction=0), "std": lambda x: torch.std(x, -1, correction=0),
}  # fmt: skip


def problems():  # op, attributes, [(shape, low, high)], function
    for op, (f, (low, high)) in UNARY.items():
        for shape in ([1009], [64, 512]):
            yield op, {}, [(shape, low, high)], f
    for op, f in BINARY.items():
        for shape in ([1009], [64, 512]):
            yield op, {}, [(shape, 0.1, 4), (shape, -3, 3) if op != "xlogy" else (shape, 0.1, 4)], f
    for op, f in ROWS.items():
        for shape in ([257, 33], [512, 1000], [64, 16384]):
            axis = {"axis": -1} if op in ("softmax", "log_softmax", "cumsum") else {"axis": [-1]}
            yield op, axis, [(shape, -4, 4)], f
    for m, k, n in ((33, 17, 65), (64, 512, 64), (16, 8192, 48), (128, 1000, 127)):
        yield "matmul", {}, [([m, k], -1, 1), ([k, n], -1, 1)], torch.matmul
    for n, c, size, o, u, stride in ((1, 16, 28, 32, 3, 1), (2, 64, 14, 64, 3, 1), (1, 3, 64, 16, 7, 2), (1, 64, 14, 128, 1, 1)):
        f = lambda x, w, stride=stride: F.conv2d(x, w, stride=stride)
        yield "conv2d", {"stride": [stride, stride]}, [([n, c, size, size], -1, 1), ([o, c, u, u], -1, 1)], f
    yield "avg_pool2d", {"kernel_size": [3, 3], "stride": [2, 2]}, [([2, 16, 57, 57], -1, 1)], lambda x: F.avg_pool2d(x, 3, 2)


def errors(got, exact):
    got, exact = got.double().numpy().ravel(), exact.numpy().ravel()
    e = np.abs(got - exact)
    rms = np.sqrt(np.mean(exact**2))
    large = np.abs(exact) >= 1e-3 * rms
    relative = e[large] / np.abs(exact[large])
    return {"max": float(relative.max()), "mean": float(relative.mean()), "rms": float(np.sqrt(np.mean(e**2)))}


cases = []
for number, (op, attributes, inputs, f) in enumerate(problems()):
    tensors = [uniform(shape, 10 * number + k, low, high) for k, (shape, low, high) in enumerate(inputs)]
    said = [{"shape": s, "seed": 10 * number + k, "low": low, "high": high} for k, (s, low, high) in enumerate(inputs)]
    cases.append({"op": op, "attributes": attributes, "inputs": said} | errors(f(*tensors), f(*(t.double() for t in tensors))))
text = ",\n".join(json.dumps(c) for c in cases)
pathlib.Path(__file__).with_suffix(".json").write_text(f'{{"peer": "PyTorch {torch.__version__}", "cases": [\n{text}\n]}}\n')
