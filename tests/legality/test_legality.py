"""What has to be accepted, and what has to be refused, with what other systems do: accepted/ and
refused.tir; a case for each condition of the primitives: conditions/; both kinds of what random
schedules came upon: found.tir; and for each family of primitives, what its steps make of small
programs and what they refuse: steps/.

A schedule in them is a case. The comment above it says why it is there, and in lines of their own
    with: ARGUMENTS      of the command
    error: E0424         where it has to be refused: the code
    says: TEXT           what the messages have to hold: the rule, the numbers, the two iterations
                         that clash
    makes:               and behind it, to the end of the comment, the body of the kernel after the
                         steps
"""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mutate"))
import sites  # noqa: E402

CASE = re.compile(r"((?:^//.*\n)*)^schedule (\w+) for (\w+)(\(.*(?:\n.+)*)", re.M)


class Case:
    def __init__(self, path, comment, schedule, kernel, text):
        comment, _, makes = comment.partition("// makes:\n")
        self.makes = "".join(line[3:] for line in makes.splitlines(keepends=True))
        lines = [line[2:].strip() for line in comment.splitlines()]
        values = lambda key: [line[len(key) + 2 :] for line in lines if line.startswith(key + ": ")]
        self.path, self.schedule, self.kernel, self.text = path, schedule, kernel, text
        self.arguments = " ".join(values("with")).split()
        self.errors, self.says = values("error"), values("says")

    def tirc(self, *more):
        command = [
            os.environ["TIRC"],
            self.path,
            "--kernel",
            self.kernel,
            "--schedule",
            self.schedule,
        ]
        return subprocess.run(
            [*command, *self.arguments, *more], capture_output=True, text=True, timeout=60
        )

    @functools.cache
    def lowered(self):
        return self.tirc("--emit", "lowered")


def cases(pattern):
    return [
        Case(path, *m.groups())
        for path in sorted(HERE.glob(pattern))
        for m in CASE.finditer(path.read_text())
    ]


ACCEPTED, REFUSED, CONDITIONS = (
    cases("accepted/*.tir"),
    cases("refused.tir"),
    cases("conditions/*.tir"),
)
ACCEPTED += [case for case in cases("found.tir") if not case.errors]
REFUSED += [case for case in cases("found.tir") if case.errors]
STEPS = cases("steps/*.tir")
MADE, CONDITIONS = (
    [case for case in STEPS if case.makes],
    CONDITIONS + [case for case in STEPS if not case.makes],
)


@pytest.mark.parametrize("case", ACCEPTED, ids=lambda case: case.schedule)
def test_accepted(case):
    done = case.tirc("--verify", "--device", "sim")
    assert done.returncode == 0, done.stderr
    for words in case.says:
        assert words in done.stderr, done.stderr


@pytest.mark.parametrize("case", REFUSED + CONDITIONS, ids=lambda case: case.schedule)
def test_refused(case):
    done = case.lowered()
    assert done.returncode == 1, f"it is accepted:\n{done.stdout}"
    assert len(case.errors) == 1, case.schedule
    assert re.search(rf"\.(tir|sched):\d+:\d+: error\[{case.errors[0]}\]: .+", done.stderr), (
        done.stderr
    )
    for words in case.says:
        assert words in done.stderr, done.stderr


def body(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n{\n", 1)[1].removesuffix("}\n")


@pytest.mark.parametrize("case", MADE, ids=lambda case: case.schedule)
def test_made(case, tmp_path):
    """The steps make this text, and so does their trace; a schedule that does nothing has none."""
    trace = tmp_path / "trace.sched"
    trace.write_text(case.tirc("--trace").stdout)
    for case.schedule in (case.schedule, trace) if trace.stat().st_size else (case.schedule,):
        assert body(case.tirc("--emit", "tir")) == case.makes


def test_every_clash_shows_two_iterations():
    """A refusal for dependences says which instance comes first, and which accesses the same
    element."""
    for case in REFUSED + CONDITIONS:
        message = case.lowered().stderr
        if "runs first" in message:
            assert len(re.findall(r"note: block '\w+' at ", message)) >= 2, message


# What is known of other systems, by the numbers of their issues: errors without words (tvm#16288,
# which every refusal here is held against), schedules that are miscompiled or refused without need,
# barriers, pipelines, sizes.
KNOWN = (
    "tvm#15877 tvm#15911 tvm#16361 tvm#12298 exo#314 tvm#2937 tilelang#1026 tilelang#2556 "
    "tvm#19742 tilelang#2416 tilelang#1744 "
    "tvm#17838 tvm#17799 tvm#9598 tvm#8540 tvm#14859 tvm#14791 tvm#1795 tvm#670 Halide#8600 "
    "Halide#7890 Halide#7872 Halide#4396 "
    "Halide#7909 Halide#3061 Halide#7893 Halide#679 Halide#8607 tilelang#96 tilelang#2668 "
    "Halide#7770 Halide#7077 Halide#9325 Halide#5777 triton#630 tvm#14935 tvm#1979 tvm#7344"
).split()
# What TVM's own text leaves unchecked.
UNCHECKED = (
    "TVM's check that a bound loop",
    "TVM checks no extents",
    "TVM's cache_read promises",
    "TVM's unroll asks",
    "TVM's fuse_reduction_epilogue clips",
    "TVM's ThreadSync assumes",
)


def test_every_known_point_has_a_case():
    text = "".join(
        path.read_text() for path in [*HERE.glob("accepted/*.tir"), HERE / "refused.tir"]
    )
    missing = [point for point in (*KNOWN, *UNCHECKED) if point not in text]
    assert not missing, missing


def test_the_list_is_long():
    assert len(ACCEPTED) >= 200 and len(REFUSED) >= 50


def test_every_primitive_is_accepted():
    """A step in three cases at least, a question in one."""
    table = "".join(
        path.read_text() for path in (HERE.parents[1] / "passes" / "schedule").glob("*.def")
    )
    rows = re.findall(r'^PRIM\(\s*(\w+),[^"]*(?:"[^"]*"\s*)+,\s*([01]),', table, re.M)
    assert len(rows) > 60
    few = {
        name: n
        for name, is_query in rows
        if (n := sum(bool(re.search(rf"\b{name}\(", case.text)) for case in ACCEPTED))
        < (1 if is_query == "1" else 3)
    }
    assert not few, few


def test_every_check_can_be_deleted():
    """tests/mutate finds the condition of each refusal, and no check twice."""
    checks, unknown = sites.find(HERE.parents[1])
    assert not unknown, "refusals whose condition was not found: " + ", ".join(unknown)
    assert len(checks) > 400
