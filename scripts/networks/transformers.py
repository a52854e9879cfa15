"""Transformers of images and of text, and their relatives."""
from networks.net import ImageNet, Net

# Vision transformers and their relatives.

def convnext():
    n = ImageNet("convnext-tiny", "Liu et al., arXiv:2201.03545; layers as in torchvision")
    n.conv("features.0", 96, 4, 4, 0)
    for stage, (width, layers) in enumerate([(96, 3), (192, 3), (384, 9), (768, 3)]):
        if stage:
            n.norm(f"downsample{stage}.norm", n.h * n.w, n.c)
            n.conv(f"downsample{stage}", width, 2, 2, 0)
        for layer in range(layers):
            note, tokens = f"stage{stage + 1}.{layer}", n.h * n.w
            n.depthwise(note + ".depthwise", 7)
            n.norm(note + ".norm", tokens, width)
            n.linear(note + ".fc1", width, 4 * width, tokens, "gelu")
            n.linear(note + ".fc2", 4 * width, width, tokens)
            n.each("add", note, n.size())
    n.classifier("classifier.2")
    return n


def vit(name, source, width, heads, layers, patch=16, size=224, hidden=None):
    n = ImageNet(name, source, h=size)
    n.conv("conv_proj", width, patch, patch, 0)
    tokens = n.h * n.w + 1
    for layer in range(layers):
        n.block(f"layer{layer}", tokens, width, heads, hidden or 4 * width)
    n.linear("head", width, 1000)
    n.add("softmax", "probabilities", n=1, c=1000)
    return n


def swin():
    n = ImageNet("swin-tiny", "Liu et al., arXiv:2103.14030; windows of 7 x 7, layers as in torchvision")
    n.conv("features.0", 96, 4, 4, 0)
    for stage, layers in enumerate((2, 2, 6, 2)):
        width, heads = 96 << stage, 3 << stage
        if stage:
            n.h, n.w, n.c = n.h // 2, n.w // 2, width
            n.norm(f"merge{stage}.norm", n.h * n.w, 2 * width)
            n.linear(f"merge{stage}", 2 * width, width, n.h * n.w)
        tokens = n.h * n.w
        for layer in range(layers):
            note = f"stage{stage + 1}.{layer}"
            n.norm(note + ".norm", tokens, width)
            n.linear(note + ".qkv", width, 3 * width, tokens)
            n.attention(note + ".attention", heads * tokens // 49, 49, 49, 32)
            n.linear(note + ".proj", width, width, tokens)
            n.each("add", note, tokens * width)
            n.norm(note + ".norm", tokens, width)
            n.linear(note + ".fc1", width, 4 * width, tokens, "gelu")
            n.linear(note + ".fc2", 4 * width, width, tokens)
            n.each("add", note, tokens * width)
    n.linear("head", 768, 1000)
    n.add("softmax", "probabilities", n=1, c=1000)
    return n


def mixer():
    n = ImageNet("mlp-mixer-b16", "Tolstikhin et al., arXiv:2105.01601, table 1")
    n.conv("stem", 768, 16, 16, 0)
    for layer in range(12):
        note = f"layer{layer}"
        n.norm(note + ".norm", 196, 768)
        n.linear(note + ".token.fc1", 196, 384, 768, "gelu")
        n.linear(note + ".token.fc2", 384, 196, 768)
        n.each("add", note, 196 * 768)
        n.linear(note + ".channel.fc1", 768, 3072, 196, "gelu")
        n.linear(note + ".channel.fc2", 3072, 768, 196)
    n.linear("head", 768, 1000)
    return n


# Language models.

def bert(name, source, width, heads, layers, tokens, vocabulary=30522):
    n = Net(name, source)
    n.embedding("word embeddings", vocabulary, width, tokens)
    for layer in range(layers):
        n.block(f"layer{layer}", tokens, width, heads, 4 * width)
    n.linear("pooler", width, width, 1, "tanh")
    n.linear("answers", width, 2, tokens)
    n.add("softmax", "answers", n=2, c=tokens)
    return n


def gpt2(name, width, heads, layers, tokens, past):
    n = Net(name, "Radford et al., Language models are unsupervised multitask learners, 2019; " +
            (f"a prompt of {tokens} tokens" if not past else f"one token after {past}"))
    n.embedding("wte", 50257, width, tokens)
    for layer in range(layers):
        n.block(f"h.{layer}", tokens, width, heads, 4 * width, "gelu_tanh", tokens + past,
                causal=0 if past else 1)
    n.linear("lm_head", width, 50257, 1)
    n.add("softmax", "next token", n=1, c=50257)
    return n


def llama(name, source, width, heads, kv_heads, hidden, layers, vocabulary, tokens, past):
    n = Net(name, source + (f"; a prompt of {tokens} tokens" if not past else f"; one token after {past}"))
    n.embedding("embed_tokens", vocabulary, width, tokens)
    for layer in range(layers):
        n.block(f"layers.{layer}", tokens, width, heads, hidden, "silu", tokens + past,
                0 if past else 1, "rms_norm_kernel", kv_heads * width // heads, gated=True)
    n.linear("lm_head", width, vocabulary, 1)
    n.add("softmax", "next token", n=1, c=vocabulary)
    return n


def t5(name, width, heads, hidden, layers, tokens, steps):
    n = Net(name, f"Raffel et al., arXiv:1910.10683; {tokens} tokens read, {steps} written so far")
    n.embedding("shared", 32128, width, tokens)
    for layer in range(layers):
        n.block(f"encoder.{layer}", tokens, width, heads, hidden, "relu", norm="rms_norm_kernel",
                kv_width=64 * heads, head=64)
    for layer in range(layers):
        note = f"decoder.{layer}"
        n.block(note, 1, width, heads, hidden, "relu", steps, norm="rms_norm_kernel",
                kv_width=64 * heads, head=64)
        n.attention(note + ".cross", heads, 1, tokens, 64)
    n.linear("lm_head", width, 32128, 1)
    n.add("softmax", "next token", n=1, c=32128)
    return n
