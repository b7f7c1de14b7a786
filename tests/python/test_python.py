"""The Python package: calls, their errors, texts and results, on the simulator."""

import gc
import html.parser
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tirc
from conftest import held, works_in_a_child

ROOT = Path(__file__).resolve().parents[2]
MATMUL = ROOT / "examples" / "matmul" / "matmul.tir"
SCALE = """
kernel scale<N = 8, T: type = f32>(x: T[N], by: T) -> y: T[N] { for i in N y[i] = T(by * x[i]); }
"""
MINMAX = """
kernel minmax<N = 8>(x: i32[N]) -> least: i32[], largest: i32[]
{
    least = 2147483647;
    largest = -2147483648;
    for i in N {
        least min= x[i];
        largest max= x[i];
    }
}
"""
ADD = "kernel add<N>(inout x: f64[N], y: f64[N]) { for i in N x[i] += y[i]; }"


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TIRC_CACHE_DIR", str(tmp_path))


@pytest.fixture
def mm():
    return tirc.compile(MATMUL, schedule="tiled32")


def matrices(m, n, k):
    rng = np.random.default_rng(m * n * k)
    return rng.random((m, k), dtype="f4"), rng.random((k, n), dtype="f4")


# ---- calls -----------------------------------------------------------------------------------


def test_shapes_set_the_sizes(mm):
    for m, n, k in ((1, 1, 1), (20, 33, 17), (64, 2, 5)):
        a, b = matrices(m, n, k)
        c = mm(a, b)
        assert type(c) is np.ndarray and c.dtype == np.float32
        np.testing.assert_allclose(c, a @ b, rtol=1e-5)
        assert f"A: f32[{m}, {k}], read" in mm.cuda


def test_outputs_are_given_or_allocated(mm):
    a, b = matrices(5, 6, 7)
    c = np.empty((5, 6), dtype="f4")
    assert mm(a, b, out=c) is c and mm(B=b, A=a, out={"C": c}) is c
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    least, largest = tirc.compile(MINMAX)(np.array([3, -4, 5], dtype="i4"))
    assert (least.shape, least, largest) == ((), -4, 5)


def test_arrays_are_written_in_place():
    add = tirc.compile(ADD)
    x, y = np.arange(5.0), np.ones(5)
    assert add(x, y) is x and x.tolist() == [1, 2, 3, 4, 5]
    assert add(np.zeros(3), np.ones(3)).tolist() == [1, 1, 1]


def test_scalars_and_types():
    scale = tirc.compile(SCALE)
    for dtype, by in (("f4", 0.5), ("f8", 1 / 3), ("i2", -3), ("u8", 2**63), ("f2", np.float16(2))):
        x = np.arange(1, 4).astype(dtype)
        y = scale(x, by)
        assert y.dtype == x.dtype
        np.testing.assert_array_equal(y, (x * np.asarray(by).astype(dtype)).astype(dtype))
    assert scale(np.ones(2, "f4"), by=4).tolist() == [4, 4]


def test_sizes_that_no_array_says():
    iota = tirc.compile("kernel iota<N>() -> y: i32[N] { for i in N y[i] = i32(i); }")
    assert iota(N=4).tolist() == [0, 1, 2, 3]
    assert iota(out=np.empty(3, "i4")).tolist() == [0, 1, 2]
    with pytest.raises(tirc.ArgumentValueError, match="value of the size N") as e:
        iota()
    assert e.value.parameter == "N"


def test_one_kernel_for_each_set_of_sizes(mm):
    a, b = matrices(4, 4, 4)
    mm(a, b)
    units, calls = dict(mm._units), dict(mm._calls)
    mm(a, b, out=np.empty((4, 4), "f4"))
    mm(a, b)
    assert mm._units == units  # the same objects
    assert all(mm._calls[key] is calls[key] for key in calls)
    mm(*matrices(4, 4, 5))
    assert len(mm._units) == len(units) + 1
    # a symbolic size needs one kernel
    add = tirc.compile(ADD)
    for n in (3, 4, 5):
        add(np.zeros(n), np.ones(n))
    assert len(add._units) == 1 and "long long N" in add.cuda or "int N" in add.cuda


def test_old_kernels_are_forgotten(monkeypatch):
    monkeypatch.setattr("tirc.kernel._MAX_UNITS", 3)
    scale = tirc.compile(SCALE)
    for n in range(1, 8):
        assert scale(np.ones(n, "f4"), 2).tolist() == [2] * n
    assert len(scale._units) == 3 and len(scale._calls) <= 3
    assert scale(np.ones(1, "f4"), 3).tolist() == [3]


