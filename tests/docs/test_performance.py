"""The counters of docs/performance.md are what --analyze counts, and every schedule of the roads is
in it.

The test example.road verifies the results of these schedules at small and odd sizes."""

import itertools
import json
import math
import re

import pytest

from conftest import ROOT
from parts import in_sweep

pytestmark = pytest.mark.usefixtures("without_nvrtc")

PAGE = (ROOT / "docs" / "performance.md").read_text()
ROAD = ROOT / "examples" / "road"
MATMUL = (ROAD / "road_matmul.tir", "-D", "M=512", "-D", "N=512", "-D", "K=64")
TENSOR_CORES = (ROAD / "road_tensor_cores.tir", "-D", "M=256", "-D", "N=256", "-D", "K=512")
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


def analysis(tirc, words, schedule):
    """The answer of --analyze, and the limits in it by their names."""
    status, out = tirc(*words, "--schedule", schedule, "--device", "sim", "--analyze", "--json")
    assert status == 0, out
    answer = json.loads(out[out.index("{") :])
    return answer, {limit["name"]: limit for limit in answer["analyze"]["limits"]}


def costs_of(answer, *kinds):
    return [costs(answer["accesses"], scope, op) for scope, op in kinds]


def cells_of_matmul(tirc, schedule):
    answer, limits = analysis(tirc, MATMUL, schedule)
    analyze, passes = answer["analyze"], limits["load/store units"]["amount"]
    return [
        *costs_of(answer, *itertools.product(("global", "shared"), ("load", "store"))),
        f"{analyze['flops'] / 2 / passes:.0f}",
        f"{analyze['bytes_per_flop']:.3f}",
    ]


def cells_of_tensor_cores(tirc, schedule):
    answer, limits = analysis(tirc, TENSOR_CORES, schedule)
    analyze, launch = answer["analyze"], answer["launches"][0]
    return [
        *costs_of(answer, ("shared", "load"), ("shared", "store"), ("global", "store")),
        f"{limits['load/store units']['ms'] / limits['tensor cores']['ms']:.2f}",
        f"{1000 * limits['second-level cache']['amount'] / analyze['flops']:.1f}",
        f"{launch['shared_bytes'] / 1024:.0f}",
        f"{math.prod(launch['block'])}",
    ]


def cells_of_transpose(tirc, schedule):
    answer, limits = analysis(tirc, TRANSPOSE, schedule)
    return [
        *costs_of(answer, *itertools.product(("global", "shared"), ("load", "store"))),
        f"{limits['load/store units']['ms'] / limits['device memory']['ms']:.2f}",
    ]


CELLS = {"m": cells_of_matmul, "h": cells_of_tensor_cores, "t": cells_of_transpose}


# On tensor cores an analysis takes a second or more: the default run has some of the schedules.
USUAL = [s for s in SCHEDULES if s[0] != "h" or s in ("h1_warps", "h11_stored")]


@pytest.mark.parametrize("schedule", [*USUAL, *in_sweep(*(s for s in SCHEDULES if s not in USUAL))])
def test_counters(tirc, schedule):
    assert counters(schedule) == CELLS[schedule[0]](tirc, schedule)
    assert f" {schedule}\n" in PAGE, "its text is not shown"


@pytest.mark.sweep
@pytest.mark.parametrize(
    "schedule, rows, blocks", [("h9_roles", 128, "1, 1"), ("h11_stored", 1024, "2, 1")]
)
def test_roles(tirc, schedule, rows, blocks):
    """Several steps of k, and several tiles of each block, which the sizes of test_examples.py do
    not have."""
    turns = ("--set", "grid=2") if rows > 128 else ()
    sizes = ("-D", f"M={rows}", "-D", "N=72", "-D", "K=256")
    words = (TENSOR_CORES[0], *sizes, "--schedule", schedule, *turns, "--device", "sim")
    status, out = tirc(*words, "--verify")
    assert status == 0 and "verify  ok" in out, out
    assert f"<<<({blocks}, 1), (128, 3, 1)>>>" in out, out
