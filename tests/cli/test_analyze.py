"""--analyze: what it prints, what it refuses, and that a sample stands for the whole."""

import json
import re

import pytest
from conftest import EXAMPLES, MATMUL, ROOT, TRANSPOSE

SIZES = ("-D", "R=256", "-D", "C=512")
SHARED = (TRANSPOSE, "--schedule", "shared", *SIZES, "--device", "sim", "--analyze")


def test_a_table_for_people(tirc):
    r = tirc(*SHARED)
    assert r.status == 0
    assert "analyze for NVIDIA H200: all 128 blocks counted\n" in r.out
    assert (
        "    4:21     load in_shared (shared)              4         4096  32 wavefronts    1\n"
        "             32 lanes fall into 1 bank: pad the row by 1\n" in r.out
    )
    assert "    each output element takes 1 load, 1 store of global memory\n" in r.out
    assert r.out.count("<- bottleneck") == 1


def test_constant_memory_is_a_kind_of_its_own(tirc):
    tirc.write(
        "pick.tir",
        """kernel pick<N = 1024>(x: f32[N], table: f32[64]) -> y: f32[N]
{
    for i in N
        y[i] = x[i] * table[i % 64] + table[7];
}
""",
    )
    tirc.write(
        "table.sched",
        """schedule table for pick()
{
    cache_read(y, table, constant);
    let [i] = loops(y);
    let [block, thread] = split(i, [_, 64]);
    bind(block, blockIdx.x);
    bind(thread, threadIdx.x);
}
""",
    )
    command = ("pick.tir", "--schedule", "table", "--device", "sim", "--analyze")
    accesses = json.loads(tirc(*command, "--json").out)["accesses"]
    spread, same = (a for a in accesses if a["scope"] == "constant")
    assert (
        spread["passes_per_request"],
        spread["ideal"],
        same["passes_per_request"],
        same["verdict"],
    ) == (32, 1, 1, None)
    assert "constant memory serves one at a time" in spread["verdict"]
    assert re.search(r"load table_constant \(constant\) +4 +32  32 words +1\n", tirc(*command).out)


def test_a_matrix_is_stored_in_one_pass(tirc):
    """Four matrices of 8 x 8 elements, 512 bytes, are four passes over the banks."""
    case = (ROOT / "tests/golden/instructions_stmatrix.case").read_text()
    tirc.write("turn.tir", case.partition("emit: cuda\n")[2])
    command = ("turn.tir", "--schedule", "matrices", "--device", "sim", "--analyze", "--json")
    accesses = json.loads(tirc(*command).out)["accesses"]
    (store,) = (a for a in accesses if a["op"] == "store" and a["buffer"] == "y_shared")
    executions = 2 * 4  # of each warp, along its rows
    assert (store["requests"], store["wavefronts_per_request"]) == (executions, 4)


def test_json(tirc):
    result = json.loads(tirc(*SHARED, "--json").out)
    assert [(a["op"], a["buffer"], a["line"]) for a in result["accesses"]] == [
        ("load", "in", 4),
        ("store", "in_shared", 4),
        ("load", "in_shared", 4),
        ("store", "out", 4),
    ]
    bad = result["accesses"][2]
    assert bad["scope"] == "shared" and bad["requests"] == 4096 and bad["ideal"] == 1
    assert bad["worst"]["addresses"] == [lane * 128 for lane in range(32)]
    assert result["accesses"][0]["call"].startswith("cache_read(")
    assert [limit["name"] for limit in result["analyze"]["limits"]] == [
        "arithmetic",
        "tensor cores",
        "device memory",
        "second-level cache",
        "load/store units",
    ]
    assert sum(limit["binds"] for limit in result["analyze"]["limits"]) == 1


