"""Runs the command in a folder of its own. Which cases run when: ../support/parts.py."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import parts  # noqa: E402
from parts import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401

FOLDERS = sorted(
    p.parent
    for p in ROOT.glob("examples/*/README.md")
    if p.parent.name not in ("polybench", "kernelbench", "collections")
)


def smaller(word):
    """NAME=NUMBER: of a large number, 64 and its remainder by 64."""
    name, _, number = word.partition("=")
    large = number.isdigit() and int(number) >= 200
    return f"{name}={64 + int(number) % 64}" if large else word


class Tirc:
    def __init__(self, folder):
        self.folder = folder
        self.env = dict(
            os.environ, TIRC_CACHE_DIR=str(folder / ".cache"), TMPDIR=str(folder), NO_COLOR="1"
        )
        self.env.pop("TIRC_TUNE_LOG", None)  # it is in the folder of the cache

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def __call__(self, *args, stdin=""):
        """Exit status, and everything that it printed."""
        done = subprocess.run(
            [os.environ["TIRC"], *map(str, args)],
            cwd=self.folder,
            input=stdin.encode(),
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        return done.returncode, done.stdout.decode()

    def line(self, text, shown=True):
        """Runs a line of a document. Devices work at small sizes, and simulated; and so does an
        analysis whose output is not shown."""
        words = shlex.split(text, comments=True)
        assert words[0] == "tirc", text
        words = [str(self.folder / w) if w.startswith("examples/") else w for w in words[1:]]
        if {"--run", "--verify", "--bench"} & set(words):
            words += ["--device", "sim"] + self.small_sizes(words)
        elif "--analyze" in words and not shown:
            words += self.small_sizes(words)
        if not shown:
            words = [smaller(w) if p == "-D" else w for p, w in zip(["", *words], words)]
        return self(*words)

    def small_sizes(self, words):
        if "-D" in words:
            return []
        program = (self.folder / words[0]).read_text()
        sizes = re.search(r"^kernel \w+(?:<(.*?)>)?", program, re.M | re.S)[1]
        each = re.split(r",\s*", sizes) if sizes else []
        return [w for s in each if ":" not in s for w in ("-D", s.split(" ")[0] + "=45")]


def pytest_addoption(parser):
    parts.pytest_addoption(parser)
    parser.addoption(
        "--update-docs",
        action="store_true",
        help="write what tirc prints now; look at the difference with git",
    )


@pytest.fixture
def update(request):
    return request.config.getoption("--update-docs")


@pytest.fixture
def tirc(tmp_path):
    return Tirc(tmp_path)


@pytest.fixture
def without_nvrtc(monkeypatch):
    """For who looks at results and counters: only an analysis' registers need machine code."""
    monkeypatch.setenv("TIRC_NVRTC", "/nowhere")
