"""Networks of convolutions that classify images."""
from networks.net import ImageNet

# Networks before residual ones.

def lenet5():
    n = ImageNet("lenet5", "LeCun et al., Gradient-based learning applied to document recognition, 1998", 1, 32)
    n.conv("conv1", 6, 5, p=0, act="relu")
    n.pool("pool1", "max", 2, 2)
    n.conv("conv2", 16, 5, p=0, act="relu")
    n.pool("pool2", "max", 2, 2)
    n.linear("fc1", 400, 120, act="relu")
    n.linear("fc2", 120, 84, act="relu")
    n.linear("fc3", 84, 10)
    n.add("softmax", "probabilities", n=1, c=10)
    return n


def alexnet():
    n = ImageNet("alexnet", "Krizhevsky, One weird trick, arXiv:1404.5997; layers as in torchvision")
    n.conv("features.0", 64, 11, 4, 2, act="relu")
    n.pool("features.2", "max", 3, 2)
    n.conv("features.3", 192, 5, act="relu")
    n.pool("features.5", "max", 3, 2)
    n.conv("features.6", 384, 3, act="relu")
    n.conv("features.8", 256, 3, act="relu")
    n.conv("features.10", 256, 3, act="relu")
    n.pool("features.12", "max", 3, 2)
    n.linear("classifier.1", 9216, 4096, act="relu")
    n.linear("classifier.4", 4096, 4096, act="relu")
    n.linear("classifier.6", 4096, 1000)
    n.add("softmax", "probabilities", n=1, c=1000)
    return n


def vgg(name, widths):
    n = ImageNet(name, "Simonyan and Zisserman, arXiv:1409.1556; layers as in torchvision")
    for stage, (o, layers) in enumerate(widths, 1):
        for layer in range(layers):
            n.conv(f"conv{stage}_{layer + 1}", o, 3, act="relu")
        n.pool(f"pool{stage}", "max", 2, 2)
    n.linear("classifier.0", 512 * 49, 4096, act="relu")
    n.linear("classifier.3", 4096, 4096, act="relu")
    n.linear("classifier.6", 4096, 1000)
    n.add("softmax", "probabilities", n=1, c=1000)
    return n


def squeezenet():
    n = ImageNet("squeezenet1.1", "Iandola et al., arXiv:1602.07360; layers as in torchvision")
    n.conv("features.0", 64, 3, 2, 0, act="relu")
    n.pool("features.2", "max", 3, 2, ceil=1)
    fires = [(3, 16, 64), (4, 16, 64), None, (6, 32, 128), (7, 32, 128), None, (9, 48, 192),
             (10, 48, 192), (11, 64, 256), (12, 64, 256)]
    for fire in fires:
        if not fire:
            n.pool("maxpool", "max", 3, 2, ceil=1)
            continue
        place, squeeze, expand = fire
        n.conv(f"features.{place}.squeeze", squeeze, 1, act="relu")
        at = n.at()
        n.conv(f"features.{place}.expand1x1", expand, 1, act="relu")
        n.go(at)
        n.conv(f"features.{place}.expand3x3", expand, 3, act="relu")
        n.c = 2 * expand
    n.conv("classifier.1", 1000, 1, act="relu")
    n.mean("avgpool")
    n.add("softmax", "probabilities", n=1, c=1000)
    return n


# Residual networks.

def basic_resnet(name, source, widths, layers, size=224, stem=True):
    n = ImageNet(name, source, h=size)
    if stem:
        n.conv("conv1", 64, 7, 2, act="relu")
        n.pool("maxpool", "max", 3, 2, 1)
    else:
        n.conv("conv1", widths[0], 3, act="relu")
    for stage, width in enumerate(widths):
        for layer in range(layers):
            note = f"layer{stage + 1}.{layer}"
            s = 2 if stage and not layer else 1
            at = n.at()
            n.conv(note + ".conv1", width, 3, s, act="relu")
            n.conv(note + ".conv2", width, 3)
            n.each("add_relu", note, n.size())
            after = n.at()
            if stem and at[0] != width:
                n.go(at)
                n.conv(note + ".downsample", width, 1, s)
            n.go(after)
    n.classifier("fc", 1000 if stem else 10)
    return n


