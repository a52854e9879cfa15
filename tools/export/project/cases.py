"""Reads cases.bin: the samples of the exported ops, with the results and error bounds of a reference
in double."""
import struct
import sys
from pathlib import Path

import numpy as np

# DLPack's code and the bits of an element -> the kit's name, and NumPy's type of its memory.
DTYPES = {(2, 32): ("f32", "<f4"), (2, 64): ("f64", "<f8"), (2, 16): ("f16", "<f2"), (4, 16): ("bf16", "<u2"),
          (0, 32): ("i32", "<i4"), (0, 64): ("i64", "<i8"), (0, 8): ("i8", "i1"), (1, 8): ("u8", "u1"), (6, 8): ("bool", "?")}


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if self.at + size > len(self.data):
            sys.exit("cases.bin is cut off")
        self.at += size
        return self.data[self.at - size:self.at]

    def count(self):
        return struct.unpack("<I", self.take(4))[0]

    def text(self):
        return self.take(self.count()).decode()

    def numbers(self, kind, shape):
        kind = np.dtype(kind)
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        return np.frombuffer(self.take(size), kind).reshape(shape).copy()

    def meta(self):
        dtype, memory = DTYPES[self.count(), self.count()]
        return dtype, memory, tuple(struct.unpack("<q", self.take(8))[0] for _ in range(self.count()))


class Tensor:
    """A tensor of a case. An input has `values`, in bf16 its bits; an output has `want` and `allowed`."""

    def __init__(self, reader, is_output):
        self.dtype, memory, self.shape = reader.meta()
        if is_output:
            self.want, self.allowed = reader.numbers("<f8", self.shape), reader.numbers("<f8", self.shape)
        else:
            self.values = reader.numbers(memory, self.shape)


class Case:
    def __init__(self, reader):
        self.op = reader.text()
        self.attributes = dict(word.split("=", 1) for word in reader.text().split())
        self.label = reader.text()
        inputs, outputs = reader.count(), reader.count()
        self.inputs = [Tensor(reader, False) for _ in range(inputs)]
        self.outputs = [Tensor(reader, True) for _ in range(outputs)]

    def difference(self, results):
        """Returns what is wrong with the results, arrays of any numeric type; "" if they are right."""
        for k, (t, got) in enumerate(zip(self.outputs, results, strict=True)):
            if tuple(got.shape) != t.shape:
                return f"output {k} has shape {tuple(got.shape)}, expected {t.shape}"
            got = np.asarray(got).astype("f8")
            with np.errstate(invalid="ignore"):
                near = (got == t.want) | (np.abs(got - t.want) <= t.allowed) | np.isinf(t.allowed)
            wrong = np.argwhere(~(near | (np.isnan(got) & np.isnan(t.want))))
            if len(wrong):
                at = tuple(wrong[0])
                return f"element {tuple(map(int, at))} of output {k} is {got[at]:.17g}, expected {t.want[at]:.17g}"
        return ""


def cases():
    reader = Reader((Path(__file__).parent / "cases.bin").read_bytes())
    return [Case(reader) for _ in range(reader.count())]


def widened(bits):
    """Returns bf16, given as its bits, as f32."""
    return (bits.astype("<u4") << 16).view("<f4")
