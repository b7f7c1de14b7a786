"""The kernels of examples/collections/triton."""

import numpy as np
from operators import Cases, below, firsts, positive, sizes

CASES = Cases()
case = CASES.case

ROWS = sizes("M N", (5, 67), (1, 1), (37, 3), (2, 1031))
TOKENS = sizes("N C", (5, 67), (1, 1), (37, 3), (2, 1031))


def softmax(x):
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


@case(*ROWS, constant=("N",))
def fused_softmax(x):
    return softmax(x)


@case(*sizes("M N K", (37, 19, 53), (1, 1, 1), (65, 131, 7)), rtol=2e-3)
def matmul_leaky(a, b):
    c = a @ b
    return np.where(c >= 0, c, 0.01 * c)


def mixed(x):
    x = ((x ^ (x >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    x = ((x ^ (x >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return x ^ (x >> 16)


@case(
    *sizes("N", (261,), (1,), (4096,), (7,)),
    inputs={"p": lambda *_: 0.3, "seed": lambda *_: 12345},
)
def seeded_dropout(x, p, seed):
    r = np.array([mixed(i ^ mixed(int(seed))) >> 8 for i in range(len(x))]) / 2**24
    return np.where(r > p, x / (1 - p), 0)


@case(*sizes("H S D", (2, 37, 5), (1, 1, 1), (1, 67, 16), (1, 131, 67)))
def flash_attention(q, k, v):
    return softmax(np.einsum("hid,hjd->hij", q, k) / np.sqrt(q.shape[2])) @ v


@case(*sizes("H S D", (2, 37, 5), (1, 1, 1), (1, 131, 33)))
def flash_decoding(score, v):
    return np.einsum("hj,hjd->hd", softmax(score), v)


def groups(rng, shape, sizes):
    """Some groups may be empty."""
    inner = np.sort(rng.integers(0, sizes["R"] + 1, shape[0] - 2))
    return np.concatenate(([0], inner, [sizes["R"]]))


@case(*sizes("G R N K", (3, 17, 37, 11), (1, 1, 1, 1), (5, 9, 3, 33)), inputs={"first": groups})
def grouped_gemm(x, w, first):
    parts = [x[first[g] : first[g + 1]] @ w[g] for g in range(len(w))]
    return np.concatenate(parts)


def bytes_(rng, shape, _):
    return rng.integers(-128, 128, shape)


@case(*sizes("M N B", (5, 37, 2), (1, 1, 1), (17, 3, 3)), inputs={"a": bytes_, "b": bytes_})
def block_scaled_matmul(a, b, scale_a, scale_b):
    def scaled(x, scale):
        return x * np.repeat(scale, 32, axis=1)

    return scaled(a, scale_a) @ scaled(b, scale_b).T


@case(*sizes("S H D", (7, 3, 5), (1, 1, 1), (33, 2, 67)))
def rope(x, angle):
    turn = np.exp(1j * np.arange(len(x))[:, None] * angle)[:, None]
    d = len(angle)
    y = (x[..., :d] + 1j * x[..., d:]) * turn
    return np.concatenate((y.real, y.imag), axis=2)


def silu(x):
    return x / (1 + np.exp(-x))


@case(*TOKENS)
def swiglu(x):
    return silu(x[:, 0]) * x[:, 1]


@case(*TOKENS)
def swiglu_backward(x, dy):
    step = 1e-4
    slope = (silu(x[:, 0] + step) - silu(x[:, 0] - step)) / (2 * step)
    return np.stack((dy * x[:, 1] * slope, dy * silu(x[:, 0])), axis=1)


@case(*TOKENS, inputs={"eps": positive})
def rms_norm_residual(r, x, weight, eps):
    r = r + x
    return r, r / np.sqrt((r**2).mean(axis=1, keepdims=True) + eps) * weight


def repeated(rng, shape, _):
    return rng.integers(-9, 10, shape)


@case(*sizes("M N K", (3, 37, 5), (1, 1, 1), (2, 131, 131)), inputs={"x": repeated})
def top_k(x, K):
    place = np.argsort(-x, axis=1, kind="stable")[:, :K]
    return np.take_along_axis(x, place, axis=1), place.astype("i4")


def decays(rng, shape, _):
    return -rng.uniform(0, 1, shape)


def steps(rng, shape, _):
    return rng.uniform(0, 1, shape)


@case(*sizes("D L", (3, 1031), (1, 1), (2, 67), (5, 2)), inputs={"A": decays, "delta": steps})
def selective_scan_long(x, delta, A, B, C):
    h, y = np.zeros(len(x)), np.empty_like(x)
    for t in range(x.shape[1]):
        h = np.exp(delta[:, t] * A) * h + delta[:, t] * B[t] * x[:, t]
        y[:, t] = C[t] * h
    return y


def some(rng, shape, _):
    return rng.uniform(0, 1, shape) < 0.1


@case(*sizes("N", (5003,), (1,), (67,), (2,)), inputs={"head": some})
def segmented_scan(x, head):
    y, s = np.empty_like(x), 0.0
    for i, starts in enumerate(head):
        s = x[i] + (0 if starts else s)
        y[i] = s
    return y


@case(*ROWS)
def cumulative_max(x):
    y = np.maximum.accumulate(x, axis=1)
    grows = np.concatenate([np.ones_like(x[:, :1], bool), x[:, 1:] > y[:, :-1]], axis=1)
    place = np.where(grows, np.arange(x.shape[1]), 0)
    return y, np.maximum.accumulate(place, axis=1).astype("i4")


def with_halves(rng, shape, _):
    """Without quotients that round to even: 127 / largest is no short binary fraction."""
    return rng.uniform(-1, 1, shape)


@case(*ROWS, inputs={"x": with_halves})
def quantize_rows(x):
    largest = np.abs(x).max(axis=1)
    return np.rint(x * (127 / largest)[:, None]).astype("i1"), largest / 127


def eighths(rng, shape, _):
    return rng.integers(0, 3, shape) / 64


@case(*sizes("M N", (3, 67), (1, 1), (2, 301)), inputs={"x": eighths, "p": lambda *_: 0.5})
def top_p_mask(x, p):
    return np.cumsum(x, axis=1) - x < p


@case(*sizes("H S D", (2, 37, 5), (1, 1, 1), (1, 33, 67)), inputs={"cap": positive})
def softcap_scores(q, k, cap):
    y = cap * np.tanh(np.einsum("hid,hjd->hij", q, k) / cap)
    return np.where(np.tri(q.shape[1], dtype=bool), y, -np.inf)


@case(*sizes("N", (2061,), (1,), (7,)))
def vector_add(x, y):
    return x + y


@case(
    *sizes("B N K E", (3, 37, 19, 2), (1, 1, 1, 1), (5, 67, 131, 7)), inputs={"expert": below("E")}
)
def moe_gemm(x, w, expert):
    return (x.reshape(len(expert), 16, -1) @ w[expert]).reshape(len(x), -1)


@case(
    *sizes("B H G P S D", (2, 3, 2, 7, 5, 37), (1, 1, 1, 1, 1, 1), (3, 1, 4, 5, 3, 67)),
    inputs={
        "page": below("P"),
        "length": lambda rng, shape, sizes: rng.integers(1, 16 * sizes["S"] + 1, shape),
    },
)
def paged_attention(q, keys, values, page, length, scale):
    y = np.empty_like(q)
    for b, n in enumerate(length):
        k, v = (
            p[page[b]].transpose(1, 0, 2, 3).reshape(p.shape[1], -1, p.shape[3])[:, :n]
            for p in (keys, values)
        )
        y[b] = softmax(np.einsum("hgd,hsd->hgs", q[b], k) * scale) @ v
    return y


def rows_of_edges(rng, shape, sizes):
    first = firsts(np.random.default_rng(sum(sizes.values())), (sizes["N"] + 1,), sizes)
    return np.repeat(np.arange(sizes["N"]), np.diff(first))


@case(*sizes("N E", (37, 131), (1, 1), (261, 70)), inputs={"first": firsts, "row": rows_of_edges})
def edge_softmax(first, row, score):
    total = np.bincount(row, np.exp(score), len(first) - 1)
    return np.exp(score) / total[row]


@case(*sizes("B T C K", (2, 17, 37, 4), (1, 1, 1, 1), (1, 67, 131, 3)), constant=("K",))
def causal_conv1d(x, w, bias):
    padded = np.pad(x, ((0, 0), (len(w) - 1, 0), (0, 0)))
    return silu(sum(padded[:, k : k + x.shape[1]] * w[k] for k in range(len(w))) + bias)


@case(*ROWS, inputs={"p": positive})
def kl_divergence(x, p):
    return (p * (np.log(p) - x)).sum(axis=1)
