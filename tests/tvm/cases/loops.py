# split, fuse, reorder, merge, loop_partition, add_unit_loop, the kinds of loops.
# ruff: noqa
from tvm.s_tir import Schedule
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def cube(A: T.Buffer((12, 10, 8), "float32"), B: T.Buffer((12, 10, 8), "float32")):
    for i, j, k in T.grid(12, 10, 8):
        with T.sblock("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] * 2.0


@T.prim_func(s_tir=True)
def row(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for i in range(128):
        with T.sblock("B"):
            v = T.axis.spatial(128, i)
            B[v] = A[v] + 1.0


@T.prim_func(s_tir=True)
def sums(A: T.Buffer((16, 24), "float32"), B: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 24):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]


@T.prim_func(s_tir=True)
def symbolic(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 16))
    B = T.match_buffer(b, (n, 16))
    for i, j in T.grid(n, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0


@T.prim_func(s_tir=True)
def two_nests(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + 1.0
    for i, j in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 3.0


@T.prim_func(s_tir=True)
def two_in_a_loop(
    A: T.Buffer((16, 16), "float32"),
    B: T.Buffer((16, 16), "float32"),
    C: T.Buffer((16, 16), "float32"),
):
    for i in range(16):
        for j in range(16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + 1.0
        for j in range(16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * 3.0


@T.prim_func(s_tir=True)
def triangle(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i in range(16):
        for j in range(i + 1):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0


@T.prim_func(s_tir=True)
def with_condition(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where(i * 16 + j < 200)
            B[vi, vj] = A[vi, vj] * 2.0


@T.prim_func(s_tir=True)
def scan(A: T.Buffer((32,), "float32"), B: T.Buffer((33,), "float32")):
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.reduce(32, i)
            B[v + 1] = B[v] + A[v]


@T.prim_func(s_tir=True)
def shifted_loop(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for i in range(4, 28):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[v] = A[v] + 1.0


def split_with_an_open_factor():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[None, 4])
    return sch


def split_into_three():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[2, None, 8])
    return sch


def split_with_remainder():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[None, 5])
    sch.split(j, factors=[3, None])
    return sch


def split_of_a_symbolic_loop():
    sch = Schedule(symbolic)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[None, 32])
    return sch


def split_with_too_small_factors():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[2, 3])
    return sch


def split_with_two_open_factors():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[None, None])
    return sch


def split_with_factor_zero():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[0, None])
    return sch


def split_by_one():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[None, 1])
    return sch


def split_of_a_loop_that_starts_later():
    sch = Schedule(shifted_loop)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.split(i, factors=[None, 4])
    return sch


def split_of_a_bound_loop():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.bind(i, "threadIdx.x")
    sch.split(i, factors=[None, 4])
    return sch


def split_of_a_reduction():
    sch = Schedule(sums)
    i, k = sch.get_loops(sch.get_sblock("B"))
    ko, ki = sch.split(k, factors=[None, 7])
    sch.reorder(ko, i, ki)
    return sch


def split_under_a_condition():
    sch = Schedule(with_condition)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.split(j, factors=[None, 5])
    return sch


def fuse_of_three():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    f = sch.fuse(i, j, k)
    sch.split(f, factors=[None, 64])
    return sch


def fuse_in_the_wrong_order():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.fuse(j, i)
    return sch


def fuse_of_loops_that_are_not_adjacent():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.fuse(i, k)
    return sch


def fuse_of_a_triangle():
    sch = Schedule(triangle)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.fuse(i, j)
    return sch


def fuse_around_two_statements():
    sch = Schedule(two_in_a_loop)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.fuse(i, j)
    return sch


def fuse_of_a_symbolic_loop():
    sch = Schedule(symbolic)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.fuse(i, j)
    return sch


def fuse_of_a_reduction_with_a_spatial_loop():
    sch = Schedule(sums)
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.fuse(i, k)
    return sch


def reorder_of_all_loops():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.reorder(k, i, j)
    return sch


def reorder_of_some_loops():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.reorder(k, i)
    return sch


def reorder_of_one_loop_twice():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.reorder(i, i)
    return sch


def reorder_across_nests():
    sch = Schedule(two_nests)
    i, j = sch.get_loops(sch.get_sblock("B"))
    i2, j2 = sch.get_loops(sch.get_sblock("C"))
    sch.reorder(i, j2)
    return sch


def reorder_of_a_triangle():
    sch = Schedule(triangle)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reorder(j, i)
    return sch


def reorder_around_two_statements():
    sch = Schedule(two_in_a_loop)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reorder(j, i)
    return sch


