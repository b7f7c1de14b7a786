"""The shipped schedule of products, for every program of its family, and for every tile of its
table: right, without faults, and no access meets more of shared memory's banks twice, or of
memory's sectors, than its width asks for."""

import json
import re

import pytest

from conftest import EXAMPLES
from parts import in_sweep, in_turn

pytestmark = pytest.mark.usefixtures("without_nvrtc")

PROGRAM = EXAMPLES / "products" / "products.tir"
TENSOR_CORES = EXAMPLES / "tensor_cores" / "tensor_cores.tir"
KERNELS = ("matmul", "matmul_nt", "matmul_tn", "matmul_tt", "matmul_batched", "matmul_bias_relu")

# A tile of the table, as sgemm.sched has it: the rows and columns of one block, and eight tiles of
# k. The last two: stages, copies of the loop.
TILES = {
    "large": ("f32", 128, 256, 64, 64, 8, 1, 2, 2),
    "between": ("f32", 128, 128, 32, 64, 8, 1, 2, 2),
    "tall": ("f32", 80, 128, 80, 32, 8, 1, 2, 2),
    "wide": ("f32", 64, 128, 32, 64, 8, 1, 2, 2),
    "middle": ("f32", 64, 128, 32, 32, 16, 1, 4, 4),
    "thirds": ("f32", 96, 64, 48, 32, 8, 1, 2, 4),
    "wide parts": ("f32", 64, 256, 32, 64, 8, 2, 4, 4),
    "parts": ("f32", 64, 128, 32, 32, 8, 2, 4, 4),
    "small": ("f32", 32, 64, 16, 32, 16, 1, 4, 2),
    "double": ("f64", 128, 128, 32, 64, 8, 1, 2, 2),
    "small double": ("f64", 64, 64, 32, 32, 8, 1, 2, 2),
}


def copies(text):
    """The asynchronous copies of a text's main loop, each on one line."""
    main_loop = text[text.index("for (int ko_0") :]
    found = re.findall(r"copy_async(?:_or_zero)?<.*?;", main_loop, re.S)
    return [re.sub(r"(?<=\() | (?=\[)", "", " ".join(copy.split())) for copy in found]


def arguments(kernel, tile):
    element, *numbers = TILES[tile]
    named = dict(zip(("BM", "BN", "WM", "WN", "BK", "parts", "stages", "copies"), numbers))
    sizes = {
        "M": named["BM"],
        "N": named["BN"],
        "K": 8 * named["BK"] * named["parts"],
        "T": element,
    }
    if kernel == "matmul_batched":
        sizes["P"] = 2
    return [
        word
        for flag, values in (("-D", sizes), ("--set", named))
        for k, v in values.items()
        for word in (flag, f"{k}={v}")
    ]


def analyze(tirc, kernel, options):
    """The report of a run that is right."""
    what = ("--device", "sim", "--verify", "--analyze", "--json")
    done = tirc(PROGRAM, "--kernel", kernel, "--schedule", "sgemm", *options, *what)
    assert done.status == 0, done.err
    report = json.loads(done.out)
    assert report["verify"]["ok"] and not report["faults"]
    return report


CASES = [(kernel, "small") for kernel in KERNELS] + [
    ("matmul_nt", tile) for tile in TILES if tile != "small"
]


@pytest.mark.parametrize("kernel, tile", in_turn(CASES, 5))
def test_no_access_costs_more_than_it_must(tirc, kernel, tile):
    report = analyze(tirc, kernel, arguments(kernel, tile))
    shared = [a for a in report["accesses"] if a["scope"] == "shared"]
    assert len(shared) >= 4
    for a in report["accesses"]:
        cost = a["wavefronts_per_request"] if a["scope"] == "shared" else a["sectors_per_request"]
        assert cost <= a["ideal"], f"{a['op']} {a['buffer']}: {cost} where {a['ideal']} would do"


UNEVEN = [
    (kernel, tile, sizes)
    for kernel, tile in [*((kernel, "small") for kernel in KERNELS), ("matmul", "small double")]
    for sizes in ("numbers", "symbols")
]


