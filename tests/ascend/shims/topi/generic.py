"""Stands in for auto_schedule, which has no effect because values are computed at once."""
from te import tvm


def auto_schedule(outputs):
    if not tvm.target.inside:
        raise RuntimeError("auto_schedule is called in a tvm.target.cce()")
    return outputs if isinstance(outputs, list) else [outputs]
