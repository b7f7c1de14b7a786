"""Complete programs (--emit cu) compile, run and find themselves right; and they find what is
wrong."""

import complete
import emulate
import pytest

PROGRAMS = {
    "scalar outputs": """kernel p<N = 9>(x: i32[N], y: f32[N]) -> s: i32, low: f32
{
    s = 0;
    for i in N
        s += x[i];
    low = inf;
    for i in N
        low min= y[i];
}
""",
    "truth values": """kernel p<N = 9>(x: i32[N], a: bool[N], inout c: bool[N]) -> b: bool[N]
{
    for i in N
        b[i] = a[i] && x[i] > 0;
    for i in N
        c[i] = c[i] || a[i];
}
""",
    "part of an output": """kernel p<N = 9>(x: f32[N]) -> y: f32[N, 2], n: i32[N]
{
    for i in 1..N - 1
        y[i, 1] = x[i - 1] + x[i + 1];
    for i in N / 2
        n[i * 2] = i;
}
""",
    "temporaries of a loop": """kernel p<N>(x: i32[N]) -> y: i32[N]
{
    for i in N {
        temp t: i32[i + 1];
        for j in i + 1
            t[j] = x[j] * 2;
        y[i] = 0;
        for j in i + 1
            y[i] += t[j];
    }
}
""",
    "nothing to launch": """kernel p<M = 1, N>(inout x: f32[M, N])
{
    for i in 1..M, j in N
        x[i, j] = x[i - 1, j];
}
""",
    "long sum": """kernel p<N = 3000>(x: bf16[2, N], eps: f32) -> y: bf16[2], z: f32[2]
    where 0 < eps < 1
{
    for r in 2 {
        y[r] = 0;
        for i in N
            y[r] += x[r, i];
        z[r] = 0;
        for i in N
            z[r] += x[r, i] * eps;
    }
}
""",
    "grid along y": """kernel p<N>(x: i32[N]) -> y: i32[N]
{
    for i in N
        y[i] = x[i];
}
schedule rows for p
{
    bind(loops(y)[0], blockIdx.y);
}
""",
    "narrow floats": """kernel p<N = 40>(a: f16[N], b: bf16[N], c: f8e4m3[N], d: f8e5m2[N])
    -> e: f16[N], f: bf16[N], g: f8e4m3[N], h: f8e5m2[N]
{
    for i in N {
        e[i] = a[i] * a[i] + 1;
        f[i] = b[i] / 3;
        g[i] = f8e4m3(c[i] + c[i]);
        h[i] = f8e5m2(d[i] * 0.5);
    }
}
""",
}


SCHEDULES = {"nothing to launch": "none", "grid along y": "rows"}


def record(name, program, schedule="default"):
    arguments = ["-", "--schedule", SCHEDULES.get(name, schedule)]
    made = emulate.file_record(name, arguments, program)
    return {**made, "complete": emulate.run_tirc([*arguments, "--emit", "cu"], program)}


def changed(name, of, old, new, **more):
    """The record of a program whose text is changed."""
    made = record(name, PROGRAMS[of], SCHEDULES.get(of, "default"))
    text = made["complete"].replace(old, new, 1)
    assert text != made["complete"] or not old
    return {**made, "complete": text, **more}


@pytest.fixture(scope="module")
def found(compiler):
    records = [record(name, program) for name, program in PROGRAMS.items()]
    records += [
        changed("wrong", "truth values", "[lane] && ", "[lane] || "),
        changed(
            "term left out",
            "long sum",
            "y_part = bf16_from_f32(bf16_to_f32(y_part) + bf16_to_f32(x_local[lane + 8]",
            "if (thread < 118 || lane < 7) "
            "y_part = bf16_from_f32(bf16_to_f32(y_part) + bf16_to_f32(x_local[lane + 8]",
        ),
        changed("too many rows", "grid along y", "", "", sizes={"N": 65536}),
    ]
    return {
        r["name"]: (verdict, detail)
        for r, verdict, detail in complete.run(compiler, "complete", records)
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_complete(found, name):
    assert found[name][0] == "exact", found[name]


def test_wrong(found):
    verdict, detail = found["wrong"]
    assert verdict == "wrong" and "b[" in detail


def test_structure(found):
    """No bound of rounding errors shows one term of 3000 in bf16."""
    verdict, detail = found["term left out"]
    assert (
        verdict == "wrong"
        and "p: structure: 4 of 4 elements compared bit for bit on small integers, " in detail
    )
    assert "elements checked, 0 wrong" in detail


def test_grid(found):
    verdict, detail = found["too many rows"]
    assert (
        verdict == "fault"
        and "p: a grid of 65536 blocks along y and 1 along z; CUDA has 65535" in detail
    )