@pytest.mark.parametrize("kernel, tile, sizes", in_turn(UNEVEN, 6))
def test_sizes_that_divide_nothing(tirc, kernel, tile, sizes):
    """Results go out through shared memory there."""
    element, *numbers = TILES[tile]
    extents = {"M": 45, "N": 83, "K": 37} | ({"P": 2} if kernel == "matmul_batched" else {})
    flags = [("-D", f"T={element}")] + [
        ("--set", f"{k}={v}") for k, v in zip(("BM", "BN", "WM", "WN", "BK"), numbers)
    ]
    for k, v in extents.items():
        flags += (
            [("-D", f"{k}={v}")]
            if sizes == "numbers"
            else [("-D", f"{k}=?"), ("--size", f"{k}={v}")]
        )
    report = analyze(tirc, kernel, [word for flag in flags for word in flag])
    for a in report["accesses"]:
        if a["scope"] == "shared":
            assert a["wavefronts_per_request"] <= a["ideal"], f"{a['op']} {a['buffer']}"
    assert len(report["launches"]) == 1


@pytest.mark.parametrize(
    "kernel, sizes, launches",
    [
        ("matmul", (4096, 4096, 4096), 1),
        ("matmul", (4097, 4095, 4093), 3),  # rows of A and B begin anywhere
        ("matmul_nt", (4096, 4096, 4096), 2),  # rows of B go along k
        ("matmul_nt", (1536, 1536, 1536), 2),
        ("matmul_nt", (1024, 4096, 4096), 1),  # too few rows of the result to be worth it
        ("matmul_tn", (4096, 4096, 4096), 1),
    ],
)
def test_large_products_pack_what_would_be_copied_element_by_element(tirc, kernel, sizes, launches):
    done = tirc(
        PROGRAM,
        "--kernel",
        kernel,
        "--schedule",
        "sgemm",
        "--emit",
        "cuda",
        *(word for k, v in zip("MNK", sizes) for word in ("-D", f"{k}={v}")),
    )
    assert done.status == 0, done.err
    assert done.out.count("__global__") == launches
    wide = any(copy.startswith("copy_async<16>(&B_") for copy in copies(done.out))
    assert wide == (sizes[0] != 1024)


@pytest.mark.parametrize(
    "kernel, sizes, grid",
    [
        ("matmul", {"M": 9000000, "N": 300, "K": 16}, "dim3(93750, 5)"),
        ("matmul_batched", {"M": 64, "N": 64, "K": 16, "P": 100000}, "<<<100000, "),
    ],
)
def test_more_blocks_than_fit_on_an_axis(tirc, kernel, sizes, grid):
    done = tirc(
        PROGRAM,
        "--kernel",
        kernel,
        "--schedule",
        "sgemm",
        "--emit",
        "cuda",
        *(word for k, v in sizes.items() for word in ("-D", f"{k}={v}")),
    )
    assert done.status == 0, done.err
    assert grid in done.out


def test_copies_at_the_edge_are_as_wide_as_others(tirc):
    """Zeros before k and beyond the columns: a condition on all lanes, and an address that advances
    with the loop."""
    done = tirc(
        PROGRAM,
        "--kernel",
        "matmul",
        "--schedule",
        "sgemm",
        "--emit",
        "cuda",
        "-D",
        "M=1000",
        "-D",
        "N=1000",
        "-D",
        "K=1000",
    )
    assert done.status == 0, done.err
    narrow, wide = copies(done.out)
    assert narrow.startswith("copy_async_or_zero<4>(&A_")
    assert wide.startswith("copy_async_or_zero<16>(&B_")
    assert "(long long)ko_0 * " in narrow and "(long long)ko_0 * " in wide