def test_dlpack_shares_memory(mm):
    class Exporter:
        """Speaks DLPack and nothing else."""

        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    a, b = matrices(3, 4, 5)
    c = np.zeros((3, 4), "f4")
    before = [sys.getrefcount(x) for x in (a, b, c)]
    mm(Exporter(a), Exporter(b), out=Exporter(c))
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    assert [sys.getrefcount(x) for x in (a, b, c)] == before
    with pytest.raises(tirc.ArgumentValueError, match="'B' is not contiguous"):
        mm(Exporter(a), Exporter(b.T.copy().T))


# ---- refusals --------------------------------------------------------------------------------


def test_arguments_that_do_not_fit(mm):
    a, b = matrices(3, 4, 5)
    read_only = np.zeros((3, 4), "f4")
    read_only.flags.writeable = False
    both = np.zeros(32, "f4")
    cases = [
        ((a, b[:-1].copy()), {}, ValueError, "B", "axis 0 of 'B' has extent K, here 5"),
        ((a.astype("f8"), b), {}, TypeError, "A", "'A' has elements of type f32, but the array"),
        ((a, np.asfortranarray(b)), {}, ValueError, "B", "'B' is not contiguous"),
        ((a[0], b), {}, ValueError, "A", "'A' has 2 axes"),
        ((a,), {}, TypeError, "B", "'B' is missing"),
        ((a,), {"A": a, "B": b}, TypeError, "A", "'A' is given twice"),
        ((a, b, a), {}, TypeError, None, "takes 2 inputs"),
        ((a, [1]), {}, TypeError, "B", "'B' needs an array"),
        ((a.astype("c8"), b), {}, TypeError, "A", "no type complex64"),
        ((a, b), {"out": np.zeros((3, 5), "f4")}, ValueError, "C", "axis 1 of 'C' has extent N"),
        ((a, b), {"out": read_only}, ValueError, "C", "'C' is written, but the array is read-only"),
        ((a, b), {"out": (read_only, a)}, TypeError, None, "has 1 outputs, but 2"),
        ((a, b), {"out": {"D": a}}, TypeError, None, "no output 'D'"),
        (
            (both[:15].reshape(3, 5), b),
            {"out": both[10:22].reshape(3, 4)},
            ValueError,
            "C",
            "shares",
        ),
    ]
    for args, named, kind, parameter, message in cases:
        with pytest.raises(kind, match=re.escape(message)) as e:
            mm(*args, **named)
        assert isinstance(e.value, tirc.Error) and e.value.parameter == parameter, message
    scale = tirc.compile(SCALE)
    for by, kind in ((1e60, ValueError), ("2", TypeError), (None, TypeError)):
        with pytest.raises(kind, match="'by'") as e:
            scale(np.ones(3, "f4"), by)
        assert e.value.parameter == "by"
    with pytest.raises(tirc.ArgumentTypeError, match="1.5 is a float"):
        scale(np.ones(3, "i4"), 1.5)
    with pytest.raises(tirc.ArgumentValueError, match="does not fit"):
        scale(np.ones(3, "u1"), 256)


def test_refused_programs_have_diagnostics():
    with pytest.raises(tirc.CompileError) as e:
        tirc.compile("kernel f<N = 4>(x: f32[N]) -> y: f32[N]\n{\n    for i in N y[i] = z[i];\n}\n")
    first = e.value.diagnostics[0]
    assert (first.severity, first.path, first.line, first.column) == ("error", "<text>", 3, 23)
    assert e.value.code == first.code and "'z'" in first.message
    assert first.code in str(e.value) and first.code in tirc.explain(first.code)
    with pytest.raises(tirc.CompileError, match="E0300"):
        tirc.compile(MATMUL, schedule="nowhere")
    with pytest.raises(tirc.CompileError, match="E0205"):
        tirc.compile(MATMUL, X=3)
    with pytest.raises(tirc.UnavailableError, match="'nowhere.tir' cannot be read"):
        tirc.compile("nowhere.tir")
    with pytest.raises(ValueError, match="neither an error code nor"):
        tirc.explain("E9999")


def test_faults_of_the_simulator():
    text = (
        "kernel gather<N = 4>(x: f32[N], at: i32[N]) -> y: f32[N] { for i in N y[i] = x[at[i]]; }"
    )
    gather = tirc.compile(text)
    assert gather(np.arange(2, dtype="f4"), np.array([1, 0], "i4")).tolist() == [1, 0]
    with pytest.raises(tirc.FaultError, match="out_of_bounds"):
        gather(np.arange(2, dtype="f4"), np.array([1, 99], "i4"))
    assert gather(np.arange(2, dtype="f4"), np.array([0, 1], "i4")).tolist() == [0, 1]


