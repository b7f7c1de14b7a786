"""Every change that makes a kernel faulty is found: each example, with each of its schedules, lowered at sizes that no tile divides;
each barrier left out, each guard one too wide, each two dependent statements in the other order (mutants.py).

A mutant is caught by a fault. One whose accesses are all in order may still compute something else: then `--verify --against` the
program says so, and names the line that wrote the first wrong element (--part N looks at each N-th of many). Barriers and waits must give faults. What is left has to be
proved to be the same kernel: its outputs are the same expressions of the inputs (terms.py). One that computes other expressions, which
only other inputs or rounding tell apart, is counted by itself."""

import collections
import concurrent.futures
import re

import pytest

from conftest import ROOT, run, simulate
from mutants import mutants
from terms import Unsupported, terms

SIZES = {"row_sum": (3, 9001),  # what fills every part of a row
         "sgemm": (37, 70, 150)}  # what goes around all stages of the pipeline
ODD = (70, 33, 45)
MANY = 12  # mutants of one text; of more a part is enough, with --part
FEW = 3  # times that a stencil goes over its field


FOLDERS = sorted(p for p in (ROOT / "examples").iterdir() if p.is_dir())


def kernels(folder):
    """Each kernel of an example with its schedules: (path, kernel, its sizes, schedule)."""
    for path in sorted(folder.glob("*.tir")):
        _, listing, _ = run("--list", path)
        for part in re.split(r"^kernel ", listing, flags=re.M)[1:]:
            name = re.match(r"\w+", part)[0]
            listed = re.match(r"\w+<(.*?)>", part)
            sizes = [s.split(" ")[0] for s in listed[1].split(", ") if ":" not in s] if listed else []
            for schedule in re.findall(r"^    (\w+) ", part, re.M):
                yield path, name, sizes, schedule


def lowered(path, kernel, sizes, schedule):
    chosen = SIZES.get(schedule, SIZES.get(kernel, ODD * 3))
    fixed = [w for n, v in zip(sizes, chosen) for w in ("-D", f"{n}={FEW if n == 'STEPS' else v}")]
    status, text, _ = run(path, "--kernel", kernel, "--schedule", schedule, *fixed, "--emit", "lowered")
    return text if status == 0 else None


def judge(folder, number, text, seed=0):
    """What the simulator says to one text."""
    path = folder / f"{number}.tir"
    path.write_text(text)
    return simulate(path, "--seed", seed)


def names_line(places, mutant):
    """One of the places `file:line:column` is in a line that was changed."""
    return any(p and int(p.split(":")[-2]) - 1 in mutant.lines for p in places)


def places_of(fault):
    return fault.get("where"), (fault.get("other") or {}).get("where")


def is_refuted(path, mutant, program):
    """Does --verify find it wrong? And whether the line that it names was changed."""
    status, _, said = run(path, "--verify", "--against", program, "--device", "sim")
    return status == 4 and "E0635" in said, names_line(re.findall(r"^(\S+:\d+:\d+): note", said, re.M), mutant)


def terms_of(folder, number, text):
    """What the outputs are as expressions of the inputs, as fingerprints for three sets of inputs; None where that cannot be said."""
    try:
        runs = [judge(folder, f"{number}.terms", terms(text), seed) for seed in (1, 2, 3)]
    except Unsupported:
        return None
    return [outputs for _, _, outputs in runs] if all(status == 0 for status, _, _ in runs) else None


# What became of a mutant: "faults", "wrong", "other", "equal" or "survivors"; and whether a changed line is named.
Verdict = collections.namedtuple("Verdict", "what named status")


class Original:
    """A kernel of an example, lowered."""

    def __init__(self, folder, program, text):
        self.folder, self.program, self.text = folder, program, text
        status, fault, self.outputs = judge(folder, "right", text)
        assert status == 0, f"{program.stem}: {fault}\n{text}"
        self.terms = terms_of(folder, "right", text)

    def examine(self, number, mutant):
        status, fault, outputs = judge(self.folder, number, mutant.text)
        if status == 4 and fault:
            return Verdict("faults", names_line(places_of(fault), mutant), status)
        if mutant.kind not in ("barrier", "wait"):
            refuted, named = is_refuted(self.folder / f"{number}.tir", mutant, self.program) if outputs != self.outputs else (False, False)
            if refuted:
                return Verdict("wrong", named, status)
            found = self.terms and terms_of(self.folder, number, mutant.text)
            if found:
                return Verdict("equal" if found == self.terms else "other", False, status)
        return Verdict("survivors", False, status)


class Tally:
    def __init__(self):
        self.made, self.faults, self.named, self.wrong, self.told, self.equal, self.other = (collections.Counter() for _ in range(7))
        self.survivors = []

    def note(self, mutant, verdict, program):
        self.made[mutant.kind] += 1
        if verdict.what == "survivors":
            self.survivors.append(f"{program.stem}: {mutant.kind}, line {mutant.lines[0] + 1}, status {verdict.status}\n{mutant.text}")
            return
        getattr(self, verdict.what)[mutant.kind] += 1
        if verdict.named:
            (self.told if verdict.what == "wrong" else self.named)[mutant.kind] += 1

    def __str__(self):
        return "\n".join(f"{kind}: {self.made[kind]} made, {self.faults[kind]} faults ({self.named[kind]} at a changed line), "
                         f"{self.wrong[kind]} wrong results ({self.told[kind]} written by a changed line), {self.other[kind]} wrong up to "
                         f"rounding or for other inputs, {self.equal[kind]} proved equal" for kind in self.made)


def check(folder, tally, program, text, part, number):
    original, found = Original(folder, program, text), list(mutants(text))
    if len(found) > MANY:
        found = found[number % part::part]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = pool.map(lambda m: original.examine(*m), enumerate(found))
        for mutant, verdict in zip(found, verdicts):
            tally.note(mutant, verdict, program)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_every_mutant_is_caught(folder, tmp_path, request):
    part = request.config.getoption("--part")
    tally, seen = Tally(), set()
    for path, kernel, sizes, schedule in kernels(folder):
        text = lowered(path, kernel, sizes, schedule)
        if text and text not in seen:
            seen.add(text)
            check(tmp_path, tally, path, text, part, len(seen))
    print(tally)
    assert not tally.survivors, "\n".join(tally.survivors) + f"\n{tally}"
    assert sum(tally.made.values()) > 0
