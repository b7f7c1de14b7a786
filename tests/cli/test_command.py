"""The command line: what goes where, in which form, with which exit status."""

import json
import os
import pty
import re
import stat
import subprocess
from pathlib import Path

import pytest

from conftest import EXAMPLES, MATMUL, ROOT, SMALL, TRANSPOSE
from parts import in_turn

TWO_KERNELS = """
kernel one<N = 8>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }
kernel two<N = 8>(x: f32[N]) -> y: f32[N] { for i in N y[i] = 2 * x[i]; }
"""
COPY = "kernel copy<N = 100>(x: f32[N]) -> y: f32[N] { for i in N y[i] = x[i]; }\n"
# The schedule is right; only data can make the kernel read outside of x.
OUTSIDE = """
kernel gather<N = 8>(x: f32[N], at: i32[N]) -> y: f32[N]
{ for i in N y[i] = x[at[i]] + x[at[i] + 100]; }
"""


# ---- text and code -----------------------------------------------------------------------------


def test_cuda_goes_to_standard_output(tirc):
    r = tirc(MATMUL, "--schedule", "tiled32", "--emit", "cuda")
    assert (r.status, r.err) == (0, "")
    assert "__shared__ float A_shared[32][32];" in r.out
    assert r.out.count("__syncthreads();") == 2


def test_options_may_stand_before_the_file(tirc):
    assert tirc("--emit", "cuda", MATMUL).out == tirc(MATMUL, "--emit", "cuda").out


def test_program_is_read_from_standard_input(tirc):
    r = tirc("-", "--emit", "cuda", stdin=COPY.encode())
    assert r.status == 0 and "copy(const float *__restrict__ x" in r.out
    r = tirc("-", "--emit", "cuda", stdin=b"kernel")
    assert r.status == 1 and "<stdin>:1:" in r.err


def test_emitted_tir_gives_the_same_cuda(tirc):
    cuda = tirc(MATMUL, "--schedule", "tiled32", "--emit", "cuda").out
    for level in ("tir", "lowered"):
        text = tirc(MATMUL, "--schedule", "tiled32", "--emit", level).out
        assert tirc("-", "--emit", "cuda", stdin=text.encode()).out == cuda, level


def test_emit_tir_without_a_schedule_is_the_program(tirc):
    text = tirc(MATMUL, "--emit", "tir").out
    assert "bind" not in text and "k in 1024 {\n        init" in text
    assert tirc("-", "--emit", "tir", stdin=text.encode()).out == text


def test_machine_code_needs_no_driver(tirc):
    """NVRTC starts it for its cache where there is one, which takes longer than a small kernel. The
    loader says what is looked for."""
    r = tirc("-", "--emit", "cubin", "-o", "x.cubin", stdin=COPY.encode(), env={"LD_DEBUG": "libs"})
    if "E0602" in r.err or "find library=libnvrtc-builtins.so.12" in r.err:
        pytest.skip("no NVRTC, or one without the option")
    assert r.status == 0 and "find library=libnvrtc" in r.err
    assert "find library=libcuda.so" not in r.err


def test_json_of_a_kernel(tirc):
    kernel = json.loads(tirc(MATMUL, "--schedule", "tiled32", "-D", "M=?", "--emit", "json").out)
    assert kernel["kernel"] == "matmul" and kernel["sizes"] == {"M": None, "N": 1024, "K": 1024}
    (launch,) = kernel["launches"]
    assert launch["grid"] == [32, "(M + 31) / 32", 1] and launch["block"] == [32, 32, 1]
    assert launch["shared_bytes"] == 8192 and launch["barriers"] == 2
    assert [a["name"] for a in launch["arguments"]] == ["A", "B", "C", "M"]
    assert "__global__" in kernel["cuda"]


TURNED = """kernel turned<N = 8>(x: f32[N, 3]) -> y: f32[N, 3]
{
    for i in N, j in 3
        y[i, j] = x[i, j];
}
schedule s for turned() {
    transform_layout(x, [i, j] -> [j, i]);
    transform_layout(x, [j, i] -> [j * N + i]);
    bind(loops(y)[0], blockIdx.x);
}
"""


