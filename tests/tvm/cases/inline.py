# compute_inline, reverse_compute_inline.
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
def transposed(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vj, vi]


@T.prim_func(s_tir=True)
def backwards(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
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
def reads_backwards(A: T.Buffer((10,), "float32"), C: T.Buffer((10,), "float32")):
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
def digits(A: T.Buffer((8, 16), "float32"), C: T.Buffer((128,), "float32")):
    B = T.sblock_alloc_buffer((8, 16))
    for i, j in T.grid(8, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i in range(128):
        with T.sblock("C"):
            v = T.axis.spatial(128, i)
            C[v] = B[v // 16, v % 16] * 2.0


@T.prim_func(s_tir=True)
def writes_digits(A: T.Buffer((128,), "float32"), C: T.Buffer((8, 16), "float32")):
    B = T.sblock_alloc_buffer((8, 16))
    for i in range(128):
        with T.sblock("B"):
            v = T.axis.spatial(128, i)
            B[v // 16, v % 16] = A[v] + 1.0
    for i, j in T.grid(8, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * 2.0


@T.prim_func(s_tir=True)
def flattened(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8, 16), "float32")):
    B = T.sblock_alloc_buffer((128,))
    for i, j in T.grid(8, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 16 + vj] = A[vi, vj] + 1.0
    for i, j in T.grid(8, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi * 16 + vj] * 2.0


@T.prim_func(s_tir=True)
def unit_axis(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
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
def window(A: T.Buffer((18,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((18,))
    for i in range(18):
        with T.sblock("B"):
            v = T.axis.spatial(18, i)
            B[v] = A[v] * 0.5
    for i in range(16):
        with T.sblock("C"):
            v = T.axis.spatial(16, i)
            C[v] = B[v] + B[v + 1] + B[v + 2]


@T.prim_func(s_tir=True)
def matmul_relu(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    D: T.Buffer((16, 16), "float32"),
):
    C = T.sblock_alloc_buffer((16, 16))
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 16):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)


@T.prim_func(s_tir=True)
def scaled_sum(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, k in T.grid(16, 16):
        with T.sblock("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + B[vi, vk]


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
def padded(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
    B = T.sblock_alloc_buffer((32,))
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[v] = T.if_then_else(v < 30, A[v], 0.0)
    for i in range(30):
        with T.sblock("C"):
            v = T.axis.spatial(30, i)
            C[v] = B[v] * 2.0


@T.prim_func(s_tir=True)
def unread(A: T.Buffer((32,), "float32"), C: T.Buffer((32,), "float32")):
    B = T.sblock_alloc_buffer((32,))
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[v] = A[v] + 1.0
    for i in range(32):
        with T.sblock("C"):
            v = T.axis.spatial(32, i)
            C[v] = A[v] * 2.0


@T.prim_func(s_tir=True)
def gather(
    A: T.Buffer((32,), "float32"), at: T.Buffer((32,), "int32"), C: T.Buffer((32,), "float32")
):
    B = T.sblock_alloc_buffer((32,))
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[v] = A[v] + 1.0
    for i in range(32):
        with T.sblock("C"):
            v = T.axis.spatial(32, i)
            C[v] = B[T.max(T.min(at[v], 31), 0)] * 2.0


def producer():
    sch = Schedule(chain)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer():
    sch = Schedule(chain)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def output():
    sch = Schedule(chain)
    sch.compute_inline(sch.get_sblock("C"))
    return sch


def first_block_backwards():
    sch = Schedule(chain)
    sch.reverse_compute_inline(sch.get_sblock("B"))
    return sch


def transposed_producer():
    sch = Schedule(transposed)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def backward_producer():
    sch = Schedule(backwards)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer_of_a_backward_producer():
    sch = Schedule(backwards)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def producer_read_backwards():
    sch = Schedule(reads_backwards)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer_that_reads_backwards():
    sch = Schedule(reads_backwards)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def producer_read_by_digits():
    sch = Schedule(digits)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer_that_reads_digits():
    sch = Schedule(digits)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def producer_that_writes_digits():
    sch = Schedule(writes_digits)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer_of_written_digits():
    sch = Schedule(writes_digits)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def producer_that_flattens():
    sch = Schedule(flattened)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer_of_a_flat_buffer():
    sch = Schedule(flattened)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def producer_with_a_unit_axis():
    sch = Schedule(unit_axis)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer_with_a_unit_axis():
    sch = Schedule(unit_axis)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def producer_of_a_window():
    sch = Schedule(window)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer_of_a_window():
    sch = Schedule(window)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def reduction():
    sch = Schedule(matmul_relu)
    sch.compute_inline(sch.get_sblock("C"))
    return sch


def epilogue_of_a_reduction():
    sch = Schedule(matmul_relu)
    sch.reverse_compute_inline(sch.get_sblock("D"))
    return sch


def producer_of_a_reduction():
    sch = Schedule(scaled_sum)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def reduction_into_its_producer():
    sch = Schedule(scaled_sum)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def producer_of_two():
    sch = Schedule(two_readers)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def one_of_two_consumers():
    sch = Schedule(two_readers)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def padding():
    sch = Schedule(padded)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def consumer_of_padding():
    sch = Schedule(padded)
    sch.reverse_compute_inline(sch.get_sblock("C"))
    return sch


def block_that_nothing_reads():
    sch = Schedule(unread)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def producer_of_a_gather():
    sch = Schedule(gather)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def after_a_split():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.split(j, [None, 5])
    sch.compute_inline(sch.get_sblock("B"))
    return sch