@pytest.mark.parametrize("factors", ["A[i, k] * B[k, j]", "B[k, j] * A[i, k]"])
@pytest.mark.parametrize("k", [1, 45])
def test_tensor_cores_multiply_a_row_and_a_column(tirc, tmp_path, factors, k):
    """Neither loop of the result tells whose operand is that of the rows."""
    path = tmp_path / "one.tir"
    path.write_text(
        "kernel matmul_f64<M = 1, N = 1, K = 1>(A: f64[M, K], B: f64[K, N]) -> C: f64[M, N]\n"
        f"{{\n    for i in M, j in N {{\n        C[i, j] = 0;\n        for k in K\n"
        f"            C[i, j] += {factors};\n    }}\n}}\n"
    )
    done = tirc(path, "--schedule", "gemm", "-D", f"K={k}", "--verify", "--device", "sim")
    assert done.status == 0 and "verify  ok" in done.out, done.err


TURNS = [
    ((128, 192, 72), (64, 64), 2),
    ((128, 192, 128), (64, 64), 1),
    *((*case, cluster) for cluster in (1, 2) for case in [
        ((200, 328, 72), (64, 128)),
        ((136, 392, 200), (64, 64)),
    ]),
]  # fmt: skip


@pytest.mark.parametrize("sizes, tile, cluster", in_turn(TURNS, len(TURNS)))
def test_blocks_take_turns_with_any_number_of_tiles(tirc, sizes, tile, cluster):
    words = [f"-D{name}={n}" for name, n in zip("MNK", sizes)]
    words += [f"--set={name}={n}" for name, n in zip(("BM", "BN"), tile)]
    words += ["--set=stages=2", "--set=grid=4", f"--set=cluster={cluster}", "--verify", "--json"]
    done = tirc(
        TENSOR_CORES, "--kernel", "matmul_bf16", "--schedule", "gemm", "--device", "sim", *words
    )
    report = json.loads(done.out)
    assert report["verify"]["ok"] and report["launches"][-1]["grid"] == [4, 1, 1], done.err


@pytest.mark.parametrize(
    "sizes, grid, tile",
    [
        ((3840, 3840, 1024), "120, 1", (128, 192)),  # 600 tiles in five turns
        ((5120, 5120, 2048), "128, 1", (160, 256)),  # 640 tiles in five turns
        ((2560, 2560, 2560), "130, 1", (200, 128)),  # 260 tiles in two turns
        ((1536, 1536, 1536), "11, 12", (144, 128)),  # one round
        ((4352, 4352, 1024), "131, 1", (128, 192)),  # 782 tiles in six turns
        ((4096, 4096, 4096), "128, 1", (128, 256)),
        ((2048, 2048, 2048), "8, 16", (128, 256)),
        ((4352, 4352, 1088), "23, 34", (128, 192)),  # 17 steps are not turns of four stages
    ],
)
def test_tiles_fill_rounds(tirc, sizes, grid, tile):
    words = [f"-D{name}={n}" for name, n in zip("MNK", sizes)]
    done = tirc(
        TENSOR_CORES, "--kernel", "matmul_bf16", "--schedule", "gemm", "--emit", "lowered", *words
    )
    rows, columns = tile
    assert f"grid({grid}, 1) block(128, 2, 1)" in done.out, done.err
    assert re.search(rf"A_shared: bf16\[[45], {rows}, 64\]", done.out)
    assert re.search(rf"B_shared: bf16\[[45], {columns // 64}, 64, 64\]", done.out)


@pytest.mark.parametrize(
    "sizes, grid, warps",
    [
        ((2048, 2048, 2048), "16, 32", 4),  # 64 x 128
        ((1152, 1024, 256), "8, 18", 4),
        ((1024, 1024, 1024), "16, 16", 2),  # fewer tiles of 128 x 128 than multiprocessors / 2
        ((16384, 64, 512), "1, 128", 4),  # 128 x 64: no more columns
    ],
)
def test_tiles_of_f64(tirc, sizes, grid, warps):
    words = [f"-D{name}={n}" for name, n in zip("MNK", sizes)]
    done = tirc(
        TENSOR_CORES, "--kernel", "matmul_f64", "--schedule", "gemm", "--emit", "lowered", *words
    )
    assert f"grid({grid}, 1) block(32, {warps}, 1)" in done.out, done.err