def test_json_gives_the_layouts_of_parameters(tirc):
    words = "-", "--schedule", "s", "-D", "N=?"
    kernel = json.loads(tirc(*words, "--emit", "json", stdin=TURNED.encode()).out)
    x, y = kernel["parameters"]
    assert x["shape"] == ["N * 3"] and "layout" not in y
    assert x["layout"] == {"shape": ["N", 3], "map": "[i, j] -> [j * N + i]"}
    cuda = tirc(*words, "--emit", "cuda", stdin=TURNED.encode()).out
    assert "//   x: f32[N * 3], read, with x[i, j] at [j * N + i]\n" in cuda


def test_versus_another_layout_of_a_parameter_is_not_compared(tirc):
    words = "-", "--schedule", "s", "--verify", "--bench", "--versus", "naive", "--device", "sim"
    result = tirc(*words, "--json", stdin=TURNED.encode())
    assert result.status == 0, result.err


# Nothing writes the source of the constant at this size, but the host copies it.
LATE = """kernel late<N = 1>(x: i32[2]) -> y: i32[2]
{
    temp t: i32[2] in constant;
    for i in 1..N
        t[i] = x[i];
    for i in 2
        y[i] = x[i] > 0 ? t[1] : 0;
}
"""


def test_json_names_sources_of_constants(tirc):
    kernel = json.loads(tirc("-", "--emit", "json", stdin=LATE.encode()).out)
    (launch,) = kernel["launches"]
    assert launch["constants"] == [{"symbol": "t", "from": "t_source"}]
    assert [temp["name"] for temp in kernel["temps"]] == ["t_source"]


def plain(cuda):
    """Annotated text without the directives, or without the last comment of each line."""
    lines = [line for line in cuda.splitlines() if not line.startswith("#line ")]
    return [re.sub(r" +// [^ ]+:\d+(, [^ ]+:\d+)?(: .*)?$", "", line) for line in lines]


@pytest.mark.parametrize("how", ["--annotate", "--annotate=comments", "--annotate=lines"])
def test_annotations_leave_the_text_as_it_is(tirc, how):
    command = (MATMUL, "--schedule", "pipelined", "-D", "K=?", "--emit", "cuda")
    cuda, annotated = tirc(*command).out, tirc(*command, how).out
    assert annotated != cuda and plain(annotated) == plain(cuda)


def test_line_map(tirc):
    kernel = json.loads(tirc(MATMUL, "--schedule", "tiled32", "--emit", "json").out)
    cuda, program = kernel["cuda"].splitlines(), open(MATMUL).read().splitlines()
    lines = {cuda[line["cuda"] - 1].strip(): line for line in kernel["lines"]}
    update = lines["C_acc += A_shared[ty][ki] * B_shared[ki][tx];"]
    assert (
        program[update["line"] - 1][update["column"] - 1 :].startswith("C[i, j] += ")
        and update["step"] == 0
    )
    assert lines["const int by = blockIdx.y;"]["call"] == "bind(by, blockIdx.y)"
    assert lines["const int i = by * 32 + ty;"]["call"] == "split(i, [_, 32])"
    assert lines["__shared__ float A_shared[32][32];"]["call"] == "cache_read(C, A, shared)"
    bind = lines["const int tx = threadIdx.x;"]
    schedule = (
        open(f"{ROOT}/frontend/{bind['schedule_file']}")
        .read()
        .splitlines()[bind["schedule_line"] - 1]
    )
    assert schedule[bind["schedule_column"] - 1 :].startswith("bind(tx, threadIdx.x)")
    start = next(i for i, line in enumerate(cuda, 1) if line.startswith('extern "C"'))
    assert [line["cuda"] for line in kernel["lines"]] == list(range(start, len(cuda) + 1))


