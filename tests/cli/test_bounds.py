"""What --verify and --json say of accesses that may leave their buffers, and the check of each axis
in the simulator."""

import json

import pytest

SIM = ("--device", "sim")

# A subscript beyond its axis that stays inside the buffer: at the end of row 6 of 8.
ROWS = """kernel k<N = 8, M = 4>(x: f32[N, M]) -> y: f32[N, M]
{
    for i in N, j in M
        y[i, j] = i == 6 ? x[i, j + 1] : x[i, j];
}
schedule wide for k
{
    let [i, j] = loops(y);
    bind(i, blockIdx.x);
    vectorize(j);
}
"""

# The same by data.
LABELS = """kernel k<N = 8, M = 4>(label: u8[N], x: f32[N, M]) -> y: f32[N]
{
    for i in N
        y[i] = x[i / 2, label[i] < 255 ? 4 : 0];
}
"""


@pytest.mark.parametrize("action", ["--run", "--verify", "--analyze"])
@pytest.mark.parametrize("schedule", ["default", "naive", "none", "wide"])
def test_a_subscript_beyond_its_axis(tirc, action, schedule):
    tirc.write("k.tir", ROWS)
    r = tirc("k.tir", *SIM, "--schedule", schedule, action)
    assert (
        r.status == 4
        and "out_of_bounds" in r.err
        and "subscript 2 of 'x' is 4, but the extent of this axis is 4" in r.err
    )


def test_symbolic_sizes(tirc):
    tirc.write("k.tir", ROWS)
    r = tirc("k.tir", *SIM, "-D", "N=?", "--size", "N=7", "--verify")
    assert r.status == 4 and "subscript 2 of 'x' is 4, but the extent of this axis is 4" in r.err
    r = tirc("k.tir", *SIM, "-D", "N=?", "--size", "N=6", "--verify")
    assert (
        r.status == 0 and "bounds  VIOLATED for some sizes: 2 of 3 accesses are in bounds" in r.out
    )
    assert "is out of bounds: at N = 7, " in r.out


CERTAIN = {
    "y[i + 1] = x[i];": (
        "at N = 1, M = 1, s = 0, i = 0 the subscript i + 1 of 'y' is 1, but the axis ends at 0"
    ),
    "y[i] = x[i - 1];": (
        "at N = 1, M = 1, s = 0, i = 0 the subscript i - 1 of 'x' is -1, but axes start at 0"
    ),
    "{ y[i] = 0; for k in p[i]..p[i + 1] y[i] += w[k]; }": (
        "at N = 1, M = 1, s = 0, i = 0 the subscript i + 1 of 'p' is 1, but the axis ends at 0"
    ),
    "if i > 0 y[i] = x[i + 1];": None,
    "y[i] = i > 0 ? x[i - 1] : x[i + 1];": None,
    "y[i] = w[i];": None,  # where M >= N
    "y[i] = w[i + index(s)];": None,
}


@pytest.mark.parametrize("statement", CERTAIN)
def test_what_is_certain_is_refused(tirc, statement):
    tirc.write(
        "k.tir",
        "kernel k<N, M>(x: f32[N], w: f32[M], p: i32[N], s: i32) -> y: f32[N] { for i in N "
        + statement
        + " }",
    )
    r = tirc("k.tir", "--emit", "cuda")
    if CERTAIN[statement]:
        assert (
            (r.status, r.out) == (1, "") and "error[E0232]" in r.err and CERTAIN[statement] in r.err
        )
    else:
        assert r.status == 0, r.err


def test_the_where_clause_decides(tirc):
    text = "kernel k<N, M>(w: f32[M]) -> y: f32[N] where {} {{ for i in N y[i] = w[i]; }}"
    tirc.write("k.tir", text.format("M < N"))
    assert "error[E0232]: at N = 2, M = 1, i = 1" in tirc("k.tir", "--emit", "cuda").err
    tirc.write("k.tir", text.format("N <= M"))
    r = tirc("k.tir", *SIM, "--size", "N=3", "--size", "M=4", "--verify", "--schedule", "naive")
    assert r.status == 0 and "bounds  proved: 2 of 2" in r.out


def test_data(tirc):
    tirc.write("k.tir", LABELS)
    r = tirc("k.tir", *SIM, "--run", "--json")
    result = json.loads(r.out)
    assert r.status == 4 and "subscript 2 of 'x'" in r.err
    assert {
        k: result["memory"][k] for k in ("accesses", "proved", "data", "unproved", "leaving")
    } == {"accesses": 3, "proved": 2, "data": 1, "unproved": 0, "leaving": 0}
    [first] = result["memory"]["first"]
    assert first["answer"] == "data" and "label[" in first["why"] and first["line"] == 4


def test_checks_are_no_accesses(tirc):
    """The subscript's own load is counted once."""
    tirc.write("k.tir", LABELS.replace("4 : 0", "3 : 0"))
    r = tirc("k.tir", *SIM, "--analyze", "--json")
    assert r.status == 0
    labels = [a for a in json.loads(r.out)["accesses"] if a["buffer"] == "label"]
    assert len(labels) == 1 and labels[0]["requests"] == 1


GATES = """
kernel gates<T, N, K, H>(x: f32[T, N, K], w: f32[3 * H, K], b: f32[3 * H]) -> y: f32[T, N, H]
{
    temp z: f32[T, N, 3 * H] product_digits(19);
    for t in T, n in N, j in 3 * H {
        z[t, n, j] = b[j];
        for k in K
            z[t, n, j] += x[t, n, k] * w[j, k];
    }
    for t in T, n in N, j in H
        y[t, n, j] = z[t, n, j] * z[t, n, H + j] + z[t, n, 2 * H + j];
}
"""


@pytest.mark.parametrize("symbols", ["H", "NH", "TNKH"])
def test_rows_of_gates(tirc, symbols):
    """A thread's rows are a quotient, and are multiplied by a length that is a sum of sizes."""
    tirc.write("gates.tir", GATES)
    values = {"T": 3, "N": 64, "K": 16, "H": 20}
    sizes = [f"-D{size}=?" for size in symbols] + [f"--size={n}={values[n]}" for n in symbols]
    sizes += [f"-D{n}={values[n]}" for n in values if n not in symbols]
    r = tirc("gates.tir", "--run", "--json", "--device", "sim", *sizes)
    memory = json.loads(r.out)["memory"]
    assert memory["proved"] == memory["accesses"], memory["first"]
