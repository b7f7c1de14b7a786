"""The kernels of examples/collections/llmc."""

import math

import numpy as np
from operators import Cases, below, positive, sizes

CASES = Cases()
case = CASES.case


EMBEDDINGS = sizes("B T C V", (3, 7, 37, 5), (1, 1, 1, 1), (2, 17, 131, 2))
ROWS = sizes("N C", (5, 67), (1, 1), (259, 3), (2, 1031))


@case(*EMBEDDINGS, inputs={"token": below("V")})
def encoder_forward(token, wte, wpe):
    return wte[token] + wpe


@case(*EMBEDDINGS, inputs={"token": below("V")})
def encoder_backward(dout, token, dwte, dwpe):
    np.add.at(dwte, token, dout)
    return dwte, dwpe + dout.sum(axis=0)


@case(*ROWS)
def layernorm_forward(x, weight, bias):
    mean, rstd = x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + 1e-5)
    return (x - mean[:, None]) * rstd[:, None] * weight + bias, mean, rstd


@case(*ROWS, inputs={"rstd": positive})
def layernorm_backward(dy, x, weight, mean, rstd):
    normal = (x - mean[:, None]) * rstd[:, None]
    g = dy * weight
    centred = g - g.mean(axis=1, keepdims=True)
    dx = (centred - normal * (g * normal).mean(axis=1, keepdims=True)) * rstd[:, None]
    return dx, (dy * normal).sum(axis=0), dy.sum(axis=0)


def cubic(x):
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


@case(*sizes("N", (261,), (1,), (4096,), (7,)))
def gelu_forward(x):
    return 0.5 * x * (1 + np.tanh(cubic(x)))


@case(*sizes("N", (261,), (1,), (4096,), (7,)))
def gelu_backward(x, dy):
    step = 1e-4
    return (gelu_forward(x + step) - gelu_forward(x - step)) / (2 * step) * dy


@case(*sizes("H T", (2, 37), (1, 1), (1, 131), (3, 2)))
def softmax_causal(x, scale):
    y = np.where(np.tri(x.shape[1], dtype=bool), np.exp(scale * x), 0)
    return y / y.sum(axis=2, keepdims=True)


@case(*sizes("N V", (5, 67), (1, 1), (3, 1031), (67, 2)), inputs={"target": below("V")})
def cross_entropy(score, target, dloss):
    p = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    return -np.log(p[np.arange(len(p)), target]), (p - np.eye(p.shape[1])[target]) * dloss


UNIT = {n: positive for n in ("v", "scale1", "scale2", "eps", "rate")} | {
    n: lambda rng, shape, _: rng.uniform(0, 0.99, shape) for n in ("beta1", "beta2")
}


@case(*sizes("N", (261,), (1,), (4096,), (7,)), inputs=UNIT)
def adamw(w, g, m, v, rate, beta1, beta2, scale1, scale2, eps, decay):
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    step = m * scale1 / (np.sqrt(v * scale2) + eps) + decay * w
    return w - rate * step, m, v


@case(*sizes("N C K", (37, 53, 19), (1, 1, 1), (5, 131, 67)))
def matmul_forward(x, w, b):
    return x @ w.T + b


@case(*sizes("N K", (67, 37), (1, 1), (2, 131)))
def matmul_backward_bias(dy):
    return dy.sum(axis=0)


@case(*ROWS)
def residual_layernorm(a, b, weight, bias):
    r = a + b
    normal = (r - r.mean(axis=1, keepdims=True)) / np.sqrt(r.var(axis=1, keepdims=True) + 1e-5)
    return r, normal * weight + bias


@case(*sizes("N", (70001,), (1,), (67,)))
def global_norm(g):
    return (g**2).sum()


@case(*sizes("B T H D", (2, 7, 3, 5), (1, 1, 1, 1), (3, 17, 2, 8)))
def permute(qkv):
    return tuple(np.ascontiguousarray(qkv[:, :, n].transpose(0, 2, 1, 3)) for n in range(3))


@case(*sizes("H T", (2, 37), (1, 1), (1, 131), (3, 2)), inputs={"y": positive})
def softmax_causal_backward(dy, y, scale):
    y = np.tril(y)
    return scale * y * (dy - (y * dy).sum(axis=2, keepdims=True))


@case(*sizes("N", (261,), (1,), (4096,), (7,)), rtol=4e-3)
def gelu_halves(x):
    return x / (1 + np.exp(-1.702 * x))
