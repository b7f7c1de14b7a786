"""Every change that makes a kernel faulty is found: each example, with each of its schedules, lowered at sizes that no tile divides;
each barrier left out, each guard one too wide, each two dependent statements in the other order (mutants.py).

A mutant is caught by a fault. One whose accesses are all in order may still compute something else; it counts as caught where
the outputs differ, and is told apart in the report. Barriers and guards must give faults."""

import collections
import concurrent.futures
import re

import pytest

from conftest import ROOT, run, simulate
from mutants import mutants

SIZES = {"row_sum": (3, 9001),  # what fills every part of a row
         "sgemm": (37, 70, 150)}  # what goes around all stages of the pipeline
ODD = (70, 33, 45)


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
    fixed = [w for n, v in zip(sizes, SIZES.get(schedule, SIZES.get(kernel, ODD * 3))) for w in ("-D", f"{n}={v}")]
    status, text, _ = run(path, "--kernel", kernel, "--schedule", schedule, *fixed, "--emit", "lowered")
    return text if status == 0 else None


def judge(folder, number, text, seed=0):
    """What the simulator says to one text (None: the one that is there)."""
    path = folder / f"{number}.tir"
    if text:
        path.write_text(text)
    return simulate(path, "--seed", seed)


def names_line(fault, mutant, text):
    """One of the two accesses is in a line that was changed, or uses a buffer that one of those lines touches."""
    places = [fault.get("where"), (fault.get("other") or {}).get("where")]
    return any(p and int(p.split(":")[-2]) - 1 in mutant.lines for p in places)


def is_equal(folder, mutant, right):
    """The mutant is another text of the same kernel: a wider guard lets nothing through that matters (probes); two statements that
    change places give the same bits for three inputs, none of which decides what is executed."""
    if mutant.kind == "swap":
        return all(judge(folder, "again", mutant.text, seed)[1:] == judge(folder, "right", None, seed)[1:] for seed in (1, 2))
    runs = [judge(folder, "probe", text) for text in mutant.probes]
    return bool(runs) and (runs[0][0] == 0 or len(runs) > 1 and all(r[0] == 0 and r[2] == right for r in runs[1:]))


class Tally:
    def __init__(self):
        self.made, self.faults, self.named, self.wrong, self.equal = (collections.Counter() for _ in range(5))
        self.survivors = []

    def note(self, folder, mutant, judged, right, name):
        status, fault, outputs = judged
        self.made[mutant.kind] += 1
        if status == 4 and fault:
            self.faults[mutant.kind] += 1
            self.named[mutant.kind] += names_line(fault, mutant, mutant.text)
        elif status == 0 and outputs != right and mutant.kind != "barrier":
            self.wrong[mutant.kind] += 1
        elif is_equal(folder, mutant, right):
            self.equal[mutant.kind] += 1
        else:
            self.survivors.append(f"{name}: {mutant.kind}, line {mutant.lines[0] + 1}, status {status}\n{mutant.text}")

    def __str__(self):
        return "\n".join(f"{kind}: {self.made[kind]} made, {self.faults[kind]} faults ({self.named[kind]} in a changed line), "
                         f"{self.wrong[kind]} wrong results, {self.equal[kind]} proved equal" for kind in self.made)


def check(folder, tally, name, text):
    status, fault, right = judge(folder, "right", text)
    assert status == 0, f"{name}: {fault}\n{text}"
    found = list(mutants(text))
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda m: judge(folder, m[0], m[1].text), enumerate(found)))
    for mutant, judged in zip(found, answers):
        tally.note(folder, mutant, judged, right, name)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_every_mutant_is_caught(folder, tmp_path):
    tally, seen = Tally(), set()
    for path, kernel, sizes, schedule in kernels(folder):
        text = lowered(path, kernel, sizes, schedule)
        if text and text not in seen:
            seen.add(text)
            check(tmp_path, tally, f"{path.stem}, {kernel}, schedule {schedule}", text)
    print(tally)
    assert not tally.survivors, "\n".join(tally.survivors) + f"\n{tally}"
    assert sum(tally.made.values()) > 0
