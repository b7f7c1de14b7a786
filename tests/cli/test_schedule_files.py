"""Schedules in files of their own: one of a file's, by name."""

import pytest

PROGRAM = (
    "kernel copy<N = 10>(x: f32[N]) -> y: f32[N]\n{\n    for i in N\n        y[i] = x[i];\n}\n"
)
SCHEDULES = """schedule wide for copy()
{
    vectorize(split(loops(y)[0], [_, 2])[1]);
}
schedule unrolled for copy()
{
    unroll(loops(y)[0]);
}
schedule other for sums() { }
"""


@pytest.fixture
def files(tirc):
    tirc.write("copy.tir", PROGRAM)
    (tirc.folder / "fast").mkdir()
    tirc.write("fast/all.sched", SCHEDULES)
    return tirc


@pytest.mark.parametrize("name, words", [("wide", "vectorize"), ("unrolled", "unroll")])
def test_one_of_several(files, name, words):
    done = files("copy.tir", "--schedule", f"fast/all.sched:{name}", "--emit", "tir")
    assert done.status == 0 and words in done.out, done.err


def test_several_without_a_name(files):
    done = files("copy.tir", "--schedule", "fast/all.sched", "--emit", "tir")
    assert done.status == 1
    assert "error[E0300]: 'fast/all.sched' contains 2 schedules for kernel 'copy'" in done.err
    assert "choose one by name, as in 'fast/all.sched:wide'" in done.err


@pytest.mark.parametrize("name", ["wider", "other", ""])
def test_a_name_that_is_not_there(files, name):
    """Nor one for another kernel; the notes say what there is."""
    done = files("copy.tir", "--schedule", f"fast/all.sched:{name}", "--emit", "tir")
    assert done.status == 1
    assert (
        f"error[E0300]: 'fast/all.sched' contains no schedule '{name}' for kernel 'copy'"
        in done.err
    )
    assert "schedule 'wide' for 'copy'" in done.err and "schedule 'other' for 'sums'" in done.err


def test_a_file_that_is_not_there(files):
    done = files("copy.tir", "--schedule", "fast/none.sched:wide", "--emit", "tir")
    assert done.status != 0 and "fast/none.sched" in done.err and "wide" not in done.out


def test_a_program_calls_what_its_file_includes(tirc):
    tirc.write(
        "own.sched",
        'instruction add(a: f32[1], inout c: f32)\n    cuda "{c} += {a[0]};"\n'
        "{\n    for k in 1\n        c += a[k];\n}\n",
    )
    tirc.write(
        "sums.tir",
        'include "own.sched";\nkernel sums(x: f32[8], p: i8[8]) -> y: f32, n: i32\n{\n'
        "    y = 0;\n    for i in 8\n        call add(x[i:], y);\n"
        "    n = 0;\n    for i in 2\n        call dp4a_i8(p[i * 4:], p[4 - i * 4:], n);\n}\n",
    )
    done = tirc("sums.tir", "--verify")
    assert done.status == 0 and "ok: 2 of 2 elements" in done.out, done.err
    assert "instruction add(" in tirc("sums.tir", "--emit", "tir").out
