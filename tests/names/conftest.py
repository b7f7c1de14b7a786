"""--whole: every name in every role, a role at a time; without it, every third name in one role."""

import sys
from pathlib import Path

import pytest

import hostile

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "emulate"))  # nvrtc.py


def pytest_addoption(parser):
    parser.addoption("--whole", action="store_true", help="every name in every role")


def pytest_generate_tests(metafunc):
    if "chosen" in metafunc.fixturenames:
        whole = metafunc.config.getoption("--whole")
        metafunc.parametrize(
            "chosen",
            [hostile.of_role(role) for role in hostile.ROLES] if whole else [hostile.part()],
            ids=list(hostile.ROLES) if whole else ["part"],
        )


@pytest.fixture(name="whole", scope="session")
def fixture_whole(request):
    return request.config.getoption("--whole")