def bottleneck_resnet(name, source, layers, inner, outer, group_width=None, squeeze=0, stem=64, pool=True):
    """ResNet-50 and its relatives; RegNets have neither the wide stem nor the pool."""
    n = ImageNet(name, source)
    n.conv("conv1", stem, 7 if pool else 3, 2, act="relu")
    if pool:
        n.pool("maxpool", "max", 3, 2, 1)
    for stage, count in enumerate(layers):
        for layer in range(count):
            note = f"layer{stage + 1}.{layer}"
            s = 2 if not layer and (stage or not pool) else 1
            at = n.at()
            n.conv(note + ".conv1", inner[stage], 1, act="relu")
            groups = inner[stage] // group_width[stage] if group_width else 1
            n.conv(note + ".conv2", inner[stage], 3, s, g=groups, act="relu")
            if squeeze:
                n.squeeze(note + ".se", round(squeeze * at[0]))
            n.conv(note + ".conv3", outer[stage], 1)
            n.each("add_relu", note, n.size())
            after = n.at()
            if not layer:
                n.go(at)
                n.conv(note + ".downsample", outer[stage], 1, s)
            n.go(after)
    n.classifier("fc")
    return n


def densenet121():
    n = ImageNet("densenet121", "Huang et al., arXiv:1608.06993; layers as in torchvision")
    n.conv("conv0", 64, 7, 2, act="relu")
    n.pool("pool0", "max", 3, 2, 1)
    for block, layers in enumerate((6, 12, 24, 16), 1):
        for layer in range(1, layers + 1):
            c, h, w = n.at()
            note = f"denseblock{block}.denselayer{layer}"
            n.each("relu", note, n.size())
            n.conv(note + ".conv1", 128, 1, act="relu")
            n.conv(note + ".conv2", 32, 3)
            n.go((c + 32, h, w))
        if block < 4:
            n.conv(f"transition{block}.conv", n.c // 2, 1)
            n.pool(f"transition{block}.pool", "avg", 2, 2)
    n.classifier("classifier")
    return n


# Networks for small devices.

def mobilenet1():
    n = ImageNet("mobilenet-v1", "Howard et al., arXiv:1704.04861, table 1")
    n.conv("conv1", 32, 3, 2, act="relu")
    for i, (o, s) in enumerate([(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)] +
                               [(512, 1)] * 5 + [(1024, 2), (1024, 1)], 1):
        n.depthwise(f"conv_dw{i}", 3, s, act="relu")
        n.conv(f"conv_pw{i}", o, 1, act="relu")
    n.classifier("fc")
    return n


def inverted(n, note, expand, o, k, s, act, squeeze=0):
    """An inverted residual block; `expand` and `squeeze` are numbers of channels, 0 is none."""
    c = n.c
    if expand != c:
        n.conv(note + ".expand", expand, 1, act=act)
    n.depthwise(note + ".depthwise", k, s, act=act)
    if squeeze:
        n.squeeze(note + ".se", squeeze, "relu" if act in ("relu", "hard_swish") else "silu",
                  "hard_sigmoid" if act in ("relu", "hard_swish") else "sigmoid")
    n.conv(note + ".project", o, 1)
    if s == 1 and c == o:
        n.each("add", note, n.size())


def mobilenet2():
    n = ImageNet("mobilenet-v2-1.0", "Sandler et al., arXiv:1801.04381; layers as in torchvision")
    n.conv("features.0", 32, 3, 2, act="relu6")
    place = 1
    for t, o, layers, s in [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                            (6, 160, 3, 2), (6, 320, 1, 1)]:
        for layer in range(layers):
            inverted(n, f"features.{place}", t * n.c, o, 3, s if not layer else 1, "relu6")
            place += 1
    n.conv("features.18", 1280, 1, act="relu6")
    n.classifier("classifier.1")
    return n


def eight(x):
    """Rounds a number of channels as MobileNets do: to a multiple of 8, by at most a tenth down."""
    y = max(8, int(x + 4) // 8 * 8)
    return y + 8 if y < 0.9 * x else y


def mobilenet3(name, blocks, last, hidden):
    n = ImageNet(name, "Howard et al., arXiv:1905.02244; layers as in torchvision")
    n.conv("features.0", 16, 3, 2, act="hard_swish")
    for i, (k, expand, o, se, act, s) in enumerate(blocks, 1):
        inverted(n, f"features.{i}", expand, o, k, s, act, eight(expand // 4) if se else 0)
    n.conv(f"features.{len(blocks) + 1}", last, 1, act="hard_swish")
    n.mean("avgpool")
    n.linear("classifier.0", last, hidden, act="hard_swish")
    n.linear("classifier.3", hidden, 1000)
    n.add("softmax", "probabilities", n=1, c=1000)
    return n


LARGE = [(3, 16, 16, 0, "relu", 1), (3, 64, 24, 0, "relu", 2), (3, 72, 24, 0, "relu", 1),
         (5, 72, 40, 1, "relu", 2), (5, 120, 40, 1, "relu", 1), (5, 120, 40, 1, "relu", 1),
         (3, 240, 80, 0, "hard_swish", 2), (3, 200, 80, 0, "hard_swish", 1),
         (3, 184, 80, 0, "hard_swish", 1), (3, 184, 80, 0, "hard_swish", 1),
         (3, 480, 112, 1, "hard_swish", 1), (3, 672, 112, 1, "hard_swish", 1),
         (5, 672, 160, 1, "hard_swish", 2), (5, 960, 160, 1, "hard_swish", 1),
         (5, 960, 160, 1, "hard_swish", 1)]
SMALL = [(3, 16, 16, 1, "relu", 2), (3, 72, 24, 0, "relu", 2), (3, 88, 24, 0, "relu", 1),
         (5, 96, 40, 1, "hard_swish", 2), (5, 240, 40, 1, "hard_swish", 1),
         (5, 240, 40, 1, "hard_swish", 1), (5, 120, 48, 1, "hard_swish", 1),
         (5, 144, 48, 1, "hard_swish", 1), (5, 288, 96, 1, "hard_swish", 2),
         (5, 576, 96, 1, "hard_swish", 1), (5, 576, 96, 1, "hard_swish", 1)]


def efficientnet(name, width, depth, size):
    n = ImageNet(name, "Tan and Le, arXiv:1905.11946; layers as in torchvision", h=size)
    n.conv("features.0", eight(32 * width), 3, 2, act="silu")
    for stage, (t, o, layers, k, s) in enumerate(
            [(1, 16, 1, 3, 1), (6, 24, 2, 3, 2), (6, 40, 2, 5, 2), (6, 80, 3, 3, 2), (6, 112, 3, 5, 1),
             (6, 192, 4, 5, 2), (6, 320, 1, 3, 1)], 1):
        for layer in range(-int(-layers * depth // 1)):
            c = n.c
            inverted(n, f"features.{stage}.{layer}", t * c, eight(o * width), k, s if not layer else 1,
                     "silu", max(1, c // 4))
    n.conv("features.8", 4 * n.c, 1, act="silu")
    n.classifier("classifier.1")
    return n


def shufflenet2():
    n = ImageNet("shufflenet-v2-x1.0", "Ma et al., arXiv:1807.11164; layers as in torchvision")
    n.conv("conv1", 24, 3, 2, act="relu")
    n.pool("maxpool", "max", 3, 2, 1)
    for stage, (o, layers) in enumerate([(116, 4), (232, 8), (464, 4)], 2):
        for layer in range(layers):
            note, half = f"stage{stage}.{layer}", o // 2
            s = 1 if layer else 2
            if not layer:
                at = n.at()
                n.depthwise(note + ".branch1.0", 3, 2)
                n.conv(note + ".branch1.2", half, 1, act="relu")
                n.go(at)
            else:
                n.c = half
            n.conv(note + ".branch2.0", half, 1, act="relu")
            n.depthwise(note + ".branch2.3", 3, s)
            n.conv(note + ".branch2.5", half, 1, act="relu")
            n.c = o
    n.conv("conv5", 1024, 1, act="relu")
    n.classifier("fc")
    return n


# Inception.

def branches(n, note, all_branches):
    """Branches of the same map: lists of (channels, filter, stride, padding). Their results are concatenated."""
    at, total, after = n.at(), 0, None
    for b, layers in enumerate(all_branches, 1):
        n.go(at)
        for i, (o, k, s, p) in enumerate(layers):
            n.conv(f"{note}.branch{b}.{i}", o, k, s, p, act="relu")
        total += n.c
        after = n.at()
    n.go((total, after[1], after[2]))


def googlenet():
    n = ImageNet("googlenet", "Szegedy et al., arXiv:1409.4842; layers as in torchvision (3x3 for 5x5)")
    n.conv("conv1", 64, 7, 2, act="relu")
    n.pool("maxpool1", "max", 3, 2, ceil=1)
    n.conv("conv2", 64, 1, act="relu")
    n.conv("conv3", 192, 3, act="relu")
    n.pool("maxpool2", "max", 3, 2, ceil=1)
    blocks = [("3a", 64, 96, 128, 16, 32, 32), ("3b", 128, 128, 192, 32, 96, 64), 3,
              ("4a", 192, 96, 208, 16, 48, 64), ("4b", 160, 112, 224, 24, 64, 64),
              ("4c", 128, 128, 256, 24, 64, 64), ("4d", 112, 144, 288, 32, 64, 64),
              ("4e", 256, 160, 320, 32, 128, 128), 2, ("5a", 256, 160, 320, 32, 128, 128),
              ("5b", 384, 192, 384, 48, 128, 128)]
    for b in blocks:
        if isinstance(b, int):
            n.pool("maxpool", "max", b, 2, ceil=1)
            continue
        name, a, b3, c3, b5, c5, p = b
        n.add("max_pool2d", f"inception{name}.branch4.0", n=1, c=n.c, h=n.h, w=n.w, kernel_size=(3, 3),
              stride=(1, 1), pad_mode="pad", padding=(1, 1, 1, 1))
        branches(n, "inception" + name, [[(a, 1, 1, None)], [(b3, 1, 1, None), (c3, 3, 1, None)],
                                         [(b5, 1, 1, None), (c5, 3, 1, None)], [(p, 1, 1, None)]])
    n.classifier("fc")
    return n


def inception3():
    n = ImageNet("inception-v3", "Szegedy et al., arXiv:1512.00567; layers as in torchvision", h=299)
    n.conv("Conv2d_1a_3x3", 32, 3, 2, 0, act="relu")
    n.conv("Conv2d_2a_3x3", 32, 3, 1, 0, act="relu")
    n.conv("Conv2d_2b_3x3", 64, 3, act="relu")
    n.pool("maxpool1", "max", 3, 2)
    n.conv("Conv2d_3b_1x1", 80, 1, act="relu")
    n.conv("Conv2d_4a_3x3", 192, 3, 1, 0, act="relu")
    n.pool("maxpool2", "max", 3, 2)
    one = lambda o: (o, 1, 1, None)
    def averaged(note):
        n.add("avg_pool2d", note + ".pool", n=1, c=n.c, h=n.h, w=n.w, kernel_size=(3, 3), stride=(1, 1),
              pad_mode="pad", padding=(1, 1, 1, 1))
    for note, p in (("Mixed_5b", 32), ("Mixed_5c", 64), ("Mixed_5d", 64)):
        averaged(note)
        branches(n, note, [[one(64)], [one(48), (64, 5, 1, None)],
                           [one(64), (96, 3, 1, None), (96, 3, 1, None)], [one(p)]])
    c = n.c
    branches(n, "Mixed_6a", [[(384, 3, 2, 0)], [one(64), (96, 3, 1, None), (96, 3, 2, 0)]])
    n.c = 480 + c
    for note, m in (("Mixed_6b", 128), ("Mixed_6c", 160), ("Mixed_6d", 160), ("Mixed_6e", 192)):
        averaged(note)
        branches(n, note, [[one(192)], [one(m), (m, (1, 7), 1, None), (192, (7, 1), 1, None)],
                           [one(m), (m, (7, 1), 1, None), (m, (1, 7), 1, None), (m, (7, 1), 1, None),
                            (192, (1, 7), 1, None)], [one(192)]])
    c = n.c
    branches(n, "Mixed_7a", [[one(192), (320, 3, 2, 0)],
                             [one(192), (192, (1, 7), 1, None), (192, (7, 1), 1, None), (192, 3, 2, 0)]])
    n.c = 512 + c
    for note in ("Mixed_7b", "Mixed_7c"):
        averaged(note)
        at = n.at()
        for o, first in ((384, [one(384)]), (384, [one(448), (384, 3, 1, None)])):
            for k in ((1, 3), (3, 1)):
                n.go(at)
                if k == (1, 3):
                    branches(n, note, [first])
                    split = n.at()
                n.go(split)
                n.conv(note + ".split", o, k, act="relu")
        n.go(at)
        branches(n, note, [[one(320)], [one(192)]])
        n.c = 2048
    n.classifier("fc")
    return n
