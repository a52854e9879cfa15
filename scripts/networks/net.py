"""Networks as lists of problems; scripts/network_shapes.py writes them to files."""


class Net:
    """The problems of one network, in order, each once."""

    def __init__(self, name, source):
        self.name, self.source = name, source
        self.problems = {}  # text -> [first note, count]

    def add(self, op, note, **dims):
        words = [op]
        for name, value in dims.items():
            if isinstance(value, tuple):
                value = ",".join(str(v) for v in value)
            words.append(f"{name}={value}")
        self.problems.setdefault(" ".join(words), [note, 0])[1] += 1

    def text(self):
        lines = [f"[{self.name}] {self.source}"]
        for problem, (note, count) in self.problems.items():
            more = f" and {count - 1} more" if count > 1 else ""
            lines.append(f"{problem}  # {note}{more}")
        return "\n".join(lines) + "\n"

    def each(self, op, note, n):
        """An elementwise op of n elements."""
        self.add(op, note, d0=1, d1=1, d2=n)

    def linear(self, note, k, n, m=1, act=None):
        self.add("matmul", note, g=1, m=m, k=k, n=n, transpose_b=1)
        if act:
            self.each(act, note, m * n)

    def norm(self, note, rows, c, op="layer_norm_kernel"):
        self.add(op, note, n=rows, c=c)

    def attention(self, note, heads, s, t, d, causal=0):
        """Fused attention, and its parts as a framework without a fused op runs them."""
        dims = dict(g=heads, s=s, t=t, d=d, e=d, scale=f"{d ** -0.5:.6g}")
        if causal:
            dims["causal"] = 1
        self.add("attention_kernel", note, **dims)
        self.add("matmul", note + ", scores", g=heads, m=s, k=d, n=t, transpose_b=1)
        self.add("softmax", note + ", probabilities", n=heads * s, c=t)
        self.add("matmul", note + ", context", g=heads, m=s, k=t, n=d)

    def block(self, note, tokens, width, heads, hidden, act="gelu", keys=None, causal=0,
              norm="layer_norm_kernel", kv_width=None, gated=False, head=None):
        """A transformer's layer: attention and feed-forward."""
        kv_width = kv_width or width
        head = head or width // heads
        self.norm(note + ".norm", tokens, width, norm)
        self.linear(note + ".q", width, heads * head, tokens)
        self.linear(note + ".k", width, kv_width, tokens)
        self.linear(note + ".v", width, kv_width, tokens)
        self.attention(note + ".attention", heads, tokens, keys or tokens, head, causal)
        self.linear(note + ".out", heads * head, width, tokens)
        self.each("add", note + ".residual", tokens * width)
        self.linear(note + ".fc1", width, hidden, tokens, act)
        if gated:
            self.linear(note + ".gate", width, hidden, tokens)
            self.each("mul", note + ".gate", tokens * hidden)
        self.linear(note + ".fc2", hidden, width, tokens)
        self.each("add", note + ".residual", tokens * width)
        self.norm(note + ".norm", tokens, width, norm)

    def embedding(self, note, rows, width, tokens):
        self.add("gather_kernel", note, o=1, n=rows, m=tokens, i=width)


class ImageNet(Net):
    """A network on one image, whose channels and extents are tracked."""

    def __init__(self, name, source, c=3, h=224, w=None):
        super().__init__(name, source)
        self.c, self.h, self.w = c, h, w or h

    def size(self):
        return self.c * self.h * self.w

    def at(self):
        return self.c, self.h, self.w

    def go(self, place):
        self.c, self.h, self.w = place

    def conv(self, note, o, k, s=1, p=None, d=1, g=1, act=None):
        u, v = k if isinstance(k, tuple) else (k, k)
        sh, sw = s if isinstance(s, tuple) else (s, s)
        if p is None:
            p = (d * (u - 1) // 2, d * (v - 1) // 2)
        ph, pw = p if isinstance(p, tuple) else (p, p)
        dims = dict(n=1, c=self.c, h=self.h, w=self.w, o=o, u=u, v=v)
        if (sh, sw) != (1, 1):
            dims["stride"] = (sh, sw)
        if ph or pw:
            dims.update(pad_mode="pad", padding=(ph, ph, pw, pw))
        if d != 1:
            dims["dilation"] = (d, d)
        if g != 1:
            dims["group"] = g
        self.add("conv2d", note, **dims)
        self.c = o
        self.h = (self.h + 2 * ph - d * (u - 1) - 1) // sh + 1
        self.w = (self.w + 2 * pw - d * (v - 1) - 1) // sw + 1
        if act:
            self.each(act, note, self.size())

    def up(self, note, o, k, s, p=0):
        """A transposed convolution: the gradient of a convolution from o to c channels."""
        h, w = (self.h - 1) * s + k - 2 * p, (self.w - 1) * s + k - 2 * p
        dims = dict(n=1, c=o, h=h, w=w, o=self.c, u=k, v=k, stride=(s, s))
        if p:
            dims.update(pad_mode="pad", padding=(p, p, p, p))
        self.add("conv2d_dx", note, **dims)
        self.go((o, h, w))

    def depthwise(self, note, k, s=1, act=None, p=None):
        self.conv(note, self.c, k, s, p, g=self.c, act=act)

    def pool(self, note, kind, k, s, p=0, ceil=0):
        dims = dict(n=1, c=self.c, h=self.h, w=self.w, kernel_size=(k, k), stride=(s, s))
        if p:
            dims.update(pad_mode="pad", padding=(p, p, p, p))
        if ceil:
            dims["ceil_mode"] = 1
        self.add(kind + "_pool2d", note, **dims)
        extra = s - 1 if ceil else 0
        self.h, self.w = (self.h + 2 * p - k + extra) // s + 1, (self.w + 2 * p - k + extra) // s + 1

    def mean(self, note):
        """Global average pooling."""
        self.add("reduce_mean", note, o=1, r=1, i=self.c, s=self.h * self.w, axis=(1, 3))

    def classifier(self, note, classes=1000):
        self.mean("avgpool")
        self.linear(note, self.c, classes)
        self.add("softmax", "probabilities", n=1, c=classes)

    def squeeze(self, note, channels, act="relu", gate="sigmoid"):
        """Squeeze and excitation of the current map."""
        self.mean(note)
        place = self.at()
        c = self.c
        self.h = self.w = 1
        self.conv(note + ".fc1", channels, 1, act=act)
        self.conv(note + ".fc2", c, 1, act=gate)
        self.go(place)
        self.each("mul", note, self.size())


def products(net):
    """The multiplications of convolutions, dense layers and fused attention."""
    total = 0
    for problem, (_, count) in net.problems.items():
        op, *words = problem.split()
        d = dict(w.split("=") for w in words)
        if op == "matmul" and d["g"] == "1":
            total += count * int(d["m"]) * int(d["k"]) * int(d["n"])
        if op == "attention_kernel":
            total += count * int(d["g"]) * int(d["s"]) * int(d["t"]) * 2 * int(d["d"])
        if op in ("conv2d", "conv2d_dx"):
            c, h, w, o, u, v = (int(d[x]) for x in "chwouv")
            top, bottom, left, right = (int(x) for x in d.get("padding", "0,0,0,0").split(","))
            sh, sw = (int(x) for x in d.get("stride", "1,1").split(","))
            dil = int(d.get("dilation", "1,1").split(",")[0])
            oh = (h + top + bottom - dil * (u - 1) - 1) // sh + 1
            ow = (w + left + right - dil * (v - 1) - 1) // sw + 1
            total += count * o * oh * ow * c * u * v // int(d.get("group", 1))
    return total
