"""Operators of three exported libraries in one process, calls that must fail with a text, and traces with extents that are symbols. usage:
torch_host.py FIRST SECOND THIRD, where FIRST is the library of `halyard export relu softmax conv2d layer_norm dense matmul gelu cast`, SECOND
has bias_gelu, and THIRD soft_step, the op of a new project."""
import sys
import threading

import torch

from expectations import expect, refuses, status

for library in sys.argv[1:]:
    torch.ops.load_library(library)
ops, others = torch.ops.first, torch.ops.second
x = torch.randn(3, 4)

# Views, an empty tensor, a scalar.
for t in (x, x.T, x[:, ::2], x[:0], x.expand(2, 3, 4), x[0, 0]):
    expect(torch.equal(ops.relu(t), torch.relu(t)), f"relu of shape {tuple(t.shape)}, strides {t.stride()}")
expect(ops.relu(x.T).is_contiguous(), "a result isn't contiguous")
torch.testing.assert_close(ops.softmax(x.T, axis=0), torch.softmax(x.T, 0))
torch.testing.assert_close(others.bias_gelu(x.half(), torch.zeros(4).half()), torch.nn.functional.gelu(x.half()), rtol=0.01, atol=0.01)
expect(ops.cast(x, "f64").dtype == torch.float64, "cast to f64")

# Gradients: of a broadcast input, through both libraries, of views of dy.
a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
(ops.softmax(others.relu(ops.gelu(a))) * x).sum().backward()
(torch.softmax(torch.relu(torch.nn.functional.gelu(b)), -1) * x).sum().backward()
torch.testing.assert_close(a.grad, b.grad)
image, weight = torch.randn(2, 3, 8, 8, requires_grad=True), torch.randn(4, 3, 3, 3, requires_grad=True)
ops.conv2d(image, weight, pad_mode="same").sum().backward()
got = image.grad.clone(), weight.grad.clone()
image.grad = weight.grad = None
torch.nn.functional.conv2d(image, weight, padding=1).sum().backward()
for ours, theirs in zip(got, (image.grad, weight.grad), strict=True):
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
gamma, beta = torch.ones(4, requires_grad=True), torch.zeros(4, requires_grad=True)
ops.layer_norm(x, gamma, beta).sum().backward()
expect(gamma.grad.shape == (4,) and torch.equal(beta.grad, torch.full((4,), 3.0)), "gradients in gamma and beta")
torch.testing.assert_close(ops.layer_norm(x, gamma, beta, epsilon=1e-5), torch.nn.functional.layer_norm(x, (4,), gamma, beta))

