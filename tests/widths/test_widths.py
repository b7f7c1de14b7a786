"""Widths of indices: with symbolic sizes at their limits, no `int` of emitted text leaves 32 bits.

The text is evaluated with Python's integers (ctext.py), which share nothing with tirc: at the
largest sizes that the limits of the text allow, for blocks and threads at the corners of the grid,
and, where it says so, against the value that the program means."""

import functools
import json
import os
import random
import re
import subprocess
from pathlib import Path

import pytest
from ctext import LIMITS, Beyond, Overflow, Thread, kernels

ROOT = Path(__file__).resolve().parents[2]
MOST = 2**31 - 1
ISSUE = {
    "square": (
        "kernel k<M = 8, N = 8>() -> y: i64[N] { for i in N y[i] = i * M * M; }",
        "let [i] = loops(y); let [b, t] = split(i, [_, 256]); bind(b, blockIdx.x); "
        "bind(t, threadIdx.x);",
        lambda s, i: i * s["M"] * s["M"],
    ),
    "fused": (
        "kernel k<M = 8, N = 8>(x: f32[M, N]) -> y: f32[M, N] { "
        "for i in M, j in N y[i, j] = x[i, j]; }",
        "let [i, j] = loops(y); let f = fuse(i, j);",
        None,
    ),
    "fused_far": (
        "kernel k<M = 8, N = 8, B = 8>(x: f32[N]) -> y: f32[N] { "
        "for j in N y[j] = x[j] + f32(j * M * B); }",
        "let [j] = loops(y);",
        None,
    ),
    "modulo": (
        "kernel k<M = 8>(x: f32[M]) -> y: f32[M] { for i in M y[i] = x[(i + 2147483000) % M]; }",
        "",
        None,
    ),
    "shift": (
        "kernel k<M = 8>(x: f32[M]) -> y: f32[M] { for i in M y[i] = x[i]; }",
        "let [i] = loops(y); shift(i, 2147483000);",
        None,
    ),
    "split": (
        "kernel k<M = 8>(x: f32[M]) -> y: f32[M] { for i in M y[i] = x[i]; }",
        "let [i] = loops(y); let [a, b] = split(i, [_, 2000000000]);",
        None,
    ),
    "map": (
        "kernel k<M = 8>(x: f32[M]) -> y: f32[M] { for i in M y[i] = x[i]; }",
        "transform_block_layout(y, [i] -> [i * 3000000]);",
        None,
    ),
    "long_loop": (
        "kernel k() -> y: i64[1] { for k in 3000000000 y[0] = k; }",
        "",
        lambda s, i: None,
    ),
    "step": (
        "kernel k<N = 8>() -> y: i64[N] { for i in 0..N step 1000000 y[i] = i; }",
        "",
        lambda s, i: i,
    ),
    "down": (
        "kernel k<N = 8>() -> y: i64[N] { for i in N - 1..0 step -1000000 y[i] = N - i; }",
        "",
        lambda s, i: s["N"] - i,
    ),
    "negative": (
        "kernel k<M = 8, N = 8>() -> y: i64[N] { for i in N y[i] = -i * M - M; }",
        "",
        lambda s, i: -i * s["M"] - s["M"],
    ),
    "minimum": (
        "kernel k<M = 8, N = 8>() -> y: i64[N] { "
        "for i in N y[i] = min(i * M, M * M) + max(i * M * M, M); }",
        "",
        lambda s, i: min(i * s["M"], s["M"] ** 2) + max(i * s["M"] ** 2, s["M"]),
    ),
    "select": (
        "kernel k<M = 8, N = 8>() -> y: i64[N] { "
        "for i in N y[i] = i * M > 7 ? i * M * M : M - i; }",
        "",
        lambda s, i: i * s["M"] ** 2 if i * s["M"] > 7 else s["M"] - i,
    ),
    "divide": (
        "kernel k<M = 8, N = 8>() -> y: i64[N] { "
        "for i in N y[i] = (i * M * M + 5) / (M + 1) % 1000; }",
        "",
        lambda s, i: (i * s["M"] ** 2 + 5) // (s["M"] + 1) % 1000,
    ),
    "condition": (
        "kernel k<M = 8, N = 8>(x: f32[N]) -> y: f32[N] { "
        "for i in N if i * M * M % 3 == 1 y[i] = x[i]; }",
        "",
        None,
    ),
    "triangle": (
        "kernel k<M = 8, N = 8>(x: f32[N]) -> y: f32[N] { for i in N { y[i] = 0.0; "
        "for j in i * M..N * M step 7777777"
        " y[i] += x[j % N]; } }",
        "",
        None,
    ),
    "data": (
        "kernel k<M = 8, V = 8, D = 8>(table: f32[V, D, M], at: i32[M]) -> y: f32[M, D] { "
        "for i in M, d in D"
        " y[i, d] = table[at[i], d, i]; }",
        "",
        None,
    ),
}
MATMUL = (
    "examples/matmul/matmul.tir",
    ("M", "N", "K"),
    ("naive", "tiled32", "default", "sgemm", "none"),
)
EXAMPLES = [
    MATMUL,
    ("examples/transpose/transpose.tir", ("R", "C"), ("padded", "shared", "default")),
    ("examples/row_sum/row_sum.tir", (), ("default",)),
]


