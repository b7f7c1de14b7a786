# decompose_reduction, rfactor, pad_einsum, padding, epilogues, blockize, layouts, rolling_buffer.
# ruff: noqa
from tvm.s_tir import Schedule
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(s_tir=True)
def odd_matmul(
    A: T.Buffer((15, 14), "float32"),
    B: T.Buffer((14, 13), "float32"),
    C: T.Buffer((15, 13), "float32"),
):
    for i, j, k in T.grid(15, 13, 14):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(s_tir=True)
def maxima(A: T.Buffer((16, 24), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 24):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.min_value("float32")
            B[vi] = T.max(B[vi], A[vi, vk])


@T.prim_func(s_tir=True)
def total(A: T.Buffer((32, 8), "float32"), B: T.Buffer((1,), "float32")):
    for i, k in T.grid(32, 8):
        with T.sblock("B"):
            vo = T.axis.spatial(1, 0)
            vi, vk = T.axis.remap("RR", [i, k])
            with T.init():
                B[vo] = 0.0
            B[vo] = B[vo] + A[vi, vk]


@T.prim_func(s_tir=True)
def difference(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 8):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 1.0
            B[vi] = B[vi] - A[vi, vk]


@T.prim_func(s_tir=True)
def biased(
    A: T.Buffer((16, 16), "float32"), b: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")
):
    C = T.sblock_alloc_buffer((16,))
    for i, k in T.grid(16, 16):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vk]
    for i in range(16):
        with T.sblock("D"):
            v = T.axis.spatial(16, i)
            D[v] = C[v] + b[v]


@T.prim_func(s_tir=True)
def integers(
    A: T.Buffer((16, 16), "int32"), b: T.Buffer((16,), "int32"), D: T.Buffer((16,), "int32")
):
    C = T.sblock_alloc_buffer((16,), "int32")
    for i, k in T.grid(16, 16):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
    for i in range(16):
        with T.sblock("D"):
            v = T.axis.spatial(16, i)
            D[v] = C[v] + b[v]


