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


# What the threads of a block do in global memory, in front of a barrier and behind it.
GLOBAL = """kernel k(x: f32[256]) -> y: f32[256], z: f32[256]
{
    launch first grid(1, 1, 1) block(256, 1, 1) {
        y[threadIdx.x] = x[threadIdx.x];
        z[threadIdx.x] = 0.0;
    }
    launch k grid(1, 1, 1) block(256, 1, 1) {
        let tx = threadIdx.x;
        let near = tx / 32 * 32 + (tx + 1) % 32;
        let far = tx / 128 * 128 + (tx + 32) % 128;
        let other = (tx + 128) % 256;
        BEFORE
        barrier "y: accessed above"PART;
        AFTER
    }
}
"""
ACCESSES = {
    "write, read": ("y[tx] = x[tx];", "z[tx] = y[AT];"),
    "read, write": ("z[tx] = y[tx];", "y[AT] = 1.0;"),
    "read by all, write": (
        "z[tx] = y[tx / SIZE * SIZE] + y[tx];",
        "if tx % SIZE == 5 { y[tx / SIZE * SIZE] = 1.0; }",
    ),
    "write, write": ("y[tx] = x[tx];", "y[AT] = 1.0;"),
    "add, read": ("y[tx] atomic += x[tx];", "z[tx] = y[AT];"),
    "read, add": ("z[tx] = y[tx];", "y[AT] atomic += 1.0;"),
    "write, add": ("y[tx] = x[tx];", "y[AT] atomic += 1.0;"),
    "add, write": ("y[tx] atomic += x[tx];", "y[AT] = 1.0;"),
}
REACH = {"near": 32, "far": 128, "other": 256}  # threads that all meet


@pytest.mark.parametrize("at", REACH)
@pytest.mark.parametrize("accesses", ACCESSES)
def test_global_memory_is_ordered_in_parts(tmp_path, accesses, at):
    program = tmp_path / "exchange.tir"
    before, after = (text.replace("AT", at) for text in ACCESSES[accesses])
    text = GLOBAL.replace("BEFORE", before).replace("AFTER", after)
    text = text.replace("SIZE", str(REACH[at]))
    for part, size in {"": 256, " warpgroup": 128, " warp": 32}.items():
        program.write_text(text.replace("PART", part))
        status, fault, _ = simulate(program)
        right = size >= REACH[at]
        expected = (0, None) if right else (4, "race")
        assert (status, fault and fault["kind"]) == expected, (part, fault)


# A thread of each size of part reads; barriers of smaller parts follow, which forget no reader.
def test_readers_outlive_barriers_of_parts(tmp_path):
    program = tmp_path / "exchange.tir"
    before = "if tx == 0 { z[0] = y[0]; }"
    middle = 'barrier "y: read above" warp;\n if tx == THREAD { z[THREAD] = y[0]; }'
    after = "if tx == 0 { y[0] = 1.0; }"
    text = GLOBAL.replace("BEFORE", f"{before} {middle}").replace("AFTER", after)
    for thread, needed in {1: " warp", 33: " warpgroup", 130: ""}.items():
        for part in PARTS:
            program.write_text(text.replace("THREAD", str(thread)).replace("PART", part))
            right = PARTS.index(part) <= PARTS.index(needed)
            status, fault, _ = simulate(program)
            expected = (0, None) if right else (4, "race")
            assert (status, fault and fault["kind"]) == expected, (thread, part, fault)


TURNS = ROOT / "tests/sim/faults/turns_without_barrier.tir"


@pytest.mark.parametrize(
    "barrier, row, kind",
    [
        ("warpgroup", "warpgroup", None),
        ("warp", "warpgroup", "race"),
        (None, "warpgroup", "race"),
        ("warpgroup", "0", "written_twice"),  # nothing orders warpgroups that take turns
    ],
)
def test_turns_exchange_in_global_memory(tmp_path, barrier, row, kind):
    program = tmp_path / "turns.tir"
    text = TURNS.read_text().replace("t[warpgroup, ", f"t[{row}, ")
    text = text.replace(") -> y", ", inout t: f32[2, 128]) -> y")
    text = text.replace("        temp t: f32[2, 128] in shared;\n", "")
    meet = f'barrier "t: written above" {barrier};' if barrier else ""
    assert text.count("y[turn, j] =") == 1
    program.write_text(text.replace("y[turn, j] =", f"{meet} y[turn, j] ="))
    status, fault, _ = simulate(program)
    assert (status, fault and fault["kind"]) == (4 if kind else 0, kind)


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
