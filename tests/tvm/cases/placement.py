# compute_at, reverse_compute_at.
# ruff: noqa
from tvm.s_tir import Schedule
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def chain(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    B = T.sblock_alloc_buffer((32, 32))
    for i, j in T.grid(32, 32):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(32, 32):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func(s_tir=True)
def blur(A: T.Buffer((34, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    B = T.sblock_alloc_buffer((34, 32))
    for i, j in T.grid(34, 32):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 0.25
    for i, j in T.grid(32, 32):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]


@T.prim_func(s_tir=True)
def matmul_relu(
    A: T.Buffer((32, 32), "float32"),
    B: T.Buffer((32, 32), "float32"),
    D: T.Buffer((32, 32), "float32"),
):
    C = T.sblock_alloc_buffer((32, 32))
    for i, j, k in T.grid(32, 32, 32):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(32, 32):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)


@T.prim_func(s_tir=True)
def reversed_write(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.sblock_alloc_buffer((10,))
    for i in range(10):
        with T.sblock("B"):
            v = T.axis.spatial(10, i)
            B[9 - v] = A[v] + 1.0
    for i in range(10):
        with T.sblock("C"):
            v = T.axis.spatial(10, i)
            C[v] = B[v] * 2.0


@T.prim_func(s_tir=True)
def reversed_read(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
    B = T.sblock_alloc_buffer((10,))
    for i in range(10):
        with T.sblock("B"):
            v = T.axis.spatial(10, i)
            B[v] = A[v] + 1.0
    for i in range(10):
        with T.sblock("C"):
            v = T.axis.spatial(10, i)
            C[v] = B[9 - v] * 2.0


@T.prim_func(s_tir=True)
def flat_read(A: T.Buffer((16, 16), "float32"), C: T.Buffer((256,), "float32")):
    B = T.sblock_alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i in range(256):
        with T.sblock("C"):
            v = T.axis.spatial(256, i)
            C[v] = B[v // 16, v % 16] * 2.0


@T.prim_func(s_tir=True)
def blocked_write(A: T.Buffer((32, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    B = T.sblock_alloc_buffer((8, 8, 4, 4))
    for i, j in T.grid(32, 32):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi // 4, vj // 4, vi % 4, vj % 4] = A[vi, vj] + 1.0
    for i, j in T.grid(32, 32):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi // 4, vj // 4, vi % 4, vj % 4] * 2.0


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
    A: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
    D: T.Buffer((16, 16), "float32"),
):
    B = T.sblock_alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i in range(16):
        for j in range(16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * 2.0
        for j in range(16):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vi, vj] * 3.0


@T.prim_func(s_tir=True)
def one_row(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.sblock_alloc_buffer((1, 32))
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[0, v] = A[v] + 1.0
    for i in range(32):
        with T.sblock("C"):
            v = T.axis.spatial(32, i)
            C[v] = B[0, v] * 2.0


@T.prim_func(s_tir=True)
def with_remainder(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
    B = T.sblock_alloc_buffer((30,))
    for i in range(30):
        with T.sblock("B"):
            v = T.axis.spatial(30, i)
            B[v] = A[v] + 1.0
    for io, ii in T.grid(4, 8):
        with T.sblock("C"):
            v = T.axis.spatial(30, io * 8 + ii)
            T.where(io * 8 + ii < 30)
            C[v] = B[v] * 2.0


@T.prim_func(s_tir=True)
def rowsum(A: T.Buffer((16, 24), "float32"), C: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((16, 24))
    for i, j in T.grid(16, 24):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, k in T.grid(16, 24):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + B[vi, vk]


def producer_into_outer_loop():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), i)
    return sch


def producer_into_inner_loop():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), j)
    return sch


def producer_into_its_own_loop():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.compute_at(sch.get_sblock("B"), i)
    return sch


def producer_into_tiles():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    io, ii = sch.split(i, [None, 8])
    jo, ji = sch.split(j, [None, 8])
    sch.reorder(io, jo, ii, ji)
    sch.compute_at(sch.get_sblock("B"), jo)
    return sch


def consumer_into_its_producer():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    return sch


def consumer_into_inner_loop():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), j)
    return sch


def output_into_a_loop():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.compute_at(sch.get_sblock("C"), i)
    return sch


def producer_of_a_window():
    sch = Schedule(blur)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), i)
    return sch


def consumer_of_a_window():
    sch = Schedule(blur)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    return sch


def reduction_into_its_reader():
    sch = Schedule(matmul_relu)
    i, j = sch.get_loops(sch.get_sblock("D"))
    sch.compute_at(sch.get_sblock("C"), j)
    return sch


def epilogue_into_a_reduction():
    sch = Schedule(matmul_relu)
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    sch.reverse_compute_at(sch.get_sblock("D"), j)
    return sch


def epilogue_into_the_reduction_loop():
    sch = Schedule(matmul_relu)
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    sch.reverse_compute_at(sch.get_sblock("D"), k)
    return sch


def epilogue_into_tiles():
    sch = Schedule(matmul_relu)
    i, j, k = sch.get_loops(sch.get_sblock("C"))
    io, ii = sch.split(i, [None, 8])
    sch.reorder(io, j, k, ii)
    sch.reverse_compute_at(sch.get_sblock("D"), j)
    return sch


def producer_that_writes_backwards():
    sch = Schedule(reversed_write)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), i)
    return sch


