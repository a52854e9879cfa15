"""One step of LeNet-5 (batch 32, forward, backward, Momentum 0.9) in PyTorch eager and, where it is installed, in MindSpore's
graph mode: the same work as bench/lenet_step.cpp. Prints "NAME MEDIAN_US MIN_US PEAK_MB" per framework; skips what isn't installed.
pytorch-compiled compiles the network with torch.compile.

usage: lenet_step.py [pytorch|pytorch-compiled|mindspore ...] [--threads N] [--steps N]
"""
import numpy as np

from step import main, timed

IMAGES = np.full((32, 1, 32, 32), 0.5, np.float32)
LABELS = np.zeros(32, np.int32)


def pytorch(threads, steps, compiled=False):
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, bias=False), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5, bias=False), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    run = torch.compile(net) if compiled else net
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.from_numpy(IMAGES), torch.from_numpy(LABELS.astype(np.int64))

    def step():
        optimizer.zero_grad()
        loss = loss_fn(run(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    timed(f"PyTorch-{torch.__version__}-{'compiled' if compiled else 'eager'}", step, steps)


def mindspore(threads, steps):
    import mindspore as ms
    from mindspore import nn

    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU", runtime_num_threads=threads)

    def conv(inputs, outputs):
        return nn.Conv2d(inputs, outputs, 5, pad_mode="valid", has_bias=False)

    net = nn.SequentialCell(
        conv(1, 6), nn.ReLU(), nn.MaxPool2d(2, 2), conv(6, 16), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10))
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    cell = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.Momentum(net.trainable_params(), 0.01, 0.9))
    cell.set_train()
    images, labels = ms.Tensor(IMAGES), ms.Tensor(LABELS)
    timed(f"MindSpore-{ms.__version__}-graph", lambda: cell(images, labels).asnumpy(), steps)


if __name__ == "__main__":
    main({"pytorch": pytorch, "pytorch-compiled": lambda threads, steps: pytorch(threads, steps, True), "mindspore": mindspore}, 200)
