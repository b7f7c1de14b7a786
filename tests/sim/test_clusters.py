"""Every barrier of a launch with clusters is needed: left out, the simulator finds a fault."""

import pytest

from conftest import ROOT, run, simulate

PROGRAMS = ROOT / "tests/programs"
CASES = [("clusters", "parts"), ("clusters", "rounds"), ("clusters", "pairs"),
         ("cluster_tiles", "exchanged"), ("multicast", "by_four")]  # fmt: skip


@pytest.mark.parametrize("name, schedule", CASES, ids=[schedule for _, schedule in CASES])
def test_each_barrier_is_needed(name, schedule, tmp_path):
    choice = ("--schedule", schedule, "-D", "M=5")
    status, text, said = run(PROGRAMS / f"{name}.tir", *choice, "--emit", "lowered")
    assert status == 0, said
    lines = text.splitlines(keepends=True)
    barriers = [i for i, line in enumerate(lines) if line.lstrip().startswith("barrier ")]
    assert any(lines[i].rstrip().endswith(" cluster;") for i in barriers)
    for i in barriers:
        mutant = tmp_path / f"without_{i}.tir"
        mutant.write_text("".join(lines[:i] + lines[i + 1 :]))
        status, fault, _ = simulate(mutant)
        assert status == 4 and fault["kind"] in ("race", "not_resident"), lines[i]
