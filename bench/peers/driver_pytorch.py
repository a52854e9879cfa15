"""PyTorch. Each call allocates its results, as users' programs do. Gradients are its own backward kernels, without a tape."""
import os

import torch
import torch.nn.functional as F
from driver_task import Unsupported

aten = torch.ops.aten

UNARY = {
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "hard_sigmoid": F.hardsigmoid, "hard_swish": F.hardswish,
    "logsigmoid": F.logsigmoid, "mish": F.mish, "relu6": F.relu6, "silu": F.silu, "softplus": F.softplus, "softsign": F.softsign,
    "is_nan": torch.isnan, "is_inf": torch.isinf, "is_finite": torch.isfinite, "copy": torch.clone,
}
for same in ("abs acos asin atan ceil cos cosh erf erfc exp exp2 expm1 floor log log1p log2 logical_not neg reciprocal relu round rsqrt sigmoid sign "
             "sin sinh sqrt square tan tanh trunc").split():
    UNARY[same] = getattr(torch, same)
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow, "atan2": torch.atan2, "maximum": torch.maximum,
    "minimum": torch.minimum, "floor_mod": torch.remainder, "floor_div": torch.floor_divide, "equal": torch.eq, "not_equal": torch.ne, "less": torch.lt,
    "less_equal": torch.le, "greater": torch.gt, "greater_equal": torch.ge, "logical_and": torch.logical_and, "logical_or": torch.logical_or,
    "squared_difference": lambda a, b: torch.square(a - b), "add_relu": lambda a, b: torch.relu_(a + b), "select": torch.where,
}
UNARY_DX = {  # of y or x, whichever is the first input, and dy
    "relu_dx": lambda y, dy: aten.threshold_backward(dy, y, 0), "sigmoid_dx": lambda y, dy: aten.sigmoid_backward(dy, y),
    "tanh_dx": lambda y, dy: aten.tanh_backward(dy, y), "exp_dx": lambda y, dy: dy * y, "gelu_dx": lambda x, dy: aten.gelu_backward(dy, x),
    "gelu_tanh_dx": lambda x, dy: aten.gelu_backward(dy, x, approximate="tanh"), "silu_dx": lambda x, dy: aten.silu_backward(dy, x),
    "mish_dx": lambda x, dy: aten.mish_backward(dy, x), "hard_swish_dx": lambda x, dy: aten.hardswish_backward(dy, x),
    "hard_sigmoid_dx": lambda x, dy: aten.hardsigmoid_backward(dy, x), "softplus_dx": lambda x, dy: aten.softplus_backward(dy, x, 1, 20),
    "relu6_dx": lambda x, dy: aten.hardtanh_backward(dy, x, 0, 6), "abs_dx": lambda x, dy: dy * torch.sign(x),
}
ACTIVATIONS = [lambda x: x] + [UNARY[name] for name in ("relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh")]  # as in kernels/contraction/dense.cpp
ROWS_DX = {"softmax_dx": aten._softmax_backward_data, "log_softmax_dx": aten._log_softmax_backward_data}


