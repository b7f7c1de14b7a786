"""One compiler, with its headers compiled, for all tests of a process."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import batch  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="more random schedules")


@pytest.fixture(scope="session")
def compiler(tmp_path_factory):
    made = batch.Compiler(tmp_path_factory.mktemp("emulate"))
    made.prepare()
    return made