def tirc(*args, text=""):
    done = subprocess.run(
        [os.environ["TIRC"], *args],
        cwd=ROOT,
        input=text.encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Emitted:
    """A lowered program: its text, its sizes, and what limits them."""

    def __init__(self, *args, text=""):
        self.status, out, self.messages = tirc(*args, "--emit", "json", text=text)
        if self.status:
            return
        self.json = json.loads(out)
        self.kernels = {k.name: k for k in kernels(self.json["cuda"])}
        self.symbolic = [name for name, value in self.json["sizes"].items() if value is None]
        self.limits = [compile(as_python(limit), limit, "eval") for limit in self.json["limits"]]

    def allowed(self, sizes):
        return all(eval(limit, {}, dict(sizes)) <= MOST for limit in self.limits)

    def largest(self, rng, most):
        """Sizes of which one after the other is as large as the limits allow; some are small
        before."""
        sizes = {name: rng.choice([1, 1, 2, 3, 33, 1000, 46341, 65536]) for name in self.symbolic}
        if not self.allowed(sizes):
            sizes = dict.fromkeys(self.symbolic, 1)
        order = self.symbolic[:]
        rng.shuffle(order)
        for name in order:
            low, high = sizes[name], most
            while low < high:
                middle = (low + high + 1) // 2
                if self.allowed({**sizes, name: middle}):
                    low = middle
                else:
                    high = middle - 1
            sizes[name] = low
        return sizes

    def threads(self, rng, sizes, launch):
        """Coordinates at the corners of the grid and inside; none where nothing can be launched."""
        grid = [eval(as_python(str(g)), {}, dict(sizes)) for g in launch["grid"]]
        if any(g < 1 for g in grid):
            return
        grid = [min(g, limit) for g, limit in zip(grid, (MOST, 65535, 65535))]
        for corner in range(6):
            place = {}
            for axis, blocks, threads in zip("xyz", grid, launch["block"]):
                for name, n in (("blockIdx.", blocks), ("threadIdx.", threads)):
                    place[name + axis] = (
                        n - 1
                        if corner == 0
                        else 0
                        if corner == 1
                        else rng.choice([n - 1, rng.randrange(n)])
                    )
            yield place

    def check(self, rng, most=2**40, stored=None):
        """How many integers were checked."""
        checked = 0
        for turn in range(12):
            sizes = self.largest(rng, most if turn % 2 else 2**20)
            for launch in self.json["launches"]:
                kernel = self.kernels[launch["name"]]
                if any(a["kind"] == "loop" for a in launch["arguments"]):
                    continue
                for place in self.threads(rng, sizes, launch):
                    keep = stored and functools.partial(stored, sizes)
                    thread = Thread(kernel, {**self.json["sizes"], **sizes}, place, keep)
                    try:
                        thread.run()
                    except Beyond:
                        pass
                    checked += thread.checked
        return checked


def as_python(text):
    return text.replace("/", "//")


def program(name):
    text, schedule, _ = ISSUE[name]
    return f"{text}\nschedule s for k() {{ {schedule} }}\n"


def defines(text):
    return [f"-D{name}=?" for name in re.findall(r"(\w+) = 8", text)]


@pytest.mark.parametrize("index64", [False, True], ids=["limits", "index64"])
@pytest.mark.parametrize("name", ISSUE)
def test_program(name, index64):
    text, means = program(name), ISSUE[name][2]
    emitted = Emitted("-", *defines(text), "--schedule", "s", *["--index64"] * index64, text=text)
    assert emitted.status == 0, emitted.messages
    found = []

    def stored(sizes, buffer, at, value):
        if buffer == "y" and at is not None and value is not None:
            found.append(at)
            assert value == (at if means is None else means(sizes, at)) or name == "long_loop", (
                sizes,
                at,
                value,
            )

    assert emitted.check(random.Random(name), stored=stored) > 0
    assert found or means is None


def test_long_loop_reaches_its_end():
    emitted = Emitted("-", "--schedule", "s", text=program("long_loop"))
    values = []
    emitted.check(random.Random(0), stored=lambda sizes, buffer, at, value: values.append(value))
    assert max(v for v in values if v is not None) == 2999999999


@pytest.mark.parametrize(
    "file,sizes,schedule", [(f, s, name) for f, s, names in EXAMPLES for name in names]
)
def test_example(file, sizes, schedule):
    emitted = Emitted(file, *[f"-D{name}=?" for name in sizes], "--schedule", schedule)
    assert emitted.status in (0, 1), emitted.messages
    if emitted.status == 0 and sizes:
        assert emitted.check(random.Random(schedule)) > 0


# Those of symbolic sizes; ctext.py does not read copies by the hardware.
GOLDEN = sorted(
    p
    for p in (ROOT / "tests/golden").glob("*.case")
    if re.search(r"^run:.*=\?", p.read_text(), re.M)
    and "copy_bulk" not in p.with_suffix(".cu").read_text()
)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_case(path):
    head, _, text = path.read_text().partition("\n\n")
    args = re.search(r"^run: (.*)", head, re.M)[1].split()
    emitted = Emitted(*([] if any(a.endswith(".tir") for a in args) else ["-"]), *args, text=text)
    assert emitted.status == 0, emitted.messages
    assert emitted.check(random.Random(path.stem)) > 0


RANDOM = """kernel k<M = 8, N = 8, K = 8>(x: f32[M, N], z: f32[N, K]) -> y: f32[M, K]
{
    for i in M, j in K, k in N { init y[i, j] = 0.0; y[i, j] += x[i, k] * z[k, j]; }
}
"""


def random_schedule(rng):
    """Splits, fusions, shifts and bindings of a product of matrices; many are refused."""
    loops, lines, n = ["i", "j", "k"], ["let [i, j, k] = loops(y);"], 0
    for _ in range(rng.randrange(1, 5)):
        kind = rng.choice(["split", "split", "fuse", "shift", "reorder", "bind", "bind"])
        at = rng.randrange(len(loops))
        if kind == "split":
            factor = rng.choice([2, 7, 32, 256, 1024, 100000, 40000000, 2000000000])
            lines.append(f"let [o{n}, l{n}] = split({loops[at]}, [_, {factor}]);")
            loops[at : at + 1] = [f"o{n}", f"l{n}"]
        elif kind == "fuse" and at + 1 < len(loops):
            lines.append(f"let f{n} = fuse({loops[at]}, {loops[at + 1]});")
            loops[at : at + 2] = [f"f{n}"]
        elif kind == "shift":
            lines.append(
                f"shift({loops[at]}, {rng.choice([1, -1, 1000, 2147483000, -2147483000])});"
            )
        elif kind == "reorder":
            order = loops[:]
            rng.shuffle(order)
            lines.append(f"reorder({', '.join(order)});")
            loops = order
        elif kind == "bind":
            lines.append(
                f"bind({loops.pop(at)}, {rng.choice(['blockIdx.x', 'blockIdx.y', 'threadIdx.x'])});"
            )
            if not loops:
                break
        n += 1
    return "schedule s for k() { " + " ".join(lines) + " }\n"


def test_random_schedules(request):
    rng = random.Random(12)
    taken, tried = 0, 1500 if request.config.getoption("--long") else 60
    for _ in range(tried):
        text = RANDOM + random_schedule(rng)
        emitted = Emitted(
            "-",
            *[f"-D{n}=?" for n in rng.sample("MNK", rng.randrange(1, 4))],
            "--schedule",
            "s",
            text=text,
        )
        assert emitted.status in (0, 1), emitted.messages
        if emitted.status == 0:
            taken += 1
            try:
                emitted.check(rng)
            except Overflow as e:
                raise AssertionError(f"{e}\n{text}\n{emitted.json['cuda']}") from e
    assert taken * 5 > tried


# ---- runs ----------------------------------------------------------------------------------------


def test_a_run_beyond_a_limit_takes_64_bit_indices():
    """The simulator computes an int in 32 bits and finds one that leaves them: this run has
    none."""
    text = "kernel k<M = 8, N = 8>() -> y: i64[N] { for i in N y[i] = i + M; }\n"
    assert Emitted("-", "-DM=?", "-DN=?", text=text).limits
    status, out, messages = tirc(
        "-",
        "-DM=?",
        "-DN=?",
        "--run",
        "--verify",
        "--device",
        "sim",
        "--json",
        "--size",
        "M=3000000000",
        "--size",
        "N=300",
        text=text,
    )
    assert status == 0, messages
    assert (
        json.loads(out)["run"]["outputs"][0]["first"][0] == 3000000000
    )  # all digits are --verify's


def test_a_cu_program_checks_its_limits():
    status, out, _ = tirc(
        "-", "-DM=?", "-DN=?", "--emit", "cu", "--schedule", "s", text=program("fused")
    )
    assert status == 0
    assert re.search(
        r"if \(\(double\)M \* \(double\)N.* >= 2147483648.0\)\n\s+return fprintf\(stderr, \"M \* N",
        out,
    )


def test_lowered_text_gets_its_widths_again():
    text = program("square")
    lowered = tirc("-", "-DM=?", "-DN=?", "--schedule", "s", "--emit", "lowered", text=text)[1]
    narrow = lowered.replace("i64(i) * i64(M) * i64(M)", "i64(i * M * M)")
    assert narrow != lowered
    assert tirc("-", "--emit", "lowered", text=narrow)[1] == lowered


def test_the_evaluation_finds_what_leaves_an_int():
    text = (
        'extern "C" __global__ void __launch_bounds__(32)\nk(float *__restrict__ y, const int N)\n'
        "{\n"
        "    for (int i = 0; i < N; i += 1000)\n        y[i * 2] = 0.0f;\n}\n"
    )
    kernel = kernels(text)[0]
    place = {f"{kind}.{axis}": 0 for kind in ("blockIdx", "threadIdx") for axis in "xyz"}
    assert Thread(kernel, {"N": 2**30}, place).run() > 0
    for n in (2**30 + 2000, MOST):
        with pytest.raises(Overflow):
            Thread(kernel, {"N": n}, place).run()
    assert LIMITS["int"] == (-(2**31), MOST)
