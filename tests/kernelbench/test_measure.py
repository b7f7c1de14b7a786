"""examples/kernelbench/measure.py makes its table with a command that stands in for a GPU: one
operator hangs, one fails, and a second run measures what is missing."""

import json
import subprocess
import sys
from pathlib import Path

MEASURE = Path(__file__).resolve().parents[2] / "examples" / "kernelbench" / "measure.py"
COMMAND = """#!/bin/sh
case "$*" in
    *leaky_relu.tir*) sleep 60 & wait ;;
    *log_softmax.tir*) echo "warning: slow" >&2; echo "error[E0600]: no memory" >&2; exit 3 ;;
esac
echo '{"bench": {"median_ms": 2.0, "gbps": 3000.0, "gflops": 1.0}}'
"""
TIMES = """19_ReLU\t3.0\t3.0\t4.0
20_LeakyReLU\t3.0\t3.0\t3.0
23_Softmax\t9.0\t9.0\t1.0
24_LogSoftmax\tERR out of memory
54_conv_standard_3D__square_input__square_kernel\t1.0\t4.0\t1.0
4_Conv2d_Mish_Mish\t1.0\t5.0\t1.0
"""


def measure(folder, *words):
    command = folder / "tirc"
    command.write_text(COMMAND)
    command.chmod(0o755)
    (folder / "times.tsv").write_text(TIMES)
    done = subprocess.run(
        [sys.executable, MEASURE, "--tirc", command, "--torch", folder / "times.tsv", *words],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout


def rows(out):
    cells = [[c.strip() for c in line.split("|")] for line in out.splitlines()]
    return {row[2]: row[3:-1] for row in cells if len(row) > 3 and row[1].isdigit()}


def test_table(tmp_path):
    words = ("--only", r" (relu|leaky_relu|softmax|log_softmax|conv_3d)$", "--timeout", "0.5")
    status, out = measure(tmp_path, *words, "--results", tmp_path / "kept.json")
    assert status == 1
    assert rows(out) == {
        "relu": ["2.0000", "3000", "3.0000", "1.500", "", ""],
        "leaky_relu": ["", "", "3.0000", "", "", "took more than 0.5 s"],
        "softmax": ["2.0000", "3000", "1.0000", "0.500", "", ""],
        "log_softmax": ["", "", "", "", "", "error[E0600]: no memory"],
        "conv_3d": ["2.0000", "3000", "4.0000", "2.000", "", ""],  # exact, as tirc is
    }
    assert "geometric mean of 3: 1.145; as fast or faster: 2; below 0.8: 1; least: 0.500" in out


def test_a_second_run_measures_what_is_missing(tmp_path):
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps({"relu": {"ms": 1.0, "gbps": 1, "gflops": 1}}))
    words = ("--only", r" (relu|softmax|log_softmax)$", "--results", kept)
    status, out = measure(tmp_path, *words)
    assert status == 1 and rows(out)["relu"][0] == "1.0000" and rows(out)["softmax"][0] == "2.0000"
    stored = json.loads(kept.read_text())
    stored["log_softmax"]["failed"]["ms"] = "kept"
    kept.write_text(json.dumps(stored))
    assert rows(measure(tmp_path, *words)[1])["log_softmax"][-1] == "kept"
    assert rows(measure(tmp_path, *words, "--again")[1])["log_softmax"][-1] != "kept"


def test_a_budget_ends_the_table(tmp_path):
    status, out = measure(tmp_path, "--only", "relu$", "--budget", "1")
    assert status == 1 and rows(out)["relu"][0] == "2.0000"
    assert "not measured within 1 s: leaky_relu" in out


def test_level_2(tmp_path):
    status, out = measure(tmp_path, "--level", "2", "--only", r" conv_2d_(mish_mish|scale_min)$")
    assert status == 0
    assert rows(out) == {
        "conv_2d_mish_mish": ["2.0000", "3000", "5.0000", "2.500", "", ""],
        "conv_2d_scale_min": ["2.0000", "3000", "", "", "", ""],
    }