def test_where_clauses_hold():
    root = tirc.compile("kernel r<N>(x: f32[N]) -> y: f32[N] where N % 4 == 0, x >= 0 "
                        "{ for i in N y[i] = sqrt(x[i]); }")  # fmt: skip
    assert root(np.array([4, 9, 16, 25], "f4")).tolist() == [2, 3, 4, 5]
    with pytest.raises(tirc.ArgumentValueError, match="E0652"):
        root(np.ones(3, "f4"))
    with pytest.raises(tirc.ArgumentValueError, match="E0652") as e:
        root(np.array([1, 1, -1, 1], "f4"))
    assert e.value.parameter == "x"


# ---- texts and results -----------------------------------------------------------------------


def test_arrays_are_in_the_layout_that_the_schedule_gives_them():
    text = """schedule turned for matmul() {
        transform_layout(B, [k, j] -> [j, k]);
        transform_layout(C, [i, j] -> [i / 4, j, i % 4]);
        bind(loops(C)[0], blockIdx.x);
    }"""
    mm = tirc.compile(MATMUL, schedule=text, N=7)
    assert mm.layouts == {"B": "[k, j] -> [j, k]", "C": "[i, j] -> [i / 4, j, i % 4]"}
    rng = np.random.default_rng(3)
    a = rng.integers(-4, 5, (10, 6)).astype("f4")
    b = rng.integers(-4, 5, (6, 7)).astype("f4")
    c = mm(a, np.ascontiguousarray(b.T))
    assert c.shape == (3, 7, 4)
    rows = c.transpose(0, 2, 1).reshape(12, 7)[:10]
    assert np.array_equal(rows, a @ b)
    with pytest.raises(tirc.ArgumentValueError, match=r"'B' has shape \[7, 6\] for these sizes"):
        mm(a, b)


def test_a_schedule_as_text_and_settings():
    text = "schedule mine for matmul(T = 8) { let [i, j, k] = loops(C); "
    text += "bind(i, blockIdx.x); split(j, [_, T]); }"
    mm = tirc.compile(MATMUL, schedule=text, set={"T": 4}, M=8, N=8, K=8)
    assert "split(j, [_, 4])" in mm.explain() and "blockIdx.x" in mm.cuda
    assert mm.constants == {"M": 8, "N": 8, "K": 8}
    with pytest.raises(tirc.CompileError, match="E0312"):
        tirc.compile(MATMUL, schedule="tiled32", set={"U": 4})


def test_verify(mm):
    v = mm.verify(M=20, N=33, K=17)
    assert v and v.ok and (v.checked, v.total, v.wrong) == (660, 660, 0) and v.written == "once"
    mm(*matrices(3, 4, 5))
    assert mm.verify().total == 12
    add = tirc.compile(ADD)
    with pytest.raises(tirc.ArgumentValueError, match="size N has no value"):
        add.verify()
    add(np.zeros(3), np.ones(3))
    assert add.verify().total == 3  # the symbolic size is that of the call


def test_report(mm):
    mm(*matrices(64, 64, 64))
    report = mm.report(profile="H200")
    assert report.kernels[0].block == (32, 32, 1) and report.kernels[0].shared_bytes == 8192
    assert report.bottleneck in {limit.name for limit in report.limits}
    assert {a.buffer for a in report.accesses} >= {"A", "B", "C", "A_shared"}
    assert "8192 bytes shared" in str(report) and "<- the bottleneck" in str(report)


def test_bench(mm):
    a, b = matrices(8, 8, 8)
    found = mm.bench(a, b, versus=np.matmul)
    assert found.kernel.runs >= 5 and found.versus["matmul"].median_ms > 0
    assert found.speedup() == pytest.approx(found.versus["matmul"].median_ms / found.median_ms)
    assert mm.bench(versus=np.matmul).kernel.min_ms > 0  # on random arrays


