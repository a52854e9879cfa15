#!/usr/bin/env python3
"""Runs each sample of the exported ops in PyTorch, eager and with extents that are symbols; and one
sample of each op through opcheck, gradcheck and torch.compile. usage: test.py LIBRARY"""
import json
import sys
import sysconfig
import warnings
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from cases import cases

OPS = json.loads((Path(__file__).parent / "ops.json").read_text())


def operator(name):
    return getattr(getattr(torch.ops, OPS["library"]), name).default


def tensor(t):
    if t.dtype == "bf16":
        return torch.from_numpy(t.values.view("<i2")).view(torch.bfloat16)
    return torch.from_numpy(t.values)


def value(kind, text):
    if kind == "ints":
        return [int(word) for word in text.split(",") if word]
    if kind == "boolean":
        return text.lower() in ("1", "true")
    return {"integer": int, "real": float}.get(kind, str)(text)


def attributes(case):
    kinds = OPS["ops"][case.op]["attributes"]
    return {name: value(kinds[name], text) for name, text in case.attributes.items()}


def listed(results):
    return [results] if isinstance(results, torch.Tensor) else list(results)


def run(case):
    """Returns what is wrong with the results of a sample, of its views with gaps, and of its traced shapes."""
    op, given = operator(case.op), attributes(case)
    inputs = [tensor(t) for t in case.inputs]
    with_gaps = [torch.stack([t, t], -1)[..., 0] for t in inputs]
    for how, x in (("dense", inputs), ("with gaps", with_gaps)):
        results = [r.to(torch.float64).numpy() for r in listed(op(*x, **given))]
        if wrong := case.difference(results):
            return f"{how}: {wrong}"
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        traced = listed(op(*[mode.from_tensor(t) for t in inputs], **given))
        shapes = [tuple(int(extent) for extent in t.shape) for t in traced]
    if shapes != [t.shape for t in case.outputs]:
        return f"traced shapes are {shapes}"
    return ""


def smallest(op, dtype, result=None):
    """Returns the smallest sample of the op with elements whose first input is of the dtype, and whose first result is of that of
    `result`, if it is given; None if there is none."""
    fits = [c for c in all_cases if c.op == op and c.inputs and c.inputs[0].dtype == dtype and all(t.values.size for t in c.inputs) and
            result in (None, c.outputs[0].dtype)]
    return min(fits, key=lambda c: abs(sum(t.values.size for t in c.inputs) - 24), default=None)


def variables(case, names):
    """Returns the inputs; those that have gradients require them."""
    inputs = []
    for name, t in zip(OPS["ops"][case.op]["inputs"], case.inputs, strict=True):
        x = tensor(t)
        inputs.append(x.requires_grad_() if name in names and x.is_floating_point() else x)
    return inputs


def check_compiled(case, names, backend):
    """Compares a compiled call, and its gradients, with the eager one; with one trace for two extents."""
    op, given = operator(case.op), attributes(case)

    def total(*x):
        return sum(r.sum() for r in listed(op(*x, **given)) if r.is_floating_point())
    torch._dynamo.reset()
    compiled = torch.compile(total, fullgraph=True, dynamic=True, backend=backend)
    eager, traced = variables(case, names), variables(case, names)
    want, got = total(*eager), compiled(*traced)
    if not isinstance(want, torch.Tensor):
        return
    torch.testing.assert_close(got, want, equal_nan=True)
    if got.requires_grad:
        want.backward()
        got.backward()
        for a, b in zip(traced, eager, strict=True):
            torch.testing.assert_close(a.grad, b.grad, equal_nan=True)


def check_op(name, backends):
    op = OPS["ops"][name]
    case = smallest(name, "f32") or next((c for c in all_cases if c.op == name), None)
    if case is None:
        return
    names = op["gradients"]
    torch.library.opcheck(operator(name), tuple(variables(case, names)), attributes(case))
    for backend in backends:
        check_compiled(case, names, backend)
    case = smallest(name, "f64", "f64")  # a rounding to f32 would hide small differences
    if names and case:
        given = attributes(case)
        inputs = [t for t in variables(case, names)]
        torch.autograd.gradcheck(lambda *x: operator(name)(*x, **given), tuple(inputs), atol=1e-4, rtol=1e-3)


def main():
    failed = 0
    for case in all_cases:
        try:
            wrong = run(case)
        except Exception as error:  # pylint: disable=broad-except  # what PyTorch throws
            wrong = str(error)
        if wrong:
            failed += 1
            print(f"{case.op} {case.label}: {wrong}")
    # Its code for the CPU includes Python.h. One op is enough for it, as all look alike to it.
    has_header = (Path(sysconfig.get_paths()["include"]) / "Python.h").exists()
    for k, name in enumerate(OPS["ops"]):
        try:
            check_op(name, ["aot_eager"] + (["inductor"] if has_header and k == 0 else []))
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"{name}: {error}")
    print(f"{'FAILED' if failed else 'ok'}: {len(all_cases)} samples, {len(OPS['ops'])} ops, {failed} failed, torch {torch.__version__}")
    return failed != 0


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.manual_seed(1)
    torch.ops.load_library(sys.argv[1])
    all_cases = cases()
    sys.exit(main())