def test_machine_code_knows_the_lines(tirc):
    r = tirc(MATMUL, "--schedule", "tiled32", "--emit", "ptx", "--annotate=lines")
    if r.status == 3:
        pytest.skip("no NVRTC here")
    assert r.status == 0 and "matmul.tir" in r.out
    assert "matmul.tir" not in tirc(MATMUL, "--schedule", "tiled32", "--emit", "ptx").out


def test_complete_program_counts_its_own_lines_again(tirc):
    lines = tirc(
        MATMUL, "--schedule", "tiled32", "--emit", "cu", "--annotate=lines"
    ).out.splitlines()
    at = max(i for i, line in enumerate(lines) if line.startswith("#line "))
    assert lines[at] == f'#line {at + 2} "matmul.cu"' and "__global__" not in "".join(lines[at:])


def test_complete_program(tirc):
    r = tirc(TRANSPOSE, "--schedule", "padded", "--emit", "cu")
    assert r.status == 0 and "int main(" in r.out


# ---- output files --------------------------------------------------------------------------------


def test_output_file_is_whole_or_absent(tirc):
    r = tirc(MATMUL, "--emit", "cuda", "-o", "kernel.cu")
    assert (r.status, r.out) == (0, "")
    first = (tirc.folder / "kernel.cu").read_text()
    assert first == tirc(MATMUL, "--emit", "cuda").out
    assert tirc(MATMUL, "--schedule", "nosuch", "--emit", "cuda", "-o", "kernel.cu").status == 1
    assert (tirc.folder / "kernel.cu").read_text() == first
    assert tirc("nosuch.tir", "--emit", "cuda", "-o", "other.cu").status == 1
    assert sorted(p.name for p in tirc.folder.iterdir()) == ["kernel.cu"]


def test_output_has_the_usual_permissions(tirc):
    tirc(MATMUL, "--emit", "cuda", "-o", "kernel.cu")
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE((tirc.folder / "kernel.cu").stat().st_mode) == 0o666 & ~umask


def test_output_through_a_link_changes_what_it_names(tirc):
    tirc.write("real.cu", "old")
    (tirc.folder / "link.cu").symlink_to("real.cu")
    assert tirc(MATMUL, "--emit", "cuda", "-o", "link.cu").status == 0
    assert (tirc.folder / "link.cu").is_symlink()
    assert "__global__" in (tirc.folder / "real.cu").read_text()


def test_output_that_cannot_be_written(tirc):
    r = tirc(MATMUL, "--emit", "cuda", "-o", "no/such/folder/kernel.cu")
    assert r.status == 3 and "cannot write 'no/such/folder/kernel.cu'" in r.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="SKIPPED: there is no /dev/full")
def test_full_disk_is_noticed(tirc):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [tirc.program, MATMUL, "--emit", "cuda"], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 3 and b"cannot write" in done.stderr
    assert tirc(MATMUL, "--emit", "cuda", "-o", "/dev/full").status == 3


# ---- running -------------------------------------------------------------------------------------


def results(tirc, *what):
    tiled = (MATMUL, *SMALL, "--schedule", "tiled32", "--device", "sim")
    r = tirc(*tiled, *what, "--json")
    assert (r.status, r.err) == (0, "")
    return json.loads(r.out)


def test_results_as_json(tirc):
    result = results(tirc, "--run", "--verify", "--bench")
    assert (
        result["kernel"] == "matmul"
        and result["schedule"] == "tiled32"
        and result["device"] == "sim"
    )
    assert result["sizes"] == {"M": 20, "N": 33, "K": 17}
    assert result["grid"] == [2, 1, 1] and result["block"] == [32, 32, 1]
    assert 0 < result["shared_bytes"] <= 8192 and result["barriers"] == 1
    assert result["launches"][0]["name"] == "matmul"
    verify = result["verify"]
    assert verify["ok"] is True and verify["checked"] == 20 * 33
    assert 0 <= verify["max_error"] <= verify["bound"]
    bench = result["bench"]
    assert 0 < bench["min_ms"] <= bench["median_ms"] <= bench["p95_ms"] and bench["versus"] == []
    flops, seconds = 2 * 20 * 33 * 17, bench["median_ms"] * 1e-3
    assert bench["gflops"] == pytest.approx(flops / seconds / 1e9, rel=1e-3)
    assert bench["gbps"] == pytest.approx(
        4 * (20 * 17 + 17 * 33 + 20 * 33) / seconds / 1e9, rel=1e-3
    )
    assert result["faults"] == []


