"""The kernels of examples/collections/cuda_samples."""

import math

import numpy as np
from operators import Cases, below, bytes_, firsts, positive, sizes

CASES = Cases()
case = CASES.case


ARRAYS = sizes("N", (261,), (1,), (4096,), (7,))


@case(*ARRAYS, inputs={n: positive for n in ("price", "strike", "years", "rate", "sigma")})
def black_scholes(price, strike, years, rate, sigma):
    normal = np.vectorize(lambda d: 0.5 * math.erfc(-d / math.sqrt(2)))
    root = sigma * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + sigma**2 / 2) * years) / root
    later = strike * np.exp(-rate * years)
    return (
        price * normal(d1) - later * normal(d1 - root),
        later * normal(root - d1) - price * normal(-d1),
    )


@case(
    *sizes("H W MOST", (7, 37, 20), (1, 1, 1), (19, 33, 9)),
    inputs={"left": lambda *_: -2, "top": lambda *_: 1, "step": lambda *_: 1 / 16},
)
def mandelbrot(left, top, step, H, W, MOST):
    c = left + step * np.arange(W) + 1j * (top - step * np.arange(H))[:, None]
    z, count = np.zeros((H, W), complex), np.zeros((H, W), "i4")
    for _ in range(MOST):
        near = z.real**2 + z.imag**2 <= 4
        count += near
        z = np.where(near, z * z + c, z)
    return count


@case(*ARRAYS, inputs={"x": bytes_})
def histogram256(x):
    return np.bincount(x, minlength=256).astype("i4")


def counts(rng, shape, sizes):
    return np.bincount(rng.integers(0, 256, sizes["N"]), minlength=256)


@case(*ARRAYS, inputs={"x": bytes_, "hist": counts})
def equalize(x, hist):
    level = np.cumsum(hist).astype("f4")
    return (np.float32(255) * level[x] / np.float32(len(x))).astype("u1")


@case(*sizes("N", (2061,), (1,), (7,), (4096,)), inputs={"x": bytes_})
def exclusive_scan(x):
    return np.cumsum(x) - x


SPARSE = sizes("N E", (37, 131), (1, 1), (261, 70))


@case(*SPARSE, inputs={"first": firsts, "col": below("N")})
def spmv_csr(first, col, val, x):
    terms = np.concatenate(([0], np.cumsum(val * x[col])))
    return terms[first[1:]] - terms[first[:-1]]


@case(*sizes("N W", (67, 5), (1, 1), (261, 3)), inputs={"col": below("N")})
def spmv_ell(col, val, x):
    return (val * x[col]).sum(axis=0)


@case(*SPARSE, inputs={"row": below("N"), "col": below("N")})
def spmv_coo(row, col, val, x):
    y = np.zeros(len(x))
    np.add.at(y, row, val * x[col])
    return y


@case(
    *sizes("M LOG", (3, 4), (1, 1), (2, 6)),
    inputs={"x": lambda rng, shape, _: rng.integers(-9, 10, shape)},
    literal=("LOG",),
)
def bitonic_sort(x):
    return np.sort(x, axis=1)


