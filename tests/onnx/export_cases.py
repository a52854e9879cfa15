"""Writes the node tests of PyPI's `onnx` wheel as .npy files and one manifest, for onnx_test: export_cases.py DIR

DIR/manifest.json: {"onnx": version, "cases": [case, ...]}, a case being
  name, rtol, atol      as the wheel has them
  skip                  why it can't be said in this form (strings, sequences, subgraphs); then nothing follows
  nodes                 [{"op", "opset", "inputs", "outputs", "attributes"}], in the order in which they run; "" is a tensor left out
  tensors               name -> file, of the graph's inputs and constants
  results               [[name, file, dtype], ...]
An attribute is a number, a string, a list of these, or {"tensor": file}. A file is DIR/<case>/<n>.npy; bf16 is stored as its bits, and
its file's name ends in .bf16.npy.
"""
import json
import pathlib
import sys
import warnings

import ml_dtypes
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


class Unsaid(Exception):
    """Raised if a case has something that tensors of numbers can't represent."""


NUMBERS = {np.dtype(t) for t in ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "?", ml_dtypes.bfloat16)}  # the kit's dtypes


class Case:
    def __init__(self, folder, test, data_set):
        self.folder, self.test, self.data_set, self.files = folder, test, data_set, 0

    def save(self, value):
        if isinstance(value, onnx.TensorProto):
            value = numpy_helper.to_array(value)
        if not isinstance(value, (np.ndarray, np.generic, int, float)):
            raise Unsaid("sequences and optionals")
        value = np.asarray(value)
        if value.dtype not in NUMBERS:
            raise Unsaid("strings" if value.dtype.kind in "OUS" else f"dtype {value.dtype}")
        is_bf16 = value.dtype == ml_dtypes.bfloat16
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{self.files}{'.bf16' if is_bf16 else ''}.npy"
        self.files += 1
        np.save(file, np.array(value.view(np.uint16) if is_bf16 else value, order="C"))
        return f"{self.folder.name}/{file.name}"

    def attribute(self, a):
        if a.type == onnx.AttributeProto.TENSOR:
            return {"tensor": self.save(numpy_helper.to_array(a.t))}
        value = onnx.helper.get_attribute_value(a)
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, (int, float)):
            return value
        if hasattr(value, "__iter__") and all(isinstance(v, (int, float)) for v in value):
            return list(value)
        if hasattr(value, "__iter__") and all(isinstance(v, bytes) for v in value):
            return [v.decode() for v in value]
        raise Unsaid("subgraphs")

    def entry(self):
        graph = self.test.model.graph
        opsets = {o.domain: o.version for o in self.test.model.opset_import}
        functions = {f.name for f in self.test.model.functions}
        if any(n.op_type in functions for n in graph.node):
            raise Unsaid("functions of the model's own")
        nodes = [
            {
                "op": n.op_type,
                "opset": opsets.get(n.domain, 0),
                "inputs": list(n.input),
                "outputs": list(n.output),
                "attributes": {a.name: self.attribute(a) for a in n.attribute},
            }
            for n in graph.node
        ]
        inputs, outputs = self.data_set
        tensors = {i.name: self.save(numpy_helper.to_array(i)) for i in graph.initializer}
        tensors |= {i.name: self.save(v) for i, v in zip(graph.input, inputs)}
        results = [[o.name, self.save(v), str(np.asarray(v).dtype)] for o, v in zip(graph.output, outputs)]
        return {"nodes": nodes, "tensors": tensors, "results": results}


def main():
    folder = pathlib.Path(sys.argv[1])
    warnings.simplefilter("ignore")
    entries = []
    for test in collect_testcases(None):
        for k, data_set in enumerate(test.data_sets or []):
            name = test.name if len(test.data_sets) == 1 else f"{test.name}_{k}"
            entry = {"name": name, "rtol": float(test.rtol), "atol": float(test.atol)}
            try:
                entry |= Case(folder / name, test, data_set).entry()
            except Unsaid as why:
                entry["skip"] = str(why)
            entries.append(entry)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"onnx": onnx.__version__, "cases": entries}, indent=1))
    print(f"{len(entries)} cases, {sum('skip' in e for e in entries)} of them can't be said in tensors of numbers: {folder}")


if __name__ == "__main__":
    main()
