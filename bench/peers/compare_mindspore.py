#!/usr/bin/env python3
"""Times relu of 16 elements that `halyard export relu --for mindspore` brought into MindSpore, MindSpore's own, and an operator in C
that does nothing, on one thread, in turns. usage: compare_mindspore.py PROJECT, which is built. bench/results/hosts.md has its figures."""
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

os.environ.setdefault("GLOG_v", "4")
warnings.filterwarnings("ignore")
import mindspore  # noqa: E402  # after its settings
from in_turns import seconds_a_link  # noqa: E402
from mindspore import Tensor, nn, ops  # noqa: E402

LENGTHS = 1, 101


class Chain(nn.Cell):
    """Calls an operator so many times, each with the last one's result."""

    def __init__(self, op, length):
        super().__init__()
        self.op, self.length = op, length

    def construct(self, x):
        for _ in range(self.length):
            x = self.op(x)
        return x


def empty_op(folder):
    source = Path(folder) / "empty.c"
    source.write_text("int nothing(int n, void **data, int *ranks, long **shapes, const char **dtypes, void *stream, void *extra) { return 0; }\n")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", str(source), "-o", f"{folder}/empty.so"], check=True)
    return ops.Custom(f"{folder}/empty.so:nothing", out_shape=lambda x: x, out_dtype=lambda x: x, func_type="aot")


def main():
    project = Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(project))
    exported = __import__(project.name)
    mindspore.set_context(device_target="CPU", runtime_num_threads=1)
    x = Tensor(np.linspace(-1, 1, 16, dtype=np.float32))
    print(f"mindspore {mindspore.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        kinds = {"exported": exported.relu(), "MindSpore's relu": ops.relu, "an empty operator": empty_op(folder)}
        mindspore.set_context(mode=mindspore.GRAPH_MODE)
        chains = {(kind, length): Chain(op, length) for kind, op in kinds.items() for length in LENGTHS}
        links = seconds_a_link({key: (lambda chain=chain: chain(x).asnumpy()) for key, chain in chains.items()}, rounds=100, calls=10)
        for kind, times in links.items():
            more = statistics.median(a - b for a, b in zip(times, links["an empty operator"], strict=True))
            print(f"graph, a node: {kind}: median {statistics.median(times) * 1e6:.2f} us, {more * 1e6:+.2f} us beside an empty one", flush=True)


if __name__ == "__main__":
    main()