def consumer_of_a_backward_producer():
    sch = Schedule(reversed_write)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    return sch


def producer_that_is_read_backwards():
    sch = Schedule(reversed_read)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), i)
    return sch


def consumer_that_reads_backwards():
    sch = Schedule(reversed_read)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    return sch


def producer_of_a_flat_reader():
    sch = Schedule(flat_read)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    io, ii = sch.split(i, [None, 16])
    sch.compute_at(sch.get_sblock("B"), io)
    return sch


def flat_reader_into_its_producer():
    sch = Schedule(flat_read)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    return sch


def flat_reader_into_the_inner_loop():
    sch = Schedule(flat_read)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), j)
    return sch


def blocked_producer_into_its_reader():
    sch = Schedule(blocked_write)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), i)
    return sch


def reader_of_a_blocked_producer():
    sch = Schedule(blocked_write)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), j)
    return sch


def producer_with_a_reader_outside():
    sch = Schedule(two_readers)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), i)
    return sch


def one_of_two_consumers():
    sch = Schedule(two_readers)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    sch.reverse_compute_at(sch.get_sblock("D"), i)
    return sch


def producer_at_the_first_place():
    sch = Schedule(readers_in_a_loop)
    i, j = sch.get_loops(sch.get_sblock("D"))
    sch.compute_at(sch.get_sblock("B"), i, index=0)
    return sch


def producer_at_the_second_place():
    sch = Schedule(readers_in_a_loop)
    i, j = sch.get_loops(sch.get_sblock("D"))
    sch.compute_at(sch.get_sblock("B"), i, index=1)
    return sch


def consumer_at_the_second_place():
    sch = Schedule(two_readers)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    sch.reverse_compute_at(sch.get_sblock("D"), i, index=1)
    return sch


def producer_of_a_unit_axis():
    sch = Schedule(one_row)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), i)
    return sch


def consumer_of_a_unit_axis():
    sch = Schedule(one_row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    return sch


def producer_under_a_remainder():
    sch = Schedule(with_remainder)
    io, ii = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), io)
    return sch


def producer_into_a_reduction_loop():
    sch = Schedule(rowsum)
    i, k = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(sch.get_sblock("B"), k)
    return sch


def reduction_into_its_producer():
    sch = Schedule(rowsum)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), i)
    return sch


def reduction_into_the_inner_loop():
    sch = Schedule(rowsum)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reverse_compute_at(sch.get_sblock("C"), j)
    return sch


def producer_that_is_blockized():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("B"))
    jo, ji = sch.split(j, [None, 8])
    b = sch.blockize(ji)
    ci, cj = sch.get_loops(sch.get_sblock("C"))
    sch.compute_at(b, ci)
    return sch
