"""The programs of examples/distances on the simulator against NumPy, at sizes of several tiles, at
odd ones and 1, with the values that padding has among the elements."""

from pathlib import Path

import numpy as np
import pytest
import tirc

PROGRAM = Path(__file__).resolve().parents[2] / "examples/distances/distances.tir"
SIZES = [(70, 65, 37), (16, 130, 32), (1, 1, 1), (3, 17, 5)]


def program(name, **sizes):
    return tirc.compile(PROGRAM, name, device="sim", **sizes)


def rows(m, n, d):
    rng = np.random.default_rng(m)
    return rng.uniform(0, 1, (m, d)).astype("f4"), rng.uniform(0, 1, (n, d)).astype("f4")


def squares(x, y):
    return ((x[:, None].astype("f8") - y) ** 2).sum(axis=-1)


@pytest.mark.parametrize("m, n, d", SIZES)
def test_euclidean(m, n, d):
    x, y = rows(m, n, d)
    got = program("euclidean")(x, y)
    assert np.allclose(got, np.sqrt(squares(x, y)), rtol=1e-5)


@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_infinite_and_undefined_elements_stay_in_their_rows(bad):
    x, y = rows(70, 65, 37)
    x[3, 36] = bad
    got = program("euclidean")(x, y)
    assert not np.isfinite(got[3]).any() and np.isfinite(np.delete(got, 3, axis=0)).all()


@pytest.mark.parametrize("n, d", [(70, 37), (130, 32), (1, 1), (17, 5)])
def test_chebyshev(n, d):
    x, _ = rows(n, 1, d)
    assert np.array_equal(program("chebyshev")(x), abs(x[:, None] - x).max(axis=-1))


@pytest.mark.parametrize("n", [1, 2, 37, 70])
def test_paths(n):
    rng = np.random.default_rng(n)
    length = rng.uniform(0, 1, (n, n)).astype("f4")
    length[rng.random((n, n)) < 0.8] = np.inf
    want = np.minimum(length, (length[:, :, None] + length).min(axis=1))
    assert np.array_equal(program("paths")(length), want)


@pytest.mark.parametrize("m, n, w", SIZES)
def test_hamming(m, n, w):
    rng = np.random.default_rng(w)
    x, y = (rng.integers(0, 2**32, (k, w), dtype="u4") for k in (m, n))
    differ = np.unpackbits((x[:, None] ^ y).view("u1"), axis=-1).sum(axis=-1)
    assert np.array_equal(program("hamming")(x, y), differ)


@pytest.mark.parametrize("m, n, d", SIZES)
def test_regression(m, n, d):
    x, y = rows(m, n, d)
    w = np.random.default_rng(n).uniform(-1, 1, n).astype("f4")
    got = program("regression")(x, y, w, g=0.5)
    assert np.allclose(got, np.exp(-0.5 * squares(x, y)) @ w, rtol=1e-4, atol=1e-5)
