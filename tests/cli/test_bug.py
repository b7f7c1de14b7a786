"""What the command does when tirc breaks one of its own rules: it says so, leaves a file that
reproduces it, and exits with 70."""

import os
import re

import pytest

from conftest import MATMUL


@pytest.fixture
def faulty(tirc):
    tirc.program = os.environ["TIRC_FAULTY"]
    return tirc


BREAK = {"TIRC_BREAK": "insert_barriers"}


def test_a_bug_leaves_a_file_that_repeats_it(faulty):
    r = faulty(
        MATMUL, "--schedule", "tiled32", "-D", "M=50", "--emit", "cuda", "-o", "out.cu", env=BREAK
    )
    assert (r.status, r.out) == (70, "")
    assert (
        "error[E0699]: a rule is broken in kernel 'matmul' after insert_barriers, on purpose"
        in r.err
    )
    path = re.search(
        r"please report this bug with (\S+/tirc-bug-\w{6}\.tir), which reproduces it", r.err
    ).group(1)
    assert path.startswith(str(faulty.folder)) and not (faulty.folder / "out.cu").exists()
    report = open(path).read()
    assert "on purpose" in report and "--kernel matmul -D 'M=50' --schedule tiled32" in report
    again = faulty(
        path,
        "--kernel",
        "matmul",
        "-D",
        "M=50",
        "--schedule",
        "tiled32",
        "--emit",
        "cuda",
        env=BREAK,
    )
    assert again.status == 70 and "on purpose" in again.err
    assert (
        faulty(
            path, "--kernel", "matmul", "-D", "M=50", "--schedule", "tiled32", "--emit", "cuda"
        ).status
        == 0
    )


def test_a_report_that_cannot_be_written_is_said(faulty):
    r = faulty(MATMUL, "--emit", "cuda", env={**BREAK, "TMPDIR": "/nosuch"})
    assert (
        r.status == 70
        and "on purpose" in r.err
        and "/nosuch/tirc-bug-" in r.err
        and "please report" not in r.err
    )
