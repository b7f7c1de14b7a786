"""The programs of examples/textbook on the simulator against NumPy, at odd sizes and sizes of 1."""

from pathlib import Path

import numpy as np
import pytest
import tirc

PROGRAM = Path(__file__).resolve().parents[2] / "examples/textbook/textbook.tir"


def program(name, **sizes):
    return tirc.compile(PROGRAM, name, device="sim", **sizes)


@pytest.mark.parametrize("m, n", [(37, 23), (8, 45), (1, 1)])
def test_edit_distance(m, n):
    rng = np.random.default_rng(m)
    a, b = rng.integers(0, 3, m).astype("u1"), rng.integers(0, 3, n).astype("u1")
    d = np.zeros((m + 1, n + 1), "i4")
    d[:, 0], d[0] = np.arange(m + 1), np.arange(n + 1)
    for i in range(m):
        for j in range(n):
            d[i + 1, j + 1] = min(d[i, j] + (a[i] != b[j]), d[i, j + 1] + 1, d[i + 1, j] + 1)
    assert np.array_equal(program("edit_distance")(a, b), d)


@pytest.mark.parametrize("n", [1, 2, 37])
def test_shortest_paths(n):
    length = np.random.default_rng(n).integers(0, 1000, (n, n)).astype("i4")
    d = np.where(np.eye(n, dtype=bool), 0, length)
    for k in range(n):
        d = np.minimum(d, d[:, k : k + 1] + d[k])
    assert np.array_equal(program("shortest_paths")(length), d)


@pytest.mark.parametrize("n, d", [(1, 1), (45, 3), (7, 5)])
def test_close_pairs(n, d):
    x = np.random.default_rng(n).uniform(-1, 1, (n, d)).astype("f4")
    square = ((x[:, None].astype("f8") - x) ** 2).sum(axis=-1)[np.triu_indices(n, 1)]
    pairs, energy = program("close_pairs")(x, radius=0.75)
    assert pairs == np.count_nonzero(square < 0.75**2)
    assert np.allclose(energy, (1 / (1 + square)).sum(), rtol=1e-5)


def mixed(n):
    a = (n ^ (n >> np.uint32(16))) * np.uint32(0x7FEB352D)
    b = (a ^ (a >> np.uint32(15))) * np.uint32(0x846CA68B)
    return b ^ (b >> np.uint32(16))


