# Layouts, padding, circular buffers, scopes, blocks of loops, copies at a loop, and questions.
# ruff: noqa
from tvm.s_tir import Schedule
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def chain(A: T.Buffer((16, 24), "float32"), C: T.Buffer((16, 24), "float32")):
    B = T.sblock_alloc_buffer((16, 24))
    for i, j in T.grid(16, 24):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 24):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func(s_tir=True)
def vector(A: T.Buffer((30,), "float32"), C: T.Buffer((30,), "float32")):
    B = T.sblock_alloc_buffer((30,))
    for i in range(30):
        with T.sblock("B"):
            v = T.axis.spatial(30, i)
            B[v] = A[v] * 2.0
    for i in range(30):
        with T.sblock("C"):
            v = T.axis.spatial(30, i)
            C[v] = B[v] + 1.0


@T.prim_func(s_tir=True)
def matmul(
    A: T.Buffer((30, 14), "float32"),
    B: T.Buffer((14, 26), "float32"),
    C: T.Buffer((30, 26), "float32"),
):
    for i, j, k in T.grid(30, 26, 14):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(s_tir=True)
def matmul_in_stages(
    A: T.Buffer((30, 14), "float32"),
    B: T.Buffer((14, 26), "float32"),
    D: T.Buffer((30, 26), "float32"),
):
    A1 = T.sblock_alloc_buffer((30, 14))
    C = T.sblock_alloc_buffer((30, 26))
    for i, j in T.grid(30, 14):
        with T.sblock("A1"):
            vi, vj = T.axis.remap("SS", [i, j])
            A1[vi, vj] = A[vi, vj] + 1.0
    for i, j, k in T.grid(30, 26, 14):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A1[vi, vk] * B[vk, vj]
    for i, j in T.grid(30, 26):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)


@T.prim_func(s_tir=True)
def batch(
    A: T.Buffer((3, 16, 8), "float32"),
    B: T.Buffer((3, 8, 16), "float32"),
    C: T.Buffer((3, 16, 16), "float32"),
):
    for b, i, j, k in T.grid(3, 16, 16, 8):
        with T.sblock("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = 0.0
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]


