"""The kernels of examples/collections/tilelang."""

import numpy as np
from operators import Cases, bytes_, sizes

CASES = Cases()
case = CASES.case


def ternary(rng, shape, _):
    """Four numbers of 0..2 in each byte."""
    return (rng.integers(0, 3, (*shape, 4)) << [0, 2, 4, 6]).sum(axis=-1)


def signed(rng, shape, _):
    return rng.integers(-128, 128, shape)


@case(
    *sizes("M N K G", (3, 11, 37, 8), (1, 1, 1, 1), (2, 5, 131, 32)),
    inputs={"w": bytes_},
    constant=("G",),
)
def dequant_int4_matmul(x, w, scale, G):
    four = np.stack((w & 15, w >> 4), axis=2).reshape(len(w), -1).astype("f8") - 8
    return x @ (four * np.repeat(scale, G, axis=1)[:, : four.shape[1]]).T


@case(
    *sizes("M N K", (2, 37, 3), (1, 1, 1), (3, 67, 5)),
    inputs={"mask": lambda rng, shape, _: rng.random(shape) < 0.4},
)
def block_sparse_matmul(a, mask, b):
    return (a * np.kron(mask, np.ones((16, 16)))) @ b


@case(*sizes("M N", (5, 131), (1, 1), (37, 3), (2, 1031)))
def gemv_halves(A, x):
    return A @ x


@case(*sizes("M N K", (7, 37, 131), (1, 1, 1), (3, 5, 1031)))
def split_k_matmul(a, b):
    return a @ b


@case(*sizes("H T D E", (2, 17, 5, 7), (1, 1, 1, 1), (1, 33, 8, 37)), constant=("D",))
def linear_attention(q, k, v):
    score = np.einsum("htd,hsd->hts", q, k)
    return np.tril(score) @ v


@case(*sizes("B T C S", (2, 17, 7, 3), (1, 1, 1, 1), (1, 33, 67, 4)), constant=("S",))
def selective_scan(x, dt, a, b, c):
    h = np.zeros((x.shape[0], x.shape[2], a.shape[1]))
    y = np.empty_like(x)
    for t in range(x.shape[1]):
        d = dt[:, t, :, None]
        h = h * np.exp(d * a) + d * b[:, t, None] * x[:, t, :, None]
        y[:, t] = (h * c[:, t, None]).sum(axis=2)
    return y


@case(
    *sizes("B H W C F K", (2, 5, 7, 3, 37, 3), (1, 1, 1, 1, 1, 1), (1, 3, 9, 5, 2, 5)),
    constant=("K",),
)
def conv_nhwc(x, w, K):
    around = [(0, 0), (K // 2, K // 2), (K // 2, K // 2), (0, 0)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, around), (K, K), axis=(1, 2))
    return np.einsum("nijcpq,pqcf->nijf", windows, w)


@case(*sizes("N K", (37, 67), (1, 1), (5, 131)), inputs={"w": ternary, "x": signed})
def bitnet_gemv(w, x, scale):
    two = np.stack([w >> 2 * part & 3 for part in range(4)], axis=2).reshape(len(w), -1)
    return scale * ((two.astype("i4") - 1) @ x.astype("i4"))
