# The programs and the schedules of TVM's tutorials on TensorIR: docs/deep_dive/tensor_ir
# (abstraction, learning, creation, transformation, the rule of DLight) and the earlier "blitz
# course". Functions have names of their own, since one file holds them all.
# ruff: noqa
import tvm
from tvm import te
from tvm.script import ir as I
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def add(
    A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")
) -> None:
    for i in range(128):
        with T.sblock("C"):
            vi = T.axis.spatial(128, i)
            C[vi] = A[vi] + B[vi]


@I.ir_module
class Standard:
    @T.prim_func(s_tir=True)
    def standard(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128, 128), "float32"),
        C: T.Buffer((128, 128), "float32"),
    ):
        Y = T.alloc_buffer((128, 128), dtype="float32")
        for i in range(128):
            for j in range(128):
                for k in range(128):
                    with T.sblock("Y"):
                        vi = T.axis.spatial(128, i)
                        vj = T.axis.spatial(128, j)
                        vk = T.axis.reduce(128, k)
                        T.reads(A[vi, vk], B[vk, vj])
                        T.writes(Y[vi, vj])
                        with T.init():
                            Y[vi, vj] = T.float32(0)
                        Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i in range(128):
            for j in range(128):
                with T.sblock("C"):
                    vi = T.axis.spatial(128, i)
                    vj = T.axis.spatial(128, j)
                    T.reads(Y[vi, vj])
                    T.writes(C[vi, vj])
                    C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


@I.ir_module
class Learning:
    @T.prim_func(s_tir=True)
    def learning(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128, 128), "float32"),
        C: T.Buffer((128, 128), "float32"),
    ):
        Y = T.alloc_buffer((128, 128), dtype="float32")
        for i, j, k in T.grid(128, 128, 128):
            with T.sblock("Y"):
                vi = T.axis.spatial(128, i)
                vj = T.axis.spatial(128, j)
                vk = T.axis.reduce(128, k)
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(128, 128):
            with T.sblock("C"):
                vi = T.axis.spatial(128, i)
                vj = T.axis.spatial(128, j)
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


