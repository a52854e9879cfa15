"""ONNX Runtime: one model of one operator per task, with results in bound memory. It has no gradients."""
import numpy as np
import onnxruntime as ort

from driver_onnx_model import model
from driver_task import Unsupported

UNARY = {
    "abs": "Abs", "acos": "Acos", "asin": "Asin", "atan": "Atan", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "elu": "Elu", "erf": "Erf", "exp": "Exp",
    "floor": "Floor", "gelu": "Gelu", "hard_swish": "HardSwish", "leaky_relu": "LeakyRelu", "log": "Log", "logical_not": "Not", "mish": "Mish",
    "neg": "Neg", "reciprocal": "Reciprocal", "relu": "Relu", "round": "Round", "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh",
    "softplus": "Softplus", "softsign": "Softsign", "sqrt": "Sqrt", "tan": "Tan", "tanh": "Tanh", "copy": "Identity", "is_nan": "IsNaN", "is_inf": "IsInf",
}
BINARY = {
    "add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "pow": "Pow", "maximum": "Max", "minimum": "Min", "equal": "Equal", "less": "Less",
    "less_equal": "LessOrEqual", "greater": "Greater", "greater_equal": "GreaterOrEqual", "logical_and": "And", "logical_or": "Or", "select": "Where",
}
REDUCTIONS = {"reduce_sum": "ReduceSum", "reduce_mean": "ReduceMean", "reduce_max": "ReduceMax", "reduce_min": "ReduceMin"}


class Framework:
    spins = 0

    def __init__(self, threads, isa):
        if isa:
            raise Unsupported(f"can't be limited to {isa}, so that it stays out")
        self.options = ort.SessionOptions()
        self.options.intra_op_num_threads = threads
        self.options.inter_op_num_threads = 1
        self.options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # a spinning worker holds a core of whoever runs next
        self.options.log_severity_level = 3
        self.name = "ONNX Runtime " + ort.__version__
        self.bound = []

    def prepare(self, task):
        task.require("bf16" not in task.dtypes, "bf16")
        kind, attributes, constants, domain = self.node(task)
        tensors = {f"x{k}": x for k, x in enumerate(task.inputs)}
        fixed = {name: tensors.pop(name) for name in list(tensors) if name in constants}
        fixed.update({name: value for name, value in constants.items() if value is not None})
        names = [f"x{k}" for k in range(len(task.inputs))] + [name for name in fixed if not name.startswith("x")]
        session = ort.InferenceSession(model(kind, attributes, names, tensors, fixed, domain), self.options, providers=["CPUExecutionProvider"])
        binding = session.io_binding()
        for name, x in tensors.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(x))
        result = session.run(None, tensors)[0]
        y = ort.OrtValue.ortvalue_from_shape_and_type(result.shape, result.dtype)
        binding.bind_ortvalue_output("y", y)

        def run():
            session.run_with_iobinding(binding)
            return y
        return run

    def node(self, task):
        """Returns operator, attributes, constants (None: the value is an input), domain."""
        op, a = task.op, task.attrs
        if op == "gelu_tanh":
            return "Gelu", {"approximate": "tanh"}, {}, ""
        if op in UNARY:
            return UNARY[op], {"alpha": a["alpha"]} if "alpha" in a else {}, {}, ""
        if op in BINARY:
            return BINARY[op], {}, {}, ""
        if op in ("softmax", "log_softmax"):
            return {"softmax": "Softmax", "log_softmax": "LogSoftmax"}[op], {"axis": a["axis"]}, {}, ""
        if op in REDUCTIONS:
            return REDUCTIONS[op], {"keepdims": 0}, {"axes": np.array(task.axes(), np.int64)}, ""
        if op in ("argmax", "argmin"):
            return {"argmax": "ArgMax", "argmin": "ArgMin"}[op], {"axis": a["axis"], "keepdims": 0}, {}, ""
        if op == "matmul":
            if a["transpose_a"] or a["transpose_b"]:
                return "FusedMatMul", {"transA": a["transpose_a"], "transB": a["transpose_b"]}, {}, "com.microsoft"
            return "MatMul", {}, {}, ""
        if op == "integer_product":
            task.require(not a["transpose_a"] and not a["transpose_b"], "transposed operands")
            return "MatMulInteger", {}, {"x1": None}, ""
        if op == "conv2d":
            return "Conv", dict(self.window(task), dilations=a["dilation"], group=a["group"]), {"x1": None}, ""
        if op == "max_pool2d":
            return "MaxPool", dict(self.window(task), kernel_shape=a["kernel_size"]), {}, ""
        if op == "avg_pool2d":
            return "AveragePool", dict(self.window(task), kernel_shape=a["kernel_size"], count_include_pad=a["count_include_pad"]), {}, ""
        if op == "sparse_softmax_cross_entropy":
            return "SoftmaxCrossEntropyLoss", {"reduction": "none"}, {}, ""
        raise Unsupported("no such op in bench/peers/driver_onnxruntime.py")

    @staticmethod
    def window(task):
        task.require(not task.attrs["data_format"], "NHWC")
        top, bottom, left, right = task.pads()
        return {"strides": task.attrs["stride"], "pads": [top, left, bottom, right]}

    def arrays(self, result):
        return [result.numpy()]

    def wait(self):
        pass
