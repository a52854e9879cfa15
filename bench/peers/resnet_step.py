"""ResNet-50 at 224 x 224 in PyTorch eager, NCHW and channels last, and in MindSpore's graph mode: a training step of batch 4 (forward,
backward, Momentum 0.9) and forward in evaluation of batch 1, the network of examples/resnet (strides in a pooling), as in
bench/resnet_step.cpp. MindSpore needs ONEDNN_MAX_CPU_ISA=AVX2 on AVX-512 machines: without, its oneDNN takes a reference kernel.

usage: resnet_step.py [pytorch|pytorch-last|mindspore][-forward] ... [--threads N] [--steps N]
"""
import numpy as np

from step import main, timed

LAYERS = [(3, 64, 256, 1), (4, 256, 512, 2), (6, 512, 1024, 2), (3, 1024, 2048, 2)]
RANDOM = np.random.default_rng(1)


def images(n):
    return RANDOM.uniform(-1, 1, (n, 3, 224, 224)).astype(np.float32)


def pytorch_network():
    from torch import nn

    def norm(c):
        return nn.BatchNorm2d(c, eps=1e-4)

    class Block(nn.Module):
        def __init__(self, ins, outs, stride):
            super().__init__()
            mid, relu = outs // 4, nn.ReLU(inplace=True)
            pool = [nn.MaxPool2d(2, 2)] if stride != 1 else []
            self.branch = nn.Sequential(
                nn.Conv2d(ins, mid, 1, bias=False), norm(mid), relu, nn.Conv2d(mid, mid, 3, padding=1, bias=False), norm(mid), relu, *pool,
                nn.Conv2d(mid, outs, 1, bias=False), norm(outs))
            self.shortcut = None
            if stride != 1 or ins != outs:
                self.shortcut = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), norm(outs))
            self.relu = relu

        def forward(self, x):
            y = self.branch(x)
            y += x if self.shortcut is None else self.shortcut(x)
            return self.relu(y)

    blocks = [Block(ins if k == 0 else outs, outs, stride if k == 0 else 1) for count, ins, outs, stride in LAYERS for k in range(count)]
    return nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), norm(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def pytorch(last, training):
    def run(threads, steps):
        import torch

        torch.set_num_threads(threads)
        layout = torch.channels_last if last else torch.contiguous_format
        net = pytorch_network().to(memory_format=layout).train(training)
        x = torch.from_numpy(images(4 if training else 1)).to(memory_format=layout)
        name = f"PyTorch-{torch.__version__}-{'channels-last' if last else 'NCHW'}"
        if not training:
            with torch.inference_mode():
                return timed(name, lambda: net(x), steps, warm=3)
        labels, loss_fn = torch.zeros(4, dtype=torch.int64), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)

        def step():
            optimizer.zero_grad()
            loss = loss_fn(net(x), labels)
            loss.backward()
            optimizer.step()
            return loss.item()

        return timed(name, step, steps, warm=2)
    return run


def mindspore(training):
    def run(threads, steps):
        import mindspore as ms
        from mindspore import nn, ops

        ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU", runtime_num_threads=threads)

        def conv(ins, outs, size, stride=1):
            return nn.Conv2d(ins, outs, size, stride, pad_mode="same")

        def norm(c):
            return nn.BatchNorm2d(c, eps=1e-4, momentum=0.9)

        class Block(nn.Cell):
            def __init__(self, ins, outs, stride):
                super().__init__()
                mid, pool = outs // 4, [nn.MaxPool2d(2, 2, pad_mode="same")] if stride != 1 else []
                self.branch = nn.SequentialCell(
                    [conv(ins, mid, 1), norm(mid), nn.ReLU(), conv(mid, mid, 3), norm(mid), nn.ReLU(), *pool, conv(mid, outs, 1), norm(outs)])
                self.down = stride != 1 or ins != outs
                self.shortcut = nn.SequentialCell([conv(ins, outs, 1, stride), norm(outs)]) if self.down else None
                self.relu = nn.ReLU()

            def construct(self, x):
                return self.relu(self.branch(x) + (self.shortcut(x) if self.down else x))

        class Mean(nn.Cell):
            def construct(self, x):
                return ops.mean(x, (2, 3))

        blocks = [Block(ins if k == 0 else outs, outs, stride if k == 0 else 1) for count, ins, outs, stride in LAYERS for k in range(count)]
        net = nn.SequentialCell([conv(3, 64, 7, 2), norm(64), nn.ReLU(), nn.MaxPool2d(3, 2, pad_mode="same"), *blocks, Mean(), nn.Dense(2048, 1000)])
        name = f"MindSpore-{ms.__version__}-graph"
        x = ms.Tensor(images(4 if training else 1))
        if not training:
            net.set_train(False)
            return timed(name, lambda: net(x).asnumpy(), steps, warm=3)
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        cell = nn.TrainOneStepCell(nn.WithLossCell(net, loss), nn.Momentum(net.trainable_params(), 0.01, 0.9))
        cell.set_train()
        labels = ms.Tensor(np.zeros(4, np.int32))
        return timed(name, lambda: cell(x, labels).asnumpy(), steps, warm=2)
    return run


if __name__ == "__main__":
    main({"pytorch": pytorch(False, True), "pytorch-last": pytorch(True, True), "mindspore": mindspore(True),
          "pytorch-forward": pytorch(False, False), "pytorch-last-forward": pytorch(True, False), "mindspore-forward": mindspore(False)}, 5)
