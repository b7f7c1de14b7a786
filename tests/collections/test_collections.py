"""The kernels of examples/collections on the simulator against NumPy: some at one set of odd sizes;
--long: all runs of every.py. tests/gpu/collections runs them on a GPU.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import tirc
from every import CASES, PROGRAMS, run, runs, schedules_of

ROOT = Path(__file__).resolve().parents[2]


def parameters():
    for id, words, always in runs():
        yield pytest.param(*words, marks=[] if always else [pytest.mark.long], id=id)


@pytest.mark.parametrize("name, schedule, sizes, symbolic", list(parameters()))
def test_kernel(name, schedule, sizes, symbolic):
    run(name, schedule, sizes, symbolic)


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_sizes_of_the_file(name):
    """What a reader emits first compiles."""
    for schedule in schedules_of(name):
        assert "__global__" in tirc.compile(PROGRAMS[name], name, schedule=schedule).cuda


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[] if name == "cross_entropy" else [pytest.mark.sweep], id=name)
    for name in CASES
])  # fmt: skip
def test_no_schedule_is_needed(name):
    """The rules take each, at its own sizes; rows of cross_entropy are of odd length, in tuples."""
    assert "__global__" in tirc.compile(PROGRAMS[name], name, schedule="default").cuda


def test_collections():
    """Each kernel has a case with a size of 1, and a schedule of at most 40 lines."""
    assert set(CASES) == set(PROGRAMS)
    for name, path in PROGRAMS.items():
        assert len(schedules_of(name)) > 1, name
        assert any(set(sizes.values()) == {1} for sizes in CASES[name].sizes), name
        for body in re.findall(r"^schedule .*?^}", path.read_text(), re.M | re.S):
            assert len(body.splitlines()) <= 40, name


def test_on_a_gpu():
    """The script for a GPU runs on the simulator, too; without a GPU it says so."""
    package = Path(tirc.__file__).resolve().parents[1]
    script = [sys.executable, ROOT / "tests" / "gpu" / "collections", package.parents[1]]
    done = subprocess.run(
        [*script, "--sim", "--jobs", "1", "--only", "^haar-"], capture_output=True, text=True
    )
    assert re.search(r"^rodinia +1 +12 +0$", done.stdout, re.M), done.stdout + done.stderr
    assert done.returncode == 0
