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
