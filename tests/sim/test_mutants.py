"""Every change that makes a kernel faulty is found: each example, with each of its schedules,
lowered at sizes that no tile divides; each barrier left out, each guard one too wide, each two
dependent statements in the other order (mutants.py).

A mutant is caught by a fault. One whose accesses are all in order may still compute something else:
then `--verify --against` the program says so, and names the line that wrote the first wrong
element, on random inputs or on gentle ones (gentle.py). Barriers and waits must give faults. What
is left has to be proved to be the same kernel: its outputs are the same expressions of the inputs,
or the same up to the order of additions (terms.py). So as many are caught as are not the same.

Kernels with instructions have no terms. There, guards one too wide that change no bit of three
results count as alike: what they read more is not used."""

import collections
import concurrent.futures
import re
import threading

import pytest

from conftest import ROOT, TALLIES, run, simulate
from gentle import SETTINGS, gentle
from mutants import mutants
from terms import Unsupported, terms

SIZES = {
    "close_pairs": (70, 3),  # in more dimensions no pair is close
    "row_sum": (3, 9001),  # what fills every part of a row
    "sgemm": (37, 70, 150),  # what goes around all stages of the pipeline
    "matmul": (37, 70, 150),  # `default` is the same pipeline
    "matmul_bias_relu": (37, 70, 150),
    "matmul_nt": (37, 70, 150),
    "matmul_tn": (37, 70, 150),
    "matmul_tt": (37, 70, 150),
    "matmul_f64": (37, 70, 150),
    "matmul_f32": (37, 70, 150),
    "matmul_f32_nt": (37, 70, 150),
    "matmul_tf32": (37, 70, 150),
    "matmul_tf32_nt": (37, 70, 150),
    "matmul_tf32_rz_nt": (37, 70, 150),
    "matmul_bf16": (37, 70, 300),
    "matmul_f16_nt": (37, 70, 300),
    "matmul_f8_nt": (37, 70, 1300),
    "matmul_f8_fast_nt": (37, 70, 1300),
    "matmul_i8_nt": (37, 70, 1300),
    "three_mm": (37, 70, 150, 33, 150),
    "dot_products": (37, 70, 600),
    "adi": (3, 16),
    "likeliest_states": (5, 7, 45),  # the reference takes the longest
    "damped_factors": (5, 33),
    "conv_f16_nhwc": (7, 9, 5, 5, 1),
    "conv_f16_nchw": (7, 9, 5, 5, 1),
    "heads": (2, 21, 45, 3, 11),
    "scores": (2, 3, 21, 45),
    "attention": (1, 1, 128, 64),  # tiles of its one pass
    "attention_causal": (1, 1, 128, 64),
}  # where bounds still tell something: errors of its recurrences grow with the size
ODD = (70, 33, 45)
MANY = 12  # mutants of one text; of more a part is enough, with --part
FEW = 3  # times that a stencil goes over its field


# Data decide which elements of edge_softmax are written: its short rows use few lanes of a warp,
# and with longer ones some elements are never written.
OTHERS = ("kernelbench", "networks", "collections", "edge_softmax")
FOLDERS = sorted(p for p in (ROOT / "examples").iterdir() if p.is_dir() and p.name not in OTHERS)


def kernels(folder):
    """Each kernel of an example with its schedules: (path, kernel, its sizes, schedule)."""
    for path in sorted(folder.glob("*.tir")):
        status, listing, said = run("--list", path)
        assert status == 0, f"{path}: {said}"
        for part in re.split(r"^kernel ", listing, flags=re.M)[1:]:
            name = re.match(r"\w+", part)[0]
            listed = re.match(r"\w+<(.*?)>", part)
            sizes = (
                [s.split(" ")[0] for s in listed[1].split(", ") if ":" not in s] if listed else []
            )
            for schedule in re.findall(r"^    (\w+) ", part, re.M):
                yield path, name, sizes, schedule


