"""`python -m tirc` is the command."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).with_name("bin") / "tirc"
    os.execv(program, ["tirc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