def reorder_under_a_condition():
    sch = Schedule(with_condition)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.reorder(j, i)
    return sch


def reorder_of_reduction_tiles():
    sch = Schedule(sums)
    i, k = sch.get_loops(sch.get_sblock("B"))
    io, ii = sch.split(i, factors=[None, 4])
    ko, ki = sch.split(k, factors=[None, 6])
    sch.reorder(io, ko, ii, ki)
    return sch


def unit_loop_around_a_block():
    sch = Schedule(row)
    sch.add_unit_loop(sch.get_sblock("B"))
    return sch


def unit_loop_around_a_loop():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.add_unit_loop(i)
    return sch


def merge_of_two_nests():
    sch = Schedule(two_nests)
    i, j = sch.get_loops(sch.get_sblock("B"))
    i2, j2 = sch.get_loops(sch.get_sblock("C"))
    sch.merge(i, i2)
    return sch


def merge_of_inner_loops():
    sch = Schedule(two_in_a_loop)
    i, j = sch.get_loops(sch.get_sblock("B"))
    i2, j2 = sch.get_loops(sch.get_sblock("C"))
    sch.merge(j, j2)
    return sch


def merge_of_one_loop():
    sch = Schedule(two_nests)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.merge(i)
    return sch


def merge_of_different_depths():
    sch = Schedule(two_nests)
    i, j = sch.get_loops(sch.get_sblock("B"))
    i2, j2 = sch.get_loops(sch.get_sblock("C"))
    sch.merge(i, j2)
    return sch


def partition_of_a_loop():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.loop_partition(i, [32, 40, None])
    return sch


def partition_that_is_too_large():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.loop_partition(i, [100, 100])
    return sch


def parallel_spatial_loop():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.parallel(i)
    return sch


def parallel_reduction():
    sch = Schedule(sums)
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.parallel(k)
    return sch


def parallel_loop_around_two_statements():
    sch = Schedule(two_in_a_loop)
    i, j = sch.get_loops(sch.get_sblock("B"))
    sch.parallel(i)
    return sch


def parallel_recurrence():
    sch = Schedule(scan)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.parallel(i)
    return sch


def vectorize_of_eight():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.vectorize(k)
    return sch


def vectorize_of_many():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.vectorize(i)
    return sch


def vectorize_of_a_reduction():
    sch = Schedule(sums)
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.vectorize(k)
    return sch


def unroll_of_a_reduction():
    sch = Schedule(sums)
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.unroll(k)
    return sch


def bind_to_blocks_and_threads():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "blockIdx.y")
    sch.bind(k, "threadIdx.x")
    return sch


def bind_of_a_reduction_to_threads():
    sch = Schedule(sums)
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.bind(k, "threadIdx.x")
    return sch


def bind_of_a_reduction_to_blocks():
    sch = Schedule(sums)
    i, k = sch.get_loops(sch.get_sblock("B"))
    sch.bind(k, "blockIdx.x")
    return sch


def bind_to_an_unknown_axis():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.bind(i, "threadIdx.w")
    return sch


def bind_after_bind():
    sch = Schedule(row)
    (i,) = sch.get_loops(sch.get_sblock("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(i, "threadIdx.x")
    return sch


def vectorize_after_parallel():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.parallel(k)
    sch.vectorize(k)
    return sch


def unroll_after_vectorize():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.vectorize(k)
    sch.unroll(k)
    return sch


def bind_after_unroll():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.unroll(i)
    sch.bind(i, "blockIdx.x")
    return sch


def annotation_of_a_loop():
    sch = Schedule(cube)
    i, j, k = sch.get_loops(sch.get_sblock("B"))
    sch.annotate(i, "my.level", 3)
    sch.annotate(j, "my.name", "outer")
    sch.annotate(k, "my.list", [1, 2, 3])
    return sch


def annotation_removed():
    sch = Schedule(cube)
    b = sch.get_sblock("B")
    sch.annotate(b, "my.level", 3)
    sch.unannotate(b, "my.level")
    return sch


def annotation_removed_that_is_not_there():
    sch = Schedule(cube)
    sch.unannotate(sch.get_sblock("B"), "my.level")
    return sch


def annotation_with_a_float():
    sch = Schedule(cube)
    sch.annotate(sch.get_sblock("B"), "my.weight", 0.5)
    return sch


def annotation_with_a_map():
    sch = Schedule(cube)
    sch.annotate(sch.get_sblock("B"), "my.choice", {"tile": 4, "name": "a"})
    return sch


def annotation_with_a_nested_list():
    sch = Schedule(cube)
    sch.annotate(sch.get_sblock("B"), "my.list", [1, "two", [3, 4]])
    return sch
