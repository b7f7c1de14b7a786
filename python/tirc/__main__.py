"""`python -m tirc` is the command. `import-tvmscript` is Python; the rest is the program in bin/."""

import os
import sys
from pathlib import Path


def main() -> None:
    if sys.argv[1:2] == ["import-tvmscript"]:
        from .tvmscript.__main__ import main as import_tvmscript

        sys.exit(import_tvmscript(sys.argv[2:]))
    program = Path(__file__).with_name("bin") / "tirc"
    os.execv(program, ["tirc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