class Framework:
    spins = 0

    def __init__(self, threads, isa):
        # An environment variable limits oneDNN, which has most kernels. The others read this one before the first op.
        if isa:
            os.environ["ATEN_CPU_CAPABILITY"] = {"baseline": "default"}.get(isa, isa)
        torch.set_num_threads(threads)
        self.name = "PyTorch " + torch.__version__.split("+")[0]

    def prepare(self, task):
        x = [torch.from_numpy(a) for a in task.inputs]
        x = [t.to(torch.bfloat16) if dtype == "bf16" else t for t, dtype in zip(x, task.dtypes)]
        call = self.call(task, x)

        def run():
            with torch.inference_mode():
                return call()
        return run

    def call(self, task, x):
        op, a = task.op, task.attrs
        if op == "leaky_relu":
            return lambda: F.leaky_relu(x[0], a["alpha"])
        if op == "elu":
            return lambda: F.elu(x[0], a["alpha"])
        for table in (UNARY, BINARY, UNARY_DX):
            if op in table:
                function = table[op]
                return lambda: function(*x)
        if op in ("softmax", "log_softmax"):
            function = getattr(torch, op)
            return lambda: function(x[0], a["axis"])
        if op in ROWS_DX:
            return lambda: ROWS_DX[op](x[1], x[0], a["axis"], x[0].dtype)
        if op in ("sort", "argsort", "top_k", "median", "cumsum", "cumprod", "cummax", "cummin"):
            return self.ordered(task, x[0])
        if op.startswith("reduce_") or op.startswith("arg"):
            return self.reduction(task, x)
        if op == "matmul":
            left = x[0].transpose(-1, -2) if a["transpose_a"] else x[0]
            right = x[1].transpose(-1, -2) if a["transpose_b"] else x[1]
            return lambda: torch.matmul(left, right)
        if op == "dense_kernel":
            task.require(not a["transpose_a"] and x[0].shape[0] == 1 and a["transpose_b"], "anything but x weight^T")
            activation, rows, weight = ACTIVATIONS[a["activation"]], x[0][0], x[1][0]
            return lambda: activation(F.linear(rows, weight, x[2])).unsqueeze(0)
        if op == "dense":
            activation = ACTIVATIONS[a["activation"]]
            return lambda: activation(F.linear(x[0], x[1], x[2]))
        if op == "scaled_dot_product_attention":
            q, k, v = (t.unsqueeze(0) for t in x[:3])
            causal, scale, mask = bool(a["is_causal"]), a["scale"] or None, None if x[3].numel() == 1 else x[3]  # one number for all changes nothing
            task.require(not (causal and mask is not None), "a causal mask and another")
            return lambda: F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, scale=scale)[0]
        if op == "conv2d_bias_clamp":
            task.require(not a["data_format"], "NHWC")
            pads = task.even_pads()
            return lambda: F.conv2d(x[0], x[1], x[2], a["stride"], pads, a["dilation"], a["group"]).clamp_(a["low"], a["high"])
        if op in ("conv2d", "conv2d_dx", "conv2d_dweight"):
            return self.convolution(task, x)
        if "pool2d" in op:
            return self.pooling(task, x)
        if "_norm_" in op:
            return self.norm(task, x)
        if op.endswith("softmax_cross_entropy"):
            label = x[1].long() if op.startswith("sparse") else x[1]
            return lambda: F.cross_entropy(x[0], label, reduction="none")
        if op.endswith("softmax_cross_entropy_dlogits"):
            return self.cross_entropy_gradient(task, x)
        raise Unsupported("no such op in bench/peers/driver_pytorch.py")

    def reduction(self, task, x):
        op = task.op
        if op.startswith("arg"):
            function = getattr(torch, op)
            return lambda: function(x[0], task.attrs["axis"])
        functions = {"reduce_sum": torch.sum, "reduce_mean": torch.mean, "reduce_max": torch.amax, "reduce_min": torch.amin}
        if op not in functions:
            raise Unsupported("no such op in bench/peers/driver_pytorch.py")
        axes = task.axes()
        return lambda: functions[op](x[0], axes)

    def ordered(self, task, x):
        """Returns a stable sort, as ours is."""
        op, a = task.op, task.attrs
        if op == "sort":
            return lambda: torch.sort(x, dim=a["axis"], descending=bool(a["descending"]), stable=True)
        if op == "argsort":
            return lambda: torch.argsort(x, dim=a["axis"], descending=bool(a["descending"]), stable=True)
        if op == "top_k":
            return lambda: torch.topk(x, a["k"], a["dim"], bool(a["largest"]))
        task.require(not a.get("exclusive") and not a.get("reverse"), "exclusive or reverse")
        function = getattr(torch, op)
        return lambda: function(x, a["axis"])

    def convolution(self, task, x):
        a, mask = task.attrs, [task.op == "conv2d_dx", task.op == "conv2d_dweight", False]
        task.require(not a["data_format"], "NHWC")
        top, bottom, left, right = task.pads()
        if task.op == "conv2d" and (top != bottom or left != right):
            return lambda: F.conv2d(F.pad(x[0], (left, right, top, bottom)), x[1], None, a["stride"], 0, a["dilation"], a["group"])
        pads = task.even_pads()
        if task.op == "conv2d":
            return lambda: F.conv2d(x[0], x[1], None, a["stride"], pads, a["dilation"], a["group"])
        data, weight, dy = x
        return lambda: aten.convolution_backward(dy, data, weight, None, a["stride"], pads, a["dilation"], False, [0, 0], a["group"], mask)[0 if mask[0] else 1]

    def pooling(self, task, x):
        a, pads = task.attrs, task.even_pads()
        task.require(not a["data_format"], "NHWC")
        size, stride = a["kernel_size"], a["stride"]
        task.require(all(2 * pad <= k for pad, k in zip(pads, size)), "padding of more than half a window")
        count = bool(a.get("count_include_pad", 1))
        if task.op == "max_pool2d":
            return lambda: F.max_pool2d(x[0], size, stride, pads)
        if task.op == "avg_pool2d":
            return lambda: F.avg_pool2d(x[0], size, stride, pads, False, count)
        if task.op == "avg_pool2d_dx":
            return lambda: aten.avg_pool2d_backward(x[1], x[0], size, stride, pads, False, count, None)
        if task.op == "max_pool2d_dx":
            places = F.max_pool2d(x[0], size, stride, pads, return_indices=True)[1]  # kept from the forward pass
            return lambda: aten.max_pool2d_with_indices_backward(x[2], x[0], size, stride, pads, [1, 1], False, places)
        raise Unsupported("no such op in bench/peers/driver_pytorch.py")

    def norm(self, task, x):
        op, eps = task.op, task.attrs["epsilon"]
        shape = list(x[0].shape[-1:])
        if op == "layer_norm_kernel":
            return lambda: F.layer_norm(x[0], shape, x[1], x[2], eps)
        if op == "layer_norm_kernel_dx":
            data, gamma, dy = x
            mean, root = torch.native_layer_norm(data, shape, gamma, gamma, eps)[1:]  # kept from the forward pass
            return lambda: aten.native_layer_norm_backward(dy, data, shape, mean, root, gamma, gamma, [True, True, True])
        if op == "rms_norm_kernel":
            return lambda: F.rms_norm(x[0], shape, x[1], eps)
        if op == "rms_norm_kernel_dx":
            data, gamma, dy = x[0].requires_grad_(), x[1].requires_grad_(), x[2]
            y = F.rms_norm(data, shape, gamma, eps)  # it has no backward kernel on CPUs: what the tape of its parts gives
            return lambda: torch.autograd.grad(y, [data, gamma], dy, retain_graph=True)
        if not op.startswith("batch_norm_"):
            raise Unsupported("no such op in bench/peers/driver_pytorch.py")
        if "channels" in op:  # [r,c] as an image of r pixels whose channels are last
            x = [t if t.dim() == 1 else t.t().unsqueeze(0).unsqueeze(-1) for t in x]

        def rows(results):
            return [t[0, :, :, 0].t() if t.dim() == 4 else t for t in results]
        if op.endswith("_dx"):
            data, gamma, mean, rest, variance, dy = x
            mean, root = mean + rest, torch.rsqrt(variance + eps)
            return lambda: rows(aten.native_batch_norm_backward(dy, data, gamma, None, None, mean, root, True, eps, [True, True, True]))
        data, gamma, beta = x
        running, n = (torch.zeros_like(gamma), torch.ones_like(gamma)), data.numel() / gamma.numel()

        def forward():  # with momentum 1 running statistics are the batch's
            y, mean, _ = torch.native_batch_norm(data, gamma, beta, *running, True, 1.0, eps)
            return rows((y, mean, torch.zeros_like(mean), running[1] * ((n - 1) / n)))
        return forward

    def cross_entropy_gradient(self, task, x):
        """Returns the gradient from the log-probabilities that the forward pass keeps."""
        logs = torch.log_softmax(x[0], -1)
        if task.op.startswith("sparse"):
            labels, count = x[1].long(), torch.tensor(float(x[1].numel()))

            def of_logs():
                return aten.nll_loss_backward(x[2], logs, labels, None, 0, -100, count)
        else:
            def of_logs():
                return -x[2].unsqueeze(-1) * x[1]
        return lambda: aten._log_softmax_backward_data(of_logs(), logs, -1, logs.dtype)

    def arrays(self, result):
        results = result if isinstance(result, (tuple, list)) else [result]
        return [(r.float() if r.dtype == torch.bfloat16 else r).numpy() for r in results]

    def wait(self):
        pass
