"""One compiler, with its headers compiled, for all tests of a process. Which cases run when:
../support/parts.py."""

import os
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
import batch  # noqa: E402
from parts import *  # noqa: E402, F403


@pytest.fixture(scope="session")
def compiler(tmp_path_factory):
    parts = os.environ.get("EMULATOR_PARTS")
    made = batch.Compiler(tmp_path_factory.mktemp("emulate"), parts=parts)
    if not parts:
        made.prepare()
    return made
