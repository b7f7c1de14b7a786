"""The cases of tests/gpu/run, which lists them without a GPU, name schedules that are declared."""

import os
import re
import subprocess
from pathlib import Path

from conftest import ROOT

RUN = ROOT / "tests" / "gpu" / "run"
FOLDERS = ("examples", "tests/programs", "frontend/library")


def declared():
    """The names of all schedules, as the texts declare them."""
    texts = (
        path.read_text()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".tir", ".sched")
    )
    return {name for text in texts for name in re.findall(r"^schedule (\w+)", text, re.M)}


def cases():
    build = Path(os.environ["TIRC"]).parent
    done = subprocess.run(
        [RUN, build, "--list"], capture_output=True, text=True, timeout=300, check=True
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_each_case_has_a_schedule():
    listed, schedules = cases(), declared()
    assert len(listed) > 1500
    of_case = [words[words.index("--schedule") + 1] for words in listed]
    assert set(of_case) <= schedules
    of_files = {words[0]: (ROOT / words[0]).read_text() for words in listed}
    own = {
        (path, name)
        for path, text in of_files.items()
        for name in re.findall(r"^schedule (\w+)", text, re.M)
    }
    assert own <= {(words[0], name) for words, name in zip(listed, of_case)}
