"""One step of LeNet-5 (batch 32, forward, backward, Momentum 0.9) in PyTorch eager and, where it is installed, in MindSpore's
graph mode: the same work as bench/lenet_step.cpp. Prints "NAME MEDIAN_US MIN_US" per framework; skips what isn't installed.

usage: lenet_step.py [pytorch|mindspore ...] [--threads N] [--steps N]
"""
import argparse
import statistics
import time

import numpy as np

IMAGES = np.full((32, 1, 32, 32), 0.5, np.float32)
LABELS = np.zeros(32, np.int32)


def timed(name, step, steps):
    for _ in range(20):
        step()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1e6)
    print(f"{name} {statistics.median(times):.1f} {min(times):.1f}", flush=True)


def pytorch(threads, steps):
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, bias=False), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5, bias=False), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.from_numpy(IMAGES), torch.from_numpy(LABELS.astype(np.int64))

    def step():
        optimizer.zero_grad()
        loss = loss_fn(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    timed(f"PyTorch-{torch.__version__}-eager", step, steps)


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


FRAMEWORKS = {"pytorch": pytorch, "mindspore": mindspore}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("frameworks", nargs="*", default=["pytorch"], choices=list(FRAMEWORKS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    for name in args.frameworks:
        try:
            FRAMEWORKS[name](args.threads, args.steps)
        except ImportError as error:
            print(f"# {name} isn't installed: {error}", flush=True)


if __name__ == "__main__":
    main()
