"""Operators of lib@name@.so for MindSpore, written by `halyard export`. Each function takes an op's attributes, and returns an
operator with its gradient: `@name@.relu()(x)`. Tensors follow the order of OPS.md."""
import ctypes
from pathlib import Path

import mindspore
from mindspore import ops
from mindspore.ops import CustomRegOp, DataType

_LIBRARY = str(Path(__file__).resolve().parent / "build" / "lib@name@.so")
_DTYPES = {"f32": mindspore.float32, "f16": mindspore.float16, "f64": mindspore.float64, "bf16": mindspore.bfloat16,
           "i32": mindspore.int32, "i64": mindspore.int64, "i8": mindspore.int8, "u8": mindspore.uint8, "bool": mindspore.bool_}


class _DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype", _DType), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64)]


class _Shape(ctypes.Structure):
    _fields_ = [("dtype", _DType), ("ndim", ctypes.c_int32), ("extents", ctypes.c_int64 * 8)]


class _Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("text", ctypes.c_char * 508)]


_CODES = {"f32": (2, 32), "f16": (2, 16), "f64": (2, 64), "bf16": (4, 16), "i32": (0, 32), "i64": (0, 64), "i8": (0, 8), "u8": (1, 8),
          "bool": (6, 8)}


def _text(value):
    """Returns an attribute's value as the library reads it."""
    if isinstance(value, (list, tuple)):
        return ",".join(str(v) for v in value)
    return str(int(value)) if isinstance(value, bool) else repr(value) if isinstance(value, float) else str(value)


def _shapes(name, attributes, dtypes, outputs, shapes):
    """Returns the shapes of several results."""
    library = ctypes.CDLL(_LIBRARY)
    library.hy_find.restype = ctypes.c_void_p
    error = _Error()
    op = ctypes.c_void_p(library.hy_find(name.encode(), attributes.encode(), ctypes.byref(error)))
    if not op:
        raise ValueError(error.text.decode())
    tensors = (_Tensor * len(shapes))()
    extents = [(ctypes.c_int64 * max(1, len(shape)))(*shape) for shape in shapes]
    for t, dtype, shape, e in zip(tensors, dtypes, shapes, extents, strict=True):
        t.device_type, t.ndim, t.dtype, t.shape = 1, len(shape), _DType(*_CODES[dtype], 1), e
    results = (_Shape * outputs)()
    failed = library.hy_infer(op, tensors, len(shapes), results, outputs, ctypes.byref(error))
    library.hy_release(op)
    if failed:
        raise ValueError(error.text.decode())
    return tuple(tuple(r.extents[:r.ndim]) for r in results)


def _operator(name, inputs, outputs, dtypes, attributes, bprop=None):
    """Returns ops.Custom. `dtypes` are some that the inputs may have; an output's is the number of the input whose dtype it has, or a
    dtype's name."""
    text = " ".join(f"{key}={_text(value)}" for key, value in attributes.items())
    record = CustomRegOp(f"@name@_{name}")
    for k in range(inputs):
        record = record.input(k, f"x{k}")
    for k in range(len(outputs)):
        record = record.output(k, f"y{k}")
    record = record.dtype_format(*[DataType.None_None] * (inputs + len(outputs)))
    record = record.attr("attributes", "required", "all", value=text).attr("dtypes", "required", "all", value=" ".join(dtypes))

    def out_dtype(*given):
        all_of_them = tuple(given[k] if isinstance(k, int) else _DTYPES[k] for k in outputs)
        return all_of_them if len(outputs) > 1 else all_of_them[0]

    def out_shape(*shapes):
        return _shapes(name, text, dtypes, len(outputs), shapes)
    return ops.Custom(f"{_LIBRARY}:op_{name}", out_shape if len(outputs) > 1 else None, out_dtype, "aot", bprop=bprop,
                      reg_info=record.target("CPU").get_op_info())


