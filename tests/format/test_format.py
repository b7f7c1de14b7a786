"""The C code is in the format of .clang-format, and no line of code or script is longer than 100
columns."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = "include", "frontend", "ir", "passes", "codegen", "runtime", "tests", "docs"
FORMATTED = ".c", ".h", ".cpp", ".def"
# No formatter breaks these, nor the comments and strings of the others.
SCRIPTS = (
    "CMakeLists.txt",
    "CMakePresets.json",
    "check",
    "demo",
    "site",
    "ruff.toml",
    ".clang*",
    ".ci/*",
)
KINDS = *FORMATTED, ".l", ".y", ".py", ".cmake"


def sources(kinds):
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in kinds:
                yield path.relative_to(ROOT)


def scripts():
    for pattern in SCRIPTS:
        found = list(ROOT.glob(pattern))
        assert found, f"there is no {pattern}"
        yield from (path.relative_to(ROOT) for path in found)
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.name == "CMakeLists.txt" or (not path.suffix and is_script(path)):
                yield path.relative_to(ROOT)


def is_script(path):
    return path.is_file() and path.read_bytes().startswith(b"#!")


def test_format():
    """Tables that a script writes (codegen/cuda/reserved_*.def) have a format of their own."""
    files = [path for path in sources(FORMATTED) if not path.name.startswith("reserved_")]
    run = subprocess.run(
        [os.environ["CLANG_FORMAT"], "--dry-run", "--Werror", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error", run.stderr, re.M)))
    assert not wrong, "not formatted; run: clang-format-14 -i " + " ".join(wrong)
    assert run.returncode == 0, run.stderr


def test_lines():
    files = [*sources(KINDS), *scripts()]
    names = {str(path) for path in files}
    assert {"frontend/syntax/parser.y", "tests/gpu/run", "tests/docs/blocks.py"} <= names
    long = [
        f"{path}:{number}: {len(line)} columns"
        for path in files
        for number, line in enumerate((ROOT / path).read_text().splitlines(), 1)
        if len(line) > 100
    ]
    assert not long, "\n".join(long)
