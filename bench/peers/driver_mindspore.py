"""MindSpore on the CPU, call by call (PyNative), which is how its kernels run without a graph around them."""
import os
import sys

# Its kernels use a thread for each allowed core and ignore other settings. The cores are read once, when it is loaded.
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-int(sys.argv[2]):])

import mindspore
from mindspore import Tensor, ops
from mindspore.ops import operations as P
from mindspore.ops.operations import _grad_ops as G

from driver_task import Unsupported

UNARY = {"elu": ops.elu, "gelu": lambda x: ops.gelu(x, approximate="none"), "gelu_tanh": lambda x: ops.gelu(x, approximate="tanh"), "hard_sigmoid": ops.hardsigmoid,
         "hard_swish": ops.hardswish, "is_nan": ops.isnan, "is_inf": ops.isinf, "is_finite": ops.isfinite}
for same in ("abs acos asin atan ceil cos cosh erf erfc exp expm1 floor log log1p logical_not logsigmoid mish neg reciprocal relu relu6 round rsqrt sigmoid "
             "sign silu sin sinh softplus softsign sqrt square tan tanh trunc").split():
    UNARY[same] = getattr(ops, same)
BINARY = {"pow": ops.pow, "atan2": ops.atan2, "maximum": ops.maximum, "minimum": ops.minimum, "floor_mod": ops.floor_mod, "floor_div": ops.floor_div,
          "equal": ops.equal, "not_equal": ops.not_equal, "less": ops.less, "less_equal": ops.less_equal, "greater": ops.greater,
          "greater_equal": ops.greater_equal, "logical_and": ops.logical_and, "logical_or": ops.logical_or,
          "squared_difference": P.SquaredDifference(), "select": ops.select}
for same in ("add", "sub", "mul", "div"):
    BINARY[same] = getattr(ops, same)
REDUCTIONS = {"reduce_sum": P.ReduceSum(), "reduce_mean": P.ReduceMean(), "reduce_max": P.ReduceMax(), "reduce_min": P.ReduceMin()}
GRADIENTS = {"relu_dx": (G.ReluGrad, "dy y"), "sigmoid_dx": (G.SigmoidGrad, "y dy"), "tanh_dx": (G.TanhGrad, "y dy"), "relu6_dx": (G.ReLU6Grad, "dy x")}


class Framework:
    spins = 0.06  # seconds for which its threads look for more work

    def __init__(self, threads, isa):
        if isa:
            raise Unsupported(f"can't be limited to {isa}, so that it stays out")
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
        mindspore.set_device("CPU")
        mindspore.runtime.dispatch_threads_num(threads)
        mindspore.runtime.launch_blocking()  # handing each call to another thread takes longer than a small kernel
        self.name = "MindSpore " + mindspore.__version__

    def prepare(self, task):
        x = [Tensor(a) for a in task.inputs]
        x = [t.astype(mindspore.bfloat16) if dtype == "bf16" else t for t, dtype in zip(x, task.dtypes)]
        return self.call(task, x)

    def call(self, task, x):
        op, a = task.op, task.attrs
        if op == "leaky_relu":
            return lambda: ops.leaky_relu(x[0], a["alpha"])
        for table in (UNARY, BINARY):
            if op in table:
                function = table[op]
                return lambda: function(*x)
        if op in GRADIENTS:
            primitive, order = GRADIENTS[op]
            return self.bound(primitive(), [x[task.names.index(name)] for name in order.split()])
        if op in ("softmax", "log_softmax"):
            return self.bound({"softmax": P.Softmax, "log_softmax": P.LogSoftmax}[op](a["axis"]), x)
        if op == "log_softmax_dx":
            return self.bound(G.LogSoftmaxGrad(a["axis"]), x)
        if op in REDUCTIONS:
            return self.bound(REDUCTIONS[op], [x[0], tuple(task.axes())])
        if op in ("argmax", "argmin"):
            return self.bound({"argmax": P.Argmax, "argmin": P.Argmin}[op](a["axis"]), x)
        if op == "matmul":
            return self.bound(P.BatchMatMul(bool(a["transpose_a"]), bool(a["transpose_b"])), x)
        if op.startswith("conv2d"):
            return self.convolution(task, x)
        if "pool2d" in op:
            return self.pooling(task, x)
        if op == "softmax_cross_entropy":  # its gradient takes labels that sum to 1 for granted
            loss = P.SoftmaxCrossEntropyWithLogits()
            return lambda: loss(x[0], x[1])[0]
        if op == "sparse_softmax_cross_entropy":
            labels = x[1].astype(mindspore.int32)
            return lambda: ops.cross_entropy(x[0], labels, reduction="none")
        raise Unsupported("no such op in bench/peers/driver_mindspore.py")

    @staticmethod
    def bound(primitive, arguments):
        return lambda: primitive(*arguments)

    def convolution(self, task, x):
        a, d = task.attrs, task.dims
        task.require(not a["data_format"], "NHWC")
        settings = {"pad_mode": "pad", "pad": task.pads(), "stride": tuple(a["stride"]), "dilation": tuple(a["dilation"]), "group": a["group"]}
        if task.op == "conv2d":
            return self.bound(P.Conv2D(d["o"], (d["u"], d["v"]), **settings), x)
        if task.op == "conv2d_dx":
            return self.bound(P.Conv2DBackpropInput(d["o"], (d["u"], d["v"]), **settings), [x[2], x[1], tuple(x[0].shape)])
        settings["pad_list"] = settings.pop("pad")
        return self.bound(G.Conv2DBackpropFilter(d["o"], (d["u"], d["v"]), **settings), [x[2], x[0], tuple(x[1].shape)])

    def pooling(self, task, x):
        a = task.attrs
        task.require(not a["data_format"], "NHWC")
        task.require(a["pad_mode"] < 2, "explicit padding")
        if a["pad_mode"] == 1:  # its averages leave the padding out
            task.require("max" in task.op, "pad_mode=same")
        settings = {"kernel_size": tuple(a["kernel_size"]), "strides": tuple(a["stride"]), "pad_mode": ("valid", "same")[a["pad_mode"]]}
        if task.op == "max_pool2d":
            return self.bound(P.MaxPool(**settings), x)
        if task.op == "avg_pool2d":
            return self.bound(P.AvgPool(**settings), x)
        if task.op == "max_pool2d_dx":
            return self.bound(G.MaxPoolGrad(**settings), x)
        y = P.AvgPool(**settings)(x[0])
        return self.bound(G.AvgPoolGrad(**settings), [x[0], y, x[1]])

    def arrays(self, result):
        result = result.astype(mindspore.float32) if result.dtype == mindspore.bfloat16 else result
        return [result.asnumpy()]

    def wait(self):
        mindspore.runtime.synchronize()
