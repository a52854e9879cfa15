"""Sessions with nodes of two exported libraries, and nodes that must fail with a text. usage: onnxruntime_host.py FIRST/test FIRST SECOND,
where FIRST is the library of `halyard export relu softmax conv2d cast`, SECOND has bias_gelu."""
import sys

import numpy as np
import onnxruntime

import expectations
from expectations import expect, status

sys.path.insert(0, sys.argv[1])
from test import ELEMENT_TYPES, attribute, field, node, value_info  # noqa: E402  # the exported test builds models

FIRST, SECOND = sys.argv[2:]


def model(nodes, inputs, outputs, domains=("first", "second")):
    """Returns a model; inputs and outputs are (name, dtype, rank)."""
    graph = b"".join(field(1, n) for n in nodes) + field(2, "test")
    graph += b"".join(field(11, value_info(*t)) for t in inputs) + b"".join(field(12, value_info(*t)) for t in outputs)
    opsets = field(8, field(1, "") + field(2, 17)) + b"".join(field(8, field(1, d) + field(2, 1)) for d in domains)
    return field(1, 8) + field(7, graph) + opsets


def session(made, threads=1):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.register_custom_ops_library(FIRST)
    options.register_custom_ops_library(SECOND)
    return onnxruntime.InferenceSession(made, options, providers=["CPUExecutionProvider"])


def refuses(text, made, **feed):
    """Expects that the model fails to load or to run, with the text."""
    expectations.refuses(text, lambda: session(made).run(None, feed), Exception)  # what ONNX Runtime throws


def one(kind, rank=2, attributes=(), dtype="f32", inputs=1, domain="first"):
    """Returns a model of one node."""
    names = [f"x{k}" for k in range(inputs)]
    return model([node(kind, names, ["y"], domain, attributes)], [(n, dtype, rank) for n in names], [("y", dtype, rank)])


x = np.linspace(-3, 3, 12, dtype="f4").reshape(3, 4)
chain = model([node("relu", ["x"], ["a"], "first"), node("cast_f16", ["a"], ["half"], "first"), node("cast_f16", ["b"], ["bias"], "first"),
               node("bias_gelu", ["half", "bias"], ["c"], "second"), node("cast_f32", ["c"], ["wide"], "first"),
               node("softmax", ["wide"], ["y"], "first", [attribute("axis", "integer", "-1")])],
              [("x", "f32", 2), ("b", "f32", 1)], [("y", "f32", 2)])
both = session(chain)
result = both.run(None, {"x": x, "b": np.zeros(4, "f4")})[0]
expect(np.allclose(result.sum(1), 1, atol=1e-6), "a chain of nodes of two libraries is wrong")
expect(np.array_equal(result, session(chain, threads=4).run(None, {"x": x, "b": np.zeros(4, "f4")})[0]), "another number of threads, other bits")

relu = session(one("relu"))
for rows in (1, 5, 0, 3):
    many = np.linspace(-1, 1, rows * 4, dtype="f4").reshape(rows, 4)
    expect(np.array_equal(relu.run(None, {"x0": many})[0], np.maximum(many, 0)), f"relu of {rows} rows")

casts = model([node("cast_f64", ["x"], ["y"], "first")], [("x", "f32", 2)], [("y", "f64", 2)])
expect(session(casts).run(None, {"x": x})[0].dtype == np.float64, "cast_f64 doesn't give f64")

refuses("[softmax] axis is 7, expected -2 to 1", one("softmax", attributes=[attribute("axis", "integer", "7")]), x0=x)
refuses("attribute axis has another type, expected INT", one("softmax", attributes=[attribute("axis", "real", "1")]), x0=x)
refuses("pad_mode is 'round', expected one of", one("conv2d", 4, [attribute("pad_mode", "choice", "round")], inputs=2),
        x0=np.ones((1, 1, 3, 3), "f4"), x1=np.ones((1, 1, 3, 3), "f4"))
refuses("[conv2d] stride has 3 values", one("conv2d", 4, [attribute("stride", "ints", "1,1,1")], inputs=2),
        x0=np.ones((1, 1, 3, 3), "f4"), x1=np.ones((1, 1, 3, 3), "f4"))
refuses("[conv2d] weight.c/group is 2, expected 1", one("conv2d", 4, inputs=2),
        x0=np.ones((1, 1, 3, 3), "f4"), x1=np.ones((1, 2, 3, 3), "f4"))
refuses("rank", one("relu", 9), x0=np.ones((1,) * 9, "f4"))
refuses("relu", one("relu", dtype="u8"), x0=np.ones((2, 2), "u1"))  # ONNX Runtime has no custom op of these dtypes
refuses("tanh", one("tanh"), x0=x)
refuses("relu", one("relu", inputs=2), x0=x, x1=x)
# A session lives on after a call that failed.
conv = session(one("conv2d", 4, inputs=2))
for channels in (2, 1, 2, 1):
    try:
        y = conv.run(None, {"x0": np.ones((1, 1, 3, 3), "f4"), "x1": np.ones((1, channels, 3, 3), "f4")})[0]
        expect(channels == 1 and y.item() == 9, "conv2d")
    except Exception as error:
        expect(channels == 2 and "[conv2d]" in str(error), str(error))
expect(len(ELEMENT_TYPES) == 9, "the exported test has other dtypes")
sys.exit(status())
