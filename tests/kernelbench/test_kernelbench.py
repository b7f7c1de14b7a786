"""The operators of examples/kernelbench on the simulator, scheduled by `default`, against NumPy
(cases.py): each at one set of odd sizes; --long: at all sets, also as symbols, and at sizes of 1.
"""

import csv
import re
from pathlib import Path

import pytest
from cases import CASES
from operators import check, kernels_in

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kernelbench"
PROGRAMS = kernels_in(FOLDER)

# Windows, their strides, dilations and padding, and groups of channels.
CONSTANT = re.compile("[KSPDE][XYZHW]?|G")


def symbols(name, sizes):
    """All sizes but those that stay constant. Only the batch where symbols leave extents that the
    proofs do not take apart: multiples of a size plus a number, and channels of a group."""
    strided = name.startswith("conv_transposed") and any(n[0] == "S" for n in sizes)
    others = [n for n in sizes if not CONSTANT.fullmatch(n) or name == "attention"]
    return ["N"] if strided or "G" in sizes else others


def runs():
    for name, case in CASES.items():
        for number, sizes in enumerate(case.sizes):
            marks = [pytest.mark.long] * (number > 0)
            values = "-".join(map(str, sizes.values()))
            yield pytest.param(name, sizes, False, marks=marks, id=f"{name}-{values}")
            yield pytest.param(
                name, sizes, True, marks=pytest.mark.long, id=f"{name}-{values}-symbolic"
            )


@pytest.mark.parametrize("name, sizes, symbolic", list(runs()))
def test_operator(name, sizes, symbolic):
    chosen = symbols(name, sizes) if symbolic else ()
    check(PROGRAMS[name], name, CASES[name], sizes, symbols=chosen)


def test_table():
    """It names the 100 operators in their order, and each program, once; kernels have cases."""
    with open(FOLDER / "operators.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [int(row["benchmark"].split("_")[0]) for row in rows] == list(range(1, 101))
    assert sorted(row["program"] for row in rows) == sorted(p.stem for p in FOLDER.glob("*.tir"))
    assert all(PROGRAMS[row["kernel"]].stem == row["program"] for row in rows)
    assert set(CASES) == set(PROGRAMS)
