"""Operators of two exported libraries in MindSpore, in both modes: values, gradients, calls that must fail with a text, and LeNet-5 with
their kernels, whose losses are MindSpore's own. usage: mindspore_host.py FIRST SECOND GOLDENS, where FIRST is the project of `halyard
export relu softmax conv2d max_pool2d layer_norm dense matmul gelu`, SECOND has bias_gelu."""
import os
import sys
import time
import warnings

import numpy as np

os.environ.setdefault("GLOG_v", "4")
warnings.filterwarnings("ignore")
import mindspore  # noqa: E402  # after its settings
from mindspore import Tensor, nn, ops  # noqa: E402

sys.path[:0] = sys.argv[1:3]
import first  # noqa: E402
import second  # noqa: E402
from expectations import expect, refuses, status  # noqa: E402

MODES = {"graph": mindspore.GRAPH_MODE, "op by op": mindspore.PYNATIVE_MODE}


def near(got, want, tolerance=1e-5):
    return np.allclose(got.asnumpy(), want.asnumpy(), rtol=tolerance, atol=tolerance)


def hash_uniform(shape, seed, bound=1.0):
    """Returns the numbers that tests/goldens were made with: splitmix64 of a counter."""
    with np.errstate(over="ignore"):
        z = (np.arange(np.prod(shape), dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = z + np.uint64((seed * 0xD1B54A32D192ED03) % (1 << 64))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    u = (z >> np.uint64(40)).astype(np.float64) * 2.0**-24
    return ((2 * u - 1).astype(np.float32) * np.float32(bound)).reshape(shape)


class LeNet5(nn.Cell):
    """The network, with MindSpore's operators or those of the library."""

    def __init__(self, exported):
        super().__init__()
        self.exported = exported
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=False)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=False)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool = nn.ReLU(), nn.MaxPool2d(2, 2)
        self.our_conv2d, self.our_dense = first.conv2d(pad_mode="valid"), first.dense()
        self.our_relu, self.our_pool = first.relu(), first.max_pool2d(kernel_size=(2, 2), stride=(2, 2), pad_mode="valid")

    def construct(self, x):
        if self.exported:
            x = self.our_pool(self.our_relu(self.our_conv2d(x, self.conv1.weight)))
            x = self.our_pool(self.our_relu(self.our_conv2d(x, self.conv2.weight)))
            x = x.reshape((32, 400))
            x = self.our_relu(self.our_dense(x, self.fc1.weight, self.fc1.bias))
            x = self.our_relu(self.our_dense(x, self.fc2.weight, self.fc2.bias))
            return self.our_dense(x, self.fc3.weight, self.fc3.bias)
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(x.reshape((32, 400))))
        return self.fc3(self.relu(self.fc2(x)))


def training_step(exported):
    network = LeNet5(exported)
    for k, p in enumerate(network.get_parameters()):
        bound = float(np.float32(np.sqrt(6.0 / np.prod(p.shape[1:])))) if p.ndim >= 2 else 0.05
        p.set_data(Tensor(hash_uniform(p.shape, k + 1, bound)))
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    step = nn.TrainOneStepCell(nn.WithLossCell(network, loss), nn.Momentum(network.trainable_params(), 0.01, 0.9))
    return step.set_train()


images, labels = Tensor(hash_uniform((32, 1, 32, 32), 100)), Tensor((np.arange(32) * 7 % 10).astype(np.int32))
golden = np.load(sys.argv[3] + "/net_lenet5.npz", allow_pickle=True)["losses_builtin"]
x = Tensor(np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32))
gelu, softmax = first.gelu(), first.softmax()


def ours(t):
    return ops.reduce_sum(softmax(gelu(t)) * x)


def theirs(t):
    return ops.reduce_sum(ops.softmax(ops.gelu(t, approximate="none")) * x)


mindspore.set_device("CPU")
for mode, number in MODES.items():
    mindspore.set_context(mode=number)
    expect(near(first.softmax(axis=0)(x), ops.softmax(x, 0)), f"{mode}: softmax")
    expect(near(second.relu()(x.T), ops.relu(x.T)), f"{mode}: relu of a view")
    expect(first.relu()(x[:0]).shape == (0, 4), f"{mode}: relu of an empty tensor")
    expect(near(second.bias_gelu()(x.half(), Tensor(np.zeros(4, np.float16))), ops.gelu(x.half(), approximate="none"), 0.01), f"{mode}: bias_gelu")
    expect(near(mindspore.grad(ours)(x), mindspore.grad(theirs)(x)), f"{mode}: the gradient through two ops")

    refuses("[softmax] axis is 7, expected -2 to 1", lambda: first.softmax(axis=7)(x).asnumpy())
    refuses("[matmul] b.k is 3, expected 4 from a[3,4]", lambda: first.matmul()(x, x).asnumpy())
    refuses("[conv2d] x has rank 2, expected 4", lambda: first.conv2d()(x, x).asnumpy())
    refuses("[relu] no kernels for u8", lambda: first.relu()(x.astype(mindspore.uint8)).asnumpy())
    refuses("[relu] a tensor is complex64, which no op takes", lambda: first.relu()(x.astype(mindspore.complex64)).asnumpy())
    refuses("nothing", lambda: first.softmax(nothing=1))

    times = {}
    for exported in (False, True):
        step = training_step(exported)
        losses = np.array([float(step(images, labels).asnumpy()) for _ in range(len(golden))])
        expect(np.abs(losses - golden).max() < 1e-4, f"{mode}: losses {losses}, expected {golden}")
        times[exported] = step
    for exported, step in times.items():
        begin = time.perf_counter()
        for _ in range(20):
            step(images, labels).asnumpy()
        times[exported] = time.perf_counter() - begin
    print(f"LeNet-5's training step, {mode}: {times[False] / times[True]:.2f} times as fast as with MindSpore's kernels")
sys.exit(status())
