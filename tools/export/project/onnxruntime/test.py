#!/usr/bin/env python3
"""Runs each sample of the exported ops as a model of one node. usage: test.py LIBRARY"""
import json
import struct
import sys
from pathlib import Path

import numpy as np

from cases import cases, widened

try:
    import onnxruntime
except ImportError:
    sys.exit(f"{sys.executable} has no onnxruntime; pip install onnxruntime, or -DPYTHON=PATH of another Python")

OPS = json.loads((Path(__file__).parent / "ops.json").read_text())
ELEMENT_TYPES = {"f32": 1, "u8": 2, "i8": 3, "i32": 6, "i64": 7, "bool": 9, "f16": 10, "f64": 11, "bf16": 16}


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """Returns a field of a protocol buffer: an integer, a float, or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, kind, text):
    """Returns an AttributeProto for a value as text, of one of the kit's kinds of attributes."""
    if kind == "real":
        return field(1, name) + field(2, float(text)) + field(20, 1)
    if kind in ("integer", "boolean"):
        number = {"true": 1, "false": 0}.get(text.lower())
        return field(1, name) + field(3, int(text) if number is None else number) + field(20, 2)
    if kind == "ints":
        return field(1, name) + b"".join(field(8, int(word)) for word in text.split(",") if word) + field(20, 7)
    return field(1, name) + field(4, text) + field(20, 3)


def node(kind, inputs, outputs, domain, attributes=()):
    """Returns a NodeProto."""
    return (b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs) + field(4, kind) +
            b"".join(field(5, a) for a in attributes) + field(7, domain))


def value_info(name, dtype, rank):
    """Returns a ValueInfoProto whose extents are all unknown."""
    shape = b"".join(field(1, field(2, f"{name}_{d}")) for d in range(rank))
    return field(1, name) + field(2, field(1, field(1, ELEMENT_TYPES[dtype]) + field(2, shape)))


def model(domain, kind, inputs, outputs, attributes):
    """Returns a ModelProto of one node. NumPy has no bf16: such tensors are f32 outside the node."""
    def outside(dtype):
        return "f32" if dtype == "bf16" else dtype

    def cast(a, b, dtype):
        return node("Cast", [a], [b], "", [attribute("to", "integer", str(ELEMENT_TYPES[dtype]))])
    nodes = [cast(f"x{k}", f"in{k}", "bf16") for k, (d, _) in enumerate(inputs) if d == "bf16"]
    nodes.append(node(kind, [f"in{k}" if d == "bf16" else f"x{k}" for k, (d, _) in enumerate(inputs)],
                      [f"out{k}" if d == "bf16" else f"y{k}" for k, (d, _) in enumerate(outputs)], domain, attributes))
    nodes += [cast(f"out{k}", f"y{k}", "f32") for k, (d, _) in enumerate(outputs) if d == "bf16"]
    graph = b"".join(field(1, n) for n in nodes) + field(2, "sample")
    graph += b"".join(field(11, value_info(f"x{k}", outside(d), r)) for k, (d, r) in enumerate(inputs))
    graph += b"".join(field(12, value_info(f"y{k}", outside(d), r)) for k, (d, r) in enumerate(outputs))
    return (field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)) + field(8, field(1, domain) + field(2, 1)))


def session(bytes_of_model, library):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.register_custom_ops_library(library)
    return onnxruntime.InferenceSession(bytes_of_model, options, providers=["CPUExecutionProvider"])


def run(case, library):
    op = OPS["ops"][case.op]
    kind = case.op + ("_" + case.attributes["dtype"] if op["chooses_dtype"] else "")
    # A FLOAT has too few bits for an op in f64, which takes a STRING too.
    kinds = dict(op["attributes"])
    if any(t.dtype == "f64" for t in case.inputs):
        kinds = {name: "text" if kind == "real" else kind for name, kind in kinds.items()}
    attributes = [attribute(name, kinds[name], text) for name, text in case.attributes.items()
                  if not (op["chooses_dtype"] and name == "dtype")]
    made = model(OPS["library"], kind, [(t.dtype, len(t.shape)) for t in case.inputs],
                 [(t.dtype, len(t.shape)) for t in case.outputs], attributes)
    feed = {f"x{k}": widened(t.values) if t.dtype == "bf16" else t.values for k, t in enumerate(case.inputs)}
    return session(made, library).run(None, feed)


def main():
    library = sys.argv[1]
    failed = 0
    all_cases = cases()
    for case in all_cases:
        try:
            wrong = case.difference(run(case, library))
        except Exception as error:  # pylint: disable=broad-except  # what ONNX Runtime throws
            wrong = str(error)
        if wrong:
            failed += 1
            print(f"{case.op} {case.label}: {wrong}")
    print(f"{'FAILED' if failed else 'ok'}: {len(all_cases)} samples, {failed} failed, onnxruntime {onnxruntime.__version__}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
