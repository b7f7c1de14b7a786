"""How schedule `default` computes products that others use: in the tiles of a product alone, or two
of the same rows in tiles of both."""

import os
import re
import subprocess

import pytest

from parts import in_sweep

# The results of the first product are not used before there are those of the second.
SUM_OF_TWO = """
kernel sum_of_two<M = 4096, N = 4096, K = 1024>
    (x: bf16[M, K], y: bf16[M, K], v: bf16[N, K], w: bf16[N, K]) -> z: bf16[M, N]
{
    temp a: f32[M, N];
    temp b: f32[M, N];
    for i in M, j in N {
        a[i, j] = 0;
        for k in K
            a[i, j] += f32(x[i, k]) * f32(v[j, k]);
    }
    for i in M, j in N {
        b[i, j] = 0;
        for k in K
            b[i, j] += f32(y[i, k]) * f32(w[j, k]);
    }
    for i in M, j in N
        z[i, j] = bf16(a[i, j] + b[i, j]);
}

schedule in_turns for sum_of_two()
{
    let [first, second, _] = blocks();
    matmul_by_tensor_cores(first, [64, 64, 64, 2], 1, 8, true, 3);
    matmul_by_tensor_cores(second, [64, 64, 64, 2], 1, 8, false, 3);
}
"""


# Matrices of X and W with elements of T, whose products are sums of type S.
GATED = """
kernel gated<M = 4096, N = 4096, K = 4096>
    (x: {T}[{X}], v: {T}[{W}], w: {T}[{W}], r: {S}[N]) -> y: {Y}[M, N]
{{
    for i in M, j in N {{
        temp a: {S};
        temp b: {S};
        a = 0;
        b = 0;
        for k in K {{
            a += {S}(x[{x}]) * {S}(v[{w}]);
            b += {S}(x[{x}]) * {S}(w[{w}]);
        }}
        y[i, j] = {Y}(a * r[j] + max(a, b));
    }}
}}

schedule small for gated()
{{
    expand_all(loops(blocks()[0]));
    cut_behind_nests(loops(blocks()[0])[0]);
    let [one, other, out] = blocks();
    product_of_pair([one, other], out, [128, 64, 128 / bytes(x), 4], 8, 2);
}}
"""
# The same in nests of their own.
APART = """
kernel gated<M = 4096, N = 4096, K = 4096>
    (x: bf16[M, K], v: bf16[N, K], w: bf16[N, K]) -> y: bf16[M, N]
{
    temp a: f32[M, N];
    temp b: f32[M, N];
    for i in M, j in N {
        a[i, j] = 0;
        for k in K
            a[i, j] += f32(x[i, k]) * f32(v[j, k]);
    }
    for i in M, j in N {
        b[i, j] = 0;
        for k in K
            b[i, j] += f32(x[i, k]) * f32(w[j, k]);
    }
    for i in M, j in N
        y[i, j] = bf16(a[i, j] / (1 + exp(-a[i, j])) * b[i, j]);
}
"""

HEADS = """
kernel heads<M = 4096, H = 32, D = 128, K = 1024>(x: bf16[M, K], w: bf16[{W}]) -> q: f32[M, H, D]
{{
    for i in M, h in H, d in D {{
        q[i, h, d] = 0;
        for k in K
            q[i, h, d] += f32(x[i, k]) * f32(w[{w}]);
    }}
}}
"""

ROTARY = """
kernel rotary<M = 4096, H = 32, D = 128, K = 4096>
    (x: bf16[M, K], w: bf16[H, D, K], c: f32[M, D / 2], s: f32[M, D / 2]) -> y: bf16[H, M, D]
{
    temp q: f32[M, H, D];
    for i in M, h in H, d in D {
        q[i, h, d] = 0;
        for k in K
            q[i, h, d] += f32(x[i, k]) * f32(w[h, d, k]);
    }
    for i in M, h in H, d in D / 2 {
        y[h, i, d] = bf16(q[i, h, d] * c[i, d] - q[i, h, d + D / 2] * s[i, d]);
        y[h, i, d + D / 2] = bf16(q[i, h, d] * s[i, d] + q[i, h, d + D / 2] * c[i, d]);
    }
}

schedule small for rotary(tile = 256)
{
    let block = blocks()[0];
    let [factors, _, rows, columns, sums] = contraction(block);
    let part = part_of_uses(block, columns[-1]);
    product_of_parts(block, factors, [rows, columns, sums], part, [128, tile, 64, 4], 8, 1);
}
"""


def sides(subscripts):
    return ", ".join({"i": "M", "j": "N", "k": "K"}[each] for each in subscripts)


def gated(kind, rows, columns, result):
    """rows: subscripts of x; columns: those of v and w."""
    return GATED.format(
        T=kind,
        S="i32" if kind == "i8" else "f32",
        Y=result,
        X=sides(rows),
        W=sides(columns),
        x=", ".join(rows),
        w=", ".join(columns),
    )