def test_a_sample_stands_for_all(tirc):
    whole = json.loads(tirc(*SHARED, "--json").out)
    part = json.loads(tirc(*SHARED, "--json", "--budget", "1000").out)
    assert whole["analyze"]["exact"] and not part["analyze"]["exact"]
    assert 0 < part["analyze"]["counted_blocks"] < part["analyze"]["blocks"] == 128
    drop = ("counted_blocks", "exact")
    assert {k: v for k, v in part["analyze"].items() if k not in drop} == {
        k: v for k, v in whole["analyze"].items() if k not in drop
    }
    for a, b in zip(part["accesses"], whole["accesses"]):
        del a["worst"], b["worst"]
        assert a == b
    assert "blocks, which stand for all" in tirc(*SHARED, "--budget", "1000").out


def test_later_launches_see_what_earlier_ones_wrote(tirc):
    """Where blocks are sampled, those that are not counted still run: the second launch reads
    indices from the first."""
    tirc.write(
        "two.tir",
        """kernel two<N = 4096>(x: f32[N]) -> y: f32[N]
{
    temp at: i32[N];
    for i in N
        at[i] = i32(N - 1 - i);
    for i in N
        y[i] = x[at[i]];
}
""",
    )
    r = tirc("two.tir", "--device", "sim", "--analyze", "--budget", "10", "--json")
    assert r.status == 0, r.err
    assert not json.loads(r.out)["analyze"]["exact"]


@pytest.mark.parametrize("budget", ["10", "1000000"])
def test_blocks_that_await_each_other_run_in_order(tirc, budget):
    """Each block of a scan in one launch awaits the sums of those before it, also in a sample."""
    tirc.write(
        "scan.tir",
        """kernel scan<N = 100000>(x: f32[N]) -> y: f32[N], last: f32
{
    temp s: f32;
    s = 0;
    for i in N {
        s += x[i];
        y[i] = s;
    }
    last = y[N - 1];
}
""",
    )
    r = tirc("scan.tir", "--device", "sim", "--analyze", "--budget", budget, "--json")
    assert r.status == 0, r.err
    assert json.loads(r.out)["analyze"]["exact"] == (budget != "10")


def test_collisions(tirc):
    text = "kernel h<N = 4096>(x: f32[N]) -> y: i32[1] { y[0] = 0; for i in N y[0] += 1; }"
    tirc.write("h.tir", text)
    tirc.write(
        "h.sched",
        """schedule h for h()
{
    atomic(y_1);
    let [i] = loops(y_1);
    let [b, t] = split(i, [_, 256]);
    bind(b, blockIdx.x);
    bind(t, threadIdx.x);
}
""",
    )
    r = tirc("h.tir", "--schedule", "h.sched", "--device", "sim", "--analyze")
    if r.status == 0:
        assert "32.0 passes a request" in r.out


def test_edges_are_counted(tirc):
    """Sizes that do not divide: lanes that are guarded away cost nothing."""
    r = tirc(
        TRANSPOSE,
        "--schedule",
        "shared",
        "-D",
        "R=33",
        "-D",
        "C=1",
        "--device",
        "sim",
        "--analyze",
        "--json",
    )
    result = json.loads(r.out)
    assert result["analyze"]["loads"] == result["analyze"]["stores"] == 33


def test_a_fault_is_a_fault(tirc):
    tirc.write(
        "gather.tir",
        "kernel gather<N = 64>(at: i32[N], x: f32[4]) -> y: f32[N] { "
        "for i in N y[i] = x[at[i]] + x[at[i] + 4]; }",
    )
    r = tirc("gather.tir", "--device", "sim", "--analyze", "--json")
    assert r.status == 4
    assert json.loads(r.out)["faults"][0]["kind"] == "out_of_bounds"


def test_symbolic_sizes(tirc):
    r = tirc(
        MATMUL,
        "--schedule",
        "tiled32",
        "-D",
        "M=?",
        "-D",
        "N=64",
        "-D",
        "K=64",
        "--size",
        "M=33",
        "--device",
        "sim",
        "--analyze",
        "--json",
    )
    assert r.status == 0, r.err
    assert json.loads(r.out)["analyze"]["flops"] == 2 * 33 * 64 * 64


