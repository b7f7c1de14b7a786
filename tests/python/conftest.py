"""Tests with the mark `long` run with --long only."""

import contextlib
import os
import signal
import threading
import warnings


@contextlib.contextmanager
def held(lock):
    """Another thread holds the lock."""
    taken, done = threading.Event(), threading.Event()

    def hold():
        with lock:
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        yield
    finally:
        done.set()
        thread.join()


def works_in_a_child(check):
    """Whether a forked process, which has none of the other threads, finds check() true."""
    with warnings.catch_warnings():  # Python 3.12 warns of threads, which this is about
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(60)  # a lock that nobody opens would be forever
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="a thousand compiles, too")
    parser.addoption("--store-abi", action="store_true", help="write include/tirc.abi")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: runs with --long only")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--long"):
        items[:] = [item for item in items if not item.get_closest_marker("long")]
