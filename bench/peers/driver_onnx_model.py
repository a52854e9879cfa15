"""Writes ONNX models of one node without the package `onnx`, which ONNX Runtime doesn't need either.

A model is a protocol buffer; the numbers below are those of its fields in onnx.proto.
"""
import struct

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11}
OPSET = 20


def varint(value):
    value &= (1 << 64) - 1
    text = b""
    while value >= 0x80:
        text, value = text + bytes([value & 0x7F | 0x80]), value >> 7
    return text + bytes([value])


def field(number, value):
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(name, value):
    if isinstance(value, (list, tuple)):
        body, kind = b"".join(field(8, int(v)) for v in value), 7
    elif isinstance(value, float):
        body, kind = field(2, value), 1
    elif isinstance(value, str):
        body, kind = field(4, value), 3
    else:
        body, kind = field(3, int(value)), 2
    return field(1, name) + body + field(20, kind)


def value_info(name, array):
    shape = b"".join(field(1, field(1, extent)) for extent in array.shape)
    return field(1, name) + field(2, field(1, field(1, TYPES[array.dtype.name]) + field(2, shape)))


def tensor(name, array):
    return b"".join(field(1, extent) for extent in array.shape) + field(2, TYPES[array.dtype.name]) + field(8, name) + field(9, array.tobytes())


def model(kind, attributes, names, inputs, constants, domain=""):
    """Returns the bytes of a model y = kind(names...); `inputs` are passed to the call, `constants` are weights."""
    node = b"".join(field(1, name) for name in names) + field(2, "y") + field(4, kind) + field(7, domain)
    node += b"".join(field(5, attribute(name, value)) for name, value in attributes.items())
    graph = field(1, node) + field(2, "graph")
    graph += b"".join(field(5, tensor(name, array)) for name, array in constants.items())
    graph += b"".join(field(11, value_info(name, array)) for name, array in inputs.items())
    graph += field(12, field(1, "y"))  # its type is inferred
    opsets = field(8, field(1, "") + field(2, OPSET)) + field(8, field(1, "com.microsoft") + field(2, 1))
    return field(1, 8) + field(7, graph) + opsets
