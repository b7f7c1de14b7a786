"""Every change of a lowered text that changes a result is noticed by --verify --against, and nothing else is called wrong.

Where all that --verify has are bounds that tell little, it says so, and may miss a change. What changes a result is not left to --verify: two texts are the same where their outputs are the same functions of the inputs, in
exact arithmetic modulo a prime (terms.py). By default some examples and each N-th change (--part); the long test has all."""

import concurrent.futures
import json

import pytest

from arithmetic import mutants
from conftest import run, simulate
from terms import Unsupported, terms
from test_mutants import FOLDERS, kernels, lowered

MANY = 12  # mutants of one text; of more a part is enough, with --part
TOTAL = "kernel total<R = 3, N = {n}>(x: {t}[R, N]) -> s: {t}[R] {{ for r in R {{ s[r] = 0; for i in N s[r] += x[r, i]; }} }}\n"
PRODUCT = "kernel product<M = 9, N = 7, K = {k}>(A: {t}[M, K], B: {t}[K, N]) -> C: {t}[M, N] {{" \
          " for i in M, j in N {{ C[i, j] = 0; for k in K C[i, j] += A[i, k] * B[k, j]; }} }}\n"
WEIGHTED = "kernel weighted<N>(x: f32[N], w: f32[N]) -> y: f32[N], s: f32[1] {" \
           " for i in N y[i] = max(x[i] * w[i], 0.5 * x[i]) - w[i]; s[0] = 0; for i in N s[0] += y[i] * w[i]; }\n"
# Sums that no bound of rounding errors says much of, narrow types, sizes that are no numbers: program, schedule, options.
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


class Case:
    """A lowered text, and the program that it is to compute."""

    def __init__(self, folder, program, text, options):
        self.folder, self.program, self.text, self.options = folder, program, text, options
        assert self.verified("right", text) == 0, f"a right kernel is called wrong\n{text}"
        self.terms = self.terms_of("right.terms", text)

    def verified(self, name, text):
        path = self.folder / f"{name}.tir"
        path.write_text(text)
        return run(path, "--verify", "--against", self.program, "--device", "sim", *self.options)[0]

    def admits_little(self, name):
        """Does it say itself that its bounds tell little, and that not all elements are exact?"""
        report = json.loads(run(self.folder / f"{name}.tir", "--verify", "--against", self.program, "--device", "sim", "--json",
                                *self.options)[1])["verify"]
        return report["rounding"]["wide"] > 0 and report["structure"]["exact"] < report["total"]

    def terms_of(self, name, text):
        """The outputs as functions of the inputs, in exact arithmetic; None where that cannot be said."""
        path = self.folder / f"{name}.tir"
        try:
            path.write_text(terms(text, exact=True))
        except Unsupported:
            return None
        runs = [simulate(path, "--seed", seed, *self.options) for seed in (1, 2, 3)]
        return [outputs for _, _, outputs in runs] if all(status == 0 for status, _, _ in runs) else None

    def examine(self, number, mutant):
        """None, or what is wrong with the verdict."""
        noticed = self.verified(number, mutant.text) != 0
        found = self.terms_of(f"{number}.terms", mutant.text) if self.terms else None
        if noticed and self.terms and found == self.terms:
            return f"the same, but called wrong: {mutant.kind}, line {mutant.lines[0] + 1}\n{mutant.text}"
        if not noticed and found != self.terms and not self.admits_little(number):
            return f"not noticed: {mutant.kind}, line {mutant.lines[0] + 1}\n{mutant.text}"
        return None


def check(case, part):
    found = list(mutants(case.text))
    if len(found) > MANY:
        found = found[::part]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [v for v in pool.map(lambda m: case.examine(*m), enumerate(found)) if v]
    assert not wrong, f"{len(wrong)} of {len(found)} changes\n" + "\n".join(wrong)
    assert found


@pytest.mark.parametrize("name", PROGRAMS)
def test_own_programs(name, tmp_path, request):
    text, schedule, options = PROGRAMS[name]
    program = tmp_path / "program.tir"
    program.write_text(text)
    status, out, said = run(program, "--schedule", schedule, "--emit", "lowered")
    assert status == 0, said
    check(Case(tmp_path, program, out, options), request.config.getoption("--part"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_examples(folder, tmp_path, request):
    part, seen = request.config.getoption("--part"), set()
    if part > 1 and folder.name not in QUICK:
        pytest.skip("a long test")
    for path, kernel, sizes, schedule in kernels(folder):
        text = lowered(path, kernel, sizes, schedule)
        if text and text not in seen:
            seen.add(text)
            check(Case(tmp_path, path, text, ()), part)
