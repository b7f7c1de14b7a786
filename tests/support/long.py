"""For a conftest.py: cases with the mark `long` run with --long only, and tirc's cache is a folder
of the test."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="all sizes, also as symbols")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs with --long only")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--long"):
        items[:] = [item for item in items if not item.get_closest_marker("long")]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIRC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
