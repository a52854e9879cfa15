#!/usr/bin/env python3
"""Runs each sample of the exported ops in MindSpore, op by op; compares gradients with differences; and runs one sample of each op as
a graph, with its gradients, and with extents that are known only when it runs. usage: test.py FOLDER"""
import importlib
import json
import os
import sys
import warnings
from pathlib import Path

import numpy as np

from cases import cases

os.environ.setdefault("GLOG_v", "4")
warnings.filterwarnings("ignore")
import mindspore  # noqa: E402  # after its settings
from mindspore import nn, ops  # noqa: E402

OPS = json.loads((Path(__file__).parent / "ops.json").read_text())
sys.path.insert(0, sys.argv[1])
MODULE = importlib.import_module(OPS["library"])


class Net(nn.Cell):
    def __init__(self, operator):
        super().__init__()
        self.operator = operator

    def construct(self, *x):
        return self.operator(*x)


class Total(nn.Cell):
    """A weighted sum of the first result, for gradients."""

    def __init__(self, case):
        super().__init__()
        self.operator, self.several = operator(case), len(case.outputs) > 1
        shape = case.outputs[0].shape
        self.weights = mindspore.Tensor(np.cos(np.arange(np.prod(shape, dtype=int))).reshape(shape))

    def construct(self, *x):
        y = self.operator(*x)
        y = y[0] if self.several else y
        return ops.reduce_sum(y * self.weights.astype(y.dtype))


def tensor(t):
    if t.dtype == "bf16":
        return mindspore.Tensor((t.values.astype("<u4") << 16).view("<f4")).astype(mindspore.bfloat16)
    return mindspore.Tensor(t.values)


def value(kind, text):
    if kind == "ints":
        return tuple(int(word) for word in text.split(",") if word)
    if kind == "boolean":
        return text.lower() in ("1", "true")
    return {"integer": int, "real": float}.get(kind, str)(text)


def operator(case):
    kinds = OPS["ops"][case.op]["attributes"]
    return getattr(MODULE, case.op)(**{name: value(kinds[name], text) for name, text in case.attributes.items()})


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def numbers(t):
    return (t.astype(mindspore.float32) if t.dtype == mindspore.bfloat16 else t).asnumpy()


def run(case):
    return case.difference([numbers(t) for t in listed(operator(case)(*[tensor(t) for t in case.inputs]))])


def smallest(op, dtype):
    """Returns the smallest sample of the op whose inputs have elements, in this dtype or in another one; None if there is none."""
    fits = [c for c in all_cases if c.op == op and c.inputs and all(t.values.size for t in c.inputs)]
    return min(fits, key=lambda c: (c.inputs[0].dtype != dtype, sum(t.values.size for t in c.inputs)), default=None)


def places_of(case):
    """Returns the numbers of the inputs that have gradients."""
    op = OPS["ops"][case.op]
    return [k for k, name in enumerate(op["inputs"]) if name in op["gradients"]]


def gradients(case, inputs):
    """Returns the gradients of a weighted sum of the first result, in this mode."""
    found = mindspore.grad(Total(case), grad_position=tuple(places_of(case)))(*inputs)
    return [numbers(t) for t in listed(found)]


def check_gradients(name):
    """Compares the gradients of a sample in f64 with differences."""
    case = smallest(name, "f64")
    if case is None or not OPS["ops"][name]["gradients"] or {case.inputs[0].dtype, case.outputs[0].dtype} != {"f64"}:
        return ""
    inputs = [tensor(t) for t in case.inputs]
    total, step = Total(case), 1e-6
    for place, gradient in zip(places_of(case), gradients(case, inputs), strict=True):
        direction = np.sin(1 + np.arange(gradient.size)).reshape(gradient.shape)

        def moved(by, place=place, direction=direction):
            x = inputs[place].asnumpy() + by * direction
            return float(total(*inputs[:place], mindspore.Tensor(x), *inputs[place + 1:]).asnumpy())
        want, got = (moved(step) - moved(-step)) / (2 * step), float(np.sum(gradient * direction))
        if not abs(want - got) <= 1e-4 * max(1, abs(want)):
            return f"the gradient in {OPS['ops'][name]['inputs'][place]} is {got:g} along a direction, the difference is {want:g}"
    return ""


def check_op(name):
    """Returns what is wrong with an op as a graph."""
    case = smallest(name, "f32")
    if case is None:
        return ""
    inputs = [tensor(t) for t in case.inputs]
    has_gradients = OPS["ops"][name]["gradients"] and case.outputs[0].dtype in ("f32", "f16", "bf16", "f64")
    want = gradients(case, inputs) if has_gradients else []
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    try:
        if wrong := run(case):
            return f"graph: {wrong}"
        got = gradients(case, inputs) if has_gradients else []
        if not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(want, got, strict=True)):
            return "a graph has other gradients"
        if len(case.outputs) > 1:
            return ""
        net = Net(operator(case))
        net.set_inputs(*[mindspore.Tensor(shape=[None] * t.ndim, dtype=t.dtype) if t.ndim else t for t in inputs])
        wrong = case.difference([numbers(net(*inputs))])
        return wrong and f"extents of any size: {wrong}"
    finally:
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)


def main():
    failed = 0

    def report(what, check, argument):
        nonlocal failed
        try:
            wrong = check(argument)
        except Exception as error:  # pylint: disable=broad-except  # what MindSpore throws
            wrong = str(error).strip().split("\n")[0]
        if wrong:
            failed += 1
            print(f"{what}: {wrong}")
    for case in all_cases:
        report(f"{case.op} {case.label}", run, case)
    for name in OPS["ops"]:
        report(name, check_gradients, name)
        report(name, check_op, name)
    print(f"{'FAILED' if failed else 'ok'}: {len(all_cases)} samples, {len(OPS['ops'])} ops, {failed} failed, "
          f"mindspore {mindspore.__version__}")
    return failed != 0


if __name__ == "__main__":
    mindspore.set_device("CPU")
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    all_cases = cases()
    sys.exit(main())
