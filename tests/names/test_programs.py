"""Complete programs: nvcc compiles that of every golden case without a warning, its host side too
(test_names.py has those of the default tests), and empty ranges launch nothing."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import host
import reserved

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/golden"))
import golden  # noqa: E402

BATCH = 24  # programs in one run of nvcc
needs_cuda = pytest.mark.skipif(not reserved.cuda_home(), reason="no nvcc")


def complete(case):
    return re.sub(r'^extern "C" ', "", case.text("--emit", "cu"), flags=re.M)


def cases_with_cuda():
    return [case for case in golden.cases() if case.has_cuda()]


@needs_cuda
def test_nvcc_compiles_golden_cases(whole):
    if not whole:
        pytest.skip("test_names.py compiles every eighth of them")
    cases = cases_with_cuda()
    for at in range(0, len(cases), BATCH):
        chosen = cases[at : at + BATCH]
        assert host.nvcc([complete(case) for case in chosen], "-cubin") == "", [
            case.name for case in chosen
        ]


# ---- the host's side, on the host ----------------------------------------------------------------


def tirc(text, *arguments):
    done = subprocess.run(
        [os.environ["TIRC"], "-", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# Complete programs that test_complete_programs_find_no_wrong_element runs, with their sizes.
PROGRAMS = []


def program(text, *arguments, sizes=((),)):
    PROGRAMS.append((text, arguments, sizes))


EMPTY = """kernel k<N>(x: f32[N]) -> y: f32[N], z: f32[N]
{
    for i in N
        y[i] = x[i];
    for i in 3..N - 2
        z[i] = x[i] + 1;
    for i in 0..3
        if i < N
            z[i] = x[i] + 1;
    for i in N - 2..N
        if i >= 3
            z[i] = x[i] + 1;
}
schedule blocks for k
{
    for b in blocks() {
        bind(loops(b)[0], blockIdx.x);
    }
}
"""


# host_launch refuses what CUDA refuses: a grid without blocks.
for schedule in ("blocks", "default"):
    program(EMPTY, "--schedule", schedule, sizes=[(str(n),) for n in (0, 1, 2, 3, 4, 5, 6, 40)])


SERPENTINE = """kernel k<N = 4, M = 6>(x: f32[N, M]) -> y: f32[N, M]
{
    for i in N, j in M, k in 3
        y[i, j] = x[i, j] + k;
}
schedule s for k
{
    let [i, j, k] = loops(y);
    serpentine(i, j);
    bind(k, threadIdx.x);
}
"""


SERPENTINE = (
    SERPENTINE.replace(", k in 3", "")
    .replace("+ k", "+ 1")
    .replace("let [i, j, k]", "let [i, j]")
    .replace("bind(k,", "let [e] = [add_unit_loop(y)]; bind(e,")
)
program(SERPENTINE, "--schedule", "s")


# Infinity is a float in C, and the reference's numbers are doubles: templates need one type.
program(
    """kernel k<N = 16>(x: f32[N]) -> y: f32[N], z: f32[N]
{
    for i in N
        y[i] = max(x[i] - 2, -inf);
    for i in N
        z[i] = minimum(x[i] - 2, inf);
}
""",
    "--schedule",
    "default",
)


def test_loops_of_the_host_may_turn():
    """The name of the turned variable stands in the host's text, and --emit json speaks of what
    there is."""
    text = SERPENTINE
    source = tirc(text, "--schedule", "s", "--emit", "cu")
    launch = json.loads(tirc(text, "--schedule", "s", "--emit", "json"))["launches"][0]
    assert launch["within"] == [
        {"loop": "i", "from": 0, "to": 4, "step": 1},
        {"loop": "j_turn", "from": 0, "to": 6, "step": 1},
        {"value": "j", "is": "i % 2 == 0 ? j_turn : 5 - j_turn"},
    ]
    assert {"kind": "value", "name": "j", "type": "i32"} in launch["arguments"]
    assert re.search(r"const long long j = i % 2 == 0 \? j_turn : 5 - j_turn;", source)


ONE_ELEMENT = """kernel k<N = 16>(x: f32[N]) -> y: f32[N]
{
    for i in N
        y[i] = x[i] * 2;
}
schedule s for k
{
    let [i] = loops(y);
    let c = cache_read(y, x, local);
    compute_at(c, i);
    %s;
}
"""


LAYOUTS = [
    ONE_ELEMENT % layout
    for layout in ("pad(c, 3)", "storage_align(c, 0, 4, 1)", "storage_align(c, 0, 8, 0)")
]
for text in LAYOUTS:
    program(text, "--schedule", "s")


@pytest.mark.parametrize("text", LAYOUTS, ids=range(len(LAYOUTS)))
def test_a_variable_has_no_layout(text):
    assert "float x_local = x[i];" in tirc(text, "--schedule", "s", "--emit", "cu")


ATOMIC = """kernel k<N = 32>(x: f32[4, N]) -> y: f32[4]
{
    for b in 4 {
        temp s: f32;
        s = x[b, 0];
        for i in 1..N
            s += x[b, i];
        y[b] = s;
    }
}
schedule s for k
{
    set_scope(s, shared);
    let [b, i] = loops(s);
    bind(b, blockIdx.x);
    decompose_reduction(s, i);
    atomic(s);
    bind(i, threadIdx.x);
}
"""


@pytest.mark.parametrize("emit", ["tir", "lowered"])
def test_atomic_updates_of_scalars_read_back(emit):
    text = tirc(ATOMIC, "--schedule", "s", "--emit", emit)
    assert emit == "tir" or "s atomic += " in text
    assert tirc(text, "--emit", emit) == text


def test_a_temporary_may_be_called_atomic():
    text = (
        "kernel k<N = 4>(x: f32[N]) -> y: f32[1] {\n temp atomic: f32;\n atomic = 0.0;\n"
        " for i in N atomic += x[i];\n y[0] = atomic;\n}\n"
    )
    assert tirc(tirc(text, "--emit", "tir"), "--emit", "tir") == tirc(text, "--emit", "tir")


UNREAD = """kernel k(x: f32[64]) -> y: f32[64]
{
    launch k grid(2, 1, 1) block(32, 1, 1) {
        temp s: f32[32] in shared;
        temp l: f32[1] in local;
        temp l4: f32[4] in local;
        let t = threadIdx.x;
        let u = t + 1;
        s[t] = x[blockIdx.x * 32 + t];
        l[0] = 1.0;
        l4[t % 4] = 1.0;
        y[blockIdx.x * 32 + t] = 1.0;
    }
}
"""


@needs_cuda
@pytest.mark.parametrize(
    "text", [UNREAD, UNREAD.replace("f32[32] in shared", "f32[16384] in shared")]
)
def test_what_nothing_reads_gives_no_warning(text):
    assert reserved.Nvrtc().messages(tirc(text, "--emit", "cuda")) == ""


# The host's array of `want_y`, and what is wanted of `y_host`: made names are of one thing.
program(
    "kernel k<N = 8>(x: f32[N]) -> y_host: f32[N], want_y: f32[N], y: f32[N] {\n"
    "    for i in N {\n        y_host[i] = x[i] + 1;\n        want_y[i] = x[i] + 2;\n"
    "        y[i] = x[i] + 3;\n    }\n}\n"
)


def test_complete_programs_find_no_wrong_element():
    """All in one compilation. A call checks small integers, and random numbers."""
    text, calls, n = host.HEADER, "", 0
    for number, (source, arguments, sizes) in enumerate(PROGRAMS):
        text += host.one_of_many(tirc(source, *arguments, "--emit", "cu"), number)
        calls += "".join(host.call_of_main(number, given) for given in sizes)
        n += len(sizes)
    status, output = host.run(text + host.main_of(calls))
    assert status == 0, output
    assert re.findall(r"\d+ wrong", output) == ["0 wrong"] * (2 * n), output
