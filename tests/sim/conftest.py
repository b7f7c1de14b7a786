"""Runs tirc for the tests of the simulator."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def newest_tirc():
    built = sorted(ROOT.glob("build*/tirc"), key=lambda p: p.stat().st_mtime)
    return str(built[-1]) if built else "tirc"


TIRC = os.environ.get("TIRC") or newest_tirc()


def run(*args, timeout=120):
    """Exit status, standard output, standard error."""
    done = subprocess.run([TIRC, *map(str, args)], capture_output=True, text=True, timeout=timeout)
    return done.returncode, done.stdout, done.stderr


def simulate(path, *options):
    """What the simulator says to a lowered kernel: (status, its first fault or None, checksums)."""
    status, out, err = run(path, "--run", "--device", "sim", "--json", *options)
    report = json.loads(out) if out.startswith("{") else {}
    faults = report.get("faults") or [None]
    return status, faults[0], json.dumps(report.get("run", {}).get("outputs", err), sort_keys=True)


def pytest_addoption(parser):
    parser.addoption(
        "--part",
        type=int,
        default=1,
        metavar="N",
        help="each N-th mutant of the texts that have many",
    )


TALLIES = []  # of changed kernels (test_mutants.py, test_arithmetic.py)


def pytest_terminal_summary(terminalreporter):
    """How many changed kernels there were in all, and how many were caught."""
    totals = {}
    for tally in TALLIES:
        totals.setdefault(type(tally), type(tally)()).add(tally)
    for total in totals.values():
        terminalreporter.write_line(str(total))


@pytest.fixture
def tirc():
    return run