@I.ir_module
class Concise:
    @T.prim_func(s_tir=True)
    def concise(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128, 128), "float32"),
        C: T.Buffer((128, 128), "float32"),
    ):
        Y = T.alloc_buffer((128, 128), dtype="float32")
        for i, j, k in T.grid(128, 128, 128):
            with T.sblock("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(128, 128):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


M = N = K = 128
dtype = "float32"


@I.ir_module
class FromPython:
    @T.prim_func(s_tir=True)
    def from_python(
        A: T.Buffer((M, K), dtype), B: T.Buffer((K, N), dtype), C: T.Buffer((M, N), dtype)
    ):
        Y = T.alloc_buffer((M, N), dtype)
        for i, j, k in T.grid(M, N, K):
            with T.sblock("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.cast(T.float32(0), dtype)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(M, N):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.cast(T.float32(0), dtype))


@I.ir_module
class Dynamic:
    @T.prim_func(s_tir=True)
    def dynamic(a: T.handle, b: T.handle, c: T.handle):
        M, N, K = T.int32(), T.int32(), T.int32()
        A = T.match_buffer(a, [M, K], dtype)
        B = T.match_buffer(b, [K, N], dtype)
        C = T.match_buffer(c, [M, N], dtype)
        Y = T.alloc_buffer((M, N), dtype)
        for i, j, k in T.grid(M, N, K):
            with T.sblock("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.cast(T.float32(0), dtype)
                Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(M, N):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.max(Y[vi, vj], T.cast(T.float32(0), dtype))


@I.ir_module
class Transformation:
    @T.prim_func(s_tir=True)
    def transformation(
        A: T.Buffer((128, 128), "float32"),
        B: T.Buffer((128, 128), "float32"),
        C: T.Buffer((128, 128), "float32"),
    ):
        T.func_attr({"tirx.noalias": True})
        with T.sblock("root"):
            T.reads()
            T.writes()
            Y = T.sblock_alloc_buffer((128, 128))
            for i, j, k in T.grid(128, 128, 128):
                with T.sblock("Y"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        Y[vi, vj] = T.float32(0)
                    Y[vi, vj] = Y[vi, vj] + A[vi, vk] * B[vk, vj]
            for i, j in T.grid(128, 128):
                with T.sblock("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = T.max(Y[vi, vj], T.float32(0))


@I.ir_module
class Blitz:
    @T.prim_func(s_tir=True)
    def blitz(a: T.handle, b: T.handle):
        T.func_attr({"tirx.noalias": True})
        A = T.match_buffer(a, (8,), dtype="float32")
        B = T.match_buffer(b, (8,), dtype="float32")
        for i in range(8):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + 1.0


# ---- programs of tensor expressions: TVM prints them, and the print is imported
named = lambda name, made: tvm.IRModule({name: made.with_attr({"global_symbol": name})})

X = te.placeholder((128, 128), "float32", name="A")
Z = te.placeholder((128, 128), "float32", name="B")
r = te.reduce_axis((0, 128), "k")
P = te.compute((128, 128), lambda i, j: te.sum(X[i, r] * Z[r, j], axis=r), name="Y")
Q = te.compute((128, 128), lambda i, j: te.max(P[i, j], 0), name="C")
Static = named("static", te.create_prim_func([X, Z, Q]))

m, n, k = te.var("m"), te.var("n"), te.var("k")
X = te.placeholder((m, k), "float32", name="A")
Z = te.placeholder((k, n), "float32", name="B")
r = te.reduce_axis((0, k), "k")
P = te.compute((m, n), lambda i, j: te.sum(X[i, r] * Z[r, j], axis=r), name="Y")
Q = te.compute((m, n), lambda i, j: te.max(P[i, j], 0), name="C")
Symbolic = named("symbolic", te.create_prim_func([X, Z, Q]))

X = te.placeholder((8,), "float32", name="A")
Q = te.compute((8,), lambda *i: X(*i) + 1.0, name="B")
Plus = named("plus", te.create_prim_func([X, Q]))


# ---- schedules


def split():
    sch = tvm.s_tir.Schedule(Transformation)
    sch.work_on("transformation")
    block_Y = sch.get_sblock("Y")
    i, j, k = sch.get_loops(block_Y)
    j0, j1 = sch.split(j, factors=[None, 8])
    return sch


def reordered():
    sch = tvm.s_tir.Schedule(Transformation)
    sch.work_on("transformation")
    block_Y = sch.get_sblock("Y")
    i, j, k = sch.get_loops(block_Y)
    j0, j1 = sch.split(j, factors=[None, 8])
    sch.reorder(j0, k, j1)
    return sch


def local():
    sch = tvm.s_tir.Schedule(Transformation)
    sch.work_on("transformation")
    block_Y = sch.get_sblock("Y")
    i, j, k = sch.get_loops(block_Y)
    j0, j1 = sch.split(j, factors=[None, 8])
    sch.reorder(j0, k, j1)
    block_C = sch.get_sblock("C")
    sch.reverse_compute_at(block_C, j0)
    return sch


def decomposed():
    sch = tvm.s_tir.Schedule(Transformation)
    sch.work_on("transformation")
    block_Y = sch.get_sblock("Y")
    i, j, k = sch.get_loops(block_Y)
    j0, j1 = sch.split(j, factors=[None, 8])
    sch.reorder(j0, k, j1)
    block_C = sch.get_sblock("C")
    sch.reverse_compute_at(block_C, j0)
    sch.decompose_reduction(block_Y, k)
    return sch


def blitz_reordered():
    sch = tvm.s_tir.Schedule(Blitz)
    sch.work_on("blitz")
    block_b = sch.get_sblock("B")
    (i,) = sch.get_loops(block_b)
    i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
    sch.reorder(i_0, i_2, i_1)
    return sch


def blitz_on_a_gpu():
    sch = tvm.s_tir.Schedule(Blitz)
    sch.work_on("blitz")
    block_b = sch.get_sblock("B")
    (i,) = sch.get_loops(block_b)
    i_0, i_1, i_2 = sch.split(i, factors=[2, 2, 2])
    sch.reorder(i_0, i_2, i_1)
    sch.bind(i_0, "blockIdx.x")
    sch.bind(i_2, "threadIdx.x")
    return sch


def tile_and_bind():
    sch = tvm.s_tir.Schedule(add)
    block = sch.get_sblock("C")
    loops = sch.get_loops(block)
    fused = sch.fuse(*loops)
    bx, tx = sch.split(fused, factors=[None, 256])
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    return sch