@pytest.mark.parametrize("paths, steps", [(1, 1), (301, 7)])
def test_option_price(paths, steps):
    bits = mixed(np.uint32(17) + np.arange(paths * steps, dtype="u4").reshape(paths, steps))
    u = (bits >> np.uint32(8)) * 2.0**-24 - 0.5
    prices = 1.5 * np.cumprod(1 + 0.2 * u, axis=1)
    want = np.maximum(prices[:, -1] - prices.mean(axis=1), 0).mean()
    kernel = program("option_price", PATHS=paths, STEPS=steps)
    value = kernel(seed=17, start=1.5, volatility=0.2)
    assert np.allclose(value, want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("n, m, steps", [(1, 1, 1), (19, 33, 4)])
def test_relaxation(n, m, steps):
    given = np.random.default_rng(n).uniform(-1, 1, (n, m)).astype("f4")
    u, want, changes = given.copy(), given.astype("f8"), []
    for _ in range(steps):
        p = np.pad(want, 1, mode="edge")
        new = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
        changes.append(abs(new - want).max())
        want = new
    change = program("relaxation", STEPS=steps)(u)
    assert np.allclose(u, want, atol=1e-5) and np.allclose(change, changes, atol=1e-5)


@pytest.mark.parametrize("m, n", [(1, 1), (37, 23), (5, 1201), (301, 2)])
@pytest.mark.parametrize("share", [0, 0.3, 1])
def test_compressed_rows(m, n, share):
    rng = np.random.default_rng(m)
    a = np.where(rng.random((m, n)) < share, rng.uniform(1, 2, (m, n)), 0).astype("f4")
    rows, columns = np.nonzero(a)
    ptr, col, val = program("compressed_rows")(a)
    assert np.array_equal(ptr, np.searchsorted(rows, np.arange(m + 1)))
    assert np.array_equal(col[: len(columns)], columns) and not col[len(columns) :].any()
    assert np.array_equal(val[: len(columns)], a[rows, columns]) and not val[len(columns) :].any()


@pytest.mark.parametrize("b, t, s", [(1, 1, 1), (3, 20, 37), (2, 3, 70)])
def test_likeliest_states(b, t, s):
    rng = np.random.default_rng(s)
    seen = rng.uniform(-2, 0, (b, t, s)).astype("f4")
    change = rng.uniform(-2, 0, (s, s)).astype("f4")
    score, before = seen[:, 0], np.zeros((b, t, s), "i4")
    for k in range(1, t):
        ways = score[:, :, None] + change
        before[:, k] = ways.argmax(axis=1)
        score = ways.max(axis=1) + seen[:, k]
    got = program("likeliest_states")(seen, change)
    assert np.array_equal(got[0], score) and np.array_equal(got[1], before)


@pytest.mark.parametrize("b, n", [(2, 1), (3, 17), (2, 33)])
def test_damped_factors(b, n):
    x = np.random.default_rng(n).uniform(-1, 1, (b, n, n)).astype("f4")
    got = program("damped_factors")(x, damping=50)
    l, d = np.tril(got, -1) + np.eye(n), got * np.eye(n)
    assert np.allclose(np.tril(l @ d @ l.transpose(0, 2, 1) - x - 50 * np.eye(n)), 0, atol=1e-4)
    assert not np.triu(got, 1).any()


@pytest.mark.parametrize("rows, steps", [(1, 1), (7, 211), (2, 1500)])
def test_smoothed(rows, steps):
    x = np.random.default_rng(steps).uniform(-1, 1, (rows, steps)).astype("f4")
    want = x.astype("f8")
    for t in range(1, steps):
        want[:, t] = 0.9 * want[:, t - 1] + 0.1 * want[:, t]
    assert np.allclose(program("smoothed")(x, alpha=0.1), want, atol=1e-6)


@pytest.mark.parametrize("rows, steps", [(1, 1), (7, 211), (2, 1500)])
def test_advantages(rows, steps):
    rng = np.random.default_rng(steps)
    reward = rng.uniform(-1, 1, (rows, steps)).astype("f4")
    value = rng.uniform(-1, 1, (rows, steps + 1)).astype("f4")
    done = (rng.uniform(size=(rows, steps)) < 0.01).astype("f4")
    want, after = np.zeros((rows, steps)), np.zeros(rows)
    for t in reversed(range(steps)):
        error = reward[:, t] + 0.99 * (1 - done[:, t]) * value[:, t + 1] - value[:, t]
        after = want[:, t] = error + 0.99 * 0.95 * (1 - done[:, t]) * after
    got = program("advantages")(reward, value, done, gamma=0.99, **{"lambda": 0.95})
    assert np.allclose(got, want, atol=1e-4)


@pytest.mark.parametrize("pairs", [1, 8, 13, 200, 1024])
def test_rotated_qubit(pairs):
    rng = np.random.default_rng(pairs)
    state = rng.uniform(-1, 1, (2, (pairs + 7) // 8 * 16)).astype("f4")
    want, (cos, sin) = state.astype("f8"), (np.cos(0.7), np.sin(0.7))
    for i in range(pairs):
        low, high = want[:, i // 8 * 16 + i % 8].copy(), want[:, i // 8 * 16 + i % 8 + 8].copy()
        want[:, i // 8 * 16 + i % 8] = cos * low - sin * high
        want[:, i // 8 * 16 + i % 8 + 8] = sin * low + cos * high
    got = program("rotated_qubit", N=pairs)(*state, angle=0.7)
    assert np.allclose(got, want, atol=1e-5)
