# cache_read, cache_write, reindex, cache_inplace, cache_index, set_scope, storage_align, read_at.
# ruff: noqa
from tvm.s_tir import Schedule
from tvm.script import tirx as T


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
def square(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * A[vj, vk]


@T.prim_func(s_tir=True)
def two_readers(
    A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")
):
    B = T.sblock_alloc_buffer((32,))
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[v] = A[v] + 1.0
    for i in range(32):
        with T.sblock("C"):
            v = T.axis.spatial(32, i)
            C[v] = B[v] * 2.0
    for i in range(32):
        with T.sblock("D"):
            v = T.axis.spatial(32, i)
            D[v] = B[v] * 3.0


@T.prim_func(s_tir=True)
def readers_in_a_loop(
    A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")
):
    B = T.sblock_alloc_buffer((32,))
    for i in range(4):
        for j in range(8):
            with T.sblock("B"):
                v = T.axis.spatial(32, i * 8 + j)
                B[v] = A[v] + 1.0
        for j in range(8):
            with T.sblock("C"):
                v = T.axis.spatial(32, i * 8 + j)
                C[v] = B[v] * 2.0
    for i in range(32):
        with T.sblock("D"):
            v = T.axis.spatial(32, i)
            D[v] = B[v] * 3.0


@T.prim_func(s_tir=True)
def two_writers(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.sblock_alloc_buffer((32,))
    for i in range(16):
        with T.sblock("B0"):
            v = T.axis.spatial(16, i)
            B[v] = A[v] + 1.0
    for i in range(16):
        with T.sblock("B1"):
            v = T.axis.spatial(16, i)
            B[v + 16] = A[v] + 2.0
    for i in range(32):
        with T.sblock("C"):
            v = T.axis.spatial(32, i)
            C[v] = B[v] * 2.0


@T.prim_func(s_tir=True)
def with_condition(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
    for io, ii in T.grid(4, 8):
        with T.sblock("C"):
            v = T.axis.spatial(30, io * 8 + ii)
            T.where(io * 8 + ii < 30)
            C[v] = A[v] * 2.0


@T.prim_func(s_tir=True)
def in_place(A: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] * 2.0


@T.prim_func(s_tir=True)
def two_stores(
    A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")
):
    for i in range(16):
        with T.sblock("B"):
            v = T.axis.spatial(16, i)
            B[v] = A[v] + 1.0
            C[v] = A[v] + 2.0


@T.prim_func(s_tir=True)
def store_under_if(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.sblock("B"):
            v = T.axis.spatial(16, i)
            if v < 8:
                B[v] = A[v] + 1.0
            else:
                B[v] = A[v] + 2.0


@T.prim_func(s_tir=True)
def convolution(
    A: T.Buffer((20, 20), "float32"),
    W: T.Buffer((3, 3), "float32"),
    C: T.Buffer((18, 18), "float32"),
):
    for i, j, r, s in T.grid(18, 18, 3, 3):
        with T.sblock("C"):
            vi, vj, vr, vs = T.axis.remap("SSRR", [i, j, r, s])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi + vr, vj + vs] * W[vr, vs]


@T.prim_func(s_tir=True)
def resize(A: T.Buffer((8, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi * 7 // 15, vj] + A[vi * 7 // 15, (vj * 5) % 16]


def read_of_an_input():
    sch = Schedule(chain)
    sch.cache_read(sch.get_sblock("B"), 0, "shared")
    return sch


def read_of_a_temporary():
    sch = Schedule(chain)
    sch.cache_read(sch.get_sblock("C"), 0, "global")
    return sch


def read_of_a_missing_index():
    sch = Schedule(chain)
    sch.cache_read(sch.get_sblock("C"), 1, "global")
    return sch


def read_in_an_unknown_scope():
    sch = Schedule(chain)
    sch.cache_read(sch.get_sblock("C"), 0, "far")
    return sch


def reads_of_a_matmul():
    sch = Schedule(matmul)
    c = sch.get_sblock("C")
    a = sch.cache_read(c, 0, "shared")
    b = sch.cache_read(c, 1, "shared")
    i, j, k = sch.get_loops(c)
    sch.compute_at(a, i)
    sch.compute_at(b, j)
    return sch


def read_at_two_subscripts():
    sch = Schedule(square)
    sch.cache_read(sch.get_sblock("C"), 0, "shared")
    return sch


def read_by_one_consumer():
    sch = Schedule(two_readers)
    sch.cache_read(sch.get_sblock("C"), 0, "global", consumer_blocks=[sch.get_sblock("C")])
    return sch


def read_by_all_consumers():
    sch = Schedule(two_readers)
    sch.cache_read(sch.get_sblock("C"), 0, "global")
    return sch


def read_behind_a_writer_in_a_loop():
    sch = Schedule(readers_in_a_loop)
    c = sch.get_sblock("C")
    sch.cache_read(c, 0, "global", consumer_blocks=[c])
    return sch


def read_behind_a_writer_by_all():
    sch = Schedule(readers_in_a_loop)
    sch.cache_read(sch.get_sblock("C"), 0, "global")
    return sch


def read_of_two_writers():
    sch = Schedule(two_writers)
    sch.cache_read(sch.get_sblock("C"), 0, "global")
    return sch


def read_under_a_condition():
    sch = Schedule(with_condition)
    sch.cache_read(sch.get_sblock("C"), 0, "shared")
    return sch


def read_of_a_window():
    sch = Schedule(convolution)
    c = sch.get_sblock("C")
    a = sch.cache_read(c, 0, "shared")
    i, j, r, s = sch.get_loops(c)
    sch.compute_at(a, j)
    return sch


def write_of_an_output():
    sch = Schedule(chain)
    sch.cache_write(sch.get_sblock("C"), 0, "global")
    return sch


def write_of_a_temporary():
    sch = Schedule(chain)
    sch.cache_write(sch.get_sblock("B"), 0, "global")
    return sch


def write_of_a_reduction():
    sch = Schedule(matmul)
    c = sch.get_sblock("C")
    w = sch.cache_write(c, 0, "local")
    i, j, k = sch.get_loops(c)
    sch.reverse_compute_at(w, j)
    return sch


def write_for_one_consumer():
    sch = Schedule(two_readers)
    sch.cache_write(sch.get_sblock("B"), 0, "global", consumer_blocks=[sch.get_sblock("C")])
    return sch


def write_in_a_loop():
    sch = Schedule(readers_in_a_loop)
    sch.cache_write(sch.get_sblock("B"), 0, "global")
    return sch


def write_of_a_part():
    sch = Schedule(two_writers)
    sch.cache_write(sch.get_sblock("B0"), 0, "global")
    return sch


def write_under_a_condition():
    sch = Schedule(with_condition)
    sch.cache_write(sch.get_sblock("C"), 0, "local")
    return sch


def write_of_one_of_two_stores():
    sch = Schedule(two_stores)
    sch.cache_write(sch.get_sblock("B"), 0, "global")
    return sch


def write_of_the_second_store():
    sch = Schedule(two_stores)
    sch.cache_write(sch.get_sblock("B"), 1, "global")
    return sch


def write_of_stores_under_if():
    sch = Schedule(store_under_if)
    sch.cache_write(sch.get_sblock("B"), 0, "global")
    return sch


def copy_in_place():
    sch = Schedule(in_place)
    sch.cache_inplace(sch.get_sblock("A"), 0, "local")
    return sch


def subscripts_computed_once():
    sch = Schedule(resize)
    sch.cache_index(sch.get_sblock("C"), "global")
    return sch


def reindex_of_a_read():
    sch = Schedule(convolution)
    sch.reindex(sch.get_sblock("C"), ("read", 0))
    return sch


def reindex_of_a_write():
    sch = Schedule(matmul)
    sch.reindex(sch.get_sblock("C"), ("write", 0))
    return sch


def reindexed_read():
    sch = Schedule(chain)
    sch.reindex_cache_read(sch.get_sblock("C"), 0, "shared", lambda i, j: (j, i // 2, i % 2))
    return sch


def reindexed_write():
    sch = Schedule(chain)
    sch.reindex_cache_write(sch.get_sblock("B"), 0, "shared", lambda i, j: (j, i))
    return sch


def scope_of_a_temporary():
    sch = Schedule(chain)
    sch.set_scope(sch.get_sblock("B"), 0, "shared")
    return sch


def scope_of_an_output():
    sch = Schedule(chain)
    sch.set_scope(sch.get_sblock("C"), 0, "shared")
    return sch


def alignment_in_shared_memory():
    sch = Schedule(chain)
    b = sch.get_sblock("B")
    sch.set_scope(b, 0, "shared")
    sch.storage_align(b, 0, axis=0, factor=32, offset=1)
    return sch


def alignment_of_a_global_temporary():
    sch = Schedule(chain)
    sch.storage_align(sch.get_sblock("B"), 0, axis=0, factor=32, offset=1)
    return sch


def alignment_with_factor_zero():
    sch = Schedule(chain)
    sch.storage_align(sch.get_sblock("B"), 0, axis=0, factor=0, offset=1)
    return sch


def alignment_of_a_missing_axis():
    sch = Schedule(chain)
    sch.storage_align(sch.get_sblock("B"), 0, axis=3, factor=32, offset=1)
    return sch