def test_bench_versus(tirc):
    versus = "naive,tiled32(T=16), naive(TX=8, TY=4)"
    bench = results(tirc, "--bench", "--versus", versus)["bench"]
    assert [v["name"] for v in bench["versus"]] == ["naive", "tiled32(T=16)", "naive(TX=8, TY=4)"]
    for v in bench["versus"]:
        assert (
            v["ratio"] == pytest.approx(v["median_ms"] / bench["median_ms"], rel=1e-3)
            and v["agrees"] is False
        )
    r = tirc(
        MATMUL,
        *SMALL,
        "--schedule",
        "tiled32",
        "--device",
        "sim",
        "--verify",
        "--bench",
        "--versus",
        "naive",
        "--json",
    )
    assert [v["agrees"] for v in json.loads(r.out)["bench"]["versus"]] == [True]
    assert (
        tirc(MATMUL, *SMALL, "--device", "sim", "--bench", "--versus", "tiled32(T=16,naive").status
        == 2
    )
    for list, status, words in [
        ("cublas", 3, "E0640"),
        ("memcpy", 1, "E0642"),
        ("nothing", 1, "nothing"),
    ]:
        r = tirc(
            MATMUL, *SMALL, "--schedule", "tiled32", "--device", "sim", "--bench", "--versus", list
        )
        assert r.status == status and words in r.err


MIXED = """kernel product<M = 16, N = 16, K = 16>(A: {in}[M, K], B: {in}[K, N]) -> C: {out}[M, N]
{{
    temp T: {sums}[M, N];
    for i in M, j in N {{
        T[i, j] = 0;
        for k in K
            T[i, j] += {sums}(A[i, k]) * {sums}(B[k, j]);
    }}
    for i in M, j in N
        C[i, j] = {out}(T[i, j]);
}}
"""


@pytest.mark.parametrize(
    "types, words",
    [
        (("bf16", "f32", "bf16"), "E0640"),
        (("f16", "f32", "f16"), "E0640"),
        (("bf16", "f32", "f16"), "E0642"),
        (("f16", "f64", "f16"), "E0642"),
        (("i8", "i32", "i8"), "E0642"),
        (("u8", "i32", "u8"), "E0642"),
        (("f32", "f64", "f32"), "E0642"),
    ],
)
def test_types_of_cublas(tirc, tmp_path, types, words):
    """Only what cuBLAS computes in the same way is compared. There is no GPU: the others get past
    that question, and to the next."""
    program = tmp_path / "product.tir"
    program.write_text(MIXED.format(**dict(zip(("in", "sums", "out"), types, strict=True))))
    r = tirc(program, "--device", "sim", "--bench", "--versus", "cublas")
    assert words in r.err, r.err


def test_results_as_a_table(tirc):
    r = tirc(MATMUL, *SMALL, "--device", "sim", "--run", "--verify", "--bench")
    assert r.status == 0
    assert r.out.startswith("matmul, schedule default, on ")
    assert "verify  ok: 660 of 660 elements" in r.out and "GFLOP/s" in r.out


def test_runs_are_reproducible(tirc):
    def checksum(*args):
        r = tirc(MATMUL, *SMALL, "--device", "sim", "--run", "--json", *args)
        return json.loads(r.out)["run"]["outputs"][0]["checksum"]

    assert checksum() == checksum("--seed", 0)
    assert checksum() != checksum("--seed", 1)


