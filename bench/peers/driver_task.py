"""A request to a framework: an op, its attributes and its inputs."""
import numpy as np


class Unsupported(Exception):
    """Raised if the framework lacks the op, or the op with these attributes or dtypes."""


class Task:
    def __init__(self, question):
        self.op = question["op"]
        self.attrs = question["attrs"]
        self.dims = question["dims"]
        self.names = [tensor["name"] for tensor in question["in"]]
        self.dtypes = [tensor["dtype"] for tensor in question["in"]]  # "bf16" comes as float32
        self.inputs = [np.load(tensor["file"]) for tensor in question["in"]]

    def array(self, name):
        return self.inputs[self.names.index(name)]

    def pads(self):
        """Returns a window's padding (top, bottom, left, right) for any pad mode."""
        a, d = self.attrs, self.dims
        window = [(d.get("u"), d.get("v"))[k] if "u" in d else a["kernel_size"][k] for k in (0, 1)]
        dilation = a.get("dilation", [1, 1])
        if a["pad_mode"] == 2:  # pad
            return tuple(a["padding"])
        if a["pad_mode"] == 0:  # valid
            return (0, 0, 0, 0)
        pads = []
        for k, extent in enumerate((d["h"], d["w"])):  # same: the larger half behind
            stride = a["stride"][k]
            total = max(0, (-(-extent // stride) - 1) * stride + (window[k] - 1) * dilation[k] + 1 - extent)
            pads += [total // 2, total - total // 2]
        return tuple(pads)

    def even_pads(self):
        """Returns (vertical, horizontal) padding. Raises Unsupported if opposite sides differ."""
        top, bottom, left, right = self.pads()
        if top != bottom or left != right:
            raise Unsupported(f"no padding of {top},{bottom},{left},{right}: sides differ")
        return top, left

    def axes(self):
        return [axis % self.inputs[0].ndim for axis in self.attrs["axis"]] or list(range(self.inputs[0].ndim))

    def require(self, condition, what):
        if not condition:
            raise Unsupported(f"not with {what}")
