def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="1500 random schedules")
