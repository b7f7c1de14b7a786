"""Runs the command as a user would: in a folder of its own, with its output captured."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from parts import (  # noqa: E402, F401
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
)

EXAMPLES = ROOT / "examples"
MATMUL = EXAMPLES / "matmul" / "matmul.tir"
TRANSPOSE = EXAMPLES / "transpose" / "transpose.tir"
SMALL = ("-D", "M=20", "-D", "N=33", "-D", "K=17")


class Result:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()


class Tirc:
    """The command; files that it is given by name stand in its folder."""

    def __init__(self, folder):
        self.folder = folder
        self.program = os.environ["TIRC"]
        self.env = dict(os.environ, TIRC_CACHE_DIR=str(folder / "cache"), TMPDIR=str(folder))
        self.env.pop("NO_COLOR", None)
        self.env.pop("TIRC_TUNE_LOG", None)  # it is in the folder of the cache

    def write(self, name, text):
        data = text if isinstance(text, bytes) else text.encode()
        (self.folder / name).write_bytes(data)
        return name

    def __call__(self, *args, stdin=b"", env=None):
        done = subprocess.run(
            [self.program, *map(str, args)],
            cwd=self.folder,
            input=stdin,
            capture_output=True,
            timeout=60,
            env={**self.env, **(env or {})},
        )
        return Result(done)


@pytest.fixture
def tirc(tmp_path):
    return Tirc(tmp_path)


@pytest.fixture
def without_nvrtc(monkeypatch):
    """For who looks at results and counters: only an analysis' registers need machine code."""
    monkeypatch.setenv("TIRC_NVRTC", "/nowhere")
