"""Programs of examples on the simulator against NumPy in double precision.

    CASES = Cases()

    @CASES.case({"M": 5, "N": 7}, {"M": 1, "N": 1})
    def relu(x): ...

The function has the name of a kernel. It takes the inputs of the kernel by name, and may take its
sizes by name, too. It returns what the kernel writes: an array, or several in the order of the
declaration, `inout` parameters before outputs. Of the sets of sizes the first runs by default, and
all run in the long test. Inputs are random reals in -1..1, unless `inputs` makes them: for each
name a function of a generator, a shape and the sizes.
"""

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Callable

import numpy as np
import tirc

TYPES = {
    "f64": "f8",
    "f32": "f4",
    "f16": "f2",
    "i64": "i8",
    "i32": "i4",
    "i8": "i1",
    "u32": "u4",
    "u8": "u1",
    "bool": "?",
}


@dataclasses.dataclass
class Case:
    evaluate: Callable
    sizes: tuple
    inputs: dict
    rtol: float
    constant: tuple  # sizes that are no symbols in schedules of the file
    literal: tuple  # sizes that are never symbols


class Cases(dict):
    """By the names of their kernels."""

    def case(self, *sizes, inputs=None, rtol=2e-5, constant=(), literal=()):
        def add(evaluate):
            case = Case(evaluate, sizes, inputs or {}, rtol, constant, literal)
            self[evaluate.__name__.rstrip("_")] = case
            return evaluate

        return add


def sizes(names, *values):
    """The sets of sizes that lists of numbers say: sizes("M N", (5, 7), (1, 1))."""
    return [dict(zip(names.split(), v, strict=True)) for v in values]


def kernels_in(folder, pattern="*.tir"):
    """The file of each kernel."""
    return {
        kernel: path
        for path in sorted(Path(folder).glob(pattern))
        for kernel in re.findall(r"^kernel (\w+)", path.read_text(), re.M)
    }


@dataclasses.dataclass
class Parameter:
    name: str
    type: str
    shape: str  # as expressions of sizes
    inout: bool


def inputs_of(signature):
    """The parameters of a kernel that its caller gives."""
    listed = signature[signature.index("(") :].split("->")[0].split("where")[0]
    for inout, name, type, shape in re.findall(
        r"(inout )?(\w+): (\w+)(?:\[(.*?)\])?", listed, re.S
    ):
        yield Parameter(name, type, shape.replace("/", "//"), bool(inout))


def reals(rng, shape, _):
    return rng.uniform(-1, 1, shape)


def positive(rng, shape, _):
    return rng.uniform(0.5, 1, shape)


def bytes_(rng, shape, _):
    return rng.integers(0, 256, shape)


def below(name):
    """Inputs that say an index: each below a size."""
    return lambda rng, shape, sizes: rng.integers(0, sizes[name], shape)


def firsts(rng, shape, sizes):
    """Where the rows of E elements begin, of which some are empty."""
    inner = np.sort(rng.integers(0, sizes["E"] + 1, shape[0] - 2))
    return np.concatenate(([0], inner, [sizes["E"]]))


def arrays(case, signature, sizes):
    rng = np.random.default_rng(sum(sizes.values()))
    for p in inputs_of(signature):
        extents = eval(f"({p.shape},)", {}, sizes) if p.shape else (1,) if p.inout else ()
        made = case.inputs.get(p.name, reals)(rng, extents, sizes)
        yield p, np.asarray(made).astype(TYPES[p.type])


def expected(case, given, sizes):
    """In double precision, from the inputs as the kernel gets them."""
    wide = {n: a.astype("f8") if a.dtype.kind == "f" else a.copy() for n, a in given.items()}
    taken = inspect.signature(case.evaluate).parameters
    made = case.evaluate(**{n: v for n, v in (sizes | wide).items() if n in taken})
    return [np.asarray(m) for m in (made if isinstance(made, tuple) else (made,))]


def compare(got, want, rtol):
    assert got.shape == want.shape
    if want.dtype.kind in "iub":
        np.testing.assert_array_equal(got, want)
    else:
        largest = np.max(np.abs(want[np.isfinite(want)]), initial=0)
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol / 2 * largest)


def check(path, name, case, sizes, *, schedule=None, symbols=(), device="auto"):
    """Runs a kernel at these sizes, some of them as symbols, and compares what it writes."""
    given = sizes | dict.fromkeys(symbols, "?")
    kernel = tirc.compile(path, name, schedule=schedule, device=device, **given)
    made = list(arrays(case, kernel.signature, sizes))
    given = {p.name: a for p, a in made}
    want = expected(case, given, sizes)
    shapes = " ".join(p.shape for p, _ in made)  # without divisors, which they do not determine
    alone = {n: sizes[n] for n in symbols if not re.search(rf"(?<!// )\b{n}\b", shapes)}
    got = kernel(*[a if a.shape else a.item() for a in given.values()], **alone)
    inout = [a for p, a in made if p.inout]
    outputs = list(got) if isinstance(got, tuple) else [got]
    if len(inout) < len(want):
        outputs = inout + outputs
    assert len(outputs) == len(want)
    for g, w in zip(outputs, want, strict=True):
        compare(np.asarray(g), w, case.rtol)