@pytest.mark.parametrize(
    "text, message, status",
    [
        ("dram_gpbs = 3", "did you mean 'dram_gbps'?", 1),
        ("dram_gbps", "found a line without '='", 1),
    ],
)
def test_bad_profiles(tirc, text, message, status):
    tirc.write("mine.profile", text)
    r = tirc(*SHARED, "--profile", "mine.profile")
    assert r.status == status
    assert "error[E0651]" in r.err and message in r.err and "mine.profile:1:1" in r.err


def test_profiles_that_are_not_there(tirc):
    r = tirc(*SHARED, "--profile", "h300")
    assert r.status == 1 and "error[E0650]" in r.err and "tirc ships a100, h200" in r.err
    assert tirc(*SHARED, "--profile", "nowhere/x.profile").status == 1
    assert "for NVIDIA A100" in tirc(*SHARED, "--profile", "a100").out


def test_a_profile_that_knows_nothing(tirc):
    tirc.write("empty.profile", "")
    r = tirc(*SHARED, "--profile", "empty.profile")
    assert r.status == 0
    assert "the profile gives no rate" in r.out and "<- bottleneck" not in r.out


def test_usage(tirc):
    r = tirc(MATMUL, "--run", "--profile", "h200")
    assert (
        r.status == 2
        and "--profile and --budget need --analyze" in r.err
        or "--versus needs --bench or --analyze" in r.err
    )


def test_versus(tirc):
    r = tirc(*SHARED, "--versus", "padded")
    assert r.status == 0
    assert (
        """  versus padded: differences
                     shared                           padded
    load in_shared (shared)
      each costs       32 wavefronts                  1 wavefront
"""
        in r.out
    )
    assert "load in (global)" not in r.out.split("versus padded")[1]
    versus = json.loads(tirc(*SHARED, "--versus", "padded", "--json").out)["analyze"]["versus"]
    assert versus["schedule"] == "padded"
    assert versus["changes"][0] == {
        "subject": "load in_shared (shared)",
        "counter": "each costs",
        "first": "32 wavefronts",
        "second": "1 wavefront",
    }
    assert versus["accesses"][2]["wavefronts_per_request"] == 1


def test_versus_with_settings(tirc):
    changes = tirc(*SHARED, "--versus", "padded(row=2, T=16)").out.split("versus")[1]
    assert "threads per block 256                            128" in changes
    assert tirc(*SHARED, "--versus", "shared").out.endswith("versus shared: no differences\n")


def test_versus_another_kind_of_schedule(tirc):
    changes = tirc(*SHARED, "--versus", "naive").out.split("versus naive")[1]
    assert (
        "    store in_shared (shared)\n      requests         4096 x 1 wavefront             none\n"
        in changes
    )
    assert (
        "    store out (global)\n      each costs       4 sectors                      32 sectors\n"
        in changes
    )
    assert (
        "    barrier: in_shared: written above by other threads, read below\n"
        "      times per block  1                              0\n" in changes
    )


def test_versus_refuses(tirc):
    assert tirc(*SHARED, "--versus", "nowhere").status == 1
    assert tirc(*SHARED, "--versus", "padded(row=2").status == 2
    assert tirc(MATMUL, "--run", "--versus", "naive").status == 2


def test_fma_of_halves(tirc):
    """It rounds once: 3 * 683 is in the middle between two f16, and 7 * 37 between two bf16. It
    counts as two operations on f32."""
    tirc.write(
        "fused.tir",
        """kernel fused<N = 64>(x: f16[N], u: bf16[N]) -> s: f16[N], r: bf16[N]
{
    for i in N
        s[i] = fma(min(max(x[i], 3), 3), 683, 0.00006103515625);
    for i in N
        r[i] = fma(min(max(u[i], 7), 7), 37, -1e-9);
}
""",
    )
    run = tirc("fused.tir", "--device", "sim", "--run")
    assert "starts 2050 2050 2050 2050\n" in run.out and "starts 258 258 258 258\n" in run.out
    analysis = json.loads(tirc("fused.tir", "--device", "sim", "--analyze", "--json").out)[
        "analyze"
    ]
    assert (analysis["flops"], analysis["f32_flops"]) == (2 * 64 * 4, 2 * 64 * 4)


