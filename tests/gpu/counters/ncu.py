#!/usr/bin/env python3
"""The memory model beside the hardware: tests/gpu/counters/ncu.py TIRC [FOLDER] [transposes]
[others] [tensor] [patterns]

Runs Nsight Compute over every transpose of ROWS, in two types and three shapes of blocks, over the
kernels of OTHERS, and over matmuls by tensor cores, and prints what `tirc --analyze` counts beside
what the hardware counted, as tables for docs/analysis.md; then over patterns.cu, single requests
with every width. Sectors must be equal, wavefronts of shared memory within 6 %. What ncu printed is
kept in FOLDER. Needs a GPU, ncu and nvcc; says so where they are missing."""

import concurrent.futures
import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FOLDER = ROOT / "examples" / "transpose"
SIZES = ("-D", "R=1024", "-D", "C=1024")
SHAPES = ((32, 16), (32, 32), (16, 16))
TYPES = ("f32", "f64")
TOLERANCE = 0.06

# The systems of the documents: name, schedule, settings; with each shape of blocks, or with the
# shape that they have.
ROWS = (
    ("T1 copy", "t1_copy", ()),
    ("T2 naive, reads rows", "t2_rows", ()),
    ("T3 naive, reads columns", "t3_columns", ()),
    ("T4 shared", "t4_shared", ()),
    ("T5 row + 1", "t5_padded", ("row=1",)),
    ("T5 row + 2", "t5_padded", ("row=2",)),
    ("T6 two tiles", "t6_unrolled", ()),
    ("T11 diagonal", "t11_diagonal", ()),
)
SHAPED = (
    ("T7 dynamic, 16 tiles", "t7_dynamic", ("each=16",)),
    ("T9 eight rows of threads", "t9_few_rows", ()),
    ("T12 16-byte accesses, swizzled", "transpose_fast", ()),
)

# Other kernels: name, file, schedule, sizes.
OTHERS = (
    ("histogram, atomic", "histogram/histogram.tir", "atomic", ("N=1048576",)),
    ("histogram, private", "histogram/histogram_private.tir", "private", ("N=1048576",)),
    ("polynomial, constant", "constant/polynomial.tir", "constant", ("N=1048576",)),
    (
        "adjacent_difference, halo",
        "adjacent_difference/adjacent_difference.tir",
        "halo",
        ("N=1048576",),
    ),
    ("row_sum, block", "row_sum/row_sum.tir", "block", ("R=4096", "C=4096")),
    ("reverse, reverse_shared", "reverse/reverse.tir", "reverse_shared", ("N=1048576",)),
    ("matmul, tiled32", "matmul/matmul.tir", "tiled32", ("M=512", "N=512", "K=512")),
    ("matmul, sgemm", "matmul/matmul.tir", "sgemm", ("M=512", "N=512", "K=512")),
)

REQUESTS = {
    "global load": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global store": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "shared load": "smsp__inst_executed_op_shared_ld.sum",
    "shared store": "smsp__inst_executed_op_shared_st.sum",
}
COSTS = {
    "global load": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global store": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "shared load": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared store": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
}
KINDS = tuple(COSTS)

# Steps of the road of tensor cores: ldmatrix with conflicts and without, wgmma with copies by
# threads and by TMA, and results through shared memory. Of each metric, the accesses it counts.
TENSOR_CORES = ("h1_warps", "h2_padded", "h4_warpgroups", "h5_bulk", "h8_panels")
TENSOR_SIZES = ("-D", "M=256", "-D", "N=256", "-D", "K=1024")
TENSOR_COSTS = {
    "shared load": "l1tex__data_pipe_lsu_wavefronts_mem_shared_cmd_read.sum",
    "global load": "l1tex__m_xbar2l1tex_read_sectors.sum",
    "global store": "l1tex__m_l1tex2xbar_write_sectors.sum",
}


def run(*words, **more):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)


def skip(why):
    print("SKIPPED:", why)
    sys.exit(0)


# ---- ncu -----------------------------------------------------------------------------------------


def number(text):
    return float(text.replace(",", ""))


def profile(folder, name, words, metrics=(*REQUESTS.values(), *COSTS.values())):
    """A row of metrics for each launch, and what the program printed."""
    log = folder / f"{name}.csv"
    done = run(
        "ncu",
        "--clock-control",
        "none",
        "--target-processes",
        "all",
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--metrics",
        ",".join(metrics),
        "--log-file",
        log,
        *words,
    )
    text = log.read_text() if log.exists() else ""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    if done.returncode != 0 or not lines:
        print(done.stdout[-2000:], done.stderr[-2000:], text[-2000:])
        skip("ncu cannot read the counters of this GPU")
    rows = list(csv.DictReader(lines))
    return [row for row in rows if row.get("ID")], done.stdout


