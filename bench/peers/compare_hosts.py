#!/usr/bin/env python3
"""Times ops that `halyard export` brought into ONNX Runtime and PyTorch, and the hosts' own, on one thread, in turns. usage:
compare_hosts.py TORCH_LIBRARY ONNXRUNTIME_PROJECT C_LIBRARY, where the libraries have relu, softmax, conv2d and gelu. bench/results/hosts.md has its
figures; hosts' own ops are compared with ours of the same inputs."""
import functools
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from in_turns import print_row, seconds_a_link

ROOT = Path(__file__).resolve().parents[2]


def c_call(library):
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "call_cost"
        subprocess.run(["cc", "-O2", f"-I{ROOT}/tools/export/project", str(ROOT / "bench/peers/call_cost.c"), "-o", str(program), "-ldl"], check=True)
        said = subprocess.run([str(program), library], check=True, capture_output=True, text=True).stdout
    print(f"| C: `hy_call` of relu | {int(said) / 1000:.2f} us | | |", flush=True)


def onnx_nodes(project):
    sys.path.insert(0, f"{project}/test")
    from test import OPS, field, node, value_info  # the exported test builds models
    domain = OPS["library"]
    library = f"{project}/build/lib{domain}.so"

    def session(kind, of, count):
        nodes = [node(kind, [f"t{k}"], [f"t{k + 1}"], of) for k in range(count)]
        graph = b"".join(field(1, n) for n in nodes) + field(2, "chain") + field(11, value_info("t0", "f32", 1)) + field(12, value_info(f"t{count}", "f32", 1))
        model = field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)) + field(8, field(1, domain) + field(2, 1))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # which would drop a relu of a relu
        options.register_custom_ops_library(library)
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    x = np.linspace(-1, 1, 16, dtype="f4")
    chains = {(kind, count): session(kind, of, count) for kind, of in (("relu", domain), ("Relu", "")) for count in (1, 101)}
    runs = {key: functools.partial(chain.run, None, {"t0": x}) for key, chain in chains.items()}
    links = seconds_a_link(runs)
    ratio = statistics.median(b / a for a, b in zip(links["relu"], links["Relu"], strict=True))
    ours, theirs = (min(links[kind]) * 1e6 for kind in ("relu", "Relu"))
    print(f"| ONNX Runtime: a node, relu | {ours:.2f} us | {theirs:.2f} us | {ratio:.2f} |", flush=True)


def torch_calls(library):
    torch.ops.load_library(library)
    ops = getattr(torch.ops, Path(library).stem.removeprefix("lib"))
    x, z, dy = torch.randn(16), torch.randn(16, requires_grad=True), torch.randn(16)
    relu = ops.relu.default
    with torch.inference_mode():
        print_row("PyTorch: relu, `inference_mode`", lambda: relu(x), lambda: torch.relu(x), 3000)
    with torch.no_grad():
        print_row("PyTorch: relu, `no_grad`", lambda: relu(x), lambda: torch.relu(x), 3000)
    print_row("PyTorch: relu, forward with gradient", lambda: relu(z), lambda: torch.relu(z), 3000)

    def step(function):
        z.grad = None
        function(z).backward(dy)
    print_row("PyTorch: relu, forward and backward", lambda: step(relu), lambda: step(torch.relu), 800)
    rows, image, weight = torch.randn(4096, 1024), torch.randn(1, 64, 56, 56), torch.randn(64, 64, 3, 3)
    with torch.inference_mode():
        print_row("PyTorch: softmax, 4096 x 1024", lambda: ops.softmax(rows), lambda: torch.softmax(rows, -1), 5, "ms")
        print_row("PyTorch: gelu, 4096 x 1024", lambda: ops.gelu(rows), lambda: torch.nn.functional.gelu(rows), 5, "ms")
        print_row("PyTorch: conv2d 3 x 3, 64 channels to 64, 56 x 56, same", lambda: ops.conv2d(image, weight, pad_mode="same"),
            lambda: torch.nn.functional.conv2d(image, weight, padding=1), 10, "ms")


def main():
    torch_library, onnx_project, c_library = sys.argv[1:]
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, onnxruntime {onnxruntime.__version__}")
    print("| | exported | host's own | host / exported |\n|---|---|---|---|")
    c_call(c_library)
    onnx_nodes(onnx_project)
    torch_calls(torch_library)


if __name__ == "__main__":
    main()
