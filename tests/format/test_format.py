"""The C code is in the format of .clang-format, at most 100 columns wide."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]


def sources():
    """Tables that a script writes (codegen/cuda/reserved_*.def) have a format of their own."""
    for folder in "include", "frontend", "ir", "passes", "codegen", "runtime", "tests":
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cpp", ".def") and not path.name.startswith("reserved_"):
                yield path.relative_to(ROOT)


def test_format():
    run = subprocess.run([os.environ["CLANG_FORMAT"], "--dry-run", "--Werror", *sources()],
                         cwd=ROOT, capture_output=True, text=True)
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", run.stderr, re.M)))
    assert not wrong, "not formatted; run: clang-format-14 -i " + " ".join(wrong)
    assert run.returncode == 0, run.stderr
