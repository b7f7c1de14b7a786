"""The importer of TVMScript stands in the Python package, and needs no library to run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "support")]

from parts import (  # noqa: E402, F401
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
)


@pytest.fixture
def tirc(tmp_path):
    """Runs the command in a folder of its own."""

    def run(*words, stdin=""):
        return subprocess.run(
            [os.environ["TIRC"], *map(str, words)],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            env=dict(os.environ, TIRC_CACHE_DIR=str(tmp_path / "cache")),
        )

    return run