@T.prim_func(s_tir=True)
def padded(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
    B = T.sblock_alloc_buffer((32,))
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[v] = T.if_then_else(1 <= v and v < 31, A[v - 1], 0.0)
    for i in range(30):
        with T.sblock("C"):
            v = T.axis.spatial(30, i)
            C[v] = B[v] + B[v + 1] + B[v + 2]


@T.prim_func(s_tir=True)
def chain(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func(s_tir=True)
def rows(A: T.Buffer((18, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((18, 16))
    for i, j in T.grid(18, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


@T.prim_func(s_tir=True)
def transposes(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


def init_before_the_reduction_loop():
    sch = Schedule(matmul)
    c = sch.get_sblock("C")
    i, j, k = sch.get_loops(c)
    sch.decompose_reduction(c, k)
    return sch


def init_before_everything():
    sch = Schedule(matmul)
    c = sch.get_sblock("C")
    i, j, k = sch.get_loops(c)
    sch.decompose_reduction(c, i)
    return sch


def init_inside_the_reduction():
    sch = Schedule(matmul)
    c = sch.get_sblock("C")
    i, j, k = sch.get_loops(c)
    sch.reorder(i, k, j)
    sch.decompose_reduction(c, j)
    return sch


def init_of_tiles():
    sch = Schedule(matmul)
    c = sch.get_sblock("C")
    i, j, k = sch.get_loops(c)
    ko, ki = sch.split(k, [None, 4])
    jo, ji = sch.split(j, [None, 8])
    sch.reorder(i, jo, ko, ji, ki)
    sch.decompose_reduction(c, ko)
    return sch


def init_of_no_reduction():
    sch = Schedule(chain)
    c = sch.get_sblock("C")
    i, j = sch.get_loops(c)
    sch.decompose_reduction(c, i)
    return sch


def annotated_reduction():
    sch = Schedule(matmul)
    c = sch.get_sblock("C")
    sch.annotate(c, "my.level", 3)
    i, j, k = sch.get_loops(c)
    sch.decompose_reduction(c, k)
    return sch


def partial_sums():
    sch = Schedule(matmul)
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    ko, ki = sch.split(k, [None, 4])
    sch.rfactor(ko, 0)
    return sch


def partial_maxima():
    sch = Schedule(maxima)
    i, k = sch.get_loops(sch.get_sblock("B"))
    ko, ki = sch.split(k, [None, 5])
    sch.rfactor(ki, 1)
    return sch


def partial_total():
    sch = Schedule(total)
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.rfactor(i, 0)
    return sch


def partial_sums_twice():
    sch = Schedule(total)
    i, k = sch.get_loops(sch.get_sblock("B"))
    f = sch.fuse(i, k)
    o, m, n = sch.split(f, [None, 8, 4])
    rf = sch.rfactor(n, 0)
    return sch


def partial_differences():
    sch = Schedule(difference)
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.rfactor(k, 0)
    return sch


def partial_sums_of_a_spatial_loop():
    sch = Schedule(matmul)
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    sch.rfactor(i, 0)
    return sch


def partial_sums_along_a_missing_axis():
    sch = Schedule(matmul)
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    sch.rfactor(k, 5)
    return sch


def partial_sums_of_an_annotated_block():
    sch = Schedule(matmul)
    c = sch.get_sblock("C")
    sch.annotate(c, "my.level", 3)
    i, j, k = sch.get_loops(c)
    ko, ki = sch.split(k, [None, 4])
    sch.rfactor(ko, 0)
    return sch


def einsum_in_whole_tiles():
    sch = Schedule(odd_matmul)
    sch.pad_einsum(sch.get_sblock("C"), [16, 16, 16])
    return sch


def einsum_with_too_few_numbers():
    sch = Schedule(odd_matmul)
    sch.pad_einsum(sch.get_sblock("C"), [16, 16])
    return sch


def bias_of_floats():
    sch = Schedule(biased)
    sch.fuse_reduction_epilogue(sch.get_sblock("C"), sch.get_sblock("D"))
    return sch


def bias_of_integers():
    sch = Schedule(integers)
    sch.fuse_reduction_epilogue(sch.get_sblock("C"), sch.get_sblock("D"))
    return sch


def fill_and_copy():
    sch = Schedule(padded)
    b = sch.get_sblock("B")
    (i,) = sch.get_loops(b)
    sch.decompose_padding(b, i)
    return sch


def fill_of_no_padding():
    sch = Schedule(chain)
    b = sch.get_sblock("B")
    i, j = sch.get_loops(b)
    sch.decompose_padding(b, i)
    return sch


def blockize_of_an_inner_loop():
    sch = Schedule(transposes)
    i, j = sch.get_loops(sch.get_sblock("B"))
    io, ii = sch.split(i, [None, 4])
    jo, ji = sch.split(j, [None, 4])
    sch.reorder(io, jo, ii, ji)
    sch.blockize(ii)
    return sch


def blockize_of_a_reduction():
    sch = Schedule(matmul)
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    io, ii = sch.split(i, [None, 4])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(io, j, ko, ii, ki)
    sch.blockize(ii)
    return sch


def blockize_with_remainder():
    sch = Schedule(transposes)
    i, j = sch.get_loops(sch.get_sblock("B"))
    jo, ji = sch.split(j, [None, 5])
    sch.blockize(ji)
    return sch


def blockize_of_an_annotated_block():
    sch = Schedule(transposes)
    b = sch.get_sblock("B")
    sch.annotate(b, "my.level", 3)
    i, j = sch.get_loops(b)
    sch.blockize(j)
    return sch


def layout_in_blocks():
    sch = Schedule(chain)
    sch.transform_layout(
        sch.get_sblock("B"), ("write", 0), lambda i, j: (i // 4, j // 4, i % 4, j % 4)
    )
    return sch


def layout_transposed():
    sch = Schedule(chain)
    sch.transform_layout(sch.get_sblock("C"), ("read", 0), lambda i, j: (j, i))
    return sch


def layout_of_an_output():
    sch = Schedule(chain)
    sch.transform_layout(sch.get_sblock("C"), ("write", 0), lambda i, j: (j, i))
    return sch


def layout_that_is_not_injective():
    sch = Schedule(chain)
    sch.transform_layout(sch.get_sblock("B"), ("write", 0), lambda i, j: (i // 4, j))
    return sch


def layout_with_padding():
    sch = Schedule(chain)
    sch.transform_layout(
        sch.get_sblock("B"), ("write", 0), lambda i, j: (i // 5, i % 5, j), pad_value=0.0
    )
    return sch


def block_layout():
    sch = Schedule(transposes)
    sch.transform_block_layout(sch.get_sblock("B"), lambda i, j: (i * 16 + j,))
    return sch


def block_iterators_in_another_order():
    sch = Schedule(matmul)
    sch.reorder_block_iter_var(sch.get_sblock("C"), [1, 0, 2])
    return sch


def rolling_rows():
    sch = Schedule(rows)
    c, b = sch.get_sblock("C"), sch.get_sblock("B")
    i, j = sch.get_loops(c)
    sch.compute_at(b, i)
    sch.rolling_buffer(b, 0)
    return sch


def rolling_without_a_window():
    sch = Schedule(chain)
    c, b = sch.get_sblock("C"), sch.get_sblock("B")
    i, j = sch.get_loops(c)
    sch.compute_at(b, i)
    sch.rolling_buffer(b, 0)
    return sch
