"""Schedules of the kind that TVM's own tests ask for, by TVM and by tirc: who accepts them, and
what the accepted ones compute.

README.md lists each difference with its reason. By default, TVM's answers are those of
verdicts.json. With TVM_PYTHON, a Python that has TVM, it is asked again, and what tirc computes is
compared with TVM's compiled programs.
"""

import functools
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from tirc.tvmscript import convert

HERE = Path(__file__).parent
FILES = sorted((HERE / "cases").glob("*.py"))
RECORDED = json.loads((HERE / "verdicts.json").read_text())
TVM_PYTHON = os.environ.get("TVM_PYTHON", "")


def cases_of(path):
    """Each schedule of a file, by its name, with the programs."""
    head, *functions = re.split(r"\n(?=def \w+\(\):\n    sch = )", path.read_text())
    return {re.match(r"def (\w+)", f)[1]: f"{head}\n{f}" for f in functions}


def used(text):
    """The program of a case."""
    return re.search(r"Schedule\((\w+)\)", text)[1]


@functools.cache
def imported(path):
    return {name: (text, convert(text)) for name, text in cases_of(path).items()}


def command(found, case, text, *words):
    return [
        "-",
        "--kernel",
        used(text),
        "--schedule",
        case,
        *words,
    ], found.program + found.schedules


def accepted(tirc, case, text, found):
    if found.refused:
        return False
    words, stdin = command(found, case, text, "--emit", "tir")
    done = tirc(*words, stdin=stdin)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


def listed():
    """The differences that README.md explains: case -> verdict."""
    rows = re.findall(r"^\| `(\w+\.\w+)` \| (\w+) \|", (HERE / "README.md").read_text(), re.M)
    assert {verdict for _, verdict in rows} <= {"better", "worse", "missing"}
    return dict(rows)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_differences_from_tvm_are_those_of_the_table(tirc, path):
    differ = set()
    for case, (text, found) in imported(path).items():
        name = f"{path.stem}.{case}"
        if accepted(tirc, case, text, found) != (RECORDED[name] == "accepted"):
            differ.add(name)
    assert differ == {name for name in listed() if name.startswith(path.stem + ".")}


def test_the_table_counts_right():
    table = listed()
    said = re.search(
        r"Of (\d+) cases, (\d+) agree, (\d+) are better, (\d+) worse and (\d+) missing",
        (HERE / "README.md").read_text().replace("\n", " "),
    )
    kinds = [list(table.values()).count(v) for v in ("better", "worse", "missing")]
    assert set(RECORDED) == {f"{p.stem}.{case}" for p in FILES for case in cases_of(p)}
    assert [int(n) for n in said.groups()] == [len(RECORDED), len(RECORDED) - sum(kinds), *kinds]


# ---- results -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    if not TVM_PYTHON:
        pytest.skip("TVM_PYTHON names no Python with TVM: results are not compared")
    folder = tmp_path_factory.mktemp("tvm")
    files = [str(p) for p in [*FILES, HERE / "tutorial.py"]]
    done = subprocess.run(
        [TVM_PYTHON, str(HERE / "ask_tvm.py"), str(folder), *files], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@pytest.mark.long
def test_tvm_answers_as_recorded(asked):
    answers = json.loads((asked / "verdicts.json").read_text())
    now = {k: "refused" if v else "accepted" for k, v in answers.items()}
    assert {k: v for k, v in now.items() if not k.startswith("tutorial.")} == RECORDED


def compare(tirc, asked, stem, program, words, stdin, folder):
    """Runs a kernel on the arguments of TVM; False where no launch can hold the program."""
    np = pytest.importorskip("numpy")
    prefix = f"{stem}.{program}."
    given = {p.name[len(prefix) : -4]: p for p in asked.glob(prefix + "*.npy")}
    names = [n for n in given if not n.endswith(".out")]
    header = re.search(rf"kernel {program}\b.*", stdin)[0]
    inputs, _, outputs = header.partition("->")
    data = []
    for n in names:
        if re.search(rf"\b{n}:", inputs):
            data += ["--input", f"{n}={given[n]}"]
        if re.search(rf"\b{n}:", outputs) or f"inout {n}:" in inputs:
            data += ["--output", f"{n}={folder / n}.npy"]
    done = tirc(*words, "--run", *data, stdin=stdin)
    if done.returncode == 1 and "error[E05" in done.stderr:
        return False
    assert done.returncode == 0, done.stderr
    for n in names:
        if (folder / f"{n}.npy").exists():
            expected = np.load(given[n + ".out"])
            np.testing.assert_allclose(np.load(folder / f"{n}.npy"), expected, 1e-4, 1e-5)
            (folder / f"{n}.npy").unlink()
    return True


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_results_are_those_of_tvm(tirc, asked, path, tmp_path):
    ran = 0
    for case, (text, found) in imported(path).items():
        if accepted(tirc, case, text, found):
            words, stdin = command(found, case, text)
            ran += compare(tirc, asked, path.stem, used(text), words, stdin, tmp_path)
    assert ran > 10


@pytest.mark.long
def test_the_tutorial_computes_what_tvm_computes(tirc, asked, tmp_path):
    found = convert((HERE / "tutorial.py").read_text())
    assert not found.messages
    text = found.program + found.schedules
    programs = {"add": "add", "standard": "Standard", "from_python": "FromPython"}
    programs["dynamic"] = "Dynamic"
    for kernel, module in programs.items():
        for name in {kernel, module}:
            for p in asked.glob(f"tutorial.{name}.*"):
                p.rename(asked / p.name.replace(f".{name}.", f".{kernel}."))
        words = ["-", "--kernel", kernel]
        assert compare(tirc, asked, "tutorial", kernel, words, text, tmp_path)
    words = ["-", "--kernel", "from_python", "--schedule", "tiled"]
    assert compare(tirc, asked, "tutorial", "from_python", words, text, tmp_path)