class Page(html.parser.HTMLParser):
    """The text of a page; fails on tags that are not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_notebooks(mm):
    mm(*matrices(4, 4, 4))
    text = Page(mm._repr_html_()).text
    assert mm.program in text and mm.cuda in text and str(mm.report()) in text

    class Shell:
        def register_magic_function(self, function, magic_kind, magic_name):
            assert (magic_kind, magic_name) == ("cell", "tir")
            self.cell = function

        def push(self, variables):
            self.variables = variables

    shell = Shell()
    tirc.load_ipython_extension(shell)
    kernel = shell.cell("schedule=none N=16", SCALE)
    assert shell.variables == {"scale": kernel} and kernel.constants == {"N": 16}
    assert shell.cell("other", SCALE) is shell.variables["other"]


# ---- the process -----------------------------------------------------------------------------


def test_import_loads_little():
    code = (
        "import sys, time; before = set(sys.modules); start = time.process_time(); import tirc\n"
        "took = time.process_time() - start; tirc.compile\n"
        "print(took, {'numpy', 'torch', 'IPython', 'dataclasses', 'inspect'} & set(sys.modules))"
    )
    took, modules = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split(maxsplit=1)
    assert modules.strip() == "set()" and float(took) < 0.03


def test_threads_run_side_by_side():
    """Each in its own kernel, and all in one."""
    shared = tirc.compile(MATMUL, schedule="naive")
    failed = []

    def work(i):
        try:
            own = tirc.compile(MATMUL, schedule="naive")
            for n in range(1, 6):
                a, b = matrices(i + 1, n, 3)
                for kernel in (own, shared):
                    np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_the_gil_is_released():
    """Another thread finishes its work while a kernel runs: nobody is interrupted for a minute."""
    slow = tirc.compile(MATMUL, schedule="none", M=128, N=128, K=128)
    a, b = matrices(128, 128, 128)
    slow(a, b)
    done = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        started = threading.Lock()
        started.acquire()
        thread = threading.Thread(target=lambda: (started.acquire(), done.append(True)))
        thread.start()
        started.release()
        slow(a, b)
        finished_inside = bool(done)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert finished_inside


def test_fork_after_use(mm):
    a, b = matrices(6, 7, 8)
    mm(a, b)
    with held(mm._lock), held(mm._last.unit.session.lock):
        assert works_in_a_child(lambda: np.allclose(mm(a, b), a @ b) and mm.verify())
    np.testing.assert_allclose(mm(a, b), a @ b, rtol=1e-5)


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.long
def test_a_thousand_compiles_do_not_grow():
    def compiles(n):
        for i in range(n):
            kernel = tirc.compile(MATMUL, schedule="naive", M=4 + i % 8, N=8, K=8)
            a, b = matrices(4 + i % 8, 8, 8)
            np.testing.assert_allclose(kernel(a, b), a @ b, rtol=1e-5)
            with pytest.raises(tirc.CompileError):
                tirc.compile("kernel f(\n")
        gc.collect()

    compiles(100)
    before = resident()
    threads = [threading.Thread(target=compiles, args=(225,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert resident() - before < 32 << 20


def test_cuda_libraries_of_the_environment_are_found(tmp_path):
    """In site-packages beside the package, though nothing has activated the environment."""
    packages = tmp_path / "site-packages"
    installed = Path(tirc.__file__).parent
    for part in (installed, installed.with_name("tirc.libs")):  # the latter from a repaired wheel
        if part.exists():
            shutil.copytree(part, packages / part.name, symlinks=False)
    folder = packages / "nvidia" / "cu13" / "lib"
    folder.mkdir(parents=True)
    library = ["cc", "-shared", "-x", "c", "/dev/null", "-o", str(folder / "libnvrtc.so.13")]
    subprocess.run(library, check=True)  # without the functions of NVRTC
    text = "kernel k(x: f32[4]) -> y: f32[4] { for i in 4 y[i] = x[i]; }"
    program = f"import tirc; print(tirc.compile('{text}').ptx)"
    env = {"PYTHONPATH": str(packages), "PATH": "/nowhere", "TIRC_CACHE_DIR": str(tmp_path)}
    for command in (
        [sys.executable, "-c", program],
        [sys.executable, "-m", "tirc", str(MATMUL), "--emit", "ptx"],
    ):
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode == 0:
            pytest.skip("NVRTC is installed for all")
        assert f"{folder}/libnvrtc.so.13" in done.stderr, done.stderr


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_the_manual(page, tmp_path, monkeypatch):
    """The Python of a page, in one namespace."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert blocks
    for path in (MATMUL, *MATMUL.parent.glob("*.sched")):
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(block, names)
    np.testing.assert_allclose(names["c"], names["a"] @ names["b"])


def test_the_manual_lists_the_packages_that_a_build_needs():
    setup = (ROOT / ".ci" / "setup.sh").read_text()
    needed = " ".join(re.findall(r'^packages="(?:\$packages )?(.*)"', setup, re.M))
    page = (ROOT / "docs" / "python.md").read_text()
    assert needed == " ".join(re.findall(r"^apt-get install (.*)", page, re.M))


def test_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "tirc", "--version"], capture_output=True, text=True
    )
    assert done.stdout == f"tirc {tirc.version()}\n" and tirc.__version__ == tirc.version()
