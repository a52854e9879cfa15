"""Writes pytorch_losses.npz beside itself: losses that MindSpore lacks on a CPU, or has otherwise, as PyTorch (2.15) computes them in
float32: <case>_y and <case>_dx, the gradient of sum(gen(.., 8) y) in the input. Inputs are gen below, as in tests/primitives/scenarios/loss_golden_test.cpp."""
import os

import numpy as np
import torch
import torch.nn.functional as F


def gen(shape, s, scale=1.0, shift=0.0):
    i = np.arange(int(np.prod(shape)), dtype=np.int64)
    return torch.from_numpy((((i * 389 + s * 97) % 997 - 498) / 512 * scale + shift).astype(np.float32).reshape(shape))


x, y, p = gen((5, 7), 1), gen((5, 7), 2), gen((5, 7), 3, 0.4, 0.5)
weight, pos = gen((7,), 4, 0.4, 1), gen((7,), 5, 0.4, 1)
labels = torch.tensor([0, 6, 2, -100, 2])
spoken = torch.tensor([[1, 2, 2], [3, 1, 4]])
lengths, target_lengths = torch.tensor([9, 7]), torch.tensor([3, 2])
cases = {
    "cross_entropy": lambda x: F.cross_entropy(x, labels, weight),
    "cross_entropy_smooth": lambda x: F.cross_entropy(x, labels, weight, label_smoothing=0.2),
    "cross_entropy_dense": lambda x: F.cross_entropy(x, p, weight, label_smoothing=0.2),
    "nll": lambda x: F.nll_loss(x, labels, weight, reduction="none"),
    "bce": lambda x: F.binary_cross_entropy(x * 0.4 + 0.5, p),
    "bce_logits": lambda x: F.binary_cross_entropy_with_logits(x, p, weight, pos_weight=pos),
    "kl": lambda x: F.kl_div(x, p, reduction="batchmean"),
    "kl_log": lambda x: F.kl_div(x, y, reduction="none", log_target=True),
    "huber": lambda x: F.huber_loss(x, y, delta=0.6),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, y, beta=0.6, reduction="none"),
    "soft_margin": lambda x: F.soft_margin_loss(x, y),
    "margin_ranking": lambda x: F.margin_ranking_loss(x, y, torch.sign(p), margin=0.2),
    "hinge_embedding": lambda x: F.hinge_embedding_loss(x, torch.sign(y)),
    "gaussian_nll": lambda x: F.gaussian_nll_loss(x, y, p.abs() + 0.1, full=True),
    "poisson_nll": lambda x: F.poisson_nll_loss(x, p),
    "cosine": lambda x: F.cosine_similarity(x, y),
    "triplet": lambda x: F.triplet_margin_loss(x, y, p, swap=True),
    "ctc": lambda x: F.ctc_loss(F.log_softmax(x, -1), spoken, lengths, target_lengths),
    "rms_norm": lambda x: F.rms_norm(x, (7,), weight, 1e-6),
    "instance_norm": lambda x: F.instance_norm(x, weight=weight[:2], bias=pos[:2]),
}
given = {"ctc": gen((9, 2, 5), 6), "instance_norm": gen((2, 2, 9), 7)}
out = {}
for name, f in cases.items():
    t = given.get(name, x).clone().requires_grad_()
    result = f(t)
    (result * gen(tuple(result.shape), 8)).sum().backward() if result.dim() else result.backward()
    out[name + "_y"], out[name + "_dx"] = result.detach().numpy(), t.grad.numpy()
np.savez(os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_losses.npz"), **out)