FORMS = [("bf16", "ik", "jk", "bf16"), ("i8", "ik", "jk", "i32")]
MORE = [("f16", "ik", "kj", "f32"), ("bf16", "ki", "jk", "f16"), ("bf16", "ki", "kj", "bf16")]


def tirc(program, *options):
    command = [os.environ["TIRC"], "-", *options]
    done = subprocess.run(command, input=program, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_results_that_others_use_later_have_the_tiles_of_others():
    """Blocks take turns, and the hardware stores both results."""
    text = tirc(SUM_OF_TWO, "--emit", "cuda")
    assert text.count("store_bulk_2d(") == 2 + 1, text  # one is the function
    assert text.count(", dim3(128, 3), 229440>>>") == 2


def test_results_that_others_use_later_are_right():
    sizes = ("-DM=128", "-DN=128", "-DK=128", "--schedule", "in_turns")
    said = tirc(SUM_OF_TWO, *sizes, "--verify", "--device", "sim")
    assert said.count("<<<(3, 1, 1), (256, 1, 1)>>>") == 2 and "verify  ok" in said, said


@pytest.mark.parametrize("kind, rows, columns, result", [*FORMS, *MORE])
def test_products_of_the_same_rows_are_computed_together(kind, rows, columns, result):
    """In one launch, whose blocks copy three operands, and store one result."""
    text = tirc(gated(kind, rows, columns, result), "--emit", "cuda")
    assert (
        "// gated: 1 launch\n" in text
        and ", dim3(128, 3), 229440>>>(r, x_map, v_map, w_map" in text
    )
    assert text.count("wgmma.commit_group") == 1, "both are one group"


@pytest.mark.parametrize(
    "sizes, together",
    [
        ((), True),
        (("-DM=2048", "-DN=1024"), True),
        (("-DM=1024", "-DN=1024"), False),  # a tile for half of the multiprocessors
        (("-DN=4160",), False),  # no whole tiles
        (("-DM=?",), False),
    ],
)
def test_products_are_computed_together_where_that_pays(sizes, together):
    text = tirc(APART, "--emit", "cuda", *sizes)
    assert ("// gated: 1 launch\n" in text) == together, text[:800]


@pytest.mark.parametrize("kind, rows, columns, result", [FORMS[0], *in_sweep(*FORMS[1:], *MORE)])
def test_products_that_are_computed_together_are_right(kind, rows, columns, result):
    """Of three tiles, one block has two and the other one. A tile takes three of the four copies
    under way, so that the next tile begins with another one."""
    depth = 384 if kind == "i8" else 192
    sizes = ("-DM=128", "-DN=192", f"-DK={depth}", "--schedule", "small")
    said = tirc(gated(kind, rows, columns, result), *sizes, "--verify", "--device", "sim")
    assert "<<<(2, 1, 1), (128, 3, 1)>>>" in said and "verify  ok" in said, said


@pytest.mark.parametrize(
    "w, D, copied", [("hdk", 128, True), ("hdk", 512, True), ("khd", 128, True), ("hdk", 96, False)]
)
def test_blocks_take_turns_with_products_of_joined_loops(w, D, copied):
    """Where the hardware copies tiles: these have whole rows of matrices, or are part of one."""
    axes = {"h": "H", "d": "D", "k": "K"}
    program = HEADS.format(W=", ".join(axes[each] for each in w), w=", ".join(w))
    text = tirc(program, "--emit", "cuda", f"-DD={D}")
    turns = re.search(r"^// heads<<<1\d\d, dim3\(128, 3\), \d+>>>\((.*)\);", text, re.M)
    assert (turns and turns[1]) == ("x_map, w_map, q_map" if copied else None), text


@pytest.mark.parametrize(
    "sizes, together",
    [
        ((), True),
        (("-DD=64",), True),
        (("-DD=96",), False),  # no tile has whole rows
        (("-DM=128",), False),  # tiles for few multiprocessors
        (("-DM=?",), False),
    ],
)
def test_uses_combine_parts_of_rows_in_registers(sizes, together):
    text = tirc(ROTARY, "--emit", "cuda", *sizes)
    assert ("// rotary: 1 launch\n" in text) == together, text[:800]
    assert ("q: f32[" in text.split("\n\n")[0]) != together, "the product is in memory"


@pytest.mark.parametrize(
    "heads, row, tile", [(4, 64, 128), *in_sweep((4, 128, 256), (16, 32, 256))]
)
def test_combined_parts_of_rows_are_right(heads, row, tile):
    """Of one block that takes turns with two tiles, with three of four copies for each."""
    sizes = ("-DM=128", f"-DH={heads}", f"-DD={row}", "-DK=192")
    schedule = ("--schedule", "small", f"--set=tile={tile}")
    said = tirc(ROTARY, *sizes, *schedule, "--verify", "--device", "sim")
    assert "<<<(1, 1, 1), (128, 3, 1)>>>" in said and "verify  ok" in said, said
