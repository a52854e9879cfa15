"""Segmentation, and heads of detectors."""
from networks.net import ImageNet


def unet():
    n = ImageNet("unet", "Ronneberger et al., arXiv:1505.04597, figure 1", 1, 572)
    for level, width in enumerate((64, 128, 256, 512, 1024)):
        if level:
            n.pool(f"down{level}.pool", "max", 2, 2)
        n.conv(f"down{level}.conv1", width, 3, p=0, act="relu")
        n.conv(f"down{level}.conv2", width, 3, p=0, act="relu")
    for level, width in enumerate((512, 256, 128, 64)):
        n.up(f"up{level}.up", width, 2, 2)
        n.c = 2 * width
        n.conv(f"up{level}.conv1", width, 3, p=0, act="relu")
        n.conv(f"up{level}.conv2", width, 3, p=0, act="relu")
    n.conv("classes", 2, 1)
    return n


def deeplab3():
    n = ImageNet("deeplabv3-resnet50", "Chen et al., arXiv:1706.05587; head and dilated stages as in torchvision", h=520)
    n.go((1024, 65, 65))
    for layer in range(3):
        n.conv(f"layer4.{layer}.conv1", 512, 1, act="relu")
        n.conv(f"layer4.{layer}.conv2", 512, 3, d=4 if layer else 2, act="relu")
        n.conv(f"layer4.{layer}.conv3", 2048, 1)
    n.conv("aspp.0", 256, 1, act="relu")
    for rate in (12, 24, 36):
        n.go((2048, 65, 65))
        n.conv(f"aspp.{rate}", 256, 3, d=rate, act="relu")
    n.go((1280, 65, 65))
    n.conv("aspp.project", 256, 1, act="relu")
    n.conv("classifier.1", 256, 3, act="relu")
    n.conv("classifier.4", 21, 1)
    return n


def ssd300():
    n = ImageNet("ssd300-vgg16", "Liu et al., arXiv:1512.02325; layers as in torchvision", h=300)
    for stage, (o, layers) in enumerate([(64, 2), (128, 2), (256, 3), (512, 3)], 1):
        for layer in range(layers):
            n.conv(f"conv{stage}_{layer + 1}", o, 3, act="relu")
        if stage < 4:
            n.pool(f"pool{stage}", "max", 2, 2, ceil=1 if stage == 3 else 0)
    maps = [n.at()]
    n.pool("pool4", "max", 2, 2)
    for layer in range(3):
        n.conv(f"conv5_{layer + 1}", 512, 3, act="relu")
    n.pool("pool5", "max", 3, 1, 1)
    n.conv("conv6", 1024, 3, d=6, act="relu")
    n.conv("conv7", 1024, 1, act="relu")
    maps.append(n.at())
    for i, (m, o, s, p) in enumerate([(256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0)]):
        n.conv(f"extra.{i}.0", m, 1, act="relu")
        n.conv(f"extra.{i}.2", o, 3, s, p, act="relu")
        maps.append(n.at())
    for i, (at, boxes) in enumerate(zip(maps, (4, 6, 6, 6, 4, 4))):
        n.go(at)
        n.conv(f"head.classes.{i}", boxes * 91, 3)
        n.go(at)
        n.conv(f"head.boxes.{i}", boxes * 4, 3)
    n.add("softmax", "classes of 8732 boxes", n=8732, c=91)
    return n


def yolo3_tiny():
    n = ImageNet("yolov3-tiny", "Redmon and Farhadi, arXiv:1804.02767; yolov3-tiny.cfg of Darknet", h=416)
    for i, o in enumerate((16, 32, 64, 128, 256)):
        n.conv(f"conv{i}", o, 3, act="leaky_relu")
        side = n.at()
        n.pool(f"pool{i}", "max", 2, 2)
    n.conv("conv5", 512, 3, act="leaky_relu")
    n.conv("conv6", 1024, 3, act="leaky_relu")
    n.conv("conv7", 256, 1, act="leaky_relu")
    at = n.at()
    n.conv("conv8", 512, 3, act="leaky_relu")
    n.conv("yolo0", 255, 1)
    n.go(at)
    n.conv("conv9", 128, 1, act="leaky_relu")
    n.go((128 + side[0], side[1], side[2]))
    n.conv("conv10", 256, 3, act="leaky_relu")
    n.conv("yolo1", 255, 1)
    return n


def yolo5s():
    n = ImageNet("yolov5s", "Ultralytics YOLOv5 6.0, yolov5s.yaml", h=640)
    def c3(note, o, layers):
        at = n.at()
        n.conv(note + ".cv2", o // 2, 1, act="silu")
        n.go(at)
        n.conv(note + ".cv1", o // 2, 1, act="silu")
        for layer in range(layers):
            n.conv(f"{note}.m.{layer}.cv1", o // 2, 1, act="silu")
            n.conv(f"{note}.m.{layer}.cv2", o // 2, 3, act="silu")
        n.c = o
        n.conv(note + ".cv3", o, 1, act="silu")
    n.conv("model.0", 32, 6, 2, 2, act="silu")
    kept = []
    for i, (o, layers) in enumerate([(64, 1), (128, 2), (256, 3), (512, 1)]):
        n.conv(f"model.{2 * i + 1}", o, 3, 2, act="silu")
        c3(f"model.{2 * i + 2}", o, layers)
        kept.append(n.at())
    n.conv("model.9.cv1", 256, 1, act="silu")
    n.pool("model.9.m", "max", 5, 1, 2)
    n.c = 1024
    n.conv("model.9.cv2", 512, 1, act="silu")
    for i, (o, place) in enumerate([(256, 2), (128, 1)]):
        n.conv(f"up{i}", o, 1, act="silu")
        n.go((2 * o, kept[place][1], kept[place][2]))
        c3(f"up{i}.c3", o, 1)
        n.conv(f"detect.{i}", 255, 1)
        n.c = o
    return n


def retinanet():
    n = ImageNet("retinanet-fpn", "Lin et al., arXiv:1612.03144 and 1708.02002; pyramid and heads on ResNet-50, 640 x 480")
    for level, (c, h, w) in enumerate([(512, 60, 80), (1024, 30, 40), (2048, 15, 20)], 3):
        n.go((c, h, w))
        n.conv(f"fpn.inner{level}", 256, 1)
        n.conv(f"fpn.layer{level}", 256, 3)
    n.go((256, 15, 20))
    n.conv("fpn.p6", 256, 3, 2)
    p6 = n.at()
    n.conv("fpn.p7", 256, 3, 2)
    for at in ((256, 60, 80), (256, 30, 40), (256, 15, 20), p6, n.at()):
        n.go(at)
        for layer in range(4):
            n.conv(f"head.{layer}", 256, 3, act="relu")
        n.conv("head.classes", 9 * 91, 3, act="sigmoid")
        n.go(at)
        n.conv("head.boxes", 36, 3)
    return n
