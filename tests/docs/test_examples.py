"""Every example, with each of its schedules, is right on the simulator: at sizes that tiles divide and that they do not, at
sizes of 1, and with symbolic sizes. Each has a README, whose blocks test_docs.py runs."""

import re

import pytest

from conftest import KERNELS, ROOT

# Small sizes of each kind; a kernel takes as many as it has.
DIVIDING, ODD, ONES = (64, 64, 64), (70, 33, 45), (1, 1, 1)


def sizes_of(signature):
    listed = re.search(r"<(.*?)>", signature)[1].split(", ")
    return [size.split(" ")[0] for size in listed if ":" not in size]


def schedules_of(listing):
    return re.findall(r"^    (\w+) ", listing, re.M)


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_example(tirc, path):
    status, listing = tirc("--list", path)
    assert status == 0
    names = sizes_of(listing)
    for schedule in schedules_of(listing):
        for values in (DIVIDING, ODD, ONES):
            fixed = [w for n, v in zip(names, values) for w in ("-D", f"{n}={v}")]
            symbolic = [w for n, v in zip(names, values) for w in ("-D", f"{n}=?", "--size", f"{n}={v}")]
            for sizes in (fixed, symbolic):
                status, out = tirc(path, "--schedule", schedule, "--device", "sim", "--verify", *sizes)
                assert status == 0 and "verify  ok" in out, f"{schedule} {sizes}\n{out}"


@pytest.mark.parametrize("path", KERNELS, ids=lambda p: p.stem)
def test_readme(path):
    page = path.parent / "README.md"
    assert page.exists() and f"]({path.parent.name}" in (ROOT / "examples" / "README.md").read_text()
