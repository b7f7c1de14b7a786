"""What the cases of this folder cover. test_cases.c runs them, and says what a case is: what has to
be accepted, and what has to be refused, with what other systems do (accepted/ and refused.tir), a
case for each condition of the primitives (conditions/), both kinds of what random schedules came
upon (found.tir), and for each family of primitives, what its steps make of small programs and what
they refuse (steps/)."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "mutate"), str(HERE.parent / "emulate")]
import nvrtc  # noqa: E402
import sites  # noqa: E402

CASE = re.compile(r"((?:^//.*\n)*)^schedule (\w+) for (\w+)(\(.*(?:\n.+)*)", re.M)


class Case(NamedTuple):
    path: Path
    comment: str
    name: str
    kernel: str
    steps: str

    def refused(self):
        return "// error: " in self.comment


def cases(pattern):
    return [
        Case(path, *found)
        for path in sorted(HERE.glob(pattern))
        for found in CASE.findall(path.read_text())
    ]


FOUND = cases("found.tir")
ACCEPTED = cases("accepted/*.tir") + [case for case in FOUND if not case.refused()]
REFUSED = cases("refused.tir") + [case for case in FOUND if case.refused()]


def test_names():
    """A name says what the case holds, and belongs to one of them."""
    names = [case.name for case in cases("**/*.tir")]
    assert len(names) > 800
    assert not [name for name, n in Counter(names).items() if n > 1]
    assert not [name for name in names if re.search(r"_\d+$", name)]


def cuda(case):
    """The text of a kernel whose sizes are literals, which no tile divides."""
    head = re.search(rf"^kernel {case.kernel}<(.*?)>", case.path.read_text(), re.M | re.S)[1]
    sizes = [word for name in re.findall(r"[A-Z]\w*", head) for word in ("-D", f"{name}=33")]
    command = [os.environ["TIRC"], case.path, "--kernel", case.kernel, "--schedule", case.name]
    done = subprocess.run([*command, *sizes, "--emit", "cuda"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(nvrtc.library() is None, reason="no NVRTC")
def test_nvrtc_compiles():
    """What runs on the simulator with literal sizes, in one program: NVRTC starts once."""
    run = [case for case in cases("steps/*.tir") if "// fixed: " in case.comment]
    assert len(run) > 50
    compiler = nvrtc.Nvrtc()
    refused = compiler.refused([cuda(case) for case in run], compiler.machine_code())
    assert not {case.name: refused[n] for n, case in enumerate(run) if n in refused}


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
    text = " ".join(text.replace("\n// ", " ").split())
    missing = [point for point in (*KNOWN, *UNCHECKED) if point not in text]
    assert not missing, missing


def test_the_list_is_long():
    assert len(ACCEPTED) >= 200 and len(REFUSED) >= 50


def test_every_primitive_is_accepted():
    """A step in three cases at least, a question in one."""
    table = "".join(
        path.read_text()
        for path in (HERE.parents[1] / "passes" / "schedule" / "tables").glob("*.def")
    )
    rows = re.findall(r'^PRIM\(\s*(\w+),[^"]*(?:"[^"]*"\s*)+,\s*([01]),', table, re.M)
    assert len(rows) > 60
    few = {
        name: n
        for name, is_query in rows
        if (n := sum(bool(re.search(rf"\b{name}\(", case.steps)) for case in ACCEPTED))
        < (1 if is_query == "1" else 3)
    }
    assert not few, few


def test_every_check_can_be_deleted():
    """tests/mutate finds the condition of each refusal, and no check twice."""
    checks, unknown = sites.find(HERE.parents[1])
    assert not unknown, "refusals whose condition was not found: " + ", ".join(unknown)
    assert len(checks) > 400
