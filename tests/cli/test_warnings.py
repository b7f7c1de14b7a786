"""Warnings: their places on standard error, and the options for them."""

import os
import subprocess

UNUSED = "kernel k(x: f32[8], scale: f32) -> y: f32[8] { for i in 8 y[i] = x[i]; }\n"


def tirc(*arguments):
    return subprocess.run(
        [os.environ["TIRC"], "-", "--emit", "cuda", *arguments],
        input=UNUSED,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_unused_parameter():
    done = tirc()
    assert done.returncode == 0
    assert ":1:21: warning[W0001]: parameter 'scale' is not used" in done.stderr


def test_no_warn():
    done = tirc("--no-warn")
    assert (done.returncode, done.stderr) == (0, "")


def test_werror():
    done = tirc("--werror")
    assert done.returncode == 1 and "W0001" in done.stderr
