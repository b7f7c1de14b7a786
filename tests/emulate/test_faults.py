"""The emulator fails when it should: seeded faults in emitted text, and in what runs it."""

import json
import os
import stat

import batch
import emulate
import pytest

TILED = """kernel product<M = 40, N = 36, K = 50>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]
{
    for i in M, j in N {
        C[i, j] = 0;
        for k in K
            C[i, j] += A[i, k] * B[k, j];
    }
}
"""
COPY = """kernel copy<N = 64>(x: f32[N], max: f32) -> y: f32[N]
{
    for i in N
        y[i] = x[i] > max ? max : x[i];
}
schedule wide for copy()
{
    let [b, t, v] = split(loops(y)[0], [_, 8, 4]);
    bind(b, blockIdx.x);
    bind(t, threadIdx.x);
    let copy = cache_read(y, x, local);
    compute_at(copy, t);
    vectorize(loops(copy)[-1]);
    vectorize(v);
}
schedule narrow for copy()
{
    let [b, t] = split(loops(y)[0], [_, 24]);
    bind(b, blockIdx.x);
    bind(t, threadIdx.x);
}
"""
SUM = """kernel sum<N = 200>(x: f32[N], a: i32[N]) -> s: f32, n: i32[8]
{
    s = 0;
    for i in N
        s += exp(x[i]);
    for i in 8
        n[i] = 0;
    count: for i in N
        n[a[i]] += 1;
}
schedule lanes for sum()
{
    bind(split(loops(s)[0], [_, 64])[1], threadIdx.x);
    atomic(count);
    let [b, t] = split(loops(count)[0], [_, 32]);
    bind(b, blockIdx.x);
    bind(t, threadIdx.x);
}
"""
ANY = """kernel any<N = 200>(x: f32[N]) -> s: bool, t: bool
{
    s = false;
    for i in N
        s ||= x[i] > 2;
    t = true;
    for i in N
        t &&= x[i] > -30;
}
schedule lanes for any()
{
    bind(split(loops(s)[0], [_, 64])[1], threadIdx.x);
    bind(split(loops(t)[0], [_, 64])[1], threadIdx.x);
}
"""
ROWS = """kernel rows<N = 9, M = 40>(x: i32[N, M], limit: i32) -> y: i32[N, M]
{
    for i in N
        if i < limit
            for j in M
                y[i, j] = x[i, j];
        else
            for j in M
                low: y[i, j] = -1;
}
schedule launches for rows()
{
    bind(loops(y)[1], threadIdx.x);
    bind(loops(low)[1], threadIdx.x);
}
"""
MATMUL = ["examples/matmul/matmul.tir", "-D", "M=100", "-D", "N=68", "-D", "K=44"]
TILES = (emulate.ROOT / "tests/golden/instructions_warpgroup.case").read_text().partition("\n\n")[2]
PENDING = (emulate.ROOT / "tests/golden/pipeline_pending.case").read_text().partition("\n\n")[2]
BULK = (emulate.ROOT / "tests/golden/primitive_copy_bulk.case").read_text().partition("\n\n")[2]
STORES = (emulate.ROOT / "tests/golden/bulk_stores.case").read_text().partition("\n\n")[2]
UPDATES = (emulate.ROOT / "tests/golden/bulk_updates.case").read_text().partition("\n\n")[2]
ROLES = (emulate.ROOT / "tests/golden/primitive_specialize_warps.case").read_text()
ROLES = ROLES.partition("\n\n")[2]
TURNS = (emulate.ROOT / "tests/golden/primitive_ping_pong.case").read_text().partition("\n\n")[2]
# name: (program or None, arguments, [(text, its replacement)], verdict, part of the detail)
FAULTS = {
    "none": (None, [*MATMUL, "--schedule", "tiled32"], [], "exact", ""),
    "barrier removed": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("__syncthreads();", ";")],
        "wrong",
        "C[",
    ),
    "last barrier removed": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("-__syncthreads();", ";")],
        "wrong",
        "C[",
    ),
    "barrier for some": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("__syncthreads();", "if (tx) __syncthreads();")],
        "fault",
        "never reaches",
    ),
    "thread leaves before a barrier": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("float C_acc", "if (tx == 3) return; float C_acc")],
        "fault",
        "never reaches",
    ),
    "subscript moved": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("C[i * 68 + j]", "C[i * 68 + j + 1]")],
        "fault",
        "buffer 2",
    ),
    "row moved": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("A[i * 44 + k]", "A[i * 44 + k - 1]")],
        "wrong",
        "C[",
    ),
    "guard removed": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("if (i < 100 && j < 68)\n        C", "C")],
        "fault",
        "an access ",
    ),
    "shared subscript moved": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("A_shared[ty][tx] =", "A_shared[ty][tx + 1] =")],
        "fault",
        "a subscript outside",
    ),
    "loop too short": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("ki < 32", "ki < 31")],
        "wrong",
        "C[",
    ),
    "term doubled": (
        None,
        [*MATMUL, "--schedule", "tiled32"],
        [("C_acc = 0.0f;", "C_acc = A[0] * 0.0f + 1.0f;")],
        "wrong",
        "C[",
    ),
    "copies": (
        None,
        [*MATMUL[:1], "-D", "M=128", "-D", "N=128", "-D", "K=64", "--schedule", "sgemm"],
        [],
        "exact",
        "",
    ),
    "wait removed": (
        None,
        [*MATMUL[:1], "-D", "M=128", "-D", "N=128", "-D", "K=64", "--schedule", "sgemm"],
        [("copy_async_wait<0>();", ";")],
        "wrong",
        "C[",
    ),
    "commit removed": (
        None,
        [*MATMUL[:1], "-D", "M=128", "-D", "N=128", "-D", "K=64", "--schedule", "sgemm"],
        [("copy_async_commit();", ";"), ("copy_async_wait<0>", "copy_async_wait<1>")],
        "wrong",
        "C[",
    ),
    "waited for too few": (
        None,
        [*MATMUL[:1], "-D", "M=128", "-D", "N=128", "-D", "K=64", "--schedule", "sgemm"],
        [("copy_async_wait<0>", "copy_async_wait<1>")],
        "wrong",
        "C[",
    ),
    "warpgroups": (TILES, ["--schedule", "tiles"], [], "exact", ""),
    "fence of sums removed": (
        TILES,
        ["--schedule", "tiles"],
        [('asm volatile("wgmma.fence.sync.aligned;" ::: "memory");', ";")],
        "fault",
        "without wgmma.fence",
    ),
    "wait for products removed": (
        TILES,
        ["--schedule", "tiles"],
        [('asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");', ";")],
        "wrong",
        "C[",
    ),
    "commit of products removed": (
        TILES,
        ["--schedule", "tiles"],
        [('asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");', ";")],
        "wrong",
        "C[",
    ),
    "products in flight": (PENDING, ["--schedule", "tiles"], [], "exact", ""),
    "waited for too few products": (
        PENDING,
        ["--schedule", "tiles"],
        [("wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;")],
        "wrong",
        "C[",
    ),
    "last wait for products removed": (
        PENDING,
        ["--schedule", "tiles"],
        [('asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");', ";")],
        "wrong",
        "C[",
    ),
    "wait for products behind the barrier": (
        PENDING,
        ["--schedule", "tiles"],
        [
            ('asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");', ";"),
            (
                'asm volatile("wgmma.fence.sync.aligned;" ::: "memory");',
                'asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");'
                'asm volatile("wgmma.fence.sync.aligned;" ::: "memory");',
            ),
        ],
        "wrong",
        "C[",
    ),
    "fences of the proxy removed": (
        TILES,
        ["--schedule", "tiles"],
        [("fence_proxy_async();", ";")],
        "fault",
        "no fence.proxy.async behind them",
    ),
    "last fence of the proxy removed": (
        TILES,
        ["--schedule", "tiles"],
        [("-fence_proxy_async();", ";")],
        "fault",
        "no fence.proxy.async behind them",
    ),
    "fence of the proxy before the wait": (
        TILES,
        ["--schedule", "tiles"],
        [
            ("fence_proxy_async();", ";"),
            ("copy_async_wait<0>();", "fence_proxy_async(); copy_async_wait<0>();"),
        ],
        "fault",
        "no fence.proxy.async behind them",
    ),
    "other swizzle": (TILES, ["--schedule", "tiles"], [("^ i % 8", "^ i % 4")], "wrong", "C["),
    "descriptor without a swizzle": (
        TILES,
        ["--schedule", "tiles"],
        [("0x4000004000010000", "0x4000010000")],
        "fault",
        "a descriptor",
    ),
    "roles": (ROLES, ["--schedule", "s"], [], "exact", ""),
    "roles without acquire": (
        ROLES,
        ["--schedule", "s"],
        [("producer_acquire<3>(released, begun, 3);", ";")],
        "fault",
        "an arrival",
    ),
    "roles that acquire too much": (
        ROLES,
        ["--schedule", "s"],
        [("(released, begun, 3)", "(released, begun, 4)")],
        "fault",
        "an arrival",
    ),
    "roles without receive": (
        ROLES,
        ["--schedule", "s"],
        [("consumer_receive<3>(landed, received);", "++received;")],
        "fault",
        "an arrival",
    ),
    "roles without release": (
        ROLES,
        ["--schedule", "s"],
        [("consumer_release<3>(released, freed, received);", ";")],
        "fault",
        "never ends",
    ),
    "one arrival too few": (
        ROLES,
        ["--schedule", "s"],
        [("roles_begin<3, 4>", "roles_begin<3, 5>")],
        "fault",
        "never ends",
    ),
    "turns": (TURNS, ["--schedule", "s"], [], "exact", ""),
    "turns without acquire": (
        TURNS,
        ["--schedule", "s"],
        [("producer_acquire<2>(released, begun, 2);", ";")],
        "fault",
        "an arrival",
    ),
    "turns without release": (
        TURNS,
        ["--schedule", "s"],
        [("consumer_release<2>(released, freed, received);", ";")],
        "fault",
        "never ends",
    ),
    "turns that expect all warps": (
        TURNS,
        ["--schedule", "s"],
        [("roles_begin<2, 4>", "roles_begin<2, 8>")],
        "fault",
        "never ends",
    ),
    "turns at the mbarriers of others": (
        TURNS,
        ["--schedule", "s"],
        [("landed + threadIdx.y * 2", "landed + (1 - threadIdx.y) * 2")],
        "wrong",
        "y[",
    ),
    "turns at common mbarriers": (
        TURNS,
        ["--schedule", "s"],
        [
            ("landed + threadIdx.y * 2", "landed"),
            ("&landed[begun / 4 % 2 * 2 + begun % 2]", "&landed[begun % 2]"),
            ("(landed + begun / 4 % 2 * 2, begun)", "(landed, begun)"),
        ],
        "fault",
        "",
    ),
    "bulk copies": (BULK, ["--schedule", "s"], [], "exact", ""),
    "wait for bulk copies removed": (
        BULK,
        ["--schedule", "s"],
        [("copy_bulk_wait<2>(landed, waited, begun);", ";")],
        "wrong",
        "y[",
    ),
    "waited for too few bulk copies": (
        BULK,
        ["--schedule", "s"],
        [("waited, begun - 1)", "waited, begun - 2)")],
        "wrong",
        "y[",
    ),
    "other parity": (
        BULK,
        ["--schedule", "s"],
        [("waited / groups & 1", "waited / groups + 1 & 1")],
        "fault",
        "an arrival",
    ),
    "other bytes": (
        BULK,
        ["--schedule", "s"],
        [("% 2], 1024);", "% 2], 512);")],
        "fault",
        "an mbarrier that expects",
    ),
    "bulk copies not committed": (
        BULK,
        ["--schedule", "s"],
        [("copy_bulk_commit<2>(landed, begun);", "begun++;")],
        "fault",
        "never ends",
    ),
    "bulk copies committed by all": (
        BULK,
        ["--schedule", "s"],
        [("if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)\n        ", "")],
        "fault",
        "an arrival",
    ),
    "mbarriers not initialised": (
        BULK,
        ["--schedule", "s"],
        [("copy_bulk_begin<2>(landed);", ";")],
        "fault",
        "not been initialised",
    ),
    "stage reused early": (
        BULK,
        ["--schedule", "s"],
        [("-__syncthreads();", ";")],
        "fault",
        "never ends",
    ),
    "box moved": (
        BULK,
        ["--schedule", "s"],
        [("x_map, jo_1 * 32", "x_map, jo_1 * 32 + 1")],
        "wrong",
        "y[",
    ),
    "bulk stores": (STORES, ["--schedule", "s"], [], "exact", ""),
    "bulk stores not waited for": (
        STORES,
        ["--schedule", "s"],
        [("store_bulk_wait<1>();", ";")],
        "wrong",
        "y[",
    ),
    "waited for too few bulk stores": (
        STORES,
        ["--schedule", "s"],
        [("store_bulk_wait<1>();", "store_bulk_wait<2>();")],
        "wrong",
        "y[",
    ),
    "bulk stores left at the end": (
        STORES,
        ["--schedule", "s"],
        [("store_bulk_wait<0>();", ";")],
        "fault",
        "a thread that ends before its bulk stores",
    ),
    "bulk stores not committed": (
        STORES,
        ["--schedule", "s"],
        [("store_bulk_commit();", ";")],
        "fault",
        "a thread that ends before its bulk stores",
    ),
    "box stored elsewhere": (
        STORES,
        ["--schedule", "s"],
        [("y_map, jo * 32", "y_map, jo * 32 + 1")],
        "wrong",
        "y[",
    ),
    "bulk updates": (UPDATES, ["--schedule", "s"], [], "exact", ""),
    "bulk updates left at the end": (
        UPDATES,
        ["--schedule", "s"],
        [("store_bulk_wait<0>();", ";")],
        "fault",
        "a thread that ends before its bulk stores",
    ),
    "box updated elsewhere": (
        UPDATES,
        ["--schedule", "s"],
        [("y_map, 0, 0", "y_map, 1, 0")],
        "wrong",
        "y[",
    ),
    "another update": (
        UPDATES,
        ["--schedule", "s"],
        [("shared::cta.min.tile", "shared::cta.max.tile")],
        "wrong",
        "low[",
    ),
    "an update of other elements": (
        UPDATES,
        ["--schedule", "s"],
        [("shared::cta.add.tile", "shared::cta.xor.tile")],
        "fault",
        "an update of f32 with xor",
    ),
    "vector": (COPY, ["--schedule", "wide"], [], "exact", ""),
    "vector not aligned": (
        COPY,
        ["--schedule", "wide"],
        [("(const float4 *)&x[", "(const float4 *)&x[1 + ")],
        "fault",
        "not aligned",
    ),
    "captured name": (
        COPY,
        ["--schedule", "narrow"],
        [("y[i] =", "for (int max_ = 0; max_ < 1; max_++) y[i] =")],
        "wrong",
        "y[",
    ),
    "overflow": (
        COPY,
        ["--schedule", "narrow"],
        [("const int t ", "const int big = b * 1500000000, more = big + big; const int t ")],
        "fault",
        "an operation",
    ),
    "unwritten local": (
        COPY,
        ["--schedule", "wide"],
        [("*(float4 *)&x_local[0] =", "(void)")],
        "wrong",
        "y[",
    ),
    "sum": (SUM, ["--schedule", "lanes"], [], "near", ""),
    "sum of too few": (SUM, ["--schedule", "lanes"], [("200", "199")], "wrong", ""),
    "lane never comes": (
        SUM,
        ["--schedule", "lanes"],
        [("__shfl_xor_sync", "threadIdx.x == 5 ? 0 : __shfl_xor_sync")],
        "fault",
        "never reaches",
    ),
    "truth of all lanes": (ANY, ["--schedule", "lanes"], [], "exact", ""),
    "decided lane never exchanges": (
        ANY,
        ["--schedule", "lanes"],
        [
            (
                "s_part = __shfl_xor_sync(0xffffffff, (int)s_part, 16) != 0 || s_part;",
                "s_part = s_part || __shfl_xor_sync(0xffffffff, (int)s_part, 16) != 0;",
            )
        ],
        "fault",
        "never reaches",
    ),
    "scalar that the host asks": (ROWS, ["--schedule", "launches"], [], "exact", ""),
    "does not compile": (
        COPY,
        ["--schedule", "narrow"],
        [("const int t ", "const int = ")],
        "uncompiled",
        "error",
    ),
    "does not end": (
        COPY,
        ["--schedule", "narrow"],
        [("const int t ", "while (blockIdx.x == 1) {} const int t ")],
        "hung",
        "",
    ),
    "program without a meaning": (
        COPY.replace("x[i] > max", "x[i32(x[i]) * 100 + 5000] > max"),
        ["--schedule", "naive"],
        [],
        "undefined",
        "a subscript",
    ),
}


