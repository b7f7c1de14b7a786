"""The kernels that the examples show, by their static figures: threads of a block, bytes of shared memory and barriers of a launch, and
barriers in the loop; and the steps that have to be refused where they stand."""

import json
import re

import pytest

from conftest import EXAMPLES

MATMUL = EXAMPLES / "matmul" / "matmul.tir"
STEPS = EXAMPLES / "matmul" / "tvm_steps.sched"
# file, schedule and options: threads, bytes, barriers of the last launch, and those in its outermost loop
FIGURES = {
    "M1": ("matmul/matmul.tir", "naive", [], 1024, 0, 0, 0),
    "M2, 16 x 16": ("matmul/matmul.tir", "tiled32", ["--set", "T=16"], 256, 2048, 2, 2),
    "M2, 32 x 32": ("matmul/matmul.tir", "tiled32", [], 1024, 8192, 2, 2),
    "M3": ("matmul/matmul.tir", "tvm_step1", [], 1024, 0, 0, 0),
    "M4": ("matmul/matmul.tir", "tvm_step2", [], 32, 0, 0, 0),
    "M5": ("matmul/matmul.tir", "tvm_step3", [], 32, 8192, 2, 2),
    "M6": ("matmul/matmul.tir", "tvm_step4", [], 32, 8192, 2, 2),
    "M7": ("matmul/matmul.tir", "tvm_step5", [], 32, 16384, 2, 1),
    "M8": ("matmul/matmul.tir", "tvm_step6", [], 32, 16384, 2, 1),
    "K1": ("histogram/histogram.tir", "atomic", [], 256, 0, 0, 0),
    "K2": ("histogram/histogram_private.tir", "private", [], 256, 1024, 2, 0),
    "K2, fewer threads": ("histogram/histogram_private.tir", "private", ["--set", "threads=64"], 64, 1024, 2, 0),
    "K3": ("adjacent_difference/adjacent_difference.tir", "default", [], 256, 0, 0, 0),
    "K4": ("adjacent_difference/adjacent_difference.tir", "halo", [], 256, 1040, 1, 0),  # 257 floats, in pieces of 16 bytes
    "K6, static": ("reverse/reverse.tir", "reverse_shared", [], 256, 4096, 1, 0),
    "K6, 64 KB": ("reverse/reverse.tir", "reverse_shared", ["--set", "elements=16384"], 256, 65536, 1, 0),
    "K8, misaligned": ("access/shifted.tir", "default", [], 256, 0, 0, 0),
    "K8, strided": ("access/strided.tir", "default", [], 256, 0, 0, 0),
}


def barriers_in_loops(cuda):
    """Barriers of the last kernel that stand further in than its body."""
    body = cuda[cuda.rindex('extern "C"'):]
    return len(re.findall(r"^ {5,}__syncthreads\(\);  // \w", body, re.M))


@pytest.mark.parametrize("row", FIGURES)
def test_figures(tirc, row):
    file, schedule, options, threads, shared, barriers, in_loop = FIGURES[row]
    r = tirc(EXAMPLES / file, "--schedule", schedule, *options, "--emit", "json")
    assert r.status == 0, r.err
    launch = json.loads(r.out)["launches"][-1]
    cuda = tirc(EXAMPLES / file, "--schedule", schedule, *options, "--emit", "cuda").out
    assert eval("*".join(str(n) for n in launch["block"])) == threads
    assert launch["shared_bytes"] == shared and launch["barriers"] == barriers
    assert barriers_in_loops(cuda) == in_loop


def test_more_than_48_KB_is_asked_for(tirc):
    file = EXAMPLES / "reverse" / "reverse.tir"
    large = ["--schedule", "reverse_shared", "--set", "elements=16384"]
    assert "<<<256, 256, 65536>>>" in tirc(file, *large, "--emit", "cuda").out
    program = tirc(file, *large, "--emit", "cu").out
    assert "cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536)" in program
    assert "__shared__ float x_shared[1024];" in tirc(file, "--schedule", "reverse_shared", "--emit", "cuda").out


def test_counters_of_a_block_are_added_once(tirc):
    """Updates of global memory: one for each counter and block, whatever the number of threads."""
    file = EXAMPLES / "histogram" / "histogram_private.tir"
    for threads in (64, 128, 256, 512):
        text = tirc(file, "--schedule", "private", "--set", f"threads={threads}", "--emit", "cuda").out
        assert len(re.findall(r"atomicAdd\(&hist\[", text)) == 1 and len(re.findall(r"atomicAdd\(&part\[", text)) == 1
        r = tirc(file, "--schedule", "private", "--set", f"threads={threads}", "-D", "N=1000", "-D", "PARTS=7", "--device",
                 "sim", "--verify")
        assert r.status == 0 and "256 of 256 elements checked, all exact" in r.out


def test_step1_is_refused_over_1024_threads(tirc):
    r = tirc(MATMUL, "--schedule", "tvm_step1", "-D", "N=1025", "--emit", "cuda")
    assert r.status == 1 and "error[E0422]: bind: loop 'j' has 1025 iterations, and threadIdx.x has at most 1024" in r.err
    assert re.search(r"tvm_step1\.sched:7:5: error.*\n +7 \|     bind\(j, threadIdx\.x\);", r.err)
    assert tirc(MATMUL, "--schedule", "tvm_step1", "-D", "N=1024", "--emit", "cuda").status == 0


def test_step3_as_printed_is_refused_at_its_bind(tirc, tmp_path):
    script = tmp_path / "printed.sched"
    script.write_text(f'''{STEPS.read_text()}
schedule printed for matmul()
{{
    let [ty, k_outer, k_inner, i_elem, j_elem] = tvm_tiles();
    for buffer in [A, B] {{
        let s = cache_read(C, buffer, shared);
        compute_at(s, k_outer);
        let [f_ty, f_tx] = split(fuse(loops(s)[-2:]), [8, _]);
        bind(f_tx, threadIdx.x);
        bind(f_ty, threadIdx.y);
    }}
}}
''')
    lines = script.read_text().splitlines()
    first, second = (next(i for i, line in enumerate(lines, 1) if text in line)
                     for text in ("bind(tx, threadIdx.x)", "bind(f_tx, threadIdx.x)"))
    r = tirc(MATMUL, "--schedule", script, "--emit", "cuda")
    assert r.status == 1
    assert f"printed.sched:{second}:9: error[E0421]: bind: threadIdx.x would have 4 iterations at loop 'tx' and 128" in r.err
    assert f"printed.sched:{first}:5: note: loop 'tx' was bound here" in r.err


def test_step4_says_which_axis_would_be_wide(tirc):
    r = tirc(MATMUL, "--schedule", "tvm_step4", "--emit", "cuda")
    assert r.status == 0 and "float4" not in r.out
    assert "warning[E0511]: no wide access: 'C' is strided by 1024 elements along row" in r.err
    assert "vectorize loop 'column', along which 'C' is contiguous" in r.err
    r = tirc(MATMUL, "--schedule", "tvm_step5", "--emit", "cuda")
    assert "E0511" not in r.err and "*(float4 *)&C[" in r.out
