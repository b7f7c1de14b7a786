"""The switch that writes golden files instead of comparing them."""


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what tirc makes now; look at the difference with git",
    )