def lowered(path, kernel, sizes, schedule):
    chosen = SIZES.get(schedule, SIZES.get(kernel, ODD * 3))
    fixed = [w for n, v in zip(sizes, chosen) for w in ("-D", f"{n}={FEW if n == 'STEPS' else v}")]
    status, text, said = run(
        path, "--kernel", kernel, "--schedule", schedule, *fixed, "--emit", "lowered"
    )
    assert status in (0, 1), (
        f"{path}, {kernel}, {schedule}: status {status}\n{said}"
    )  # a schedule may refuse a size
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
    return status == 4 and "E0635" in said, names_line(
        re.findall(r"^(\S+:\d+:\d+): note", said, re.M), mutant
    )


def terms_of(folder, number, text, exact=False):
    """What the outputs are as expressions of the inputs, as fingerprints for three sets of inputs;
    None where that cannot be said."""
    try:
        runs = [judge(folder, f"{number}.terms", terms(text, exact), seed) for seed in (1, 2, 3)]
    except Unsupported:
        return None
    return (
        [outputs for _, _, outputs in runs] if all(status == 0 for status, _, _ in runs) else None
    )


# What became of a mutant: "faults", "wrong", "equal", "close" (the same up to rounding), "alike"
# (not proved) or "survivors"; and whether a changed line is named.
Verdict = collections.namedtuple("Verdict", "what named status")


class Original:
    """A kernel of an example, lowered."""

    def __init__(self, folder, program, kernel, text):
        self.folder, self.program, self.kernel, self.text = folder, program, kernel, text
        status, fault, self.outputs = judge(folder, "right", text)
        assert status == 0, f"{program.stem}: {fault}\n{text}"
        self.lock, self.known = threading.Lock(), False

    def terms(self):
        """What its outputs are, which is found out for the first mutant that it is compared with:
        most are faults or wrong results."""
        with self.lock:
            if not self.known:
                self.known, self.found = True, terms_of(self.folder, "right", self.text)
            return self.found

    def differs_gently(self, number, mutant):
        """Is it wrong on gentle inputs, on which the original is right?"""
        program, right, path = (
            self.folder / f"{number}.{what}.tir" for what in ("program", "original", "gentle")
        )
        for setting in SETTINGS:
            for to, text in (
                (program, self.program.read_text()),
                (right, self.text),
                (path, mutant.text),
            ):
                to.write_text(gentle(text, self.kernel, *setting))
            if run(right, "--verify", "--against", program, "--device", "sim")[0] == 0:
                refuted, named = is_refuted(path, mutant, program)
                if refuted:
                    return True, named
        return False, False

    def looks_alike(self, number, mutant):
        """Has it the same outputs for other inputs, too?"""
        return all(
            judge(self.folder, number, mutant.text, seed)[2]
            == judge(self.folder, f"{number}.right", self.text, seed)[2]
            for seed in (1, 2, 3)
        )

    def settle(self, number, mutant, status):
        """No fault, and no wrong result on random inputs."""
        right = self.terms()
        found = right and terms_of(self.folder, number, mutant.text)
        if not found:
            alike = not right and mutant.kind == "guard" and self.looks_alike(number, mutant)
            return Verdict("alike" if alike else "survivors", False, status)
        if found == right:
            return Verdict("equal", False, status)
        if terms_of(self.folder, number, mutant.text, True) == terms_of(
            self.folder, f"{number}.right", self.text, True
        ):
            return Verdict("close", False, status)
        refuted, named = self.differs_gently(number, mutant)
        return Verdict("wrong" if refuted else "survivors", named, status)

    def examine(self, number, mutant):
        status, fault, outputs = judge(self.folder, number, mutant.text)
        if status == 4 and fault:
            return Verdict("faults", names_line(places_of(fault), mutant), fault["kind"])
        if status == 1 and "consumers turn" in self.text:  # of too many groups under way
            return Verdict("faults", False, "refused")
        if mutant.kind in ("barrier", "wait"):
            return Verdict("survivors", False, status)
        refuted, named = (
            is_refuted(self.folder / f"{number}.tir", mutant, self.program)
            if outputs != self.outputs
            else (False, False)
        )
        return Verdict("wrong", named, status) if refuted else self.settle(number, mutant, status)


