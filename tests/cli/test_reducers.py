"""Reductions over tuples, compared with Python's own arithmetic: argmax with ties, mean and
variance, log-sum-exp, a product modulo a prime; at one element, primes and more than a warp."""

import math
import random
import struct
from pathlib import Path

import pytest
from test_data import floats, npy, read

PROGRAM = Path(__file__).resolve().parent.parent / "programs" / "reducers.tir"
SIZES = [(1, 1), (7, 33), (5, 70)]
OUTPUTS = ["at", "mean", "var", "y", "p_v"]
SCHEDULES = ["default", "columns", "parts", "lanes", "warps"]


def near(values, data):
    found = struct.unpack(f"<{len(values)}f", data)
    return all(math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5) for a, b in zip(values, found))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("rows, columns", SIZES)
def test_values(tirc, schedule, rows, columns):
    draw = random.Random(rows * columns)
    x = [[float(draw.randint(-6, 6)) for _ in range(columns)] for _ in range(rows)]
    n = [[draw.randint(1, 10006) for _ in range(columns)] for _ in range(rows)]
    tirc.write("x.npy", npy("<f4", (rows, columns), floats(*sum(x, []))))
    tirc.write(
        "n.npy", npy("<i4", (rows, columns), struct.pack(f"<{rows * columns}i", *sum(n, [])))
    )
    outputs = [f"--output={name}={name}.npy" for name in OUTPUTS]
    inputs = ["--input=x=x.npy", "--input=n=n.npy"]
    r = tirc(str(PROGRAM), "--run", "--device", "sim", "--schedule", schedule, *inputs, *outputs)
    assert r.status == 0, r.err
    data = {name: read(tirc.folder / f"{name}.npy")[2] for name in OUTPUTS}
    # the first of several largest values
    assert data["at"] == struct.pack(f"<{rows}i", *(row.index(max(row)) for row in x))
    means = [math.fsum(row) / columns for row in x]
    assert near(means, data["mean"])
    variances = [math.fsum((v - m) ** 2 for v in row) / columns for row, m in zip(x, means)]
    assert near(variances, data["var"])
    totals = [math.fsum(math.exp(v) for v in row) for row in x]
    assert near([math.exp(v) / t for row, t in zip(x, totals) for v in row], data["y"])
    products = [math.prod(row[j] for row in n) % 10007 for j in range(columns)]
    assert data["p_v"] == struct.pack(f"<{columns}i", *products)


def test_updates_of_tuples_cannot_be_atomic(tirc):
    tirc.write("atomic.sched", "schedule atomic for reducers() { atomic(w); }\n")
    r = tirc(str(PROGRAM), "--schedule", "atomic.sched", "--emit", "cuda")
    assert r.status == 1 and "E0432" in r.err and "which no instruction does" in r.err


def test_the_grid_cannot_reduce(tirc):
    text = "schedule grid for reducers() { let [i, j] = loops(w); bind(j, blockIdx.x); }\n"
    tirc.write("grid.sched", text)
    r = tirc(str(PROGRAM), "--schedule", "grid.sched", "--emit", "cuda")
    assert r.status == 1 and "E0424" in r.err