def faulty(name, program, arguments, changes):
    record = emulate.file_record(name, [*(["-"] if program else []), *arguments], program)
    launches = json.loads(record["launches"])
    for text, new in changes:
        cuda = launches["cuda"]
        if text[0] == "-":  # the last one
            before, _, after = cuda.rpartition(text[1:])
            changed = before + new + after
        else:
            changed = cuda.replace(text, new)
        assert changed != cuda, f"{name}: the text has no {text!r}\n{cuda}"
        launches["cuda"] = changed
    return {**record, "launches": json.dumps(launches)}


@pytest.fixture(scope="module")
def found(compiler):
    records = [faulty(name, *fault[:3]) for name, fault in FAULTS.items()]
    os.environ["EMULATOR_SECONDS"] = "0.5"
    return {
        r["name"]: (verdict, detail)
        for r, verdict, detail in batch.run(compiler, "faults", records)
    }


@pytest.mark.parametrize("name", FAULTS)
def test_fault(found, name):
    verdict, detail = found[name]
    assert (verdict, FAULTS[name][4] in detail) == (FAULTS[name][3], True), f"{verdict}: {detail}"


def test_crash_of_the_recorder(tmp_path, monkeypatch):
    """A crash in one trial is reported, and the trials behind it still run."""
    fake = tmp_path / "record"
    real = emulate.recorder()
    fake.write_text(
        f'#!/bin/sh\nif [ "$4" = 1 ]; then {real} -c 0 2 1 "$5"; kill -SEGV $$; fi\n'
        f'exec {real} "$@"\n'
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    whole, _ = emulate.random_records(6, 1)
    monkeypatch.setenv("FUZZ_RECORD", str(fake))
    records, verdicts = emulate.random_records(6, 1)
    assert [r["seed"] for r, v, _ in verdicts if v == "broken"] == [3]
    assert (
        {4, 5, 6} & {r["seed"] for r in records} == {4, 5, 6} & {r["seed"] for r in whole} != set()
    )