def test_symbolic_sizes_get_values(tirc):
    symbolic = (
        MATMUL,
        "-D",
        "M=?",
        "-D",
        "N=?",
        "-D",
        "K=9",
        "--schedule",
        "tiled32",
        "--device",
        "sim",
        "--verify",
    )
    r = tirc(*symbolic, "--size", "N=33", "--size", "M=7", "--json")
    assert r.status == 0
    result = json.loads(r.out)
    assert result["sizes"] == {"M": 7, "N": 33, "K": 9} and result["verify"]["checked"] == 7 * 33
    r = tirc(*symbolic, "--size", "M=7")
    assert (
        r.status == 2 and "size 'N' of 'matmul' is symbolic" in r.err and "--size N=1000" in r.err
    )
    r = tirc(*symbolic, "--size", "K=7")
    assert r.status == 2 and "has no symbolic size of this name" in r.err


def test_lowered_text_runs(tirc):
    text = tirc(MATMUL, *SMALL, "--schedule", "tiled32", "--emit", "lowered").out
    run = ("--device", "sim", "--run", "--json")
    outputs = json.loads(tirc("-", *run, stdin=text.encode()).out)["run"]["outputs"]
    assert (
        outputs
        == json.loads(tirc(MATMUL, *SMALL, "--schedule", "tiled32", *run).out)["run"]["outputs"]
    )
    r = tirc("-", "--device", "sim", "--verify", stdin=text.encode())
    assert r.status == 2 and "error[E0705]" in r.err


def test_lowered_text_is_verified_against_its_program(tirc):
    text = tirc(MATMUL, "--schedule", "tiled32", *SMALL, "--emit", "lowered").out
    against = ("--verify", "--against", MATMUL, "--device", "sim")
    tirc.write("right.tir", text)
    assert tirc("right.tir", *against).status == 0
    tirc.write(
        "wrong.tir", text.replace("C[ty * 33 + j] = C_acc[0];", "C[ty * 33 + j] = C_acc[0] + 1.0;")
    )
    r = tirc("wrong.tir", *against)
    assert r.status == 4 and "error[E0635]" in r.err and "C[0, 0] = " in r.err
    line = 1 + text.split("\n").index(
        next(s for s in text.split("\n") if "C[ty * 33 + j] = C_acc[0];" in s)
    )
    assert (
        f"wrong.tir:{line}:" in r.err
        and "thread (0, 0, 0) of block (0, 0, 0) of kernel 'matmul' was the last to write" in r.err
    )
    assert "note: it read 'C_acc', which was written here" in r.err
    r = tirc("wrong.tir", "--verify", "--against", "right.tir", "--device", "sim")
    assert (
        r.status == 2 and "error[E0706]" in r.err and "it is already scheduled or lowered" in r.err
    )
    tirc.write(
        "other.tir",
        MATMUL.read_text()
        .replace("B: f32", "B: f64")
        .replace("A[i, k] * B[k, j]", "A[i, k] * f32(B[k, j])"),
    )
    r = tirc("wrong.tir", "--verify", "--against", "other.tir", "--device", "sim")
    assert r.status == 2 and "they differ in B" in r.err


def test_scheduled_text_is_verified(tirc):
    text = tirc(MATMUL, *SMALL, "--schedule", "tiled32", "--set", "T=8", "--emit", "tir").out
    r = tirc("-", "--device", "sim", "--verify", stdin=text.encode())
    assert r.status == 0 and "verify  ok" in r.out, r.err


def test_fault_of_the_simulator(tirc):
    tirc.write("gather.tir", OUTSIDE)
    r = tirc("gather.tir", "--device", "sim", "--run", "--json")
    assert r.status == 4
    (fault,) = json.loads(r.out)["faults"]
    assert fault["kind"] == "out_of_bounds" and fault["where"].startswith("gather.tir:3:")
    assert "error[E0630]" in r.err


def test_missing_gpu(tirc):
    r = tirc(MATMUL, *SMALL, "--device", "cuda", "--run")
    if r.status == 0:
        pytest.skip("SKIPPED: this machine has a GPU")
    assert r.status == 3 and "--device sim" in r.err


def test_devices(tirc):
    r = tirc("--devices")
    assert r.status == 0 and re.search(r"^sim   simulator, sm_90a$", r.out, re.M)


# ---- looking inside ------------------------------------------------------------------------------


