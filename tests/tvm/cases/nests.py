# Blocks around blocks, functions without results, values in front of stores, epilogues that clip,
# halos, paddings before all tiles.
# ruff: noqa
from tvm.s_tir import Schedule
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def tiles(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((16, 16))
    for io, jo in T.grid(4, 4):
        with T.sblock("tile"):
            vi, vj = T.axis.remap("SS", [io, jo])
            for ii, ji in T.grid(4, 4):
                with T.sblock("B"):
                    vii = T.axis.spatial(16, vi * 4 + ii)
                    vji = T.axis.spatial(16, vj * 4 + ji)
                    B[vii, vji] = A[vii, vji] * 2.0
    for i, j in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func(s_tir=True)
def wrapped(A: T.Buffer((16, 8), "float32"), B: T.Buffer((16, 8), "float32")):
    for i, j in T.grid(16, 8):
        with T.sblock("around"):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 3.0


@T.prim_func(s_tir=True)
def started_in_a_block(A: T.Buffer((8, 32), "float32"), B: T.Buffer((8,), "float32")):
    for i, ko in T.grid(8, 4):
        with T.sblock("outer"):
            vi, vko = T.axis.remap("SR", [i, ko])
            with T.init():
                with T.sblock("start"):
                    B[vi] = 0.0
            for ki in range(8):
                with T.sblock("add"):
                    vki = T.axis.reduce(8, ki)
                    B[vi] = B[vi] + A[vi, vko * 8 + vki]


@T.prim_func(s_tir=True)
def with_value(A: T.Buffer((12, 20), "float32"), B: T.Buffer((12,), "float32")):
    for i, k in T.grid(12, 20):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            x: T.let[T.float32] = B[vi] + A[vi, vk]
            B[vi] = x


@T.prim_func(s_tir=True)
def largest(
    V: T.Buffer((12, 20), "float32"),
    P: T.Buffer((12, 20), "int32"),
    best: T.Buffer((12,), "float32"),
    at: T.Buffer((12,), "int32"),
):
    for i, k in T.grid(12, 20):
        with T.sblock("best"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = -1
                best[vi] = T.min_value("float32")
            a: T.let[T.int32] = T.Select(best[vi] >= V[vi, vk], at[vi], P[vi, vk])
            b: T.let[T.float32] = T.Select(best[vi] >= V[vi, vk], best[vi], V[vi, vk])
            at[vi] = a
            best[vi] = b


@T.prim_func(s_tir=True)
def clipped(
    A: T.Buffer((8, 12), "float32"),
    C: T.Buffer((8,), "float32"),
):
    B = T.sblock_alloc_buffer((8,))
    for i, k in T.grid(8, 12):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = T.max(B[vi], 0.0)


@T.prim_func(s_tir=True)
def two_epilogues(
    A: T.Buffer((8, 12), "int32"),
    bias: T.Buffer((8,), "int32"),
    C: T.Buffer((8,), "int32"),
    D: T.Buffer((8,), "int32"),
):
    B = T.sblock_alloc_buffer((8,), "int32")
    for i, k in T.grid(8, 12):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vk]
    for i in range(8):
        with T.sblock("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + bias[vi]
    for i in range(8):
        with T.sblock("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi] + bias[vi]


@T.prim_func(s_tir=True)
def pools(A: T.Buffer((12, 12, 4), "int8"), C: T.Buffer((8, 8, 4), "int8")):
    B = T.sblock_alloc_buffer((10, 10, 4), "int8")
    for i, j, c, r, s in T.grid(10, 10, 4, 3, 3):
        with T.sblock("B"):
            vi, vj, vc, vr, vs = T.axis.remap("SSSRR", [i, j, c, r, s])
            with T.init():
                B[vi, vj, vc] = T.int8(-128)
            B[vi, vj, vc] = T.max(B[vi, vj, vc], A[vi + vr, vj + vs, vc])
    for i, j, c, r, s in T.grid(8, 8, 4, 3, 3):
        with T.sblock("C"):
            vi, vj, vc, vr, vs = T.axis.remap("SSSRR", [i, j, c, r, s])
            with T.init():
                C[vi, vj, vc] = T.int8(-128)
            C[vi, vj, vc] = T.max(C[vi, vj, vc], B[vi + vr, vj + vs, vc])


@T.prim_func(s_tir=True)
def padded_pool(A: T.Buffer((1, 12, 12), "float32"), C: T.Buffer((1, 12, 12), "float32")):
    P = T.sblock_alloc_buffer((1, 14, 14))
    for n, i, j in T.grid(1, 14, 14):
        with T.sblock("P"):
            vn, vi, vj = T.axis.remap("SSS", [n, i, j])
            P[vn, vi, vj] = T.if_then_else(
                1 <= vi and vi < 13 and 1 <= vj and vj < 13, A[vn, vi - 1, vj - 1], 0.0
            )
    for n, i, j, r, s in T.grid(1, 12, 12, 3, 3):
        with T.sblock("C"):
            vn, vi, vj, vr, vs = T.axis.remap("SSSRR", [n, i, j, r, s])
            with T.init():
                C[vn, vi, vj] = 0.0
            C[vn, vi, vj] = C[vn, vi, vj] + P[vn, vi + vr, vj + vs]


@T.prim_func(s_tir=True)
def cut(A: T.Buffer((13, 8), "float32"), C: T.Buffer((12, 8), "float32")):
    B = T.sblock_alloc_buffer((12, 8))
    for i, j in T.grid(13, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i < 12)
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(12, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func(s_tir=True)
def small_ones(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.sblock_alloc_buffer((32,))
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[v] = A[v] * 2.0
    for i in range(32):
        with T.sblock("C"):
            v = T.axis.spatial(32, i)
            T.where(B[i] < 10.0)
            C[v] = B[v] + 1.0


@T.prim_func(s_tir=True)
def nearest(A: T.Buffer((8, 6), "float32"), C: T.Buffer((16, 12), "float32")):
    for i, j in T.grid(16, 12):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[
                T.min(T.Cast("int32", T.floor(T.Cast("float32", vi) * T.float32(0.5))), 7),
                T.min(T.Cast("int32", T.floor(T.Cast("float32", vj) * T.float32(0.5))), 5),
            ]


@T.prim_func(s_tir=True)
def sums_in_a_loop(A: T.Buffer((8, 6, 4), "float32"), C: T.Buffer((8,), "float32")):
    B = T.sblock_alloc_buffer((8, 6))
    for i, j in T.grid(8, 6):
        for k in range(4):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[vi, vj] = 0.0
                B[vi, vj] = B[vi, vj] + A[vi, vj, vk]
        with T.sblock("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + B[vi, vj]


def loops_of_a_tile():
    sch = Schedule(tiles)
    io, jo = sch.get_loops(sch.get_sblock("tile"))
    ii, ji = sch.get_loops(sch.get_sblock("B"))
    sch.reorder(jo, io)
    sch.unroll(ji)
    return sch


def tile_into_its_reader():
    sch = Schedule(tiles)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("tile"), i)
    return sch


def reader_into_a_tile():
    sch = Schedule(tiles)
    io, jo = sch.get_loops(sch.get_sblock("tile"))
    sch.reverse_compute_at(sch.get_sblock("C"), jo)
    return sch


def split_around_an_opaque_block():
    sch = Schedule(wrapped)
    i, j = sch.get_loops(sch.get_sblock("around"))
    io, ii = sch.split(i, [None, 4])
    sch.fuse(io, ii)
    return sch


def init_of_a_block_around_blocks():
    sch = Schedule(started_in_a_block)
    outer = sch.get_sblock("outer")
    i, ko = sch.get_loops(outer)
    sch.decompose_reduction(outer, ko)
    return sch


def partial_sums_of_a_value():
    sch = Schedule(with_value)
    i, k = sch.get_loops(sch.get_sblock("B"))
    ko, ki = sch.split(k, [None, 4])
    sch.rfactor(ki, 0)
    sch.annotate(sch.get_sblock("B_rf"), "my.level", 1)
    return sch


def partial_places_of_the_largest():
    sch = Schedule(largest)
    i, k = sch.get_loops(sch.get_sblock("best"))
    ko, ki = sch.split(k, [None, 4])
    sch.rfactor(ki, 1)
    return sch


def sums_that_are_clipped():
    sch = Schedule(clipped)
    sch.fuse_reduction_epilogue(sch.get_sblock("B"), sch.get_sblock("C"))
    return sch


def one_of_two_epilogues():
    sch = Schedule(two_epilogues)
    sch.fuse_reduction_epilogue(sch.get_sblock("B"), sch.get_sblock("C"))
    return sch


def rolling_pools():
    sch = Schedule(pools)
    i, j, c, r, s = sch.get_loops(sch.get_sblock("C"))
    io, ii = sch.split(i, [None, 2])
    sch.compute_at(sch.get_sblock("B"), io)
    sch.rolling_buffer(sch.get_sblock("B"), 0)
    return sch


def rolling_pools_around_tiles_of_channels():
    sch = Schedule(pools)
    i, j, c, r, s = sch.get_loops(sch.get_sblock("C"))
    io, ii = sch.split(i, [None, 2])
    co, ci = sch.split(c, [None, 2])
    sch.reorder(io, co, ii, j, ci)
    sch.compute_at(sch.get_sblock("B"), co)
    sch.rolling_buffer(sch.get_sblock("B"), 0)
    return sch


def padding_before_all_tiles():
    sch = Schedule(padded_pool)
    c, p = sch.get_sblock("C"), sch.get_sblock("P")
    n, i, j, r, s = sch.get_loops(c)
    io, ii = sch.split(i, [None, 4])
    jo, ji = sch.split(j, [None, 4])
    sch.reorder(n, io, jo, ii, ji)
    sch.compute_at(p, jo)
    n, io, jo, ax0, ax1 = sch.get_loops(p)
    sch.decompose_padding(p, io)
    return sch


def loops_of_a_moved_padding():
    sch = Schedule(padded_pool)
    c, p = sch.get_sblock("C"), sch.get_sblock("P")
    n, i, j, r, s = sch.get_loops(c)
    sch.compute_at(p, i)
    n, i, ax0, ax1 = sch.get_loops(p)
    sch.reorder(ax1, ax0)
    return sch


def loops_of_a_moved_padding_with_unit_loops():
    sch = Schedule(padded_pool)
    c, p = sch.get_sblock("C"), sch.get_sblock("P")
    n, i, j, r, s = sch.get_loops(c)
    sch.compute_at(p, i, preserve_unit_loops=True)
    n, i, ax0, ax1, ax2 = sch.get_loops(p)
    sch.reorder(ax2, ax1)
    return sch


def consumer_into_a_producer_with_a_condition():
    sch = Schedule(cut)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def producer_into_a_condition():
    sch = Schedule(small_ones)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def subscripts_of_floats():
    sch = Schedule(nearest)
    sch.cache_index(sch.get_sblock("C"), "global", 1)
    return sch


def written_copy_in_a_loop():
    sch = Schedule(sums_in_a_loop)
    sch.cache_write(sch.get_sblock("B"), 0, "shared")
    return sch


def turned_written_copy_in_a_loop():
    sch = Schedule(sums_in_a_loop)
    sch.reindex_cache_write(sch.get_sblock("B"), 0, "shared", lambda i, j, k: (j, i))
    return sch


def vector_of_rows():
    sch = Schedule(wrapped)
    i, j = sch.get_loops(sch.get_sblock("around"))
    sch.vectorize(i)
    return sch


def parts_with_a_rest():
    sch = Schedule(small_ones)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.loop_partition(i, [4, 10])
    return sch