# Composites and gradients that are composed of other ops: products of batches, a dense layer with its activation.
for flags in ({}, {"transpose_a": True}, {"transpose_b": True}, {"transpose_a": True, "transpose_b": True}):
    a = torch.randn((2, 5, 3) if flags.get("transpose_a") else (2, 3, 5), requires_grad=True)
    b = torch.randn((4, 5) if flags.get("transpose_b") else (5, 4), requires_grad=True)
    ops.matmul(a, b, **flags).square().sum().backward()
    got = a.grad.clone(), b.grad.clone()
    a.grad = b.grad = None
    torch.matmul(a.transpose(1, 2) if flags.get("transpose_a") else a, b.T if flags.get("transpose_b") else b).square().sum().backward()
    for ours, theirs in zip(got, (a.grad, b.grad), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
rows, weight_of, bias = torch.randn(2, 3, 4, requires_grad=True), torch.randn(6, 4, requires_grad=True), torch.randn(6, requires_grad=True)
ops.dense(rows, weight_of, bias, activation="gelu").sum().backward()
got = [t.grad.clone() for t in (rows, weight_of, bias)]
rows.grad = weight_of.grad = bias.grad = None
torch.nn.functional.gelu(torch.nn.functional.linear(rows, weight_of, bias)).sum().backward()
for ours, theirs in zip(got, (rows.grad, weight_of.grad, bias.grad), strict=True):
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
expect(not ops.relu(x).requires_grad, "a result requires a gradient that no input requires")
with torch.no_grad():
    expect(not ops.relu(a).requires_grad, "a result requires a gradient under no_grad()")

# The op of a new project: x / (1 + |x|).
soft_step = torch.ops.third.soft_step
torch.testing.assert_close(soft_step(x), torch.nn.functional.softsign(x))
torch.library.opcheck(soft_step, (x.clone().requires_grad_(),))
torch.autograd.gradcheck(soft_step, (torch.randn(3, 5, dtype=torch.float64, requires_grad=True),))
torch._dynamo.reset()
whole = torch.compile(lambda t: soft_step(t) * 2, fullgraph=True, backend="aot_eager")
torch.testing.assert_close(whole(x), torch.nn.functional.softsign(x) * 2)

# Threads: of PyTorch, and calls on several at once.
large = torch.randn(512, 1024)
results = []
for threads in (1, 2, 4):
    torch.set_num_threads(threads)
    results += [ops.softmax(large) for _ in range(3)]
expect(all(torch.equal(r, results[0]) for r in results), "another number of threads, other bits")


def call_often(to):
    to.append(all(torch.equal(ops.softmax(x, axis=k % 2), ops.softmax(x, axis=k % 2)) for k in range(300)))


done = []
callers = [threading.Thread(target=call_often, args=(done,)) for _ in range(4)]
for caller in callers:
    caller.start()
for caller in callers:
    caller.join()
expect(done == [True] * 4, "softmax on four threads")

# One trace serves other extents.
torch._dynamo.reset()
traces = 0


def count(module, _):
    global traces
    traces += 1
    return module.forward


compiled = torch.compile(lambda t, w: ops.softmax(ops.conv2d(t, w, pad_mode="same", stride=[2, 2]), axis=1), fullgraph=True, dynamic=True,
                         backend=count)
for size in (9, 12, 15, 20):
    image = torch.randn(2, 3, size, size + 3)
    torch.testing.assert_close(compiled(image, weight.detach()), ops.softmax(ops.conv2d(image, weight.detach(), pad_mode="same", stride=[2, 2]), 1))
expect(traces <= 2, f"{traces} traces for four extents")

# Bad input.
refuses("[conv2d] weight.c/group is 2, expected 3", lambda: ops.conv2d(torch.ones(1, 3, 4, 4), torch.ones(4, 2, 3, 3)))
refuses("[conv2d] x has rank 3, expected 4", lambda: ops.conv2d(torch.ones(3, 4, 4), torch.ones(4, 3, 3, 3)))
refuses("[softmax] axis is 7", lambda: ops.softmax(x, axis=7))
refuses("[softmax] axis is 7", lambda: ops.softmax(x.to("meta"), axis=7))
refuses("pad_mode is 'round', expected one of", lambda: ops.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 3, 3), pad_mode="round"))
refuses("rank 9, expected 0 to 8", lambda: ops.relu(torch.ones((1,) * 9)))
refuses("[relu] no kernels for u8", lambda: ops.relu(torch.ones(2, dtype=torch.uint8)))
refuses("[relu] x is ComplexFloat, which no op takes", lambda: ops.relu(torch.ones(2, dtype=torch.complex64)))
refuses("b is f64, expected f32 like a", lambda: ops.matmul(torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)))
refuses("SparseCPU", lambda: ops.relu(torch.ones(2, 2).to_sparse()))
refuses("relu", lambda: ops.relu(None))
refuses("relu", lambda: ops.relu())
refuses("no_such_attribute", lambda: ops.softmax(x, no_such_attribute=1))
refuses("[bias_gelu] this library has no gradient in x",
        lambda: others.bias_gelu(torch.ones(2, 2, dtype=torch.half, requires_grad=True), torch.zeros(2).half()).sum().backward())
refuses("[layer_norm] gamma.c is 3, expected 4", lambda: ops.layer_norm(x, torch.ones(3), torch.ones(4)))
refuses("[dense] weight.k is 3, expected 4", lambda: ops.dense(x, torch.ones(6, 3), torch.ones(6)))
sys.exit(status())