def test_list(tirc):
    r = tirc("--list", MATMUL)
    assert r.status == 0
    assert (
        "kernel matmul<M = 1024, N = 1024, K = 1024>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]"
        in r.out
    )
    assert re.search(r"^    tiled32 +T = 32", r.out, re.M)
    assert re.search(
        r"^    default +threads = 256 in \[64, 128, 256, 512\], tile = \[0\] in tiles_to_try\(\) +"
        r"\(library/default.sched\)",
        r.out,
        re.M,
    )


def test_list_separates_long_names(tirc):
    name = "n" * 40
    tirc.write(
        "k.tir",
        f"kernel k(x: f32[8]) -> y: f32[8] {{ for i in 8 y[i] = x[i]; }}\n"
        f"schedule {name} for k() {{ }}\n",
    )
    assert f"\n    {name} (k.tir)\n" in tirc("--list", "k.tir").out


def test_print_after(tirc):
    by_name = tirc(MATMUL, "--schedule", "tiled32", "--print-after", "cache_read")
    assert by_name.status == 0 and by_name.out.count("// ---- after step") == 2
    by_number = tirc(MATMUL, "--schedule", "tiled32", "--print-after", "1")
    assert by_number.out.startswith("// ---- after step 1: split(i, [_, 32])\n")
    by_pass = tirc(MATMUL, "--schedule", "tiled32", "--print-after", "flatten")
    assert by_pass.out.startswith("// ---- after flatten")
    every = tirc(MATMUL, "--schedule", "tiled32", "--print-after", "all")
    assert every.out.count("// ---- after") > 20
    r = tirc(MATMUL, "--schedule", "tiled32", "--print-after", "fltten")
    assert r.status == 2 and "no step or pass is named 'fltten'" in r.err


def test_dump_dir(tirc):
    r = tirc(MATMUL, "--schedule", "tiled32", "--dump-dir", "steps")
    assert r.status == 0
    names = sorted(p.name for p in (tirc.folder / "steps").iterdir())
    assert (
        names[0] == "00-program.tir"
        and names[1] == "01-split.tir"
        and names[-1].endswith("-kernel.cu")
    )
    assert [int(n[:2]) for n in names] == list(range(len(names)))
    assert (tirc.folder / "steps" / names[-1]).read_text() == tirc(
        MATMUL, "--schedule", "tiled32", "--emit", "cuda"
    ).out


def test_trace_runs_again_to_the_same_text(tirc):
    trace = tirc(MATMUL, "--schedule", "tiled32", "--trace").out
    tirc.write("again.sched", trace)
    again = tirc(MATMUL, "--schedule", "again.sched", "--emit", "cuda")
    assert again.status == 0, again.err
    assert again.out == tirc(MATMUL, "--schedule", "tiled32", "--emit", "cuda").out


def test_trace_says_what_a_guard_leaves_idle(tirc):
    trace = tirc(MATMUL, "--schedule", "tiled32", "-D", "M=1000", "-D", "K=?", "--trace").out
    assert "split(i, [_, 32]);  // a guard leaves 24 of 1024 iterations idle (2.3%)\n" in trace
    assert "split(j, [_, 32]);\n" in trace
    assert "split(k, [_, 32]);  // a guard leaves up to 31 iterations idle\n" in trace


def test_time_passes_goes_to_standard_error(tirc):
    r = tirc(MATMUL, "--emit", "cuda", "--time-passes")
    assert r.status == 0 and r.out == tirc(MATMUL, "--emit", "cuda").out
    assert re.search(r"ms  parse\n", r.err) and re.search(r"ms  flatten\n", r.err)


# ---- help ----------------------------------------------------------------------------------------


