"""The harness of the random schedules loses no failure: trials that crash, hang, exhaust the
memory, end the process or are wrong on purpose (faulty.c) are each counted, named by their seed,
and make the exit status 1."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAULTY = os.environ.get("FUZZ_FAULTY") or str(ROOT / "build/tests/fuzz/fuzz_faulty")
FIRST, TRIALS, EVERY = 1001, 10, 4  # seeds 1004 and 1008
FAILING = [seed for seed in range(FIRST, FIRST + TRIALS) if seed % EVERY == 0]
# One small program: what is drawn of it does not matter here.
PROGRAM = "// sizes: 3\nkernel p<N>(x: f32[N]) -> y: f32[N] {{ for i in N{} y[i] = x[i]; }}\n"


def fuzz(folder, fault, *options):
    (folder / "p.tir").write_text(PROGRAM.format(""))
    env = {**os.environ, "FUZZ_FAULT": fault, "FUZZ_EVERY": str(EVERY)}
    done = subprocess.run(
        [FAULTY, *options, "-l", "0.1", str(TRIALS), str(FIRST), str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        env=env,
    )
    counts = {
        name: int(n)
        for n, name in re.findall(
            r"(\d+) (right|wrong|crashed|hung)\b", done.stdout.splitlines()[-1]
        )
    }
    seeds = sorted(map(int, re.findall(r"^---- seed (\d+)", done.stderr, re.M)))
    return done.returncode, counts, seeds, done.stderr


def counts_of(kind):
    counts = {"right": TRIALS, "wrong": 0, "crashed": 0, "hung": 0}
    if kind:
        counts[kind] = len(FAILING)
        counts["right"] -= len(FAILING)
    return counts


@pytest.mark.parametrize("jobs", ["1", "3"])
@pytest.mark.parametrize(
    "fault, kind, words",
    [
        ("crash", "crashed", "Segmentation fault"),
        ("hang", "hung", "it does not end"),
        ("memory", "crashed", "Aborted"),
        ("kill", "crashed", "Killed"),
        ("exit 0", "crashed", "it ends the process"),
        ("exit 1", "crashed", "it ends the process"),
        ("wrong", "wrong", ""),
        ("draw", "crashed", "while it drew"),
    ],
)
def test_every_failure_is_counted(fault, kind, words, jobs, tmp_path):
    status, counts, seeds, said = fuzz(tmp_path, fault, "-j", jobs)
    assert (status, counts, seeds) == (1, counts_of(kind), FAILING), said
    assert said.count(words) >= len(FAILING)


def test_right_trials_are_right(tmp_path):
    assert fuzz(tmp_path, "none", "-j", "3")[:3] == (0, counts_of(None), [])


@pytest.mark.parametrize("loops", ["j in 3000000000", "j in 100000, k in j..100000"])
def test_what_takes_too_long_is_not_run(loops, tmp_path):
    """A schedule may ask for 10^10 iterations: its trial is shortened, and does not hang."""
    (tmp_path / "p.tir").write_text(PROGRAM.format(f", {loops}"))
    done = subprocess.run(
        [
            os.path.join(os.path.dirname(FAULTY), "fuzz_schedule"),
            "-l",
            "5",
            "3",
            "7",
            str(tmp_path),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "; 3 right, 0 wrong, 0 crashed, 0 hung" in done.stdout, done.stderr
