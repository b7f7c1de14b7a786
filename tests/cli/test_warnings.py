"""Warnings: their places on standard error, and the options for them."""

import os
import subprocess

UNUSED = "kernel k(x: f32[8], scale: f32) -> y: f32[8] { for i in 8 y[i] = x[i]; }\n"


SERIAL = """
kernel k(x: f32[4, 64]) -> y: f32[4, 64]
{
    for i in 4 {
        temp s: f32;
        s = 0;
        for j in 64 {
            s += x[i, j];
            y[i, j] = s;
        }
    }
}

schedule scan for k()
{
    let [i, j] = loops(y);
    let [part, each] = split(j, [_, 4]);
    let [total, _] = scan_chunks(part);
    bind(i, blockIdx.x);
    bind(part, threadIdx.x);
    if %s {
        bind(loops(total)[1], threadIdx.x);
    }
}
"""


def tirc(*arguments, text=UNUSED):
    return subprocess.run(
        [os.environ["TIRC"], "-", "--emit", "cuda", *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_unused_parameter():
    done = tirc()
    assert done.returncode == 0
    assert ":1:21: warning[W0001]: parameter 'scale' is not used" in done.stderr


SCRIPT = """kernel k<N = 64>(x: f32[N]) -> y: f32[N]
{
    for i in N
        y[i] = x[i];
}
schedule s for k(%s)
{
    tune T in [8, 16];
    let [i] = loops(y);
    let [_, t] = split(i, [_, %s]);
    if U > 1 {
        for a in [[1, V]] {
            try { unroll(t); } else { assert W == 1; }
        }
    }
}
"""


def test_unused_parameter_of_a_schedule():
    """Naming it in `tune` does not use it; its part in another default does."""
    text = SCRIPT % ("T = 8, S = 4, U = S, V = 2, W = 1", "4")
    unused = tirc("--schedule", "s", text=text)
    assert ":6:18: warning[W0001]: parameter 'T' of schedule 's' is not used" in unused.stderr
    assert unused.stderr.count("W0001") == 1
    used = tirc("--schedule", "s", text=SCRIPT % ("T = 8, U = 2, V = 2, W = 1", "-T < 0 ? T : 1"))
    assert (used.returncode, used.stderr) == (0, "")


def test_no_warn():
    done = tirc("--no-warn")
    assert (done.returncode, done.stderr) == (0, "")


def test_werror():
    done = tirc("--werror")
    assert done.returncode == 1 and "W0001" in done.stderr


def test_stage_on_one_thread():
    """The sums of the chunks can be shared among threads, their scan cannot."""
    alone = tirc("--schedule", "scan", text=SERIAL % "false").stderr
    assert "W0003" in alone and "block 's_total' runs on one thread" in alone
    assert "s_before" not in alone
    assert tirc("--schedule", "scan", text=SERIAL % "true").stderr == ""


HALVES = """kernel k<N = 512>(x: f16[N], f: f32[N]) -> y: f16[N]
{
    for i in N
        y[i] = %s;
}
schedule vectors for k()
{
    let [t, v] = split(loops(y)[0], [_, 4]);
    bind(t, threadIdx.x);
    vectorize(v);
}
"""


def test_operation_that_is_not_packed():
    """Arithmetic without an instruction for two lanes, and its name; no loop that has one."""
    for value, name in [
        ("x[i] / 2", "'/' of f16"),
        ("exp(x[i])", "'exp' of f16"),
    ]:
        said = tirc("--schedule", "vectors", text=HALVES % value).stderr
        assert f"warning[W0004]: {name} is not packed" in said
        assert said.count("W0004") == 1
    for value in [
        "x[i] * x[i] + 1 - abs(x[i])",
        "f16(exp(f32(x[i])) / f[i])",
        "max(x[i], i % 2 == 0 ? f16(1) : f16(2))",
        "exp(x[i] + 1)",
        "x[i] > 1 ? x[i] : exp(x[i])",
        "minimum(min(-x[i], bitcast(f16, u16(3))), x[0])",
    ]:
        assert "W0004" not in tirc("--schedule", "vectors", text=HALVES % value).stderr


ROUNDS = """kernel rounds<N = 64>(x: f32[N]) -> y: f32[4]
{
    temp last: f32;
    last = inf;
    for k in 4 {
        temp m: f32;
        m = -inf;
        for j in N
            if x[j] < last
                m max= x[j];
        last = m;
        y[k] = last;
    }
}
schedule threads for rounds()
{
    bind(split(loops(m)[1], [_, 32])[1], threadIdx.x);
}
"""


def test_stage_between_shared_loops():
    """Threads share what a round does, so no thread could run other rounds."""
    assert tirc("--schedule", "threads", text=ROUNDS).stderr == ""