@T.prim_func(s_tir=True)
def window_sum(A: T.Buffer((18, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((18, 16))
    for i, j in T.grid(18, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j, r in T.grid(16, 16, 3):
        with T.sblock("C"):
            vi, vj, vr = T.axis.remap("SSR", [i, j, r])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + B[vi + vr, vj]


@T.prim_func(s_tir=True)
def pool(A: T.Buffer((14, 14), "float32"), C: T.Buffer((14, 14), "float32")):
    P = T.sblock_alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.sblock("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(
                1 <= vi and vi < 15 and 1 <= vj and vj < 15, A[vi - 1, vj - 1], 0.0
            )
    for i, j, r, s in T.grid(14, 14, 3, 3):
        with T.sblock("C"):
            vi, vj, vr, vs = T.axis.remap("SSRR", [i, j, r, s])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + P[vi + vr, vj + vs]


@T.prim_func(s_tir=True)
def two_stages(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32")):
    B = T.sblock_alloc_buffer((16, 16))
    for i in range(16):
        for j in range(16):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(16):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + B[vi, vj]


@T.prim_func(s_tir=True)
def half(A: T.Buffer((32,), "float16"), C: T.Buffer((32,), "float16")):
    B = T.sblock_alloc_buffer((32,), "float16")
    for i in range(32):
        with T.sblock("B"):
            v = T.axis.spatial(32, i)
            B[v] = A[v] * T.float16(2)
    for i in range(32):
        with T.sblock("C"):
            v = T.axis.spatial(32, i)
            C[v] = B[v] + T.float16(1)


@T.prim_func(s_tir=True)
def unit(A: T.Buffer((1, 16), "float32"), C: T.Buffer((1, 16), "float32")):
    for i, j in T.grid(1, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * 2.0


def layout_fused():
    sch = Schedule(chain)
    sch.transform_layout(sch.get_sblock("B"), ("write", 0), lambda i, j: (i * 24 + j,))
    return sch


def layout_of_what_is_read():
    sch = Schedule(chain)
    sch.transform_layout(sch.get_sblock("C"), ("read", 0), lambda i, j: (j // 8, i, j % 8))
    return sch


def layout_by_name():
    sch = Schedule(chain)
    sch.transform_layout("B", "B", lambda i, j: (j, i))
    return sch


def layout_of_an_input():
    sch = Schedule(chain)
    sch.transform_layout(sch.get_sblock("B"), ("read", 0), lambda i, j: (j, i))
    return sch


def layout_of_a_split_block():
    sch = Schedule(chain)
    b = sch.get_sblock("B")
    i, j = sch.get_loops(b)
    sch.split(j, [None, 8])
    sch.transform_layout(b, ("write", 0), lambda i, j: (i // 4, j, i % 4))
    return sch


def layout_with_a_tail_and_no_value():
    sch = Schedule(vector)
    sch.transform_layout(sch.get_sblock("B"), ("write", 0), lambda i: (i // 8, i % 8))
    return sch


def layout_with_a_value():
    sch = Schedule(vector)
    sch.transform_layout(
        sch.get_sblock("B"), ("write", 0), lambda i: (i // 8, i % 8), pad_value=0.0
    )
    return sch


def layout_with_a_value_of_the_place():
    sch = Schedule(vector)
    sch.transform_layout(
        sch.get_sblock("B"),
        ("write", 0),
        lambda i: (i // 8, i % 8),
        pad_value=lambda io, ii: T.float32(1.0) * ii,
    )
    return sch


def layout_with_an_integer_value():
    sch = Schedule(vector)
    sch.transform_layout(sch.get_sblock("B"), ("write", 0), lambda i: (i // 8, i % 8), pad_value=0)
    return sch


def layout_of_the_wrong_rank():
    sch = Schedule(chain)
    sch.transform_layout(sch.get_sblock("B"), ("write", 0), lambda i: (i,))
    return sch


def block_layout_split():
    sch = Schedule(unit)
    sch.transform_block_layout(sch.get_sblock("C"), lambda i, j: (i, j // 4, j % 4))
    return sch


def block_layout_of_a_reduction():
    sch = Schedule(batch)
    sch.transform_block_layout(sch.get_sblock("C"), lambda b, i, j, k: (b * 16 + i, j, k))
    return sch


def block_layout_that_mixes_kinds():
    sch = Schedule(batch)
    sch.transform_block_layout(sch.get_sblock("C"), lambda b, i, j, k: (b, i, j * 8 + k))
    return sch


def block_layout_that_is_not_affine():
    sch = Schedule(unit)
    sch.transform_block_layout(sch.get_sblock("C"), lambda i, j: (i, j * j))
    return sch


def block_layout_with_a_tail():
    sch = Schedule(unit)
    sch.transform_block_layout(sch.get_sblock("C"), lambda i, j: (i, j // 5, j % 5))
    return sch


def block_layout_of_split_loops():
    sch = Schedule(unit)
    c = sch.get_sblock("C")
    i, j = sch.get_loops(c)
    sch.split(j, [None, 4])
    sch.transform_block_layout(c, lambda i, j: (j, i))
    return sch


def iterators_turned():
    sch = Schedule(batch)
    sch.reorder_block_iter_var(sch.get_sblock("C"), [0, 2, 1, 3])
    return sch


def iterators_named_twice():
    sch = Schedule(batch)
    sch.reorder_block_iter_var(sch.get_sblock("C"), [0, 0, 1, 3])
    return sch


def iterators_left_out():
    sch = Schedule(batch)
    sch.reorder_block_iter_var(sch.get_sblock("C"), [0, 1])
    return sch


def einsum_of_inputs():
    sch = Schedule(matmul)
    sch.pad_einsum(sch.get_sblock("C"), [16, 16, 8])
    return sch


def einsum_in_stages():
    sch = Schedule(matmul_in_stages)
    sch.pad_einsum(sch.get_sblock("C"), [16, 16, 8])
    return sch


def einsum_of_whole_tiles():
    sch = Schedule(batch)
    sch.pad_einsum(sch.get_sblock("C"), [1, 16, 16, 8])
    return sch


def einsum_with_zero():
    sch = Schedule(matmul)
    sch.pad_einsum(sch.get_sblock("C"), [16, 0, 8])
    return sch


def einsum_of_a_window():
    sch = Schedule(window_sum)
    sch.pad_einsum(sch.get_sblock("C"), [8, 8, 4])
    return sch


def einsum_of_an_elementwise_block():
    sch = Schedule(chain)
    sch.pad_einsum(sch.get_sblock("B"), [5, 5])
    return sch


def padding_before_everything():
    sch = Schedule(pool)
    p = sch.get_sblock("P")
    i, j = sch.get_loops(p)
    sch.decompose_padding(p, i)
    return sch


def padding_in_the_outer_loop():
    sch = Schedule(pool)
    p = sch.get_sblock("P")
    i, j = sch.get_loops(p)
    sch.decompose_padding(p, j)
    return sch


def padding_of_tiles():
    sch = Schedule(pool)
    p = sch.get_sblock("P")
    i, j = sch.get_loops(p)
    io, ii = sch.split(i, [None, 4])
    sch.decompose_padding(p, io)
    return sch


def padding_at_a_reader():
    sch = Schedule(pool)
    c, p = sch.get_sblock("C"), sch.get_sblock("P")
    i, j, r, s = sch.get_loops(c)
    sch.compute_at(p, i)
    sch.decompose_padding(p, sch.get_loops(p)[1])
    return sch


def padding_of_a_reader():
    sch = Schedule(pool)
    c, p = sch.get_sblock("C"), sch.get_sblock("P")
    sch.decompose_padding(p, sch.get_loops(c)[0])
    return sch


def rolling_rows_of_a_window():
    sch = Schedule(window_sum)
    c, b = sch.get_sblock("C"), sch.get_sblock("B")
    i, j, r = sch.get_loops(c)
    sch.set_scope(b, 0, "shared")
    sch.compute_at(b, i)
    sch.rolling_buffer(b, 0)
    return sch


def rolling_tiles_of_a_window():
    sch = Schedule(window_sum)
    c, b = sch.get_sblock("C"), sch.get_sblock("B")
    i, j, r = sch.get_loops(c)
    io, ii = sch.split(i, [None, 4])
    sch.set_scope(b, 0, "shared")
    sch.compute_at(b, io)
    sch.rolling_buffer(b, 0)
    return sch


def rolling_of_an_output():
    sch = Schedule(window_sum)
    sch.rolling_buffer(sch.get_sblock("C"), 0)
    return sch


def rolling_before_placement():
    sch = Schedule(window_sum)
    b = sch.get_sblock("B")
    sch.set_scope(b, 0, "shared")
    sch.rolling_buffer(b, 0)
    return sch


def alignment_of_rows():
    sch = Schedule(chain)
    b = sch.get_sblock("B")
    sch.set_scope(b, 0, "shared")
    sch.storage_align(b, 0, axis=-2, factor=128, offset=8)
    return sch


def alignment_twice():
    sch = Schedule(chain)
    b = sch.get_sblock("B")
    sch.set_scope(b, 0, "shared")
    sch.storage_align(b, 0, axis=0, factor=128, offset=0)
    sch.storage_align(b, 0, axis=0, factor=32, offset=1)
    return sch


def alignment_with_a_negative_factor():
    sch = Schedule(chain)
    b = sch.get_sblock("B")
    sch.set_scope(b, 0, "shared")
    sch.storage_align(b, 0, axis=0, factor=-1, offset=1)
    return sch


def alignment_of_a_missing_buffer():
    sch = Schedule(chain)
    sch.storage_align(sch.get_sblock("B"), 1, axis=0, factor=32, offset=1)
    return sch


def alignment_of_an_output():
    sch = Schedule(chain)
    sch.storage_align(sch.get_sblock("C"), 0, axis=0, factor=32, offset=1)
    return sch


def scope_local():
    sch = Schedule(two_stages)
    b = sch.get_sblock("B")
    sch.set_scope(b, 0, "local")
    return sch


def scope_as_it_is():
    sch = Schedule(chain)
    sch.set_scope(sch.get_sblock("B"), 0, "global")
    return sch


def scope_unknown():
    sch = Schedule(chain)
    sch.set_scope(sch.get_sblock("B"), 0, "near")
    return sch


def scope_of_a_warp():
    sch = Schedule(chain)
    sch.set_scope(sch.get_sblock("B"), 0, "warp")
    return sch


def scope_of_a_missing_buffer():
    sch = Schedule(chain)
    sch.set_scope(sch.get_sblock("B"), 1, "shared")
    return sch


def dtype_of_a_temporary():
    sch = Schedule(chain)
    sch.unsafe_set_dtype(sch.get_sblock("B"), 0, "float16")
    return sch


def dtype_of_an_output():
    sch = Schedule(chain)
    sch.unsafe_set_dtype(sch.get_sblock("C"), 0, "float16")
    return sch


def block_of_the_whole():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.blockize(i)
    return sch


def block_of_tiles():
    sch = Schedule(batch)
    c = sch.get_sblock("C")
    b, i, j, k = sch.get_loops(c)
    io, ii = sch.split(i, [None, 4])
    jo, ji = sch.split(j, [None, 4])
    ko, ki = sch.split(k, [None, 4])
    sch.reorder(b, io, jo, ko, ii, ji, ki)
    sch.blockize(ii)
    return sch


def block_of_two_blocks():
    sch = Schedule(two_stages)
    sch.blockize([sch.get_sblock("B"), sch.get_sblock("C")])
    return sch


def block_of_one_block():
    sch = Schedule(chain)
    sch.blockize([sch.get_sblock("B")])
    return sch


def block_of_a_block_and_its_init():
    sch = Schedule(batch)
    c = sch.get_sblock("C")
    b, i, j, k = sch.get_loops(c)
    sch.decompose_reduction(c, k)
    sch.blockize(j)
    return sch


def blocks_of_different_loops():
    sch = Schedule(chain)
    sch.blockize([sch.get_sblock("B"), sch.get_sblock("C")])
    return sch


def block_of_tiles_with_its_init_apart():
    sch = Schedule(batch)
    c = sch.get_sblock("C")
    b, i, j, k = sch.get_loops(c)
    ko, ki = sch.split(k, [None, 4])
    block = sch.blockize(ki)
    sch.decompose_reduction(block, ko)
    return sch


def block_of_a_missing_loop():
    sch = Schedule(chain)
    sch.blockize(sch.get_loops(sch.get_sblock("D"))[0])
    return sch


def read_in_a_loop():
    sch = Schedule(chain)
    c = sch.get_sblock("C")
    i, j = sch.get_loops(c)
    io, ii = sch.split(i, [None, 4])
    sch.read_at(io, c, 0, "shared")
    return sch


def write_in_a_loop():
    sch = Schedule(chain)
    c = sch.get_sblock("C")
    i, j = sch.get_loops(c)
    io, ii = sch.split(i, [None, 4])
    sch.write_at(io, c, 0, "shared")
    return sch


def reads_of_tiles():
    sch = Schedule(batch)
    c = sch.get_sblock("C")
    b, i, j, k = sch.get_loops(c)
    ko, ki = sch.split(k, [None, 4])
    sch.read_at(ko, c, 0, "shared")
    sch.read_at(ko, c, 1, "shared")
    return sch


def write_of_sums():
    sch = Schedule(batch)
    c = sch.get_sblock("C")
    b, i, j, k = sch.get_loops(c)
    sch.write_at(j, c, 0, "local")
    return sch


def reindex_of_a_batch():
    sch = Schedule(batch)
    sch.reindex(sch.get_sblock("C"), ("read", 1))
    return sch


def reindex_by_name():
    sch = Schedule(batch)
    sch.reindex("C", "A")
    return sch


def reindex_of_a_missing_buffer():
    sch = Schedule(batch)
    sch.reindex(sch.get_sblock("C"), ("read", 2))
    return sch


def reindex_of_a_window():
    sch = Schedule(window_sum)
    sch.reindex(sch.get_sblock("C"), ("read", 0))
    return sch


def reindexed_read_in_a_loop():
    sch = Schedule(chain)
    c = sch.get_sblock("C")
    r = sch.reindex_cache_read(c, 0, "shared", lambda i, j: (j, i))
    sch.compute_at(r, sch.get_loops(c)[0])
    return sch


def reindexed_read_into_fewer_places():
    sch = Schedule(chain)
    sch.reindex_cache_read(sch.get_sblock("C"), 0, "shared", lambda i, j: (i * 24 + j,))
    return sch


def reindexed_read_that_collides():
    sch = Schedule(chain)
    sch.reindex_cache_read(sch.get_sblock("C"), 0, "shared", lambda i, j: (i + j,))
    return sch


def reindexed_write_of_sums():
    sch = Schedule(batch)
    sch.reindex_cache_write(sch.get_sblock("C"), 0, "local", lambda b, i, j, k: (b, j, i))
    return sch


def reindexed_write_that_collides():
    sch = Schedule(chain)
    sch.reindex_cache_write(sch.get_sblock("B"), 0, "shared", lambda i, j: (i, j // 2))
    return sch


def children_of_a_loop():
    sch = Schedule(two_stages)
    i = sch.get_loops(sch.get_sblock("B"))[0]
    first, second = sch.get_child_blocks(i)
    sch.vectorize(sch.get_loops(first)[1])
    return sch


def outputs_of_a_program():
    sch = Schedule(chain)
    (c,) = sch.get_output_blocks(sch.get_sblock("root"))
    sch.parallel(sch.get_loops(c)[0])
    return sch


def producers_of_an_output():
    sch = Schedule(chain)
    (b,) = sch.get_producers(sch.get_sblock("C"))
    sch.compute_inline(b)
    return sch


def consumers_of_a_temporary():
    sch = Schedule(chain)
    (c,) = sch.get_consumers(sch.get_sblock("B"))
    sch.reverse_compute_inline(c)
    return sch


def region_by_hand():
    sch = Schedule(chain)
    sch.annotate_buffer_access(
        sch.get_sblock("B"), 0, "write", lambda i, j: ((i, i + 1), (j, j + 1))
    )
    sch.parallel(sch.get_loops(sch.get_sblock("B"))[0])
    return sch


def virtual_threads():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    jo, ji = sch.split(j, [2, None])
    sch.bind(jo, "vthread.x")
    sch.bind(ji, "threadIdx.x")
    return sch


def random_place():
    sch = Schedule(chain)
    b = sch.get_sblock("B")
    sch.compute_at(b, sch.sample_compute_location(b, decision=0))
    return sch


def tiles_by_a_decision():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    a, b = sch.sample_perfect_tile(j, n=2, decision=[3, 8])
    sch.split(j, [a, b])
    return sch


def half_precision_in_vectors():
    sch = Schedule(half)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    io, ii = sch.split(i, [None, 8])
    sch.vectorize(ii)
    sch.compute_inline(sch.get_sblock("B"))
    return sch


def split_without_a_condition():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.split(j, [None, 8], disable_predication=True)
    return sch


def split_without_a_condition_that_needs_one():
    sch = Schedule(vector)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    sch.split(i, [None, 8], disable_predication=True)
    return sch


def partition_into_three():
    sch = Schedule(vector)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    sch.loop_partition(i, [4, 10, None])
    return sch


def partition_with_two_open_parts():
    sch = Schedule(vector)
    (i,) = sch.get_loops(sch.get_sblock("C"))
    sch.loop_partition(i, [None, 10, None])
    return sch


def partition_of_an_outer_loop():
    sch = Schedule(chain)
    i, j = sch.get_loops(sch.get_sblock("C"))
    sch.loop_partition(i, [4, None])
    return sch


def partition_of_a_reduction():
    sch = Schedule(batch)
    b, i, j, k = sch.get_loops(sch.get_sblock("C"))
    sch.loop_partition(k, [2, None])
    return sch


def merge_of_equal_nests():
    sch = Schedule(chain)
    b, c = sch.get_sblock("B"), sch.get_sblock("C")
    sch.merge(sch.get_loops(b)[0], sch.get_loops(c)[0])
    return sch


def merge_of_loops_with_other_extents():
    sch = Schedule(window_sum)
    b, c = sch.get_sblock("B"), sch.get_sblock("C")
    sch.merge(sch.get_loops(b)[0], sch.get_loops(c)[0])
    return sch
