"""Barriers of warps and warpgroups: each is needed, and none may join fewer threads."""

import pytest

from conftest import ROOT, run, simulate

PROGRAM = ROOT / "tests/programs/parts_of_blocks.tir"
PARTS = ["", " warpgroup", " warp"]  # the block, and what is ever smaller
CASES = {"warps": 2, "warpgroups": 1, "joined": 1, "flat": 1, "across": 0, "stores": 1}


def of_part(line, part):
    for word in PARTS[1:]:
        line = line.removesuffix(f"{word};\n")
    return line.removesuffix(";\n") + f"{part};\n"


@pytest.mark.parametrize("schedule", CASES)
def test_no_barrier_is_too_narrow(schedule, tmp_path):
    part = CASES[schedule]
    status, text, said = run(PROGRAM, "--schedule", schedule, "-D", "N=2", "--emit", "lowered")
    assert status == 0, said
    lines = text.splitlines(keepends=True)
    barriers = [i for i, line in enumerate(lines) if line.lstrip().startswith("barrier ")]
    assert barriers
    mutant = tmp_path / "mutant.tir"
    for i in barriers:
        assert lines[i] == of_part(lines[i], PARTS[part])
        behind_wait = lines[i - 1].lstrip().startswith("wait ")
        for other in range(len(PARTS) + 1):
            line = of_part(lines[i], PARTS[other]) if other < len(PARTS) else ""
            mutant.write_text("".join(lines[:i] + [line] + lines[i + 1 :]))
            status, fault, _ = simulate(mutant)
            if other <= part:
                assert status == 0, (line, fault)
            else:
                assert status == 4, line
                assert fault["kind"] == ("in_flight" if behind_wait else "race"), (line, fault)


def test_global_memory_needs_the_block(tmp_path):
    program = tmp_path / "exchange.tir"
    program.write_text("""kernel k(x: f32[256]) -> y: f32[256], z: f32[256]
{
    launch k grid(1, 1, 1) block(256, 1, 1) {
        y[threadIdx.x] = x[threadIdx.x];
        barrier "y: written above" warpgroup;
        z[threadIdx.x] = y[threadIdx.x / 128 * 128 + 127 - threadIdx.x % 128];
    }
}
""")
    status, fault, _ = simulate(program)
    assert (status, fault["kind"]) == (4, "race")
    program.write_text(program.read_text().replace(" warpgroup;", ";"))
    assert simulate(program)[0] == 0


READS = """kernel k(x: f32[256]) -> y: f32[256]
{
    launch k grid(1, 1, 1) block(256, 1, 1) {
        temp s: f32[256] in shared;
        let tx = threadIdx.x;
        s[tx] = x[tx];
        barrier "s: written above";
        y[tx] = s[READ];
        BETWEEN
        if tx == 0
            s[0] = 0.0;
        barrier "s: written above" warpgroup;
    }
}
"""


@pytest.mark.parametrize(
    "read, between, right",
    [
        ("tx % 4", 'barrier "s: read above";', True),
        ("tx % 4", 'barrier "s: read above" warpgroup;', False),  # by the other one, too
        ("tx / 128 * 128 + tx % 4", 'barrier "s: read above" warpgroup;', True),
        ("tx / 4 * 4", "", False),  # by threads 0 to 3
        ("tx", "", True),
    ],
)
def test_lanes_that_read_one_element(tmp_path, read, between, right):
    """Some of them stand for the others, in the block and in its parts."""
    program = tmp_path / "reads.tir"
    program.write_text(READS.replace("READ", read).replace("BETWEEN", between))
    status, fault, _ = simulate(program)
    assert (status, fault and fault["kind"]) == ((0, None) if right else (4, "race"))
