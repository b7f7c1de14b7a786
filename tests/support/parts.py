"""For a conftest.py: which cases run when.

    (nothing)   the default run: cases without a mark, with one of each kind among them
    --sweep     those with the mark `sweep` alone: further cases of a kind (label `sweep` of CTest)
    --long      all cases, also those with the mark `long`

tirc's cache is a folder of the test."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--sweep", action="store_true", help="what the default run leaves out")
    parser.addoption("--long", action="store_true", help="all cases and sizes, also as symbols")


def pytest_configure(config):
    config.addinivalue_line("markers", "sweep: runs with --sweep or --long only")
    config.addinivalue_line("markers", "long: runs with --long only")


def pytest_collection_modifyitems(config, items):
    has = lambda item, mark: item.get_closest_marker(mark) is not None
    if config.getoption("--sweep"):
        items[:] = [item for item in items if has(item, "sweep")]
    elif not config.getoption("--long"):
        items[:] = [item for item in items if not has(item, "sweep") and not has(item, "long")]


def in_sweep(*cases):
    """Cases for the sweep; each a value, or a tuple of those of several names."""
    for case in cases:
        values = case if isinstance(case, tuple) else (case,)
        yield pytest.param(*values, marks=pytest.mark.sweep)


def in_turn(cases, part):
    """Each part-th case by default; the others are for the sweep."""
    for number, case in enumerate(cases):
        yield from [case] if number % part == 0 else in_sweep(case)


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIRC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
