"""The operators of examples/kernelbench on the simulator, scheduled by `default`, against NumPy
(cases.py): each at one set of odd sizes; --long: at all sets, also as symbols, and at sizes of 1.
"""

import csv
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import tirc
from cases import CASES

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "kernelbench"
TYPES = {"f32": "f4", "i64": "i8", "bool": "?"}
PROGRAMS = {
    kernel: path
    for path in sorted(FOLDER.glob("*.tir"))
    for kernel in re.findall(r"^kernel (\w+)", path.read_text(), re.M)
}


def inputs_of(signature):
    """The parameters of a kernel: name, type, and shape as expressions of sizes."""
    listed = signature[signature.index("(") :].split("->")[0]
    for name, type, shape in re.findall(r"(\w+): (\w+)(?:\[(.*?)\])?", listed, re.S):
        yield name, type, shape.replace("/", "//")


def reals(rng, shape, _):
    return rng.uniform(-1, 1, shape)


def arrays(case, signature, sizes):
    rng = np.random.default_rng(sum(sizes.values()))
    for name, type, shape in inputs_of(signature):
        extents = eval(f"({shape},)", {}, sizes) if shape else ()
        made = case.inputs.get(name, reals)(rng, extents, sizes)
        yield name, np.asarray(made).astype(TYPES[type])


def expected(case, given, sizes):
    """In double precision, from the inputs as the kernel gets them."""
    wide = {n: a.astype("f8") if a.dtype.kind == "f" else a for n, a in given.items()}
    taken = inspect.signature(case.evaluate).parameters
    return np.asarray(case.evaluate(**{n: v for n, v in (sizes | wide).items() if n in taken}))


# Windows, their strides, dilations and padding, and groups of channels.
CONSTANT = re.compile("[KSPDE][XYZHW]?|G")


def symbols(name, sizes):
    """All sizes but those that stay constant. Only the batch where symbols leave extents that the
    proofs do not take apart: multiples of a size plus a number, and channels of a group."""
    strided = name.startswith("conv_transposed") and any(n[0] == "S" for n in sizes)
    others = [n for n in sizes if not CONSTANT.fullmatch(n) or name == "attention"]
    return dict.fromkeys("N" if strided or "G" in sizes else others, "?")


def check(name, sizes, symbolic):
    chosen = symbols(name, sizes) if symbolic else {}
    kernel = tirc.compile(PROGRAMS[name], name, **sizes | chosen)
    given = dict(arrays(CASES[name], kernel.signature, sizes))
    got = kernel(*[a if a.shape else a.item() for a in given.values()])
    want = expected(CASES[name], given, sizes)
    assert got.shape == want.shape
    if want.dtype.kind == "i":
        np.testing.assert_array_equal(got, want)
    else:
        largest = np.max(np.abs(want))
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5 * largest)


def runs():
    for name, case in CASES.items():
        for number, sizes in enumerate(case.sizes):
            marks = [pytest.mark.long] * (number > 0)
            values = "-".join(map(str, sizes.values()))
            yield pytest.param(name, sizes, False, marks=marks, id=f"{name}-{values}")
            yield pytest.param(
                name, sizes, True, marks=pytest.mark.long, id=f"{name}-{values}-symbolic"
            )


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIRC_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("name, sizes, symbolic", list(runs()))
def test_operator(name, sizes, symbolic):
    check(name, sizes, symbolic)


def test_table():
    """It names the 100 operators in their order, and each program, once; kernels have cases."""
    with open(FOLDER / "operators.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [int(row["benchmark"].split("_")[0]) for row in rows] == list(range(1, 101))
    assert sorted(row["program"] for row in rows) == sorted(p.stem for p in FOLDER.glob("*.tir"))
    assert all(PROGRAMS[row["kernel"]].stem == row["program"] for row in rows)
    assert set(CASES) == set(PROGRAMS)
