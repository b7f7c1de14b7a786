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


def layouts(tirc, words, stdin):
    """The parameters whose layout the schedule has changed, as --emit json describes them; None
    where no launch can hold the program."""
    done = tirc(*words, "--emit", "json", stdin=stdin)
    if done.returncode == 1 and "error[E05" in done.stderr:
        return None
    assert done.returncode == 0, done.stderr
    parameters = json.loads(done.stdout)["parameters"]
    return {p["name"]: p for p in parameters if "layout" in p}


def laid_out(np, array, parameter):
    """The array of a program in the layout of a parameter."""
    names, places = parameter["layout"]["map"].split(" -> ")
    subscripts = dict(zip(names[1:-1].split(", "), np.indices(array.shape)))
    made = np.zeros(parameter["shape"], array.dtype)
    made[tuple(eval(places.replace("/", "//"), {}, subscripts))] = array
    return made


# Their temporary has 11 digits.
ROUNDED = {"structures.dtype_of_a_temporary"}


def compare(tirc, data, words, stdin, folder, case=""):
    """Runs a kernel on the arguments that TVM gave a program, in files that begin with `data`;
    False where no launch can hold the program."""
    np = pytest.importorskip("numpy")
    prefix = f"{data.name}."
    given = {p.name[len(prefix) : -4]: p for p in data.parent.glob(prefix + "*.npy")}
    names = [n for n in given if not n.endswith(".out")]
    other = layouts(tirc, words, stdin)
    if other is None:
        return False
    for n in other.keys() & given.keys():
        np.save(folder / f"{n}.in.npy", laid_out(np, np.load(given[n]), other[n]))
        given[n] = folder / f"{n}.in.npy"
    header = re.search(rf"kernel {words[words.index('--kernel') + 1]}\b.*", stdin)[0]
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
            expected = laid_out(np, expected, other[n]) if n in other else expected
            tolerance = 2e-3 if case in ROUNDED else 1e-4
            found = np.load(folder / f"{n}.npy")
            np.testing.assert_allclose(found, expected, tolerance, tolerance / 2)
            (folder / f"{n}.npy").unlink()
    return True


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_results_are_those_of_tvm(tirc, asked, path, tmp_path):
    ran = 0
    for case, (text, found) in imported(path).items():
        if accepted(tirc, case, text, found):
            words, stdin = command(found, case, text)
            data = asked / f"{path.stem}.{used(text)}"
            ran += compare(tirc, data, words, stdin, tmp_path, f"{path.stem}.{case}")
    assert ran > 10


# What TVM prints after a schedule, and the importer refuses: names without a declaration, and an
# axis of threads that CUDA does not have.
NOT_PROGRAMS = {
    "copies.copy_in_place",
    "inline.one_of_two_consumers",
    "loops.bind_to_an_unknown_axis",
}
# The results of TVM change there: see README.md.
OTHER_RESULTS = {
    "blocks.layout_of_an_output",
    "blocks.layout_that_is_not_injective",
    "structures.layout_of_an_input",
    "structures.block_of_two_blocks",
    "structures.partition_of_a_reduction",
    "nests.sums_that_are_clipped",
    "nests.one_of_two_epilogues",
}
# Traces without their program do not say which blocks hold others.
OF_NESTS = {
    "nests.loops_of_a_tile",
    "nests.tile_into_its_reader",
    "nests.reader_into_a_tile",
    "nests.split_around_an_opaque_block",
}
# Traces that are the address of an object, and one with a string without quotes.
NOT_TRACES = {
    "blocks.fill_and_copy",
    "structures.padding_before_everything",
    "structures.padding_in_the_outer_loop",
    "structures.padding_of_tiles",
    "structures.padding_at_a_reader",
    "loops.annotation_with_a_map",
    "nests.padding_before_all_tiles",
}


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_programs_as_tvm_prints_them_after_schedules(tirc, asked, path, tmp_path):
    refused, ran = set(), 0
    for case, text in cases_of(path).items():
        name = f"{path.stem}.{case}"
        if not (asked / f"{name}.script").exists() or name in OTHER_RESULTS:
            continue
        found = convert((asked / f"{name}.script").read_text())
        if found.refused:
            refused.add(name)
            continue
        kernel = re.match(r"kernel (\w+)", found.program)[1]
        data = asked / f"{path.stem}.{used(text)}"
        ran += compare(tirc, data, ["-", "--kernel", kernel], found.program, tmp_path, name)
    assert refused == {name for name in NOT_PROGRAMS if name.startswith(path.stem + ".")}
    assert ran > 10


def numbered(text):
    """The text with numbers for names, in the order of their first use, in one line: traces name
    loops anew."""
    numbers = {}
    words = " ".join(text.split())
    return re.sub(r"[A-Za-z_]\w*", lambda m: str(numbers.setdefault(m[0], len(numbers))), words)


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_traces_do_what_their_schedules_do(tirc, asked, path):
    refused = set()
    for case, (text, found) in imported(path).items():
        name = f"{path.stem}.{case}"
        if name in OF_NESTS or not (asked / f"{name}.trace").exists():
            continue
        if not accepted(tirc, case, text, found):
            continue
        trace = convert((asked / f"{name}.trace").read_text())
        if trace.refused:
            refused.add(name)
            continue
        programs = []
        for schedule, script in ((case, found.schedules), ("apply_trace", trace.schedules)):
            words = ["-", "--kernel", used(text), "--schedule", schedule, "--emit", "tir"]
            done = tirc(*words, stdin=found.program + script)
            assert done.returncode == 0, (name, done.stderr)
            programs.append(numbered(done.stdout))
        assert programs[0] == programs[1], name
    assert refused == {name for name in NOT_TRACES if name.startswith(path.stem + ".")}


def printed(asked, name, kind):
    """What TVM printed of a program or schedule, imported."""
    found = convert((asked / f"tutorial.{name}.{kind}").read_text())
    assert not found.messages, (name, kind, found.messages)
    return found


@pytest.mark.long
def test_the_tutorial_computes_what_tvm_computes(tirc, asked, tmp_path):
    """From its text, and from what TVM prints: each program, each schedule as a trace, and the
    program after it."""
    found = convert((HERE / "tutorial.py").read_text())
    assert not found.messages
    text = found.program + found.schedules

    def check(module, stdin, kernel, *words):
        words = ["-", "--kernel", kernel, *words]
        assert compare(tirc, asked / f"tutorial.{module}", words, stdin, tmp_path)

    modules = {
        re.match(r"tutorial\.(\w+)\.script", p.name)[1] for p in asked.glob("tutorial.*.script")
    }
    schedules = dict(re.findall(r"^schedule (\w+) for (\w+)", found.schedules, re.M))
    programs = modules - set(schedules)
    assert len(programs) == 11 and len(schedules) == 7
    for module in programs:
        program = printed(asked, module, "script").program
        kernel = re.match(r"kernel (\w+)", program)[1]
        check(module, program, kernel)
        if f"kernel {kernel}" in text:  # else it has no text but the printed one
            check(module, text, kernel)
    for schedule, kernel in schedules.items():
        (module,) = {m for m in programs if m.lower() == kernel}
        check(module, text, kernel, "--schedule", schedule)
        trace = printed(asked, schedule, "trace").schedules
        check(module, found.program + trace, kernel, "--schedule", "apply_trace")
        after = printed(asked, schedule, "script").program
        check(module, after, re.match(r"kernel (\w+)", after)[1])
