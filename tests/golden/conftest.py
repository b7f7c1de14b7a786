"""The switch that writes golden files instead of comparing them; which cases run when:
../support/parts.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import parts  # noqa: E402
from parts import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401


def pytest_addoption(parser):
    parts.pytest_addoption(parser)
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what tirc makes now; look at the difference with git",
    )
