"""Every change of a lowered text that changes a result is noticed by --verify --against, and
nothing else is called wrong.

Where all that --verify has are bounds that tell little, it says so, and may miss a change. What
changes a result is not left to --verify: two texts are the same where their outputs are the same
functions of the inputs, in exact arithmetic modulo a prime (terms.py). By default some examples and
each N-th change (--part); the long test has all."""

import collections
import concurrent.futures
import json
import re

import pytest

from arithmetic import mutants
from conftest import TALLIES, run, simulate
from terms import Unsupported, decisive, terms
from test_mutants import FOLDERS, kernels, lowered

MANY = 12  # mutants of one text; of more a part is enough, with --part
TOTAL = (
    "kernel total<R = 3, N = {n}>(x: {t}[R, N]) -> s: {t}[R] {{ for r in R {{ s[r] = 0; "
    "for i in N s[r] += x[r, i]; }} }}\n"
)
PRODUCT = (
    "kernel product<M = 9, N = 7, K = {k}>(A: {t}[M, K], B: {t}[K, N]) -> C: {t}[M, N] {{"
    " for i in M, j in N {{ C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; }} }}\n"
)
WEIGHTED = (
    "kernel weighted<N>(x: f32[N], w: f32[N]) -> y: f32[N], s: f32[1] {"
    " for i in N y[i] = max(x[i] * w[i], 0.5 * x[i]) - w[i]; s[0] = 0; "
    "for i in N s[0] += y[i] * w[i]; }\n"
)
# Sums that no bound of rounding errors says much of, narrow types, sizes that are no numbers:
# program, schedule, options.
PROGRAMS = {
    "long_sum": (TOTAL.format(t="f32", n=20000), "default", ()),
    "half_sum": (TOTAL.format(t="f16", n=2500), "default", ()),
    "brain_sum": (TOTAL.format(t="bf16", n=700), "none", ()),
    "half_product": (PRODUCT.format(t="f16", k=90), "default", ()),
    "brain_product": (PRODUCT.format(t="bf16", k=50), "none", ()),
    "double_product": (PRODUCT.format(t="f64", k=40), "naive", ()),
    "weighted": (WEIGHTED, "default", ("--size", "N=77")),
}
QUICK = {"row_sum", "adjacent_difference"}
# Whatever its largest score is taken for, it comes to the same but for rounding.
WITHOUT_MAXIMUM = {"attention", "attention_causal"}


class Case:
    """A lowered text, and the program that it is to compute."""

    def __init__(self, folder, program, text, options):
        self.folder, self.program, self.text, self.options = folder, program, text, options
        # Then three sets of inputs are no proof: 70 colors leave most of 256 counts at 0.
        self.data_decides = decisive(text, re.findall(r"\b(\w+): \w+\[", text))
        assert self.verified("right", text) == 0, f"a right kernel is called wrong\n{text}"
        self.terms = list(self.outputs_of("right.terms", text))
        if None in self.terms:
            self.terms = []

    def verified(self, name, text):
        path = self.folder / f"{name}.tir"
        path.write_text(text)
        return run(path, "--verify", "--against", self.program, "--device", "sim", *self.options)[0]

    def admits_little(self, name):
        """Does it say itself that its bounds tell little, and that not all elements are exact?"""
        report = json.loads(
            run(
                self.folder / f"{name}.tir",
                "--verify",
                "--against",
                self.program,
                "--device",
                "sim",
                "--json",
                *self.options,
            )[1]
        )["verify"]
        return report["rounding"]["wide"] > 0 and report["structure"]["exact"] < report["total"]

    def outputs_of(self, name, text):
        """The outputs as functions of the inputs, in exact arithmetic: one set of inputs after
        another. None where that cannot be said."""
        path = self.folder / f"{name}.tir"
        try:
            path.write_text(terms(text, exact=True))
        except Unsupported:
            return
        for seed in (1, 2, 3):
            status, _, outputs = simulate(path, "--seed", seed, *self.options)
            yield outputs if status == 0 else None

    def is_same(self, name, text):
        """Does a text compute the same function of its inputs?"""
        found = 0
        for outputs in self.outputs_of(name, text):
            if outputs != self.terms[found]:
                return False
            found += 1
        return found == len(self.terms)

    def examine(self, number, mutant):
        """What became of it, and what is wrong with that: "noticed", "same", "untold", "admitted",
        "wrong"."""
        noticed = self.verified(number, mutant.text) != 0
        if not self.terms:
            return "noticed" if noticed else "untold", None
        where = f"{mutant.kind}, line {mutant.lines[0] + 1}\n{mutant.text}"
        if self.is_same(f"{number}.terms", mutant.text):
            wrong = noticed and not self.data_decides
            return (
                "wrong" if wrong else "noticed" if noticed else "same",
                f"the same, but called wrong: {where}" if wrong else None,
            )
        if noticed:
            return "noticed", None
        admitted = self.admits_little(number)
        return "admitted" if admitted else "wrong", None if admitted else f"not noticed: {where}"


class Tally(collections.Counter):
    """What became of mutants."""

    def add(self, other):
        self.update(other)

    def __str__(self):
        return (
            f"{self.total()} changes of arithmetic: {self['noticed']} noticed, {self['same']} "
            f"compute the same, {self['admitted']} not noticed "
            f"where --verify says that it can tell little, {self['untold']} "
            f"not noticed that may compute the same, {self['wrong']} wrong verdicts"
        )


def check(case, part):
    """What is wrong with the verdicts of a text's mutants."""
    found, tally, wrong = list(mutants(case.text)), Tally(), []
    if len(found) > MANY:
        found = found[::part]
    assert found
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for (what, said), mutant in zip(
            pool.map(lambda m: case.examine(*m), enumerate(found)), found
        ):
            tally[what] += 1
            wrong += [said] if said else []
            if what in ("untold", "admitted"):
                print(f"{what}: {mutant.kind}, line {mutant.lines[0] + 1}\n{mutant.text}")
    TALLIES.append(tally)
    return wrong


@pytest.mark.parametrize("name", PROGRAMS)
def test_own_programs(name, tmp_path, request):
    text, schedule, options = PROGRAMS[name]
    program = tmp_path / "program.tir"
    program.write_text(text)
    status, out, said = run(program, "--schedule", schedule, "--emit", "lowered")
    assert status == 0, said
    wrong = check(Case(tmp_path, program, out, options), request.config.getoption("--part"))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_examples(folder, tmp_path, request):
    part, seen, wrong = request.config.getoption("--part"), set(), []
    if part > 1 and folder.name not in QUICK:
        pytest.skip("a long test")
    for path, kernel, sizes, schedule in kernels(folder):
        text = lowered(path, kernel, sizes, schedule)
        if text and text not in seen and kernel not in WITHOUT_MAXIMUM:
            seen.add(text)
            wrong += check(Case(tmp_path, path, text, ()), part)
    assert not wrong, "\n".join(wrong)