@pytest.mark.parametrize("tile, sizes", [
    ((64, 128), (72, 140, 100)),
    *in_sweep(((64, 128), (64, 256, 160)), ((128, 128), (72, 140, 150))),
    *in_sweep(((128, 128), (64, 256, 160))),
])  # fmt: skip
def test_wide_tiles_of_f64(tirc, sizes, tile):
    """More steps than stages, so that most of them have no guards."""
    words = [f"-D{name}={n}" for name, n in zip("MNK", sizes)]
    words += [f"--set={name}={n}" for name, n in zip(("BM", "BN"), tile)]
    words += ["--set=BK=16", "--set=stages=4", "--device=sim", "--verify"]
    done = tirc(TENSOR_CORES, "--kernel", "matmul_f64", "--schedule", "gemm", *words)
    assert done.status == 0 and "verify  ok" in done.out, done.err


def test_default_leaves_blocks_that_became_instructions(tirc):
    """stmatrix takes the place of the block that rounds the sums."""
    words = ["-DM=5120", "-DN=5120", "-DK=1024", "--schedule=default", "--emit=lowered"]
    done = tirc(TENSOR_CORES, "--kernel", "matmul_bf16", *words)
    assert "grid(128, 1, 1) block(128, 2, 1)" in done.out, done.err


ROWS = [
    ("matmul_bf16", (96, 128, 72), (48, 64)),
    ("matmul_bf16", (201, 263, 203), (72, 64)),
    ("matmul_bf16", (304, 264, 72), (152, 256)),
    ("matmul_i8_nt", (97, 128, 256), (80, 64)),
    ("matmul_bf16", (100, 264, 72), (152, 256)),
    ("matmul_f16_nt", (136, 200, 128), (40, 128)),
    ("matmul_tf32_rz_nt", (104, 132, 64), (56, 64)),
    ("matmul_f8_fast_nt", (96, 144, 256), (88, 64)),
]
PARTS = [(*case, grid) for case in ROWS for grid in (2, 0)]


@pytest.mark.parametrize("kernel, sizes, tile, grid", in_turn(PARTS, len(PARTS)))
def test_rows_of_a_tile_come_in_parts_of_8(tirc, kernel, sizes, tile, grid):
    """Those that are no multiples of 64 are exchanged with its columns."""
    words = [f"-D{name}={n}" for name, n in zip("MNK", sizes)]
    words += [f"--set={name}={n}" for name, n in zip(("BM", "BN"), tile)]
    words += ["--set=stages=2", f"--set=grid={grid}", f"--set=BK={128 if '8' in kernel else 64}"]
    done = tirc(TENSOR_CORES, "--kernel", kernel, "--schedule", "gemm", "--verify", *words)
    assert done.status == 0 and "verify  ok" in done.out, done.err
    text = tirc(TENSOR_CORES, "--kernel", kernel, "--schedule", "gemm", "--emit", "lowered", *words)
    assert f"_{tile[0]}(" in text.out, "no instruction with so many columns"


WEIGHTS = """
kernel matmul_weights<M, N = 128, K = 1024>(x: bf16[M, K], W: i8[N, K]) -> y: f32[M, N]
{
    temp V: bf16[N, K];
    for j in N, k in K
        V[j, k] = bf16(W[j, k]);
    for i in M, j in N {
        y[i, j] = 0;
        for k in K
            y[i, j] += f32(V[j, k]) * f32(x[i, k]);
    }
}
"""


@pytest.mark.parametrize("rows", [1, 7, *in_sweep(8, 16, 33, 64)])
def test_no_thread_copies_the_rows_of_a_product_alone(tirc, tmp_path, rows):
    """The hardware copies operands of few rows, too, where threads convert weights of 8 bits."""
    path = tmp_path / "weights.tir"
    path.write_text(WEIGHTS)
    done = tirc(path, "-D", f"M={rows}", "--verify", "--device", "sim")
    assert done.status == 0 and "verify  ok" in done.out, done.err
    assert "W0003" not in done.err
    text = tirc(path, "-D", f"M={rows}", "--emit", "cuda").out
    assert text.count("_map: ") == (2 if rows > 1 else 0)
