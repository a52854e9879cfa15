"""A stand-in for TBE's DSL that computes: each function takes whole tensors of one shape and type and rounds once per element.

Own code, from the public descriptions of the functions. `built` holds what cce_build_code was given.
"""
import math

from te.tvm import Const, Tensor

built = []


def elementwise(function, *operands, dtype=None):
    tensors = [t for t in operands if isinstance(t, Tensor)]
    first = tensors[0]
    for t in tensors:
        if t.shape != first.shape:
            raise ValueError(f"shapes {first.shape} and {t.shape}")
    types = {t.dtype for t in operands}
    if len(types) > 1:
        raise TypeError(f"operands of {' and '.join(sorted(types))}")
    columns = [t.values if isinstance(t, Tensor) else [t.value] * len(first.values) for t in operands]
    return Tensor(first.shape, dtype or first.dtype, [function(*v) for v in zip(*columns)])


def guarded(function, otherwise):
    def apply(x):
        try:
            return math.nan if math.isnan(x) else function(x)
        except (OverflowError, ValueError):
            return otherwise(x)
    return apply


def divide(a, b):
    if b != 0:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)


def binary(function):
    return lambda lhs, rhs: elementwise(function, need(lhs), need(rhs))


def with_number(function):
    def apply(raw_tensor, scalar):
        if not isinstance(scalar, Const):
            raise TypeError("the scalar is a tvm.const")
        return elementwise(function, need(raw_tensor), scalar)
    return apply


def unary(function):
    return lambda raw_tensor: elementwise(function, need(raw_tensor))


def need(x):
    if not isinstance(x, Tensor):
        raise TypeError("a number where a tensor belongs")
    return x


vadd, vsub, vmul, vdiv = binary(lambda a, b: a + b), binary(lambda a, b: a - b), binary(lambda a, b: a * b), binary(divide)
vmax, vmin = binary(lambda a, b: a if a > b else b), binary(lambda a, b: a if a < b else b)
vadds, vmuls = with_number(lambda a, b: a + b), with_number(lambda a, b: a * b)
vmaxs, vmins = with_number(lambda a, b: a if a > b else b), with_number(lambda a, b: a if a < b else b)
vexp = unary(guarded(math.exp, lambda x: math.inf))
vlog = unary(guarded(math.log, lambda x: -math.inf if x == 0 else math.nan))
vsqrt, vabs = unary(guarded(math.sqrt, lambda x: math.nan)), unary(abs)


def to_integer(function):
    return lambda raw_tensor: elementwise(lambda x: function(x) if math.isfinite(x) else 0, need(raw_tensor), dtype="int32")


floor, ceil, trunc, round = (to_integer(f) for f in (math.floor, math.ceil, math.trunc, round))

COMPARE = {"lt": lambda a, b: a < b, "gt": lambda a, b: a > b, "le": lambda a, b: a <= b, "ge": lambda a, b: a >= b,
           "eq": lambda a, b: a == b, "ne": lambda a, b: a != b}


def vcmpsel(lhs, rhs, operation, slhs, srhs):
    return elementwise(lambda a, b, x, y: x if COMPARE[operation](a, b) else y, need(lhs), rhs, slhs, srhs)


def cast_to(data, dtype):
    return Tensor(need(data).shape, dtype, data.values)


def places(shape):
    """The index of every element."""
    if not shape:
        yield ()
        return
    for first in range(shape[0]):
        for rest in places(shape[1:]):
            yield (first, *rest)


def at(index, shape):
    flat = 0
    for i, extent in zip(index, shape):
        flat = flat * extent + (i if extent > 1 else 0)
    return flat


def broadcast(var, shape, output_dtype=None):
    if isinstance(var, Const):
        return Tensor(shape, output_dtype, [var.value] * math.prod(shape))
    if len(var.shape) != len(shape) or any(a not in (1, b) for a, b in zip(var.shape, shape)):
        raise ValueError(f"{var.shape} as {shape}")
    return Tensor(shape, var.dtype, [var.values[at(i, var.shape)] for i in places(shape)])


def reduction(function, begin):
    def apply(raw_tensor, axis, keepdims=False):
        shape = tuple(1 if a in axis else n for a, n in enumerate(need(raw_tensor).shape))
        totals = Tensor(shape, raw_tensor.dtype, [begin] * math.prod(shape))
        for i, value in zip(places(raw_tensor.shape), raw_tensor.values):
            k = at(i, shape)
            totals.values[k] = function(totals.values[k], value)
        return Tensor(shape if keepdims else [n for a, n in enumerate(shape) if a not in axis], raw_tensor.dtype, totals.values)
    return apply


sum, reduce_prod = reduction(lambda a, b: a + b, 0), reduction(lambda a, b: a * b, 1)
reduce_max, reduce_min = reduction(max, -math.inf), reduction(min, math.inf)


def matmul(tensor_a, tensor_b, trans_a=False, trans_b=False, format_a="ND", format_b="ND", alpha_num=1.0, beta_num=0.0, dst_dtype="float16"):
    (m, k), (l, n) = tensor_a.shape[::-1] if trans_a else tensor_a.shape, tensor_b.shape[::-1] if trans_b else tensor_b.shape
    if k != l or tensor_a.dtype != "float16" or tensor_b.dtype != "float16":
        raise ValueError(f"matmul of {tensor_a.shape} and {tensor_b.shape}, {tensor_a.dtype} and {tensor_b.dtype}")
    a = lambda i, j: tensor_a.values[j * m + i if trans_a else i * k + j]  # noqa: E731
    b = lambda i, j: tensor_b.values[j * k + i if trans_b else i * n + j]  # noqa: E731
    return Tensor((m, n), dst_dtype, [math.fsum(a(i, d) * b(d, j) for d in range(k)) for i in range(m) for j in range(n)])


def cce_build_code(schedule, config):
    if set(config) != {"print_ir", "name", "tensor_list"}:
        raise ValueError(f"a build's config is print_ir, name and tensor_list, not {sorted(config)}")
    results = [t for t in config["tensor_list"] if t.name is None]
    if [id(t) for t in results] != [id(t) for t in schedule]:
        raise ValueError("the schedule is of other tensors than the results of tensor_list")
    built.append(config)