def per_request(row, kind):
    requests = number(row[REQUESTS[kind]])
    return number(row[COSTS[kind]]) / requests if requests else None


# ---- transposes ----------------------------------------------------------------------------------


def words_of(schedule, type_, settings):
    file = FOLDER / ("copy.tir" if schedule == "t1_copy" else "transpose.tir")
    return [
        file,
        "--schedule",
        schedule,
        *SIZES,
        "-D",
        f"T={type_}",
        *(w for s in settings for w in ("--set", s)),
    ]


def cases():
    for type_ in TYPES:
        for x, y in SHAPES:
            for name, schedule, settings in ROWS:
                yield (
                    f"{name}, {type_}, {x}x{y}",
                    words_of(schedule, type_, (f"BX={x}", f"BY={y}", *settings)),
                )
        for name, schedule, settings in SHAPED:
            yield f"{name}, {type_}", words_of(schedule, type_, settings)


def model(tirc, words):
    """Cost of each kind of access by --analyze; None where there is none."""
    done = run(tirc, *words, "--device", "sim", "--analyze", "--json")
    assert done.returncode == 0, done.stderr
    sums = {kind: [0, 0] for kind in KINDS}
    for a in json.loads(done.stdout)["accesses"]:
        kind = f"{a['scope']} {a['op']}"
        cost = a["sectors_per_request"] if a["scope"] == "global" else a["wavefronts_per_request"]
        sums[kind][0] += cost * a["requests"]
        sums[kind][1] += a["requests"]
    return {kind: cost / n if n else None for kind, (cost, n) in sums.items()}


def agrees(kind, ours, theirs):
    if ours is None or theirs is None:
        return ours == theirs
    slack = 0 if kind.startswith("global") else TOLERANCE
    return abs(theirs - ours) <= slack * ours + 1e-9


def cell(value):
    return "" if value is None else f"{value:.4g}"


def on_gpu(tirc, folder, name, words):
    """The launches of one run, in order. Each case is profiled by itself: ncu sorts processes by
    their numbers."""
    return profile(folder, name, [tirc, *words, "--device", "cuda", "--run"])[0]


def transposes(tirc, folder):
    wrong, every = 0, list(cases())
    print("| kernel | " + " | ".join(KINDS) + " |\n|" + " --- |" * (len(KINDS) + 1))
    models = concurrent.futures.ThreadPoolExecutor(2).map(lambda case: model(tirc, case[1]), every)
    for n, ((name, words), ours) in enumerate(zip(every, models)):
        cells = []
        (row,) = on_gpu(tirc, folder, f"transpose-{n}", words)
        for kind in KINDS:
            theirs = per_request(row, kind)
            good = agrees(kind, ours[kind], theirs)
            wrong += not good
            cells.append(
                f"{cell(ours[kind])} / {cell(theirs)}{'' if good else ' !'}"
                if theirs is not None
                else ""
            )
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n{n + 1} kernels, {wrong} figures that disagree")
    return wrong


# ---- other kernels -------------------------------------------------------------------------------


def launches(tirc, words):
    """For each kernel, in order: its name, and requests and costs of each kind by --analyze."""
    done = run(tirc, *words, "--device", "sim", "--analyze", "--budget", "100000000", "--json")
    assert done.returncode == 0, done.stderr
    report, sums = json.loads(done.stdout), {}
    for launch in report["launches"]:
        sums.setdefault(launch["name"], {kind: [0, 0] for kind in KINDS})
    for a in report["accesses"]:
        kind = f"{a['scope']} {a['op']}"
        if kind in KINDS:
            cost = (
                a["sectors_per_request"] if a["scope"] == "global" else a["wavefronts_per_request"]
            )
            sums[a["kernel"]][kind][0] += cost * a["requests"]
            sums[a["kernel"]][kind][1] += a["requests"]
    return sums


def totals(kind, ours, row):
    """ "ours / theirs", in all: requests, and sectors or wavefronts."""
    cost, requests = ours
    theirs = number(row[COSTS[kind]])
    if not requests and not theirs:
        return ""
    same = cost and abs(theirs / cost - 1) <= (1e-6 if kind.startswith("global") else TOLERANCE)
    return f"{requests:,} / {number(row[REQUESTS[kind]]):,.0f}; {cost:,.0f} / {theirs:,.0f}" + (
        "" if same else " !"
    )


