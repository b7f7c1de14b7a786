"""All runs of the kernels of examples/collections: each with `default` and its own schedules, at
each set of sizes of its case (a file for each folder), as numbers and as symbols."""

import importlib
import re
from pathlib import Path

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
    """(name, the arguments of `run`, whether it belongs to the few that always run)."""
    for place, (name, case) in enumerate(CASES.items()):
        for schedule in schedules_of(name):
            for number, sizes in enumerate(case.sizes):
                id = f"{name}-{schedule}-" + "-".join(map(str, sizes.values()))
                yield id, (name, schedule, sizes, False), place % EVERY == 0 and number == 0
                yield f"{id}-symbolic", (name, schedule, sizes, True), False


def run(name, schedule, sizes, symbolic, device="auto"):
    case = CASES[name]
    fixed = case.literal + (() if schedule == "default" else case.constant)
    symbols = [n for n in sizes if n not in fixed] if symbolic else ()
    path = PROGRAMS[name]
    check(path, name, case, sizes, schedule=schedule, symbols=symbols, device=device)
