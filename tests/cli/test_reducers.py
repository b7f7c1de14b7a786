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


def test_means_by_parts_are_right(tirc):
    """A mean of partial means is rounded in another way than the mean of a row, in row order."""
    tirc.write(
        "parts.sched",
        "schedule parts for reducers()\n"
        "{\n"
        "    let [_, j] = loops(w);\n"
        "    let [_, part] = split(j, [_, 2]);\n"
        "    rfactor(part, 0);\n"
        "}\n",
    )
    sizes = ["-D", "M=33", "-D", "N=7", "--schedule", "parts.sched"]
    r = tirc(str(PROGRAM), "--verify", "--device", "sim", "--seed", "1", *sizes)
    assert r.status == 0, r.err
    assert "verify  ok" in r.out
    assert "structure: exact" in r.out


SUMS = """
reducer sums(a: f32, b: f32)
{
    init (0, 0);
    combine(x, y): (x.a + y.a, y.b + x.b);
}

kernel squares<N = 33>(x: f32[N]) -> a: f32[1], b: f32[1]
{
    temp s: sums;
    for i in N
        s sums= (x[i], x[i] * x[i]);
    a[0] = s.a;
    b[0] = s.b;
}

schedule parts for squares()
{
    let [_, part] = split(loops(s)[0], [_, 4]);
    rfactor(part, 0);
}
"""


def test_sums_in_a_tuple_are_exact(tirc):
    tirc.write("sums.tir", SUMS)
    r = tirc("sums.tir", "--verify", "--device", "sim", "--schedule", "parts")
    assert r.status == 0, r.err
    assert "structure: exact, 2 of 2 elements equal bit for bit" in r.out
