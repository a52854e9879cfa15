"""Speech, recommenders, generators of images, and points."""
from networks.net import ImageNet, Net

# Speech.

def wav2vec2():
    n = ImageNet("wav2vec2-base", "Baevski et al., arXiv:2006.11477; one second of 16 kHz", 1, 1, 16000)
    for i, (k, s) in enumerate([(10, 5)] + [(3, 2)] * 4 + [(2, 2)] * 2):
        n.conv(f"feature_extractor.{i}", 512, (1, k), (1, s), 0, act="gelu")
    tokens = n.w
    n.norm("projection.norm", tokens, 512)
    n.linear("projection", 512, 768, tokens)
    n.go((768, 1, tokens))
    n.conv("pos_conv_embed", 768, (1, 128), p=(0, 64), g=16, act="gelu")
    for layer in range(12):
        n.block(f"encoder.{layer}", tokens, 768, 12, 3072)
    n.linear("lm_head", 768, 32, tokens)
    n.add("softmax", "letters", n=tokens, c=32)
    return n


def whisper(name, width, heads, layers):
    n = ImageNet(name, "Radford et al., arXiv:2212.04356; 30 seconds, one token after 63", 80, 1, 3000)
    n.conv("encoder.conv1", width, (1, 3), act="gelu")
    n.conv("encoder.conv2", width, (1, 3), (1, 2), act="gelu")
    for layer in range(layers):
        n.block(f"encoder.{layer}", 1500, width, heads, 4 * width)
    for layer in range(layers):
        n.block(f"decoder.{layer}", 1, width, heads, 4 * width, keys=64)
        n.attention(f"decoder.{layer}.cross", heads, 1, 1500, 64)
    n.linear("lm_head", width, 51865, 1)
    n.add("softmax", "next token", n=1, c=51865)
    return n


def deepspeech2():
    n = ImageNet("deepspeech2", "Amodei et al., arXiv:1512.02595; 3 seconds, 5 bidirectional LSTMs of 800", 1, 161, 300)
    n.conv("conv1", 32, (41, 11), (2, 2), (20, 5), act="hard_tanh")
    n.conv("conv2", 32, (21, 11), (2, 1), (10, 5), act="hard_tanh")
    steps, features = n.w, n.c * n.h
    for layer in range(5):
        n.linear(f"lstm{layer}.input", features if not layer else 800, 3200, steps)
        n.linear(f"lstm{layer}.recurrent", 800, 3200, 1)
        n.add("lstm_gates", f"lstm{layer}", n=1, h=800)
    n.linear("fc", 800, 29, steps)
    n.add("log_softmax", "letters", n=steps, c=29)
    return n


# Recommenders: batches of 128.

def mlp(n, note, widths, batch, act="relu"):
    for i, (k, o) in enumerate(zip(widths, widths[1:])):
        n.linear(f"{note}.{i}", k, o, batch, act if i + 2 < len(widths) else None)


def dlrm():
    n = Net("dlrm", "Naumov et al., arXiv:1906.00091; MLPerf's sizes, 26 tables of rows of 128, batch 128")
    n.embedding("embedding", 100000, 128, 128)
    mlp(n, "bottom", (13, 512, 256, 128), 128)
    n.add("matmul", "interaction", g=128, m=27, k=128, n=27, transpose_b=1)
    mlp(n, "top", (479, 1024, 1024, 512, 256, 1), 128)
    n.each("sigmoid", "click", 128)
    return n


def wide_deep():
    n = Net("wide-and-deep", "Cheng et al., arXiv:1606.07792; deep part of 1024, 512, 256, batch 128")
    n.embedding("embedding", 100000, 32, 128 * 26)
    mlp(n, "deep", (26 * 32 + 13, 1024, 512, 256, 1), 128)
    n.each("add", "wide", 128)
    n.each("sigmoid", "click", 128)
    return n


def ncf():
    n = Net("ncf", "He et al., arXiv:1708.05031; MLPerf's sizes on MovieLens, batch 128")
    n.embedding("user", 138493, 128, 128)
    n.embedding("item", 26744, 64, 128)
    n.each("mul", "factors", 128 * 64)
    mlp(n, "mlp", (256, 256, 128, 64), 128)
    n.linear("predict", 128, 1, 128)
    return n


# Images out, points in.

def srcnn():
    n = ImageNet("srcnn", "Dong et al., arXiv:1501.00092: 9-1-5", 1, 128)
    n.conv("conv1", 64, 9, act="relu")
    n.conv("conv2", 32, 1, act="relu")
    n.conv("conv3", 1, 5)
    return n


def espcn():
    n = ImageNet("espcn", "Shi et al., arXiv:1609.05158, by 3", 1, 120, 160)
    n.conv("conv1", 64, 5, act="tanh")
    n.conv("conv2", 32, 3, act="tanh")
    n.conv("conv3", 9, 3)
    return n


def dcgan():
    n = ImageNet("dcgan", "Radford et al., arXiv:1511.06434: a generator of 64 x 64", 100, 1)
    n.up("0", 512, 4, 1)
    n.each("relu", "0", n.size())
    for i, o in enumerate((256, 128, 64, 3), 1):
        n.up(str(i), o, 4, 2, 1)
        n.each("relu" if o > 3 else "tanh", str(i), n.size())
    return n


def stylegan2():
    n = ImageNet("stylegan2", "Karras et al., arXiv:1912.04958: synthesis up to 256 x 256", 512, 4)
    for i in range(8):
        n.linear(f"mapping.{i}", 512, 512, 1, "leaky_relu")
    n.conv("4x4.conv", 512, 3, act="leaky_relu")
    for size, o in ((8, 512), (16, 512), (32, 512), (64, 512), (128, 256), (256, 128)):
        n.linear(f"{size}.affine", 512, n.c, 1)
        n.up(f"{size}.up", o, 3, 2)
        n.h = n.w = size
        n.each("leaky_relu", f"{size}.up", n.size())
        n.conv(f"{size}.conv", o, 3, act="leaky_relu")
        at = n.at()
        n.conv(f"{size}.to_rgb", 3, 1)
        n.go(at)
    return n


def pointnet():
    n = ImageNet("pointnet", "Qi et al., arXiv:1612.00593; 1024 points", 3, 1, 1024)
    for i, o in enumerate((64, 64, 64, 128, 1024)):
        n.conv(f"mlp{i}", o, (1, 1), act="relu")
    n.add("reduce_max", "global feature", o=1, r=1, i=1024, s=1024, axis=(1, 3))
    n.add("matmul", "transform of features", g=1, m=1024, k=64, n=64)
    mlp(n, "fc", (1024, 512, 256, 40), 1)
    n.add("log_softmax", "classes", n=1, c=40)
    return n
