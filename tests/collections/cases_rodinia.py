"""The kernels of examples/collections/rodinia."""

import numpy as np
from operators import Cases, below, firsts, positive, sizes

CASES = Cases()
case = CASES.case


def levels(rng, shape, _):
    return rng.integers(-1, 2, shape)


@case(
    *sizes("N E", (37, 131), (1, 1), (261, 70)),
    inputs={
        "first": firsts,
        "target": below("N"),
        "frontier": lambda rng, shape, _: rng.random(shape) < 0.3,
        "level": levels,
        "depth": lambda *_: 7,
    },
)
def bfs_step(first, target, frontier, level, depth):
    met = np.zeros(len(level), bool)
    for i in np.flatnonzero(frontier):
        met[target[first[i] : first[i + 1]]] = True
    new = met & (level < 0)
    return np.where(new, depth, level).astype("i4"), new.astype("i4")


def dominant(rng, shape, _):
    return rng.uniform(-1, 1, shape) + 2 * len(range(shape[0])) * np.eye(shape[0])


@case(*sizes("N", (17,), (1,), (2,), (37,)), inputs={"a": dominant})
def gaussian(a, b):
    for k in range(len(a) - 1):
        m = a[k + 1 :, k] / a[k, k]
        a[k + 1 :] -= np.outer(m, a[k])
        b[k + 1 :] -= m * b[k]
    return a, b


def neighbours(t, axis):
    """Of each cell, before and after; at the edges the cell itself."""
    n = t.shape[axis]
    at = np.arange(n)
    return t.take(np.maximum(at - 1, 0), axis), t.take(np.minimum(at + 1, n - 1), axis)


def small(rng, shape, _):
    return rng.uniform(0, 0.1, shape)


@case(
    *sizes("M N STEPS", (5, 37, 3), (1, 1, 1), (17, 9, 2)),
    inputs={n: small for n in ("cap", "rx", "ry", "rz")},
)
def hotspot(t, power, cap, rx, ry, rz, ambient, STEPS):
    for _ in range(STEPS):
        across, along = (sum(neighbours(t, axis)) - 2 * t for axis in (1, 0))
        t = t + cap * (power + along * ry + across * rx + (ambient - t) * rz)
    return t


@case(*sizes("Z Y X", (3, 5, 37), (1, 1, 1), (2, 9, 67)))
def hotspot3d(t, power, cc, cx, cy, cz, ct):
    x, y, z = (sum(neighbours(t, axis)) for axis in (2, 1, 0))
    return cc * t + cx * x + cy * y + cz * z + ct * power


@case(
    *sizes("R C", (7, 67), (1, 1), (3, 301)), inputs={"wall": lambda r, s, _: r.integers(0, 9, s)}
)
def pathfinder(wall):
    cost = wall[0]
    for row in wall[1:]:
        cost = row + np.minimum(cost, np.minimum(*neighbours(cost, 0)))
    return cost


@case(
    *sizes("N", (17,), (1,), (2,), (37,)),
    inputs={"score": lambda r, s, _: r.integers(-4, 5, s), "penalty": lambda *_: 3},
)
def needleman_wunsch(score, penalty):
    n = len(score)
    f = np.zeros((n + 1, n + 1), "i4")
    f[0] = f[:, 0] = -penalty * np.arange(n + 1)
    for i in range(n):
        for j in range(n):
            f[i + 1, j + 1] = max(f[i, j] + score[i, j], max(f[i, j + 1], f[i + 1, j]) - penalty)
    return f


@case(*sizes("N", (17,), (1,), (2,), (37,)), inputs={"a": dominant})
def lud(a):
    lower = np.eye(len(a))
    for k in range(len(a)):
        lower[k + 1 :, k] = a[k + 1 :, k] / a[k, k]
        a[k + 1 :] -= np.outer(lower[k + 1 :, k], a[k])
    return np.triu(a) + np.tril(lower, -1)


POINTS = sizes("N K D", (67, 5, 7), (1, 1, 1), (261, 3, 2))


@case(*POINTS)
def kmeans_assign(x, centre):
    distance = ((x[:, None] - centre) ** 2).sum(axis=2)
    return distance.argmin(axis=1).astype("i4")


