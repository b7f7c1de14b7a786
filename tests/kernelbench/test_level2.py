"""The operators of examples/kernelbench/level2 on the simulator, scheduled by `default`, against
NumPy (level2_*.py), at small odd sizes, some also at sizes of 1: each eighth run by default, the
others in the sweep."""

import csv
import importlib
from pathlib import Path

import pytest
from operators import check, kernels_in

from parts import in_turn

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kernelbench"
PROGRAMS = kernels_in(FOLDER / "level2")
PARTS = [path.stem for path in sorted(Path(__file__).parent.glob("level2_*.py"))]
CASES = {name: c for part in PARTS for name, c in importlib.import_module(part).CASES.items()}


def runs():
    return [(name, sizes) for name, case in CASES.items() for sizes in case.sizes]


@pytest.mark.parametrize("name, sizes", list(in_turn(runs(), 8)))
def test_operator(name, sizes):
    check(PROGRAMS[name], name, CASES[name], sizes)


def test_table():
    """It names operators in their order, and each program; kernels have cases."""
    with open(FOLDER / "level2.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    numbers = [int(row["benchmark"].split("_")[0]) for row in rows]
    assert numbers == sorted(set(numbers)) and len(PROGRAMS) == len(rows)
    assert all(f"level2/{PROGRAMS[row['kernel']].stem}" == row["program"] for row in rows)
    assert set(CASES) == set(PROGRAMS)
    assert not set(PROGRAMS) & set(kernels_in(FOLDER))
