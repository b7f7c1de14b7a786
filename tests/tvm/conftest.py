"""The importer of TVMScript stands in the Python package, and needs no library to run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))


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


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="ask TVM, and compare results")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs with --long only")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--long"):
        items[:] = [item for item in items if not item.get_closest_marker("long")]