def test_help(tirc):
    r = tirc("--help")
    assert r.status == 0 and "--print-after STEP|all" in r.out and "exit status: 0 success" in r.out
    r = tirc("--help", "split")
    assert r.status == 0 and r.out.startswith("split(loop, factors..., tail (optional))")
    assert all(
        part in r.out for part in ("before:", "after:", "legal when:", "in TVM: Schedule.split")
    )
    r = tirc("--help", "primitives")
    assert r.status == 0
    names = [line.split()[0] for line in r.out.splitlines()]
    assert {
        "split",
        "fuse",
        "reorder",
        "bind",
        "cache_read",
        "compute_at",
        "pad",
        "annotate",
    } <= set(names)
    for name in names:
        assert tirc("--help", name).status == 0
    r = tirc("--help", "splt")
    assert r.status == 2 and "unknown primitive 'splt'; did you mean 'split'?" in r.err
    r = tirc("--help", "frobnicate")
    assert (
        r.status == 2
        and "unknown primitive 'frobnicate'; `tirc --help primitives` lists them all, and" in r.err
    )


def test_explain(tirc):
    r = tirc("--explain", "E0413")
    assert r.status == 0 and r.out.startswith("E0413: ")
    assert (
        "schedule example for any()" in r.out and "tirc says:" in r.out and "error[E0413]" in r.out
    )
    r = tirc("--explain", "E0613")
    assert r.status == 0 and "tirc says:" not in r.out
    assert tirc("--explain", "E9999").status == 2
    for short in "e0413", "0413", "413":
        assert tirc("--explain", short).out.startswith("E0413: ")


def test_version(tirc):
    r = tirc("--version")
    assert r.status == 0 and re.fullmatch(r"tirc \d+\.\d+\.\d+\n", r.out)


# ---- wrong usage ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args, text",
    [
        ((), "no FILE.tir is given"),
        ((MATMUL,), "no action is given for"),
        ((MATMUL, "--emit"), "--emit needs an argument"),
        ((MATMUL, "--emit", "cud"), "--emit takes one of tir|lowered|cuda"),
        ((MATMUL, "--emti", "cuda"), "unknown option '--emti'; did you mean --emit?"),
        ((MATMUL, "--shedule=naive"), "unknown option '--shedule=naive'; did you mean --schedule?"),
        (
            (MATMUL, "--frobnicate"),
            "unknown option '--frobnicate'; `tirc --help` lists the options",
        ),
        ((MATMUL, "--vers"), "'--vers' is ambiguous: it abbreviates --versus and --version"),
        ((MATMUL, "-x"), "unknown option '-x'; `tirc --help` lists the options"),
        ((MATMUL, "--run=yes"), "--run takes no argument"),
        ((MATMUL, TRANSPOSE, "--emit", "cuda"), "use --schedule to choose a schedule"),
        ((MATMUL, "--run", "-o", "x"), "-o needs --emit, --json or --analyze"),
        ((MATMUL, "--emit", "tir", "--annotate"), "--annotate needs --emit cuda or --emit cu"),
        ((MATMUL, "--run", "--annotate"), "--annotate needs --emit cuda or --emit cu"),
        ((MATMUL, "--emit", "ptx", "--annotate"), "machine code, which has no comments"),
        (
            (MATMUL, "--emit", "cuda", "--annotate=words"),
            "--annotate takes one of comments|lines, found 'words'",
        ),
        (
            (MATMUL, "--emit", "cuda", "--json"),
            "--json needs --run, --verify, --bench or --analyze",
        ),
        ((MATMUL, "--emit", "cuda", "--run", "--json"), "both write to standard output"),
        ((MATMUL, "--run", "--seed", "-1"), "--seed takes a number"),
        (
            (MATMUL, "--emit", "cuda", "--size", "M=7"),
            "--size and --seed need --run, --verify, --bench or --analyze",
        ),
        (
            (MATMUL, "--emit", "cuda", "--seed", "7"),
            "--size and --seed need --run, --verify, --bench or --analyze",
        ),
        ((MATMUL, "--run", "--against", MATMUL), "--against needs --verify or --emit cu"),
        ((MATMUL, "--emit", "cuda", "-D", "M"), "-D expects NAME=VALUE"),
        ((MATMUL, "--emit", "cuda", "-D", "Q=4"), "has no size or type of this name"),
        (
            (MATMUL, "--emit", "cuda", "-D", "MM=4"),
            "has no size or type of this name; it has M, N, K",
        ),
        (
            (MATMUL, "--emit", "cuda", "-D", "M=f23"),
            "expected an integer, a type or ?, found 'f23'; did you mean 'f32'?",
        ),
        ((MATMUL, "--emit", "cuda", "--set", "T"), "'--set T': expected NAME=VALUE"),
        ((MATMUL, "--emit", "tir", "--set", "T=4"), "choose one with --schedule"),
        ((MATMUL, "--kernel", "matmull", "--emit", "cuda"), "did you mean 'matmul'?"),
        ((MATMUL, "--emit", "ptx", "--arch", "hopper"), "is not a GPU architecture"),
    ],
)
def test_wrong_usage(tirc, args, text):
    r = tirc(*args)
    if "nvrtc" in r.err.lower() and "--arch" in args:
        pytest.skip("SKIPPED: no NVRTC on this machine")
    assert (r.status, r.out) == (2, "") and text in r.err


