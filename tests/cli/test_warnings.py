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


SCRIPT = """kernel k<N = 32>(x: f32[N]) -> y: f32[N]
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


def test_loop_that_counts_up_to_0():
    """One that is empty for small sizes was not meant to count down."""
    head = "kernel k<N = 4>(x: f32[N]) -> y: f32[N] { for i in N y[i] = 0;"
    text = head + " for i in %s y[i] = x[i]; }"
    assert "E0214" in tirc("-DN=2", text=text % "N - 1..0").stderr
    done = tirc("-DN=1", text=text % "1..N - 1")
    assert (done.returncode, done.stderr) == (0, "")


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


LAUNCH = """kernel k%s(x: f32[N], g: i32[N]) -> y: f32[N], total: f32
{
    for i in N
        y[i] = x[g[i]];
    total = 0;
    for i in N
        total += x[i];
}
schedule one for k()
{
    bind(loops(%s)[0], blockIdx.x);
}
schedule tuned for k()
{
    bind(loops(y)[0], blockIdx.x);
    bind(split(loops(total)[0], [_, 32])[1], threadIdx.x);
}
"""


def test_launch_of_one_thread():
    """Each launch by itself, at its first block, with the remedy for what it computes."""
    for sizes in ["<N>", "<N = 33>"]:
        sums = tirc("--schedule", "one", text=LAUNCH % (sizes, "y")).stderr
        assert ":7:9: warning[W0003]: block 'total' runs on the only thread of its launch" in sums
        assert "split loop 'i' and bind a part to threadIdx.x" in sums
        assert sums.count("W0003") == 1
        both = tirc("--schedule", "none", text=LAUNCH % (sizes, "y")).stderr
        assert both.count("W0003") == 2
        assert "split loop 'i' and bind its parts to blockIdx.x and threadIdx.x" in both
        assert tirc("--schedule", "tuned", text=LAUNCH % (sizes, "y")).stderr == ""
    handful = tirc("--schedule", "one", text=LAUNCH % ("<N = 32>", "y"))
    assert (handful.returncode, handful.stderr) == (0, "")


ORDER = """kernel k<N>(x: f32[N], g: bool[N]) -> y: f32[N]
{
    temp s: f32;
    s = 0;
    for j in N {
        %s
        y[j] = s;
    }
}
"""


def test_launch_of_one_thread_in_order():
    """A scan can be shared; iterations that have to run in order get no warning."""
    scan = tirc("--schedule", "none", text=ORDER % "s += x[j];").stderr
    assert "W0003" in scan and "scan_chunks of a split of loop 'j' shares its scan" in scan
    for step in ["s = s * x[j] + 1;", "if g[j] { s = 0; } s += x[j];"]:
        done = tirc("--schedule", "none", "--no-warn", text=ORDER % step)
        assert done.returncode == 0
        assert "W0003" not in tirc("--schedule", "none", text=ORDER % step).stderr