class Tally:
    def __init__(self):
        self.made, self.faults, self.named, self.wrong, self.told = (
            collections.Counter() for _ in range(5)
        )
        self.equal, self.close, self.alike = (collections.Counter() for _ in range(3))
        self.bounds = collections.Counter()  # faults that are accesses out of bounds
        self.survivors = []

    def note(self, mutant, verdict, program):
        self.made[mutant.kind] += 1
        if verdict.what == "survivors":
            self.survivors.append(
                f"{program.stem}: {mutant.kind}, line {mutant.lines[0] + 1}, "
                f"status {verdict.status}\n{mutant.text}"
            )
            return
        getattr(self, verdict.what)[mutant.kind] += 1
        self.bounds[mutant.kind] += verdict.status == "out_of_bounds"
        if verdict.named:
            (self.told if verdict.what == "wrong" else self.named)[mutant.kind] += 1

    def add(self, other):
        for name, value in vars(self).items():
            setattr(self, name, value + vars(other)[name])

    def differ(self, kind):
        """How many are not the same kernel."""
        return self.made[kind] - self.equal[kind] - self.close[kind] - self.alike[kind]

    def caught(self, kind):
        return self.faults[kind] + self.wrong[kind]

    def __str__(self):
        kinds = [k for k in ("barrier", "wait", "turn", "guard", "swap") if self.made[k]]
        lines = [
            f"{kind}: {self.made[kind]} made, {self.equal[kind]} "
            f"proved the same, {self.close[kind]} the same up to rounding, "
            f"{self.alike[kind]} alike in three runs; "
            f"{self.differ(kind)} change the kernel, {self.caught(kind)} caught: "
            f"{self.faults[kind]} faults ({self.bounds[kind]} out of "
            f"bounds, {self.named[kind]} at a changed line), {self.wrong[kind]} "
            f"wrong results ({self.told[kind]} written by a changed line)"
            for kind in kinds
        ]
        differ, caught = (sum(map(count, kinds)) for count in (self.differ, self.caught))
        return "\n".join(
            [
                *lines,
                f"{sum(self.made.values())} mutants, {differ} change the kernel, {caught} caught",
            ]
        )


def check(folder, tally, program, kernel, text, part, number):
    original, found = Original(folder, program, kernel, text), list(mutants(text))
    if len(found) > MANY:
        found = found[number % part :: part]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        verdicts = pool.map(lambda m: original.examine(*m), enumerate(found))
        for mutant, verdict in zip(found, verdicts):
            tally.note(mutant, verdict, program)


# Programs whose schedules no example has.
UPDATES = ROOT / "tests/programs/bulk_updates.tir"


@pytest.mark.parametrize("schedule", ["sums", "least", "tiles", "once"])
def test_every_mutant_of_updates_is_caught(schedule, tmp_path, request):
    tally = Tally()
    text = run(UPDATES, "--schedule", schedule, "-D", "N=3", "--emit", "lowered", "--no-warn")[1]
    part = request.config.getoption("--part")
    check(tmp_path, tally, UPDATES, "bulk_updates", text, min(part, 3), 1)
    assert not tally.survivors, "\n".join(tally.survivors) + f"\n{tally}"
    assert tally.caught("wait") > 0


TURNS = ROOT / "tests/programs/ping_pong.tir"


@pytest.mark.parametrize("schedule", ["turns", "threes"])
def test_every_mutant_of_turns_is_caught(schedule, tmp_path, request):
    tally = Tally()
    text = run(TURNS, "--schedule", schedule, "-D", "N=7", "--emit", "lowered", "--no-warn")[1]
    part = request.config.getoption("--part")
    check(tmp_path, tally, TURNS, "ping_pong", text, min(part, 2), 1)
    assert not tally.survivors, "\n".join(tally.survivors) + f"\n{tally}"
    assert tally.caught("wait") > 0


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_every_mutant_is_caught(folder, tmp_path, request):
    part = request.config.getoption("--part")
    tally, seen = Tally(), set()
    for path, kernel, sizes, schedule in kernels(folder):
        text = lowered(path, kernel, sizes, schedule)
        if text and text not in seen:
            seen.add(text)
            check(tmp_path, tally, path, kernel, text, part, len(seen))
    TALLIES.append(tally)
    assert not tally.survivors, "\n".join(tally.survivors) + f"\n{tally}"
    assert sum(tally.made.values()) > 0
    assert all(tally.caught(kind) == tally.differ(kind) for kind in tally.made)
