"""The counters of docs/performance.md are what --analyze counts, and every schedule of the roads is
in it.

The test example.road verifies the results of these schedules."""

import json
import re

import pytest

from conftest import ROOT

pytestmark = pytest.mark.usefixtures("without_nvrtc")

PAGE = (ROOT / "docs" / "performance.md").read_text()
ROAD = ROOT / "examples" / "road"
MATMUL = (ROAD / "road_matmul.tir", "-D", "M=512", "-D", "N=512", "-D", "K=64")
TRANSPOSE = (ROAD / "road_transpose.tir", "-D", "R=512", "-D", "C=512")
SCHEDULES = re.findall(
    r"^schedule (\w+)", "".join(p.read_text() for p in sorted(ROAD.glob("*.tir"))), re.M
)


def counters(schedule):
    """The cells of the schedule's row in the table of counters, which is the second that has
    one."""
    return [
        cell.strip()
        for cell in re.findall(rf"^\| `{schedule}` \|(.*)\|$", PAGE, re.M)[1].split("|")
    ]


def costs(accesses, scope, op):
    key = "sectors_per_request" if scope == "global" else "wavefronts_per_request"
    return ", ".join(f"{a[key]:g}" for a in accesses if (a["scope"], a["op"]) == (scope, op))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_counters(tirc, schedule):
    words = MATMUL if schedule[0] == "m" else TRANSPOSE
    status, out = tirc(*words, "--schedule", schedule, "--device", "sim", "--analyze", "--json")
    assert status == 0, out
    answer = json.loads(out[out.index("{") :])
    passes, memory = (
        next(l for l in answer["analyze"]["limits"] if l["name"] == name)
        for name in ("load/store units", "device memory")
    )
    cells = [
        costs(answer["accesses"], scope, op)
        for scope in ("global", "shared")
        for op in ("load", "store")
    ]
    if schedule[0] == "m":
        cells += [
            f"{answer['analyze']['flops'] / 2 / passes['amount']:.0f}",
            f"{answer['analyze']['bytes_per_flop']:.3f}",
        ]
    else:
        cells += [f"{passes['ms'] / memory['ms']:.2f}"]
    assert counters(schedule) == cells
    assert f" {schedule}\n" in PAGE, "its text is not shown"
