"""The harness of the random programs loses no failure: with a command that fails on purpose for
some, each is counted and reduced, and makes the exit status 1."""

import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from draw_program import Program

FUZZ = pathlib.Path(__file__).parent / "fuzz_default.py"
NEEDED = " max= "  # programs with such an update fail
COMMAND = """#!{python}
import os, sys
if {needed!r} in open(sys.argv[1]).read():
    {action}
"""
ACTIONS = {
    "wrong": "print('verify  WRONG'); print('error[E0635]: the result'); sys.exit(1)",
    "refused": "print('error[E0510]: too much'); sys.exit(2)",
    "crashed": f"os.kill(os.getpid(), {int(signal.SIGSEGV)})",
}


@pytest.mark.parametrize("kind", ACTIONS)
def test_failures(kind, tmp_path):
    command = tmp_path / "tirc"
    given = {"python": sys.executable, "needed": NEEDED, "action": ACTIONS[kind]}
    command.write_text(COMMAND.format(**given))
    command.chmod(0o755)
    done = subprocess.run(
        [sys.executable, FUZZ, "-j", "2", "20", "1"],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "TIRC": str(command)},
    )
    wanted = [seed for seed in range(1, 21) if NEEDED in Program(seed).text()]
    found = re.findall(r"^---- seed (\d+) .*?: (\w+)", done.stdout, re.M)
    assert 0 < len(wanted) < 20
    assert done.returncode == 1
    assert found == [(str(seed), kind) for seed in wanted]
    assert f"20 programs: {20 - len(wanted)} right, {len(wanted)} not" in done.stdout
    texts = re.split("^---- .*\n", done.stdout, flags=re.M)[1:]
    for seed, text in zip(wanted, texts, strict=True):  # one nest is left
        program = Program(seed)
        alone = [program.text([nest]) for nest in program.nests]
        assert NEEDED in text and any(text.startswith(one) for one in alone)


def test_programs():
    """Each kind of nest is drawn, and a seed draws one program."""
    text = [Program(seed).text() for seed in range(300)]
    assert text == [Program(seed).text() for seed in range(300)]
    marks = ["break;", "step -1", " else", " step 3", " / 2 {", "[i]] = ", "where at1 in 0.."]
    marks += ["is nondecreasing", "in len1[", "..ptr1[", "while ", "product_digits(8)", "bf16["]
    for mark in marks:
        assert mark in "\n".join(text)
