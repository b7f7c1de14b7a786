"""NVRTC compiles the text of each program of tests/programs under each of its schedules, with the
sizes of tests/gpu/run."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from golden import ROOT, tirc

sys.path.insert(0, str(ROOT / "tests/emulate"))
import nvrtc  # noqa: E402


def cases():
    """The arguments of each case that tests/gpu/run has of a program, without those of a run."""
    done = subprocess.run(
        [ROOT / "tests/gpu/run", Path(tirc()).parent, "--list", "--only", r"^\w+\.tir "],
        capture_output=True,
        text=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        words = line.split("\t")
        last = words.index("--size") if "--size" in words else len(words)
        yield words[:last]


def emitted(words):
    """The CUDA text, or None where the schedule refuses these sizes."""
    done = subprocess.run(
        [tirc(), *words, "--emit", "cuda", "--no-warn"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0 or re.search(r"error\[E0[1-5]\d\d\]", done.stderr), done.stderr
    return None if done.returncode else done.stdout


@pytest.mark.sweep
@pytest.mark.skipif(nvrtc.library() is None, reason="no NVRTC")
@pytest.mark.parametrize("symbolic", [False, True])
def test_nvrtc_compiles(symbolic):
    chosen = [words for words in cases() if any(w.endswith("=?") for w in words) == symbolic]
    names = {text: " ".join(words) for words in chosen if (text := emitted(words))}
    texts = list(names)
    assert len(texts) > 400
    refused = nvrtc.Nvrtc().refused(texts)
    assert not {names[texts[n]]: messages for n, messages in refused.items()}
