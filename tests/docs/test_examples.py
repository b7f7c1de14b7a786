"""Every example, with each of its schedules, is right on the simulator: at sizes that tiles divide
and that they do not, at sizes of 1, and with symbolic sizes (--long: each of these sizes as numbers
and as symbols). Each has a README, whose blocks test_docs.py runs."""

import re

import pytest

from conftest import FOLDERS, ROOT

# Small sizes of each kind; a kernel takes as many as it has.
DIVIDING, ODD, ONES = (64, 64, 64, 2), (70, 33, 45, 3), (1, 1, 1, 1)
FIXED, SYMBOLIC = (DIVIDING, ODD), (ODD, ONES)  # what is run as numbers, and as symbols
# Images have fewer rows: each pixel has nine terms for each pair of channels. Batches and heads are
# few; the heads of attention have tiles.
FEWER = {
    ("B, H", DIVIDING): (2, 2, 64, 64),
    ("B, H", ODD): (2, 3, 45, 33),
    ("O", ODD): (37, 17, 35, 2),
    ("B", DIVIDING): (2, 64, 64, 2, 64),
    ("B", ODD): (2, 33, 45, 3, 11),
}

STEPS = 3  # errors of a recurrence grow with each of its STEPS

# What these files or kernels write, and where, depends on data; of the others it is proved that
# each element is written once.
DATA = {"histogram", "edge_softmax", "compressed_rows"}
# Those with subscripts that depend on data.
BY_DATA = {"compressed_rows"}


def sizes_of(signature):
    listed = re.search(r"<(.*?)>", signature)[1].split(", ")
    return [size.split(" ")[0] for size in listed if ":" not in size]


def kernels_of(path):
    return re.findall(r"^kernel (\w+)", path.read_text(), re.M)


def schedules_of(listing):
    return re.findall(r"^    (\w+) ", listing, re.M)


def needs_constants(listing, path, schedule):
    """A schedule with the line `// literal` needs sizes that are constants."""
    file = re.search(rf"^    {schedule} .*\b(\w+\.sched)\)$", listing, re.M)
    return (
        file
        and (path.parent / file[1]).exists()
        and "// literal\n" in (path.parent / file[1]).read_text()
    )


def arguments(names, values, as_symbols):
    """What fixes the sizes, or gives them to a run that has them as symbols."""
    kinds = (", ".join(names[:2]), *names)
    fewer = [FEWER[kind, values] for kind in kinds if (kind, values) in FEWER]
    given = [
        (n, min(v, STEPS) if n == "STEPS" else v) for n, v in zip(names, (fewer or [values])[0])
    ]
    if as_symbols:
        return [w for n, v in given for w in ("-D", f"{n}=?", "--size", f"{n}={v}")]
    return [w for n, v in given for w in ("-D", f"{n}={v}")]


def uses(names, all_values, literal, long, turn):
    """The arguments of each use of the sizes; without `long` each schedule has one of them, in
    turn."""
    found = [
        arguments(names, values, as_symbols)
        for values in all_values
        for as_symbols, usual in ((False, FIXED), (True, SYMBOLIC))
        if (long or values in usual) and not (literal and as_symbols)
    ]
    return found if long else [found[turn % len(found)]]


def check_kernel(tirc, path, kernel, all_values, long, wanted=lambda schedule: True):
    status, listing = tirc("--list", path, "--kernel", kernel)
    assert status == 0
    names = sizes_of(listing)
    for number, schedule in enumerate(schedules_of(listing)):
        if not wanted(schedule):
            continue
        literal = needs_constants(listing, path, schedule)
        for sizes in uses(names, all_values, literal, long, number):
            status, out = tirc(
                path,
                "--kernel",
                kernel,
                "--schedule",
                schedule,
                "--device",
                "sim",
                "--verify",
                *sizes,
            )
            assert status == 0 and "verify  ok" in out, f"{schedule} {sizes}\n{out}"
            either = {path.stem, kernel}
            assert either & BY_DATA or "bounds  proved:" in out, f"{schedule} {sizes}\n{out}"
            proved = "writes  proved" in out or either & DATA or "--size" in sizes
            assert proved, f"{schedule} {sizes}\n{out}"


def is_plain(schedule):
    """These do the same to every program."""
    return schedule in ("none", "naive")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_example(tirc, folder, request):
    """The first program of a file under each schedule, the others not under plain ones."""
    long = request.config.getoption("--long")
    kernels = sorted(folder.glob("*.tir"))
    assert kernels
    for path in kernels:
        first, *others = kernels_of(path)
        check_kernel(tirc, path, first, (DIVIDING, ODD, ONES), long)
        for kernel in others:
            check_kernel(tirc, path, kernel, (ODD,), long, lambda s: not is_plain(s))


@pytest.mark.sweep
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_plain_schedules(tirc, folder, request):
    long = request.config.getoption("--long")
    for path in sorted(folder.glob("*.tir")):
        for kernel in kernels_of(path)[1:]:
            check_kernel(tirc, path, kernel, (ODD,), long, is_plain)


def test_gemm_of_one_element(tirc):
    """Of sizes that are numbers: no subscript tells rows from columns."""
    path = ROOT / "examples/tensor_cores/tensor_cores.tir"
    for kernel in [name for name in kernels_of(path) if name.startswith("matmul")]:
        names = sizes_of(tirc("--list", path, "--kernel", kernel)[1])
        ones = [word for name in names for word in ("-D", f"{name}=1")]
        use = ["--kernel", kernel, "--schedule", "gemm", *ones]
        status, out = tirc(path, *use, "--device", "sim", "--verify")
        assert status == 0 and "verify  ok" in out, f"{kernel}\n{out}"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_readme(folder):
    page = (folder / "README.md").read_text()
    assert f"]({folder.name}/README.md" in (ROOT / "examples" / "README.md").read_text()
    for path in [*folder.glob("*.tir"), *folder.glob("*.sched")]:
        assert path.stem in page, f"{path} is not in the page"


def test_schedules_are_short():
    """No file of schedules needs more than 45 lines: what repeats is a proc of the library."""
    for path in [*ROOT.glob("examples/*/*.sched"), *ROOT.glob("frontend/library/*.sched")]:
        text = path.read_text()
        if re.search(r"^schedule ", text, re.M):
            assert len(text.splitlines()) <= 45, path
