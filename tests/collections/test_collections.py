"""The kernels of examples/collections on the simulator against NumPy (a file for each folder), with
`default` and with their own schedules: some at one set of odd sizes; --long: all, at all sets of
sizes, also as symbols.
"""

import importlib
import re
from pathlib import Path

import pytest
from operators import check, kernels_in

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "collections"
FOLDERS = sorted({p.parent.name for p in FOLDER.glob("*/*.tir")})
PROGRAMS = kernels_in(FOLDER, "*/*.tir")
CASES = {}
for folder in FOLDERS:
    CASES |= importlib.import_module(f"cases_{folder}").CASES
EVERY = 12  # of the kernels, by default


def schedules_of(kernel):
    """`default`, and those of its file."""
    text = PROGRAMS[kernel].read_text()
    own = re.findall(r"^schedule (\w+) for ([\w, ]+)\(", text, re.M)
    return ["default"] + [name for name, kernels in own if kernel in kernels.split(", ")]


def runs():
    for place, (name, case) in enumerate(CASES.items()):
        for schedule in schedules_of(name):
            for number, sizes in enumerate(case.sizes):
                some = place % EVERY == 0 and number == 0
                marks = [] if some else [pytest.mark.long]
                id = f"{name}-{schedule}-" + "-".join(map(str, sizes.values()))
                yield pytest.param(name, schedule, sizes, False, marks=marks, id=id)
                yield pytest.param(
                    name, schedule, sizes, True, marks=pytest.mark.long, id=f"{id}-symbolic"
                )


@pytest.mark.parametrize("name, schedule, sizes, symbolic", list(runs()))
def test_kernel(name, schedule, sizes, symbolic):
    case = CASES[name]
    symbols = [n for n in sizes if n not in case.constant] if symbolic else ()
    check(PROGRAMS[name], name, case, sizes, schedule=schedule, symbols=symbols)


def test_collections():
    """Each kernel has a case, and a schedule of at most 40 lines."""
    assert set(CASES) == set(PROGRAMS)
    for name, path in PROGRAMS.items():
        assert len(schedules_of(name)) > 1, name
        for body in re.findall(r"^schedule .*?^}", path.read_text(), re.M | re.S):
            assert len(body.splitlines()) <= 40, name