def test_several_kernels_need_a_name(tirc):
    tirc.write("two.tir", TWO_KERNELS)
    r = tirc("two.tir", "--emit", "cuda")
    assert r.status == 2 and "choose one with --kernel: 'one', 'two'" in r.err
    assert "two(const float" in tirc("two.tir", "--kernel", "two", "--emit", "cuda").out


# ---- colour --------------------------------------------------------------------------------------


def on_a_terminal(tirc, *args, env=None):
    """What a terminal at standard error receives."""
    try:
        ours, theirs = pty.openpty()
    except OSError as e:
        pytest.skip(f"no terminals here: {e}")
    process = subprocess.Popen(
        [tirc.program, *map(str, args)],
        cwd=tirc.folder,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**tirc.env, "TERM": "xterm", **(env or {})},
    )
    os.close(theirs)
    received = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:
            break
        if not part:
            break
        received += part
    os.close(ours)
    process.wait()
    return received.decode()


def test_color_only_on_a_terminal(tirc):
    wrong = (tirc.write("wrong.tir", "kernel"), "--emit", "cuda")
    assert "\033[" not in tirc(*wrong).err
    assert "\033[" in on_a_terminal(tirc, *wrong)
    assert "\033[" not in on_a_terminal(tirc, *wrong, env={"NO_COLOR": "1"})
    assert "\033[" not in on_a_terminal(tirc, *wrong, "--color", "never")
    assert "\033[" in tirc(*wrong, "--color", "always").err


# The other examples are compiled by the tests bounds and roundtrip.
OPERATORS = sorted(EXAMPLES.glob("kernelbench/*.tir"))


@pytest.mark.parametrize("path", in_turn(OPERATORS, 4), ids=lambda p: p.stem)
def test_every_operator_compiles_by_default(tirc, path):
    for kernel in re.findall(r"^kernel (\w+)", path.read_text(), re.MULTILINE):
        r = tirc(path, "--kernel", kernel, "--emit", "cuda")
        assert r.status == 0, r.err


def test_the_manual_names_every_option(tirc):
    manual = (EXAMPLES.parent / "docs" / "cli.md").read_text()
    for option in re.findall(r"--[a-z-]+", tirc("--help").out):
        assert option in manual or option in ("--define", "--output"), option  # -D, -o


def test_the_manual_page_holds_the_options_and_the_manual(tirc):
    page = Path(tirc.program).with_name("tirc.1")
    if not page.exists():
        pytest.skip("there is no lowdown, which makes the manual page")
    text = page.read_text()
    assert '.TH "TIRC" "1"' in text and "\nNAME\n.LP\ntirc - compiles " in text
    for escape, plain in ((r"\(dq", '"'), (r"\(aq", "'"), (r"\(ga", "`"), (r"\e", "\\")):
        text = text.replace(escape, plain)
    assert tirc("--help").out in text
    manual = (ROOT / "docs" / "cli.md").read_text()
    headings = re.findall(r"^##+ ([\w ]+)$", manual, re.MULTILINE)
    assert len(headings) > 8 and all(f"\n{heading}\n" in text for heading in headings)