def others(tirc, folder):
    """Whole kernels, which ptxas may have given fewer loads than their text: printed, and not
    judged."""
    print("\n| kernel | " + " | ".join(KINDS) + " |\n|" + " --- |" * (len(KINDS) + 1))
    for n, (name, file, schedule, sizes) in enumerate(OTHERS):
        words = [
            ROOT / "examples" / file,
            "--schedule",
            schedule,
            *(w for s in sizes for w in ("-D", s)),
        ]
        rows = on_gpu(tirc, folder, f"other-{n}", words)
        for kernel, kinds in launches(tirc, words).items():
            row = next((r for r in rows if r["Kernel Name"].split("(")[0] == kernel), None)
            if row:
                print(
                    f"| {name}: `{kernel}` | "
                    + " | ".join(totals(kind, kinds[kind], row) for kind in KINDS)
                    + " |"
                )


# ---- tensor cores --------------------------------------------------------------------------------


def tensor(tirc, folder):
    """Totals of operands of instructions of several threads, and of bulk copies: ours / theirs."""
    wrong = 0
    print("\n| schedule | " + " | ".join(TENSOR_COSTS) + " |\n|" + " --- |" * 4)
    for schedule in TENSOR_CORES:
        file = ROOT / "examples/road/road_tensor_cores.tir"
        words = [file, "--schedule", schedule, *TENSOR_SIZES]
        run_words = [tirc, *words, "--device", "cuda", "--run"]
        ((row,), _) = profile(folder, f"tensor-{schedule}", run_words, TENSOR_COSTS.values())
        ((_, sums),) = launches(tirc, words).items()
        cells = []
        for kind, metric in TENSOR_COSTS.items():
            ours, theirs = sums[kind][0], number(row[metric])
            good = agrees(kind, ours, theirs)
            wrong += not good
            cells.append(f"{ours:,.0f} / {theirs:,.0f}{'' if good else ' !'}")
        print(f"| `{schedule}` | " + " | ".join(cells) + " |", flush=True)
    return wrong


# ---- single requests -----------------------------------------------------------------------------


def patterns(folder):
    program = folder / "patterns"
    model_object = folder / "memory_model.o"
    for words in (
        ("cc", "-O2", "-I", ROOT, "-c", ROOT / "ir/target/memory_model.c", "-o", model_object),
        (
            "nvcc",
            "-O2",
            "-arch=native",
            "-I",
            ROOT,
            HERE / "patterns.cu",
            model_object,
            "-o",
            program,
        ),
    ):
        done = run(*words)
        if done.returncode:
            print(done.stderr)
            return 1
    print(run(program, "l2").stdout)
    rows, printed = profile(folder, "patterns", [program])
    said = [line.split() for line in printed.splitlines() if line[:1].isdigit()]
    assert len(said) == len(rows), f"{len(rows)} launches profiled, {len(said)} said"
    (folder / "patterns.txt").write_text(printed)
    wrong = 0
    for words, row in zip(said, rows):
        ours = {
            kind: int(words[2 if kind.startswith("global") else 3 if kind.endswith("load") else 4])
            for kind in KINDS
        }
        theirs = {kind: per_request(row, kind) for kind in KINDS}
        bad = [
            f"{kind} {ours[kind]} / {cell(theirs[kind])}"
            for kind in KINDS
            if not agrees(kind, ours[kind], theirs[kind])
        ]
        wrong += bool(bad)
        if bad:
            print(f"{words[0]} bytes, {words[1]}: model / hardware: {', '.join(bad)}")
    print(f"{len(rows)} requests, {wrong} of which disagree")
    return wrong


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tirc, folder = (
        Path(sys.argv[1]).resolve(),
        Path(sys.argv[2] if len(sys.argv) > 2 else "counters.out"),
    )
    folder.mkdir(parents=True, exist_ok=True)
    if "cuda" not in run(tirc, "--devices").stdout.split():
        skip("no GPU")
    if not shutil.which("ncu"):
        skip("no ncu")
    names = run("ncu", "--query-metrics").stdout
    for metric in [*REQUESTS.values(), *COSTS.values(), *TENSOR_COSTS.values()]:
        if names and metric.rsplit(".", 1)[0] not in names:
            print("this ncu does not list", metric)
    parts, wrong = sys.argv[3:] or ["others", "transposes", "tensor", "patterns"], 0
    if "others" in parts:
        others(tirc, folder)
    wrong += transposes(tirc, folder) if "transposes" in parts else 0
    wrong += tensor(tirc, folder) if "tensor" in parts else 0
    if shutil.which("nvcc"):
        wrong += patterns(folder) if "patterns" in parts else 0
    else:
        print("no nvcc: single requests were not compared")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