@case(*POINTS, inputs={"member": below("K")})
def kmeans_update(x, member, K):
    sums, count = np.zeros((K, x.shape[1])), np.bincount(member, minlength=K)
    np.add.at(sums, member, x)
    return sums / np.maximum(count, 1)[:, None], count.astype("i4")


@case(*sizes("N", (261,), (1,), (70001,)))
def nearest_neighbour(lat, lng, y, x):
    distance = np.hypot(lat - y, lng - x)
    return distance.min(), distance.argmin()


@case(*sizes("M N", (17, 37), (1, 1), (5, 131)), inputs={"image": positive}, rtol=1e-3)
def srad(image, rate):
    mean = image.mean()
    q0 = ((image**2).mean() - mean**2) / mean**2
    n, s, w, e = (g - image for axis in (0, 1) for g in neighbours(image, axis))
    g2, lap = (n**2 + s**2 + w**2 + e**2) / image**2, (n + s + w + e) / image
    q = (0.5 * g2 - lap**2 / 16) / (1 + 0.25 * lap) ** 2
    c = np.clip(1 / (1 + (q - q0) / (q0 * (1 + q0) + 1e-3)), 0, 1)
    south, east = neighbours(c, 0)[1], neighbours(c, 1)[1]
    return image + 0.25 * rate * (c * n + south * s + c * w + east * e)


@case(*sizes("B P", (3, 7), (1, 1), (2, 37)))
def lavamd(x, q, alpha):
    v, f = np.zeros(q.shape), np.zeros(x.shape)
    for b in range(len(x)):
        for near in (-1, 0, 1):
            box = min(max(b + near, 0), len(x) - 1)
            gap = x[b][:, None] - x[box]
            u = q[box] * np.exp(-2 * alpha**2 * (gap**2).sum(axis=2))
            v[b] += u.sum(axis=1)
            f[b] += (2 * u[..., None] * gap).sum(axis=1)
    return v, f


@case(*sizes("I H", (131, 5), (1, 1), (7, 37)))
def backprop_forward(x, w):
    return 1 / (1 + np.exp(-(w[0] + x @ w[1:])))


@case(*sizes("I H", (131, 5), (1, 1), (7, 37)))
def backprop_adjust(x, delta, w, old, rate, momentum):
    change = rate * np.outer(x, delta) + momentum * old
    return w + change, change


@case(*sizes("N D", (67, 5), (1, 1), (9, 131)), inputs={"candidate": lambda *_: 0})
def stream_gain(x, weight, cost, candidate):
    moves = weight * ((x - x[candidate]) ** 2).sum(axis=1) < cost
    return cost[moves].sum(), moves


def growing(rng, shape, _):
    return np.cumsum(rng.uniform(0, 2 / shape[0], shape))


@case(*sizes("N", (67,), (1,), (261,)), inputs={"total": growing, "u": positive})
def find_index(total, u):
    return np.minimum(np.searchsorted(total, u), len(u) - 1).astype("i4")


@case(
    *sizes("N E", (37, 131), (1, 1), (261, 70)),
    inputs={
        "first": firsts,
        "source": below("N"),
        "frontier": lambda rng, shape, _: rng.random(shape) < 0.3,
        "level": levels,
        "depth": lambda *_: 7,
    },
)
def bfs_bottom_up(first, source, frontier, level, depth):
    rows = [frontier[source[a:b]].any() for a, b in zip(first[:-1], first[1:], strict=True)]
    new = np.array(rows, bool) & (level < 0)
    return np.where(new, depth, level).astype("i4"), new


@case(
    *sizes("N Q", (67, 37), (1, 1), (261, 1031), (2, 5)),
    inputs={
        "key": lambda rng, shape, _: np.sort(rng.integers(0, 50, shape)),
        "query": lambda rng, shape, _: rng.integers(-5, 60, shape),
    },
)
def tree_search(key, query):
    return np.searchsorted(key, query).astype("i4")


@case(*sizes("H W", (7, 37), (1, 1), (3, 131)))
def haar(x):
    a, b, c, d = (x[i::2, j::2] for i in (0, 1) for j in (0, 1))
    return (a + b + c + d) / 4, (a - b + c - d) / 4, (a + b - c - d) / 4, (a - b - c + d) / 4