TENSOR_CORES = EXAMPLES / "tensor_cores" / "tensor_cores.tir"


def analyzed(tirc, *words):
    result = json.loads(tirc(*words, "--device", "sim", "--analyze", "--json").out)
    costs = {(a["op"], a["buffer"]): a for a in result["accesses"]}
    limits = {limit["name"]: limit["amount"] for limit in result["analyze"]["limits"]}
    return costs, limits, result["analyze"]


def test_instructions_of_a_warp_read_operands_once(tirc):
    """mma_nn has 64 x 16 and 16 x 64 elements of two bytes; rows of the tiles are padded."""
    words = (TENSOR_CORES, "--kernel", "matmul_bf16", "--schedule", "gemm", "--set", "BM=128")
    sizes = ("--set", "BK=32", "-D", "M=128", "-D", "N=128", "-D", "K=64")
    costs, limits, totals = analyzed(tirc, *words, *sizes)
    for buffer in ("A_shared", "B_shared"):
        load = costs["load", buffer]
        assert load["requests"] == 4 * 4 and load["bytes"] == 16
        assert load["wavefronts_per_request"] == load["ideal"] == 64 * 16 * 2 / 128
    assert limits["tensor cores"] == 2 * 128 * 128 * 64
    assert limits["arithmetic"] == 0 and totals["peak_gflops"] == 1070531


def test_rows_in_the_same_banks_are_seen(tirc):
    """Without padding, eight rows of 64 bytes lie in two groups of banks."""
    tirc.write(
        "bare.sched",
        """schedule bare for matmul_f16_nt()
{
    let copies = [cache_read(C, A, shared), cache_read(C, B, shared)];
    let out = cache_write(C, shared);
    let [by, i] = split(loops(C)[0], [_, 64]);
    let [j, k] = loops(C)[2:];
    bind(by, blockIdx.x);
    reverse_compute_at(out, by);
    let rows = rows_of_lanes([i, j], [64, 64], [64, 64]);
    rows_of_lanes(loops(out)[-2:], [64, 64], [64, 64]);
    set_scope(C_shared, local);
    let [ko, ki, kk] = split(k, [_, 2, 16]);
    reorder(rows[3], ko, ki, rows[0], rows[1], rows[2], kk);
    for copy in copies {
        compute_at(copy, ko);
        let [_, lane] = split(fuse(loops(copy)[-2:]), [_, 32]);
        bind(lane, threadIdx.x);
    }
    tensorize(rows[0], mma_nt, "f16");
}
""",
    )
    words = (TENSOR_CORES, "--kernel", "matmul_f16_nt", "--schedule", "bare.sched", "-D", "M=64")
    costs, _, _ = analyzed(tirc, *words, "-D", "N=64", "-D", "K=32")
    for buffer in ("A_shared", "B_shared"):
        load = costs["load", buffer]
        assert (load["wavefronts_per_request"], load["ideal"]) == (64, 16), load
        assert load["verdict"].startswith("8 lanes fall into 8 banks")


def test_bulk_copies_count_sectors_and_warpgroups_panels(tirc):
    words = (TENSOR_CORES, "--kernel", "matmul_bf16", "--schedule", "gemm", "--set", "BM=128")
    costs, limits, totals = analyzed(tirc, *words, "-D", "M=128", "-D", "N=128", "-D", "K=128")
    box, panel = costs["load", "A"], costs["load", "A_shared"]
    assert box["sectors_per_request"] == box["ideal"] == 128 * 64 * 2 / 32
    assert costs["store", "A_shared"]["wavefronts_per_request"] == 128 * 64 * 2 / 128
    assert panel["wavefronts_per_request"] == panel["ideal"] == 64 * 64 * 2 / 128
    assert panel["requests"] == 2 * 2 and limits["tensor cores"] == 2 * 128**3
    assert totals["bytes_beyond_l1"] == 3 * 128 * 128 * 2