@case(*sizes("M N S", (3, 16, 4), (1, 1, 1), (2, 37, 1)), constant=("S",))
def fft_stage(re, im, N, S):
    x = re + 1j * im
    a, b = x[:, :N], x[:, N:]
    turn = np.exp(-1j * np.pi * (np.arange(N) // S * S) / N)
    y = np.stack((a + b, (a - b) * turn), axis=2)
    return y.real, y.imag


@case(*sizes("H W P Q", (7, 11, 9, 37), (1, 1, 1, 1), (1, 13, 5, 3), (5, 1, 17, 2)))
def bilinear_resize(x, P, Q):
    def along(x, count):
        """Rows at the places of `count` rows, between two rows of x."""
        at = np.maximum((np.arange(count) + 0.5) * len(x) / count - 0.5, 0)
        low = at.astype(int)
        far = x[np.minimum(low + 1, len(x) - 1)]
        return x[low] + (at - low)[:, None] * (far - x[low])

    return along(along(x, P).T, Q).T


def corner(rng, shape, _):
    return rng.uniform(0, 1, shape)


def opposite(rng, shape, _):
    return rng.uniform(1, 2, shape)


@case(
    *sizes("N", (37,), (1,), (67,)),
    inputs={"x0": corner, "y0": corner, "x1": opposite, "y1": opposite, "most": lambda *_: 0.5},
)
def nms_mask(x0, y0, x1, y1, most):
    kept = []
    for i in range(len(x0)):
        w, h = (
            np.clip(np.minimum(b[i], b[kept]) - np.maximum(a[i], a[kept]), 0, None)
            for a, b in ((x0, x1), (y0, y1))
        )
        area = (x1 - x0) * (y1 - y0)
        if not np.any(w * h / (area[i] + area[kept] - w * h) > most):
            kept.append(i)
    return np.isin(np.arange(len(x0)), kept)


@case(*sizes("N", (67,), (1,), (37,)), inputs={"A": lambda rng, shape, _: rng.uniform(1, 2, shape)})
def jacobi_step(A, b, x):
    r = b - A @ x
    return x + r / np.diag(A), r @ r


@case(*sizes("N E", (37, 131), (1, 1), (67, 261)), inputs={"first": firsts, "col": below("N")})
def cg_step(first, col, val, x, r, p):
    ap = spmv_csr(first, col, val, p)
    rate = r @ r / (p @ ap)
    new = r - rate * ap
    return x + rate * p, new, new + new @ new / (r @ r) * p


@case(*sizes("N", (17,), (1,), (37,)), inputs={"d": lambda r, s, _: r.integers(0, 1000, s)})
def all_pairs(d):
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[k])
    return d


@case(*sizes("Z Y X", (3, 5, 37), (1, 1, 1), (2, 9, 33)))
def stencil27(x):
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3, 3))
    return windows.mean(axis=(3, 4, 5))


@case(*ARRAYS)
def inclusive_scan(x):
    return np.cumsum(x)


PLANES = sizes("N", (67,), (1,), (300,), (37,))


@case(*PLANES, inputs={"mass": positive, "soft": lambda *_: 0.1})
def nbody(px, py, pz, mass, soft):
    p = np.stack((px, py, pz))
    gap = p[:, None, :] - p[:, :, None]
    return tuple((gap * mass / ((gap**2).sum(axis=0) + soft) ** 1.5).sum(axis=2))


IMAGES = sizes("H W R", (17, 37, 3), (1, 1, 1), (9, 67, 8), (5, 1, 2))


@case(*IMAGES, constant=("R",))
def convolution_rows(x, tap):
    r = len(tap) // 2
    padded = np.pad(x, ((0, 0), (r, r)))
    return np.stack([np.correlate(row, tap, "valid") for row in padded])


@case(*IMAGES, constant=("R",))
def convolution_columns(x, tap):
    return convolution_rows(x.T, tap).T


@case(*sizes("H W", (3, 5), (1, 1), (2, 7)))
def dct8x8(x):
    k = np.arange(8)
    basis = 0.5 * np.cos(np.pi / 16 * np.outer(k, 2 * k + 1))
    basis[0] = np.sqrt(1 / 8)
    blocks = x.reshape(len(x) // 8, 8, -1, 8).transpose(0, 2, 1, 3)
    return (basis @ blocks @ basis.T).transpose(0, 2, 1, 3).reshape(x.shape)


@case(*sizes("M LOG", (3, 4), (1, 1), (2, 6)), literal=("LOG",))
def walsh_transform(x):
    h = np.ones((1, 1))
    while len(h) < x.shape[1]:
        h = np.kron(h, [[1, 1], [1, -1]])
    return x @ h


@case(
    *sizes("N T", (3, 37), (1, 1), (2, 131), (5, 2)),
    inputs={n: positive for n in ("price", "strike")}
    | {"step": lambda *_: 0.05, "up": lambda *_: 0.52, "down": lambda *_: 0.47},
    constant=("T",),
)
def binomial_options(price, strike, step, up, down, T):
    powers = [math.comb(T, i) * up**i * down ** (T - i) for i in range(T + 1)]
    ends = np.exp(step * (2 * np.arange(T + 1) - T))
    return np.maximum(price[:, None] * ends - strike[:, None], 0) @ powers
