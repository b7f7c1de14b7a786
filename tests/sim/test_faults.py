"""Seeded faults: each kernel of tests/sim/faults says in front which kind of fault it has, at which
text, which tool of compute-sanitizer sees it on a GPU (tests/gpu/sanitize compares), and some what
the message says."""

import re

import pytest

from conftest import ROOT, simulate

FAULTS = sorted((ROOT / "tests/sim/faults").glob("*.tir"))


@pytest.mark.parametrize("path", FAULTS, ids=lambda p: p.stem)
def test_fault(path):
    text = path.read_text()
    says = re.search(r"// says: (.*)", text)
    kind, at = (re.search(rf"// {key}: (.*)", text)[1] for key in ("fault", "at"))
    status, fault, _ = simulate(path)
    assert (status, fault["kind"]) == (4, kind), fault
    line = int(fault["where"].split(":")[-2])
    assert at in text.split("\n")[line - 1], fault
    assert not says or says[1] in fault["message"], fault
    if kind in ("race", "written_twice"):
        assert fault["other"]["where"], fault


def test_there_are_at_least_twenty():
    assert len(FAULTS) >= 20


def test_barriers_of_warpgroups_that_take_turns(tmp_path):
    """Each has a part of shared memory of its own, and a barrier where one is missing."""
    text = (ROOT / "tests/sim/faults/turns_without_barrier.tir").read_text()
    path = tmp_path / "right.tir"
    line = "                t[warpgroup, j] = y_local[0];\n"
    assert line in text
    path.write_text(text.replace(line, line + '                barrier "t" warpgroup;\n'))
    status, fault, _ = simulate(path)
    assert status == 0, fault
