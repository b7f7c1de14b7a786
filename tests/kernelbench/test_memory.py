"""tests/gpu/memory/run without a GPU: the table comes from what is stored."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "gpu" / "memory"
sys.path.insert(0, str(FOLDER))

from rows import ROWS  # noqa: E402


def run(*words):
    script = [sys.executable, FOLDER / "run", *map(str, words)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout


def test_titles():
    assert len({row.title for row in ROWS}) == len(ROWS)


STORED = {"bytes": 6e9, "ms": 2.0, "error": 0.5, "peers": {"eager": 2.4, "compiled": 2.2}}


def table(folder, **found):
    title = "softmax f32 16384 x 8192"
    (folder / "kept.json").write_text(json.dumps({title: STORED | found}))
    status, out = run("--rows", f"^{title}$", "--results", folder / "kept.json")
    return status, [cell.strip() for cell in out.splitlines()[2].split("|")[3:-1]]


def test_table(tmp_path):
    """The fastest peer counts; a row that is wrong or failed makes the run fail."""
    times = ["2.0000", "3000", "compiled", "2.2000", "1.100", "1.10"]
    assert table(tmp_path) == (0, [*times, "yes", "0.500", "yes"])
    assert table(tmp_path, ms=2.1)[1][4:7] == ["1.048", "1.10", "**no**"]
    assert table(tmp_path, error=1.5) == (1, [*times, "yes", "1.500", "**no**"])
    failed = {"failed": "took more than 40 s"}
    (tmp_path / "kept.json").write_text(json.dumps({ROWS[0].title: failed}))
    status, out = run("--rows", f"^{ROWS[0].title}$", "--results", tmp_path / "kept.json")
    assert status == 1 and "| took more than 40 s |" in out


def test_without_a_gpu():
    """Says so."""
    if not any(Path(folder, "nvidia-smi").exists() for folder in ("/usr/bin", "/usr/local/bin")):
        status, out = run("--rows", "^sum")
        assert status == 77 and out.startswith("SKIPPED: there is no ")
