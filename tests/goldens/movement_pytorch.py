"""What PyTorch says of resizing, scattering, padding, folding and diagonals: movement_pytorch.npz, read by tests/kernels/scenarios/data_movement_golden_test.cpp.

    python3 movement_pytorch.py movement_pytorch.npz

Needs torch and numpy; the file in the repository is from PyTorch 2.15.0. Inputs are the formula of README.md's gen(), gradients are
those of sum(dy * y). Keys: CASE.x, CASE.y, CASE.dy, CASE.dx, and what else the case takes.
"""
import sys

import numpy as np
import torch
import torch.nn.functional as F


def gen(shape, s):
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return (((i * 389 + s * 97) % 997 - 498) / 512).astype(np.float32).reshape(shape)


out = {}


def case(name, function, *inputs, **others):
    """Inputs named x, x1, ... are differentiated."""
    tensors = [torch.from_numpy(a).requires_grad_() for a in inputs]
    y = function(*tensors)
    dy = gen(tuple(y.shape), 50)
    gradients = torch.autograd.grad((y * torch.from_numpy(dy)).sum(), tensors)
    arrays = {"y": y.detach().numpy(), "dy": dy, **others}
    for k, (a, g) in enumerate(zip(inputs, gradients)):
        arrays["x" + str(k or "")], arrays["dx" + str(k or "")] = a, g.numpy()
    out.update({name + "." + key: value for key, value in arrays.items()})


image = gen((1, 2, 7, 9), 1)
for size in ((13, 20), (4, 5)):
    tag = "%dx%d" % size
    case("nearest_" + tag, lambda x: F.interpolate(x, size, mode="nearest"), image)
    case("nearest_exact_" + tag, lambda x: F.interpolate(x, size, mode="nearest-exact"), image)
    for mode in ("bilinear", "bicubic"):
        for corners in (False, True):
            case("%s_%d_%s" % (mode, corners, tag), lambda x: F.interpolate(x, size, mode=mode, align_corners=corners), image)
case("bilinear_scale", lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=False), image)
case("linear", lambda x: F.interpolate(x, 17, mode="linear"), image[:, :, 0])

table = gen((5, 4, 6), 2)
index = np.array([(i * 7 + 3) % 4 for i in range(5 * 3 * 6)], dtype=np.int64).reshape(5, 3, 6)
at = torch.from_numpy(index)
source = gen((5, 3, 6), 3)
case("gather", lambda x: torch.gather(x, 1, at), table, index=index.astype(np.int32))
for reduce in ("sum", "amax", "amin"):
    case("scatter_" + reduce, lambda x, u: torch.scatter_reduce(x, 1, at, u, reduce), table, source, index=index.astype(np.int32))
ties = np.zeros((1, 6), dtype=np.float32)
tied = np.array([[1, 1, 0, -1, 1]], dtype=np.float32)
places = np.array([[0, 0, 1, 2, 3]], dtype=np.int64)
case("scatter_ties", lambda x, u: torch.scatter_reduce(x, 1, torch.from_numpy(places), u, "amax"), ties, tied, index=places.astype(np.int32))
case("index_add", lambda x, u: x.index_add(1, torch.tensor([3, 0, 3]), u), table, source)

for mode in ("reflect", "replicate", "circular", "constant"):
    case("pad_" + mode, lambda x: F.pad(x, (2, 3, 1, 4), mode=mode), image)
windows = dict(kernel_size=(3, 2), dilation=(2, 1), padding=(1, 0), stride=(2, 3))
case("unfold", lambda x: F.unfold(x, **windows), image)
case("fold", lambda x: F.fold(x, (7, 9), **windows), gen((2, 18, 9), 4))
case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), gen((2, 8, 3, 5), 5))
case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 3), gen((2, 2, 6, 9), 6))
case("diagonal", lambda x: torch.diagonal(x, 1, 2, 0), table)
case("rot90", lambda x: torch.rot90(x, -1, (2, 0)), table)
case("tril", lambda x: torch.tril(x, 1), table)
case("triu", lambda x: torch.triu(x, -1), table)

np.savez(sys.argv[1], **out)
