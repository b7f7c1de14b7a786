"""The figures that --analyze reports for the systems of the documents, exactly: a row is a line.
(The transposes are in tests/docs/test_transposes.py, beside their table.)

A row names a program and a schedule with its settings, and what its accesses cost: "OP BUFFER" is
the sectors (global memory) or wavefronts (shared memory) of each request. Other keys name figures
of the JSON, dotted where they are nested. Behind the rows stand those whose figure is a refusal, a
warning or a text."""

import json

import pytest
from conftest import EXAMPLES

pytestmark = pytest.mark.usefixtures("without_nvrtc")

MATMUL = "matmul/matmul.tir"
HISTOGRAM = "histogram/histogram.tir"
PRIVATE = "histogram/histogram_private.tir"
DIFFERENCE = "adjacent_difference/adjacent_difference.tir"


def row(name, file, schedule, *words, **figures):
    """words: sizes, types and settings, "M=64"."""
    accesses = {key.replace("__", " "): value for key, value in figures.items() if "__" in key}
    others = {key.replace("_of_", "."): value for key, value in figures.items() if "__" not in key}
    return pytest.param(file, schedule, words, accesses, others, id=name)


ROWS = [
    row(
        "M1",
        MATMUL,
        "naive",
        "M=64",
        "N=64",
        "K=64",
        load__A=1,
        load__B=4,
        store__C=4,
        analyze_of_loads=2 * 64**3,
        analyze_of_flops=2 * 64**3,
    ),
    row(
        "M2-16",
        MATMUL,
        "tiled32",
        "M=64",
        "N=64",
        "K=64",
        "T=16",
        analyze_of_loads=2 * 64**3 // 16,
        barriers=2,
    ),
    row(
        "M2-32",
        MATMUL,
        "tiled32",
        "M=64",
        "N=64",
        "K=64",
        "T=32",
        analyze_of_loads=2 * 64**3 // 32,
        barriers=2,
    ),
    row("M4", MATMUL, "tvm_step2", "M=64", "N=64", "K=64", store__C=16),
    row("K1", HISTOGRAM, "atomic", "N=4096", analyze_of_atomics=4096),
    row("K2", PRIVATE, "private", "N=4096", "PARTS=8", analyze_of_atomics=256 * 8),
    row(
        "K2-few-threads",
        PRIVATE,
        "private",
        "N=4096",
        "PARTS=8",
        "threads=96",
        analyze_of_atomics=256 * 8,
    ),
    row("K4", DIFFERENCE, "halo", "N=4096", analyze_of_loads=4096 + 4096 // 256 - 1),
    row("K8-shifted", "access/shifted.tir", "naive", "N=4096", load__x=5, store__y=4),
    row("K8-aligned", "access/shifted.tir", "naive", "N=4096", "OFFSET=8", load__x=4),
    row("K8-strided", "access/strided.tir", "naive", "N=4096", load__x=8, store__y=4),
    row("K8-far", "access/strided.tir", "naive", "N=4096", "STRIDE=8", load__x=32),
]


def settings(tirc, file, words):
    """-D for what the kernel has, --set for what the schedule has."""
    listing = tirc(EXAMPLES / file, "--list").out.splitlines()
    sizes = listing[0].split("<")[1].split(">")[0].replace(":", "=")
    names = [part.split("=")[0].strip() for part in sizes.split(",")]
    types = ("f16", "f32", "f64", "u8")
    for word in words:
        name, value = word.split("=")
        is_size = name in names and (name != "T" or value in types)
        yield from ("-D" if is_size else "--set", word)


def figure(result, key):
    for part in key.split("."):
        result = result[part]
    return result


def analyze(tirc, file, schedule, words, *more):
    r = tirc(
        EXAMPLES / file,
        "--schedule",
        schedule,
        *settings(tirc, file, words),
        "--device",
        "sim",
        "--analyze",
        "--json",
        *more,
    )
    assert r.status == 0, r.err
    return json.loads(r.out)


@pytest.mark.parametrize("file, schedule, words, accesses, others", ROWS)
def test_figures(tirc, file, schedule, words, accesses, others):
    result = analyze(tirc, file, schedule, words)
    assert result["analyze"]["exact"]
    found = {}
    for a in result["accesses"]:
        cost = a["sectors_per_request"] if a["scope"] == "global" else a["wavefronts_per_request"]
        found.setdefault(f"{a['op']} {a['buffer']}", set()).add(cost)
    assert {key: found.get(key) for key in accesses} == {
        key: {value} for key, value in accesses.items()
    }
    assert {key: figure(result, key) for key in others} == others


def test_what_bandwidth_allows_a_naive_matmul(tirc):
    """M1 as the document works it out: 4 bytes a flop, 805 GFLOP/s would need 3.2 TB/s, 112 GB/s
    allow 28 GFLOP/s."""
    profile = tirc.write("gtx.profile", "name = GTX 1050 Ti\ndram_gbps = 112\nf32_gflops = 805\n")
    result = analyze(
        tirc,
        MATMUL,
        "naive",
        ("M=1024", "N=1024", "K=1024"),
        "--profile",
        "./" + profile,
        "--budget",
        "100000",
    )
    a = result["analyze"]
    assert a["profile"] == "GTX 1050 Ti" and not a["exact"]
    assert a["loads"] / a["flops"] == 1
    assert a["bytes_per_flop"] == pytest.approx(4, rel=1e-3)
    assert a["uncached_gflops"] == pytest.approx(28, rel=1e-3)
    assert a["peak_gflops"] * a["bytes_per_flop"] == pytest.approx(3220, rel=1e-3)


def test_a_misaligned_neighbour(tirc):
    """K3: two loads an element, of 4 and of 5 sectors; the first warp of all has no neighbour at
    its first lane."""
    result = analyze(tirc, DIFFERENCE, "default", ("N=65536",))
    loads = [a for a in result["accesses"] if a["op"] == "load"]
    assert result["analyze"]["loads"] == 2 * 65536 - 1
    assert [a["worst"]["sectors"] for a in loads] == [4, 5, 1]
    assert [round(a["sectors_per_request"]) for a in loads] == [4, 5, 1]


def test_two_barriers_with_their_reasons(tirc):
    result = analyze(tirc, MATMUL, "tiled32", ("M=64", "N=64", "K=64"))
    barriers = result["analyze"]["barriers"]
    assert [b["per_block"] for b in barriers] == [2, 2]
    assert [b["reason"] for b in barriers] == [
        "A_shared, B_shared: written above by other threads, read below",
        "A_shared, B_shared: read above, overwritten in the next iteration of ko by other threads",
    ]


def test_occupancy_of_an_old_gpu(tirc):
    """K7: 768 threads a multiprocessor hold three blocks of 16x16."""
    profile = tirc.write("g80.profile", "max_threads = 768\nmax_blocks = 8\nregisters = 8192\n")
    result = analyze(
        tirc,
        MATMUL,
        "naive",
        ("M=64", "N=64", "K=64", "TX=16", "TY=16"),
        "--profile",
        "./" + profile,
    )
    (kernel,) = result["analyze"]["kernels"]
    if kernel["limited_by"] != "registers":  # they are known with NVRTC only
        assert (kernel["resident_blocks"], kernel["resident_threads"], kernel["limited_by"]) == (
            3,
            768,
            "threads",
        )
        assert kernel["occupancy"] == 1


# ---- what is refused, and what is said -----------------------------------------------------------


def said(tirc, file, schedule, *words):
    """Status and diagnostics of a schedule of an example."""
    r = tirc(
        EXAMPLES / file, "--schedule", schedule, *words, "--emit", "lowered", "-o", "lowered.tir"
    )
    return r.status, r.err


def test_rows_fit_no_block(tirc):
    """M3: a thread for each column is refused over 1024 of them, at the `bind`."""
    assert said(tirc, MATMUL, "tvm_step1", "-D", "N=1024")[0] == 0
    status, text = said(tirc, MATMUL, "tvm_step1", "-D", "N=1025")
    assert (
        status == 1
        and "error[E0422]: bind: loop 'j' has 1025 iterations, but threadIdx.x has at most 1024"
        in text
    )
    assert "bind(j, threadIdx.x);\n" in text


def test_two_extents_of_an_axis(tirc):
    """M5 as printed: 4 and 128 threads on threadIdx.x, refused at the second `bind`, with the place
    of the first."""
    steps = (EXAMPLES / "matmul/tvm_steps.sched").read_text()
    tirc.write(
        "printed.sched",
        steps
        + """
schedule printed for matmul()
{
    let [ty, k_outer, k_inner, i_elem, j_elem] = tvm_tiles();
    let s = cache_read(C, A, shared);
    compute_at(s, k_outer);
    let [f_ty, f_tx] = split(fuse(loops(s)[-2:]), [8, _]);
    bind(f_tx, threadIdx.x);
}
""",
    )
    status, text = said(tirc, MATMUL, "./printed.sched")
    assert (
        status == 1
        and "error[E0421]: bind: threadIdx.x would have extent 4 at loop 'tx' and 128 at loop "
        "'f_tx'"
        in text
    )
    assert "    bind(f_tx, threadIdx.x);\n" in text and "note: loop 'tx' was bound here" in text
    assert "    bind(tx, threadIdx.x);\n" in text
    assert said(tirc, MATMUL, "tvm_step3")[0] == 0


def test_the_strided_axis_takes_no_wide_access(tirc):
    """M6: said, with the axis that would."""
    status, text = said(tirc, MATMUL, "tvm_step4")
    assert (
        status == 0
        and "warning[E0511]: loop not vectorized: 'C' is strided by 1024 elements along row" in text
    )
    assert "vectorize loop 'column', along which 'C' is contiguous" in text


def test_a_pipeline_needs_one_barrier(tirc):
    """M7: two barriers in the loop before, one behind it, which says both that it is for."""
    sizes = ("M=64", "N=64", "K=128")
    before, after = (
        [b for b in analyze(tirc, MATMUL, s, sizes)["analyze"]["barriers"] if b["per_block"] > 1]
        for s in ("tvm_step3", "tvm_step5")
    )
    assert len(before) == 2 and len(after) == 1
    assert (
        "read in the next iteration of k_outer" in after[0]["reason"]
        and "overwritten in the next iteration of k_outer" in after[0]["reason"]
    )


def test_collisions_have_to_be_said(tirc):
    """K1: a parallel update that is not marked is refused."""
    tirc.write(
        "careless.sched",
        "schedule careless for histogram()\n{\n    let [i] = loops(hist_1);\n"
        "    bind(i, threadIdx.x);\n}\n",
    )
    status, text = said(tirc, HISTOGRAM, "./careless.sched", "-D", "N=1024")
    assert status == 1 and "error[E0423]" in text and "atomic(hist_1)" in text


def test_constant_memory_is_read_by_all_lanes_at_once(tirc):
    """K5: one element for all lanes, and a warning where it is another for each."""
    result = analyze(tirc, "constant/polynomial.tir", "constant", ("N=1024",))
    assert {a["passes_per_request"] for a in result["accesses"] if a["scope"] == "constant"} == {1}
    tirc.write(
        "pick.tir",
        "kernel pick<N = 1024>(x: f32[N], table: f32[64]) -> y: f32[N]\n{\n    for i in N\n"
        "        y[i] = x[i] * table[i % 64];\n}\nschedule s for pick()\n{\n"
        "    cache_read(y, table, constant);\n"
        "    let [i] = loops(y);\n    let [block, thread] = split(i, [_, 64]);\n"
        "    bind(block, blockIdx.x);\n"
        "    bind(thread, threadIdx.x);\n}\n",
    )
    r = tirc("pick.tir", "--schedule", "s", "--emit", "cuda")
    assert (
        r.status == 0
        and "warning[E0805]: lanes of a warp read 32 different elements of 'table_constant'"
        in r.err
    )


def test_more_than_48_kilobytes_a_block(tirc):
    """K6: the launch asks for it."""
    small, large = (
        tirc(
            EXAMPLES / "reverse/reverse.tir",
            "--schedule",
            "reverse_shared",
            "--set",
            f"elements={n}",
            "--emit",
            "cu",
        ).out
        for n in (1024, 16384)
    )
    assert "cudaFuncAttributeMaxDynamicSharedMemorySize" not in small and "__shared__" in small
    assert "cudaFuncAttributeMaxDynamicSharedMemorySize" in large and "extern __shared__" in large
