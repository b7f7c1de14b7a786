"""The importer: what it makes of TVMScript and of traces, and what it refuses, where."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from tirc.tvmscript import convert
from tirc.tvmscript.refusal import CODES

TUTORIAL = Path(__file__).with_name("tutorial.py")
MATMUL = """
@T.prim_func(s_tir=True)
def mm(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16))
    B = T.match_buffer(b, (16, 16))
    C = T.match_buffer(c, (16, 16))
    for i, j, k in T.grid(16, 16, 16):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def function(body, parameters='A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'):
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"@T.prim_func\ndef f({parameters}):\n{lines}"


def block(statement, parameters='A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'):
    """A function of one block over 64 elements."""
    head = "for i in range(64):\n    with T.block('B'):\n        v = T.axis.S(64, i)\n        "
    return function(head + statement, parameters)


def program(text):
    found = convert(text, "p.py")
    assert not found.messages, found.messages
    return found.program


def stored(value, parameters='A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")'):
    """The right-hand side that `B[v] = value` becomes."""
    text = program(block(f"B[v] = {value}", parameters))
    return text.split(" = ", 1)[1].split(";")[0]


# ---- programs ----------------------------------------------------------------------------------


def test_blocks_that_are_their_loops_become_plain_statements():
    assert program(MATMUL) == (
        "kernel mm(A: f32[16, 16], B: f32[16, 16]) -> C: f32[16, 16]\n"
        "{\n"
        "    for i in 16, j in 16, k in 16 {\n"
        "        init C[i, j] = 0.0;\n"
        "        C[i, j] += A[i, k] * B[k, j];\n"
        "    }\n"
        "}\n"
    )


def test_other_blocks_keep_their_iterators_conditions_and_annotations():
    text = function(
        """
for io, ii in T.grid(5, 16):
    with T.sblock("copy"):
        v = T.axis.spatial(64, io * 16 + ii)
        T.where(io * 16 + ii < 64)
        T.sblock_attr({"hint.level": 2, "how": "near"})
        B[v] = A[v]
"""
    )
    assert (
        'block copy(v in 64 = io * 16 + ii) where io * 16 + ii < 64 @hint_level(2) @how("near") {'
        in program(text)
    )


@pytest.mark.parametrize("axis", ["vthread", "vthread.x", "vthread.y", "vthread.z"])
def test_virtual_threads_are_iterations_of_a_thread(axis):
    text = function(
        f"""
for i in T.thread_binding(16, thread="threadIdx.x"):
    for j in T.thread_binding(4, thread="{axis}"):
        with T.block("B"):
            v = T.axis.S(64, j * 16 + i)
            B[v] = A[v]
"""
    )
    assert "j in 4 unroll" in program(text)


def test_loop_kinds_become_kinds():
    text = function(
        """
for i in T.thread_binding(4, thread="blockIdx.x"):
    for j in T.parallel(2):
        for k in T.unroll(2):
            for l in T.vectorized(4):
                with T.block("B"):
                    v = T.axis.S(64, i * 16 + j * 8 + k * 4 + l)
                    B[v] = A[v]
"""
    )
    found = program(text)
    for head in ("i in 4 bind blockIdx.x", "j in 2 parallel", "k in 2 unroll", "l in 4 vectorize"):
        assert head in found


@pytest.mark.parametrize(
    "value, expected",
    [
        ("A[63 - v]", "A[63 - i]"),
        ("A[v // 8 * 8 + v % 8]", "A[i / 8 * 8 + i % 8]"),
        ("A[(v - 5) // 8 + 1]", "A[(i - 5 + 8) / 8 - 1 + 1]"),
        ("A[(v - 5) % 8]", "A[(i - 5 + 8) % 8]"),
        ("T.max(A[v], T.float32(0))", "max(A[i], 0.0)"),
        ("T.if_then_else(v < 3, A[v], T.float32(1))", "i < 3 ? A[i] : 1.0"),
        ("T.Select(v < 3, A[v], 0.5)", "select(i < 3, A[i], 0.5)"),
        ("T.exp(A[v] - A[0]) / T.sqrt(A[v])", "exp(A[i] - A[0]) / sqrt(A[i])"),
        ("A[v] - (A[v] - 1.0)", "A[i] - (A[i] - 1.0)"),
        ("T.Cast('float32', v) * 0.5", "f32(i) * 0.5"),
        ("T.sigmoid(A[v])", "1.0 / (1.0 + exp(-A[i]))"),
        ("T.float32('-inf')", "-inf"),
        ("T.min_value('float32')", "-3.4028234663852886e+38"),
        ("T.if_then_else(1 <= v and v < 9 or not v == 3, A[v], 0.0)",
         "1 <= i && i < 9 || !(i == 3) ? A[i] : 0.0"),
    ],
)  # fmt: skip
def test_expressions(value, expected):
    assert stored(value) == expected


def test_conversions_are_written_where_types_differ():
    half = 'A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float32")'
    assert stored("T.Cast('float32', A[v])", half) == "f32(A[i])"
    assert stored("A[v] * T.float16(0.5)", half) == "f32(A[i] * 0.5)"
    bytes_ = 'A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int32")'
    assert stored("T.Cast('int32', A[v]) * 3 // 2", bytes_).startswith("(i32(A[i]) * 3 - (")


def test_negative_quotients_round_down(tirc, tmp_path):
    """Python and TVM round down, tirc truncates."""
    integers = 'A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")'
    text = program(block("B[v] = A[v] // 3 * 100 + A[v] % 3", integers))
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (64,), }".ljust(117) + b"\n"
    given = struct.pack("<64i", *range(-32, 32))
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header + given)
    done = tirc("-", "--run", "--input", "A=a.npy", "--output", "B=b.npy", stdin=text)
    assert done.returncode == 0, done.stderr
    result = struct.unpack("<64i", (tmp_path / "b.npy").read_bytes()[-256:])
    assert list(result) == [a // 3 * 100 + a % 3 for a in range(-32, 32)]


def test_parameters_that_are_read_first_are_inout():
    text = block("B[v] = B[v] + A[v]")
    assert program(text).startswith("kernel f(A: f32[64], inout B: f32[64])\n")


def test_parameters_of_which_a_part_is_written_are_inout():
    """TVM keeps the rest."""
    text = function("for i in range(32):\n    B[i] = A[i]")
    assert "inout B: f32[64]" in program(text)
    text = function("for i in range(64):\n    if i < 3:\n        B[i] = A[i]")
    assert "inout B: f32[64]" in program(text)


def test_sizes_are_variables_and_integers_that_shape():
    text = """
@T.prim_func
def f(a: T.handle, n: T.int32, alpha: T.float32, b: T.handle):
    m = T.int64()
    A = T.match_buffer(a, (n, m), "float16")
    B = T.match_buffer(b, (m, n), "float16")
    for i, j in T.grid(n, m):
        with T.block("turn"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj] * T.Cast("float16", alpha)
"""
    assert program(text) == (
        "kernel f<n, m>(A: f16[n, m], alpha: f32) -> B: f16[m, n]\n"
        "{\n    for i in n, j in m\n        turn: B[j, i] = A[i, j] * f16(alpha);\n}\n"
    )


def test_quoted_extents_are_sizes():
    """TVM prints a size in quotes where it occurs first, whether or not it is declared below."""
    text = """
@T.prim_func(s_tir=True)
def f(A: T.Buffer(("n", "2 * m"), "float32"), B: T.Buffer((n, m + 1), "float32")):
    %s
    for i, j in T.grid(n, m):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj * 2]
"""
    expected = (
        "kernel f<n, m>(A: f32[n, 2 * m], inout B: f32[n, m + 1])\n"
        "{\n    for i in n, j in m\n        B[i, j] = A[i, j * 2];\n}\n"
    )
    assert program(text % "n, m = T.int32(), T.int32()") == expected
    assert program(text % "pass") == expected


def test_strides_of_dense_buffers_say_nothing():
    text = """
@T.prim_func
def f(a: T.handle, B: T.Buffer((4, 8), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n, 8), strides=(8, 1), elem_offset=0)
    X = T.alloc_buffer((4, 8), strides=(8, 1))
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
"""
    assert program(text).startswith("kernel f<n>(A: f32[n, 8]) -> B: f32[4, 8]\n")


def test_blocks_around_blocks_are_written_out():
    text = function(
        """
C = T.alloc_buffer((64,), scope="shared")
for i in range(4):
    with T.block("outer"):
        vo = T.axis.S(4, i)
        for j in range(16):
            with T.block("inner"):
                v = T.axis.S(64, vo * 16 + j)
                C[v] = A[v]
        for j in range(16):
            with T.block("B"):
                v = T.axis.S(64, vo * 16 + j)
                B[v] = C[v]
"""
    )
    found = convert(text, "p.py")
    assert "block inner(v in 64 = i * 16 + j) {" in found.program
    assert "temp C: f32[64] in shared;" in found.program
    assert "p.py:5:9: warning: block 'outer' holds blocks" in found.messages
    assert not found.refused


def test_blocks_inside_get_the_axes_around_that_they_use():
    text = """
for i, j in T.grid(4, 4):
    with T.block("outer"):
        vi, vk = T.axis.remap("SR", [i, j])
        one = T.axis.S(1, 0)
        with T.init():
            B[vi] = 0.0
        for l in range(4):
            with T.block("inner"):
                vl = T.axis.R(4, l)
                B[vi + one] = B[vi + one] + A[vi * 16 + vk * 4 + vl]
"""
    assert (
        "block inner(i in 4 = i, reduce j in 4 = j, reduce l in 4 = l) {\n"
        "                B[i + 0] += A[i * 16 + j * 4 + l];"
    ) in convert(function(text), "p.py").program


@pytest.mark.parametrize(
    "shape, row, column, bound, role",
    [
        ("30, 1", "F", "0", "F < 30", "->"),
        ("30, 1", "F", "0", "F < 29", "inout"),
        ("30, 1", "F", "0", "i + j < 30", "inout"),
        ("30, 1", "F", "0", "F < 30 or j < 3", "inout"),
        ("30, 20", "(F) // 20", "(F) % 20", "F < 600", "->"),
        ("30, 20", "(F) // 20", "(F) % 20", "F < 599", "inout"),
        ("30, 20", "(F) // 10", "(F) % 20", "F < 600", "inout"),
        ("30, 20", "(F) // 20", "(F) % 10", "F < 600", "inout"),
        ("n, 20", "(F) // 20", "(F) % 20", "F < n * 20", "->"),
        ("n, 20", "(F) // 20", "(F) % 20", "F < n * 19", "inout"),
    ],
)
def test_conditions_that_keep_splits_in_bounds_leave_an_output_one(shape, row, column, bound, role):
    """Under other conditions TVM keeps the elements that are not written."""
    rows, columns = shape.split(", ")
    text = f"""
@T.prim_func
def k(A: T.Buffer((4,), "float32"), B: T.Buffer(({shape}), "float32")):
    n = T.int32()
    for i, j in T.grid(80, 8):
        with T.block("B"):
            v = T.axis.S({rows}, {row})
            w = T.axis.S({columns}, {column})
            T.where({bound})
            B[v, w] = 1.0
""".replace("F", "i * 8 + j")
    assert f"{role} B: f32" in program(text)


@pytest.mark.parametrize("loop", ["range(4, 64)", "range(63)"])
def test_loops_that_leave_a_part_out_make_outputs_inout(loop):
    text = block("B[v] = A[v]").replace("range(64)", loop)
    assert "inout B: f32[64]" in program(text)
    assert "-> B: f32[64]" in program(block("B[v] = A[v]"))


def test_narrow_integers_are_updated_in_place():
    narrow = 'A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int8")'
    assert "B[i] max= A[i];" in program(block("B[v] = T.max(B[v], A[v])", narrow))
    assert "B[i] += A[i];" in program(block("B[v] = B[v] + A[v]", narrow))


def test_a_value_in_front_of_a_store_is_part_of_it():
    text = "x: T.let[T.float32] = B[v] + A[v]\n        B[v] = x"
    assert "B[i] += A[i];" in program(block(text))
    assert "let x = A[i];" in program(block("x = A[v]\n        B[v] = x * x"))


@pytest.mark.parametrize(
    ("update", "kind", "text"),
    [
        ("B[v] + A[v] * 2.0", "float32", "B[i] = 1.0 + (A[i] * 2.0);"),
        ("T.max(B[v], A[v])", "float32", "B[i] = max(1.0, A[i]);"),
        ("B[v] + A[v]", "int8", "B[i] = i8(1 + (A[i]));"),
    ],
)
def test_an_init_without_reduction_is_part_of_the_store(tirc, update, kind, text):
    start = "T.int8(1)" if kind == "int8" else "1.0"
    found = program(
        block(
            f"with T.init():\n            B[v] = {start}\n        B[v] = {update}",
            f'A: T.Buffer((64,), "{kind}"), B: T.Buffer((64,), "{kind}")',
        )
        .replace("for i in range(64)", "for v in range(64)")
        .replace("(64, i)", "(64, v)")
    )
    assert text.replace("[i]", "[v]") in found and "init" not in found
    assert tirc("-", "--schedule", "none", "--emit", "tir", stdin=found).returncode == 0


def test_type_variables_are_sizes():
    text = """
n = TypeVar("n")
other = TypeVar("other")

@T.prim_func
def f(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
    for i in range(n):
        with T.block("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v]
"""
    assert program(text).startswith("kernel f<n>(A: f32[n]) -> B: f32[n]\n")


UNSEEN = """
@T.prim_func
def f():
    A = T.sblock_alloc_buffer((8,))
    B = T.sblock_alloc_buffer((8,))
    C = T.sblock_alloc_buffer((8,))
    for i in range(8):
        with T.sblock("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + 1.0
    for i in range(8):
        with T.sblock("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v] * 2.0
"""


def test_functions_without_results_show_their_temporaries():
    found = convert(UNSEEN, "p.py")
    assert found.program.startswith("kernel f(A: f32[8]) -> C: f32[8]\n{\n    temp B: f32[8];\n")
    assert "'C' becomes an output: no parameter is written" in found.messages
    assert "'A' becomes an input" in found.messages


def test_conditions_that_read_temporaries_stand_around_blocks(tirc):
    text = function(
        """
C = T.alloc_buffer((64,))
for i in range(64):
    with T.block("C"):
        v = T.axis.S(64, i)
        C[v] = A[v] * 2.0
for i in range(64):
    with T.block("B"):
        v = T.axis.S(64, i)
        T.where(C[i] < 1.0)
        B[v] = C[v]
"""
    )
    found = convert(text + "\nsch = Schedule(f)\nsch.compute_inline('C')\n", "p.py")
    assert "if C[i] < 1.0\n            B[i] = C[i];" in found.program
    made = tirc("-", "--schedule", "sch", "--verify", stdin=found.program + found.schedules)
    assert made.returncode == 0, made.stderr


def test_opaque_blocks_use_the_loops_around():
    text = function(
        """
for i in range(63):
    with T.block("opaque"):
        B[i + 1] = B[i + 1] + A[i]
"""
    )
    assert "block opaque(i in 63 = i) {\n            B[i + 1] += A[i];" in program(text)


NESTED = """
@T.prim_func
def f(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.alloc_buffer((16, 16))
    for io, jo in T.grid(4, 4):
        with T.block("outer"):
            vi, vj = T.axis.remap("SS", [io, jo])
            for ii, ji in T.grid(4, 4):
                with T.block("inner"):
                    vii = T.axis.S(16, vi * 4 + ii)
                    vji = T.axis.S(16, vj * 4 + ji)
                    B[vii, vji] = A[vii, vji] * 2.0
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
"""
LOOPS_OF_NESTED = """
sch = Schedule(f)
outer = sch.get_sblock("outer")
io, jo = sch.get_loops(outer)
ii, ji = sch.get_loops(sch.get_sblock("inner"))
sch.reorder(jo, io)
sch.unroll(ji)
"""
WHOLE_NESTED = """
sch = Schedule(f)
outer = sch.get_sblock("outer")
i, j = sch.get_loops("C")
sch.compute_at(outer, i)
sch.get_loops(sch.get_sblock("outer"))
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            LOOPS_OF_NESTED,
            ["let [io, jo] = loops(inner)[-4:-2];", "let [ii, ji] = loops(block(inner))[-2:];"],
        ),
        (
            WHOLE_NESTED,
            [
                "let outer = blockize(loops(inner)[-2]);",
                "compute_at(outer, i, preserve_unit_loops = false);",
                "loops(outer);",
            ],
        ),
    ],
)
def test_schedules_name_blocks_around_blocks(tirc, text, lines):
    found = convert(NESTED + text, "p.py")
    assert [line for line in lines if line not in found.schedules] == [], found.schedules
    made = tirc("-", "--schedule", "sch", "--verify", stdin=found.program + found.schedules)
    assert made.returncode == 0, made.stderr


def test_parts_of_loops_have_the_names_of_tvm(tirc):
    steps = """
sch = Schedule(mm)
i, j, k = sch.get_loops(sch.get_sblock("C"))
a, b, c = sch.loop_partition(i, [4, 2])
first, second, third = sch.get_loops(sch.get_sblock("C_i1"))
d, e = sch.loop_partition(second, [8, None])
inner = sch.get_sblock("C_i1_j1")
sch.annotate(inner, "seen", 1)
"""
    found = convert(MATMUL + steps, "p.py")
    words = "-", "--schedule", "sch"
    made = tirc(*words, "--verify", stdin=found.program + found.schedules)
    assert made.returncode == 0 and "verify  ok" in made.stdout, made.stderr
    assert "loops(blocks(b)[0])" in found.schedules


def test_blocks_are_not_their_buffers(tirc):
    """A label is no buffer, TVM adds the rest to parts of a loop, and rfactor names a block."""
    steps = """
sch = Schedule(mm)
sch.reindex("CC", ("write", 0))
i, j, k = sch.get_loops("CC")
sch.loop_partition(i, [4, 2])
other = Schedule(mm)
i, j, k = other.get_loops(other.get_sblock("CC"))
other.rfactor(k, 0)
other.annotate(other.get_sblock("CC_rf"), "seen", 1)
"""
    found = convert(MATMUL.replace('"C"', '"CC"') + steps, "p.py")
    assert "reindex(CC, writes(CC)[0]);" in found.schedules
    assert "loop_partition(i, [4, 2, _]);" in found.schedules
    assert "block(C_rf)" in found.schedules
    for name in ("sch", "other"):
        words = "-", "--schedule", name, "--emit", "tir"
        made = tirc(*words, stdin=found.program + found.schedules)
        assert made.returncode == 0, made.stderr


def test_traces_name_the_root_and_convert_pad_values(tirc):
    """As TVM 0.27 prints them."""
    steps = """
def apply_trace(sch: Schedule) -> None:
    b0 = sch.get_sblock(name="root", func_name="main")
    b1, = sch.get_output_blocks(block=b0)
    b2, b3 = sch.get_child_blocks(b0)
    sch.transform_layout(block=b2, buffer=("write", 0), index_map=lambda i: (i // 5, i % 5,),
        pad_value=lambda io, ii: (T.Cast("float32", ii),), assume_injective_transform=False)
"""
    found = convert(UNSEEN + steps, "p.py")
    assert "root" not in found.schedules
    assert "let [b1] = output_blocks();" in found.schedules
    assert "let [b2, b3] = blocks();" in found.schedules
    assert "pad_value = [io, ii] -> [ii]);" in found.schedules
    made = tirc("-", "--schedule", "apply_trace", "--verify", stdin=found.program + found.schedules)
    assert made.returncode == 0, made.stderr


def test_names_that_tirc_reserves_get_others():
    text = function("for exp in range(64):\n    B[exp] = A[exp]")
    assert "for exp_ in 64" in program(text)


# ---- schedules ---------------------------------------------------------------------------------

TRACE = """
def apply_trace(sch: s_tir.Schedule) -> None:
  b0 = sch.get_sblock(name="C", func_name="main")
  l1, l2, l3 = sch.get_loops(block=b0)
  v4, v5 = sch.sample_perfect_tile(loop=l1, n=2, max_innermost_factor=16, decision=[2, 8])
  l6, l7 = sch.split(loop=l1, factors=[v4, v5], preserve_unit_iters=True, disable_predication=False)
  sch.reorder(l6, l2, l7)
  b8 = sch.cache_read(block=b0, read_buffer_index=1, storage_scope="shared")
  sch.compute_at(block=b8, loop=l2, preserve_unit_loops=False, index=-1)
  b9 = sch.cache_write(block=b0, write_buffer_index=0, storage_scope="local")
  sch.bind(loop=l6, thread_axis="blockIdx.x")
  sch.annotate(block_or_loop=l3, ann_key="pragma.unroll", ann_val=1)
  sch.enter_postproc()
  sch.unroll(loop=l3)
"""


def test_a_trace_becomes_a_script(tirc):
    found = convert(MATMUL + TRACE, "p.py")
    assert not found.messages
    assert found.schedules == (
        "schedule apply_trace for mm()\n{\n"
        "    let b0 = block(C);\n"
        "    let [l1, l2, l3] = loops(b0);\n"
        "    let [v4, v5] = [2, 8];\n"
        "    let [l6, l7] = split(l1, [v4, v5]);\n"
        "    reorder(l6, l2, l7);\n"
        "    let b8 = cache_read(b0, B, shared);\n"
        "    compute_at(b8, l2);\n"
        "    let b9 = cache_write(b0, local);\n"
        "    bind(l6, blockIdx.x);\n"
        "    annotate(l3, pragma_unroll, 1);\n"
        "    unroll(l3);\n"
        "}\n"
    )
    alone = convert(TRACE, "p.py").schedules  # may be for a block of several buffers
    assert "let b9 = cache_write(b0, local, buffer = writes(b0)[0]);" in alone
    for schedule in (found.schedules, alone):
        words = ("--schedule", "apply_trace", "--emit", "tir")
        done = tirc("-", *words, stdin=found.program + schedule)
        assert done.returncode == 0, done.stderr


ORDERED = """
@T.prim_func
def total(A: T.Buffer((32,), "float32"), C: T.Buffer((1,), "float32")):
    C[0] = 0.0
    for i in range(32):
        with T.sblock("C_update"):
            v = T.axis.opaque(32, i)
            w = T.axis.scan(1, 0)
            C[w] = C[w] + A[v]
"""


def test_opaque_axes_keep_their_order(tirc):
    found = convert(ORDERED, "p.py")
    assert not found.refused, found.messages
    done = tirc("-", "--schedule", "none", "--emit", "tir", stdin=found.program)
    assert done.returncode == 0, done.stderr
    assert "block C_update(i in 32 = i, w in 1 = 0) @in_order(1) {" in done.stdout


def test_blocks_in_a_block_have_no_order():
    inside = ORDERED.replace(
        "            C[w] = C[w] + A[v]\n",
        '            with T.sblock("inner"):\n                C[w] = C[w] + A[v]\n',
    )
    assert "P0107" in convert(inside, "p.py").messages


VIEWS = """
@T.prim_func
def tiles(A: T.Buffer((32, 16), "float32"), C: T.Buffer((32,), "float32")):
    for io in range(2):
        with T.sblock("tile"):
            vo = T.axis.spatial(2, io)
            T.reads(A[vo * 16 : vo * 16 + 16, 0:16])
            T.writes(C[vo * 16 : vo * 16 + 16])
            X = T.match_buffer(A[vo * 16 : vo * 16 + 16, 0:16], (16, 16), offset_factor=1)
            Y = T.match_buffer(C[vo * 16 : vo * 16 + 16], (16,), strides=[1])
            for i, k in T.grid(16, 16):
                with T.sblock("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    T.reads(X[vi, vk])
                    R = T.match_buffer(X[vi, 2:14], (12,))
                    with T.init():
                        Y[vi] = 0.0
                    %s
"""


@pytest.mark.parametrize(
    ("store", "read"),
    [
        ("Y[vi] = Y[vi] + X[vi, vk]", "A[io * 16 + i, k]"),
        ("Y[vi] = Y[vi] + R[vk % 12]", "A[io * 16 + i, 2 + k % 12]"),
    ],
)
def test_views_are_written_out(tirc, store, read):
    found = convert(VIEWS % store, "p.py")
    assert not found.refused, found.messages
    done = tirc("-", "--schedule", "none", "--emit", "tir", stdin=found.program)
    assert done.returncode == 0, done.stderr
    assert f"C[io * 16 + i] += {read};" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("(16,), strides", "(8,), strides", "the shape is that of the part"),
        ("vo * 16 + 16], (16,)", "vo * 16 + 16]", "a view has a part of a buffer and a shape"),
        ("C[vo * 16 : vo * 16 + 16], (16,)", "C, (32,)", "the part is written as"),
        ("X[vi, 2:14]", "X[vi, 2:]", "a slice has a beginning and an end"),
        ("X[vi, 2:14]", "X[vi, vk:vi]", "the extent of a slice"),
        ("vi, vk = T", "vi, vo = T", "'vo' has another meaning in a view above"),
        ("T.reads(X[vi, vk])", "T.reads(X[vi])", "the view has 2 axes, and 1 here"),
    ],
)
def test_other_views_are_refused(old, new, words):
    found = convert((VIEWS % "Y[vi] = Y[vi] + X[vi, vk]").replace(old, new), "p.py")
    assert words in found.messages


PLACES = """
@T.prim_func
def staged(A: T.Buffer((16, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    B = T.alloc_buffer((16, 8), "float32")
    for i, j in T.grid(16, 8):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 8):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0

def apply_trace(sch: s_tir.Schedule) -> None:
    b = sch.get_sblock("B")
    l = sch.sample_compute_location(block=b%s)
    sch.compute_at(block=b, loop=l, preserve_unit_loops=True)
"""


@pytest.mark.parametrize(
    ("decision", "lines"),
    [
        ("", ["tune place in sample_compute_location(b);", "let l = place;", "compute_at(b, l);"]),
        (", decision=1", ["let l = loops(consumers(b)[0])[1];", "compute_at(b, l);"]),
        (", decision=-1", []),
        (", decision=-2", ["compute_inline(b);"]),
    ],
)
def test_places_of_blocks(tirc, decision, lines):
    found = convert(PLACES % decision, "p.py")
    assert not found.messages
    assert [s.strip() for s in found.schedules.splitlines()[3:-1]] == lines
    text = found.program + found.schedules
    done = tirc("-", "--schedule", "apply_trace", "--emit", "tir", stdin=text)
    assert done.returncode == 0, done.stderr


def test_a_schedule_of_python_becomes_a_script(tirc):
    text = (
        MATMUL
        + """
def tuned():
    T = 4
    sch = tvm.s_tir.Schedule(mm)
    c = sch.get_sblock("C")
    loops = sch.get_loops(c)
    i, j = loops[0], loops[1]
    tile = sch.sample_perfect_tile(j, n=2, max_innermost_factor=8)
    jo, ji = sch.split(j, factors=tile)
    io, ii = sch.split(i, [None, T * 2])
    sch.reorder(io, jo, ii, ji)
    for loop, axis in [(io, "blockIdx.x"), (ii, "threadIdx.x")]:
        sch.bind(loop, axis)
    sch.unroll(sch.get_loops(c)[-1])
    f = sch.fuse(*[jo])
    print(sch.mod)
"""
    )
    found = convert(text, "p.py")
    assert not found.messages
    assert found.schedules == (
        "schedule tuned for mm()\n{\n"
        "    let c = block(C);\n"
        "    let loops = loops(c);\n"
        "    let [i, j] = [loops[0], loops[1]];\n"
        "    tune tile in sample_perfect_tile(j, 2, max_innermost = 8);\n"
        "    let tile_1 = tile;\n"
        "    let [jo, ji] = split(j, tile_1);\n"
        "    let [io, ii] = split(i, [_, 8]);\n"
        "    reorder(io, jo, ii, ji);\n"
        "    for [loop, axis] in [[io, blockIdx.x], [ii, threadIdx.x]] {\n"
        "        bind(loop, axis);\n"
        "    }\n"
        "    unroll(loops(c)[-1]);\n"
        "    let f = fuse([jo]);\n"
        "}\n"
    )


# ---- calls that TVM does not look into -----------------------------------------------------------

FILL = "T.tvm_fill_fragment(B.data, 16, 16, 16, i * 4 + j, T.float32(2))"
LOAD = (
    "T.tvm_load_matrix_sync(B.data, 16, 16, 16, i * 4 + j, T.tvm_access_ptr("
    'T.type_annotation("float32"), A.data, i * 1024 + j * 16, 1024, 1), 64, "row_major")'
)
MATRICES = 'A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")'


def fragment(call, writes="B[i * 16:i * 16 + 16, j * 16:j * 16 + 16]", reads=""):
    """A call in each tile of 16 x 16 of two matrices."""
    reads = reads or "A[i * 16:i * 16 + 16, j * 16:j * 16 + 16]"
    body = f"""
for i_0, j_0 in T.grid(4, 4):
    with T.sblock("B"):
        i, j = T.axis.remap("SS", [i_0, j_0])
        T.reads({reads})
        T.writes({writes})
        {call}
"""
    return function(body, MATRICES)


@pytest.mark.parametrize(
    "call, reads, store",
    [
        (FILL, "", "B[i_0 * 16 + row, j_0 * 16 + col] = 2.0"),
        (LOAD, "", "B[i_0 * 16 + row, j_0 * 16 + col] = A[i_0 * 16 + row, j_0 * 16 + col]"),
        (
            LOAD.replace("i * 1024 + j * 16", "j * 1024 + 16 * i").replace("row_m", "col_m"),
            "A[j * 16:j * 16 + 16, i * 16:i * 16 + 16]",
            "B[i_0 * 16 + row, j_0 * 16 + col] = A[j_0 * 16 + col, i_0 * 16 + row]",
        ),
        (
            LOAD.replace("load", "store").replace("A.data", "b").replace("B.data", "A.data")
            .replace("b,", "B.data,"),
            "",
            "B[i_0 * 16 + row, j_0 * 16 + col] = A[i_0 * 16 + row, j_0 * 16 + col]",
        ),
    ],
)  # fmt: skip
def test_calls_of_fragments_are_written_out(call, reads, store):
    found = convert(fragment(call, reads=reads), "p.py")
    assert not found.refused and f"for row in 16, col in 16\n{' ' * 16}{store};" in found.program, (
        found.program
    )
    assert "-> B: f32[64, 64]" in found.program


def test_fragments_of_views_lie_where_the_view_does():
    body = """
for i_0 in range(4):
    with T.sblock("B"):
        row = T.axis.spatial(4, i_0)
        W = T.match_buffer(A[row * 16:row * 16 + 16, 0:16], (16, 16), strides=(64, 1))
        C = T.match_buffer(B[0:16, row * 16:row * 16 + 16], (16, 16), strides=(64, 1))
        T.tvm_load_matrix_sync(C.data, 16, 16, 16, row, T.tvm_access_ptr(
            T.type_annotation("float32"), W.data, W.elem_offset, 1024, 1), 64, "row_major")
"""
    text = program(function(body, MATRICES))
    assert "B[col, i_0 * 16 + row_1] = A[i_0 * 16 + col, row_1]" in text


def test_pointers_alone_access_nothing():
    pointer = "T.tvm_access_ptr(T.type_annotation('float32'), A.data, 0, 64, 1)"
    found = convert(block(f"{pointer}\n        B[v] = 1.0"), "p.py")
    assert not found.refused and "warning: the pointer is left out" in found.messages
    assert "B[i] = 1.0;" in found.program


SCALED = """instruction scaled(a: i32[8] align(4), inout b: i32[8]) -> c: i32
    cuda "{c} = scaled({a}, {b});"
{
    c = 0;
    for i in 8
        c += a[i];
    for i in 8
        b[i] += a[i] * 2;
}
"""
EXTERNAL = function(
    """
for i_0 in range(4):
    with T.sblock("s"):
        i = T.axis.spatial(4, i_0)
        T.reads(A[i, 0:8], B[i, 0:8])
        T.writes(B[i, 0:8], C[i])
        T.evaluate(T.call_extern("int32", "scaled", A.access_ptr, B.data, T.address_of(C[i])))
""".replace("A.access_ptr", 'T.tvm_access_ptr(T.type_annotation("int32"), A.data, i * 8, 8, 1)'),
    'A: T.Buffer((4, 8), "int32"), B: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")',
)


def test_functions_of_c_are_calls_of_declared_instructions(tirc):
    found = convert(EXTERNAL, "p.py", SCALED)
    assert not found.messages, found.messages
    assert "s: call scaled(A[i_0, 0:8], B[i_0, 0:8], C[i_0]);" in found.program
    assert found.program.startswith(SCALED)
    schedule = "schedule t for f()\n{\n    let [i] = loops(s);\n    bind(i, threadIdx.x);\n}\n"
    done = tirc("-", "--schedule", "t", "--verify", stdin=found.program + schedule)
    assert done.returncode == 0 and "verify  ok" in done.stdout, done.stdout + done.stderr


def test_instructions_stand_in_front_of_programs_that_call_them():
    assert convert(block("B[v] = A[v]"), "p.py", SCALED).program.startswith("kernel")


def test_calls_have_the_operands_of_their_instruction():
    found = convert(EXTERNAL.replace(", B.data", ""), "p.py", SCALED)
    assert "error[P0110]: 'scaled' has 3 operands, not 2" in found.messages
    found = convert(EXTERNAL.replace("B.data", "B[i, 0]"), "p.py", SCALED)
    assert not found.refused and "B[i_0, 0:]" in found.program
    found = convert(EXTERNAL.replace("B.data", "i + 1"), "p.py", SCALED)
    assert "'i + 1' is no pointer to a buffer, as A.data is" in found.messages
    guarded = EXTERNAL.replace("T.reads", "T.where(i_0 < 3)\n            T.reads")
    assert "no condition, init or annotation" in convert(guarded, "p.py", SCALED).messages


# ---- refusals ----------------------------------------------------------------------------------


def axis(call):
    return function(
        f"for i in range(8):\n    with T.block('b'):\n        v = {call}\n        B[v] = A[v]"
    )


STEP = "\ndef s():\n    sch = Schedule(mm)\n    c = sch.get_sblock('C')\n    "
REFUSED = {
    "not Python": ("P0001", "def f(:\n", 1, "invalid syntax"),
    "nothing": ("P0002", "x = 1\n", 1, "the file holds no program and no schedule of TVM"),
    "unknown name": (
        "P0101",
        block("B[v] = A[v] * scale"),
        6,
        "'scale' has no value here that the importer knows",
    ),
    "misspelt buffer": ("P0101", block("B[v] = AA[v]"), 6, "'AA' is not a buffer of this function"),
    "while": (
        "P0102",
        function("while True:\n    B[0] = A[0]"),
        3,
        "tirc has no counterpart of this While",
    ),
    "no store": ("P0102", function("A[0] + 1.0"), 3, "'A[0] + 1.0' stores nothing that tirc sees"),
    "type": (
        "P0103",
        function("B[0] = 1.0", 'B: T.Buffer((4,), "float32x4")'),
        2,
        "tirc has no type for 'float32x4'",
    ),
    "function": ("P0104", block("B[v] = T.atan(A[v])"), 6, "'T.atan' has no counterpart in tirc"),
    "arity": (
        "P0104",
        block("B[v] = T.max(A[v])"),
        6,
        "'max' does not take 1 arguments of this kind",
    ),
    "strides": (
        "P0105",
        function("B[0] = 1.0", 'B: T.Buffer((4,), "float32", strides=[2])'),
        2,
        "'B' has strides",
    ),
    "unknown strides": (
        "P0105",
        function("B[0] = 1.0", 'B: T.Buffer((4, 4), "float32", strides=(m, 1))'),
        2,
        "'B' has strides",
    ),
    "quoted extent": (
        "P0108",
        function("B[0] = 1.0", 'B: T.Buffer(("4 +",), "float32")'),
        2,
        "'4 +' is not a number",
    ),
    "scope": (
        "P0105",
        function('W = T.alloc_buffer((4,), scope="wmma.accumulator")'),
        3,
        "tirc has no memory scope 'wmma.accumulator'",
    ),
    "handle": ("P0105", function("x = 1", "B: T.handle"), 2, "no T.match_buffer says what 'B' is"),
    "thread axis": (
        "P0106",
        function("for i in T.thread_binding(4, thread='warp.x'):\n    B[i] = A[i]"),
        3,
        "tirc has no thread axis 'warp.x'",
    ),
    "steps": (
        "P0106",
        function("for i in range(0, 8, 2):\n    B[i] = A[i]"),
        3,
        "one loop has one variable, and steps of 1",
    ),
    "grid": (
        "P0106",
        function("for i, j in T.grid(8):\n    B[i] = A[j]"),
        3,
        "2 loop variables, and 1 extents",
    ),
    "other axis": ("P0107", axis("T.axis.any(8, i)"), 5, "tirc has no 'T.axis.any(8, i)'"),
    "remap": ("P0107", axis("T.axis.remap('S', [i + 1])"), 5, "'S' of i + 1 is no axis of a loop"),
    "slice": ("P0108", block("B[v] = A[v:v + 4]"), 6, "'A' is used as a slice, not an element"),
    "axes": ("P0108", block("B[v] = A[v, 0]"), 6, "'A' has 1 axes, and 2 subscripts here"),
    "view": (
        "P0109",
        function("W = T.match_buffer(A[0:4], (4,))"),
        3,
        "this names a part of a buffer",
    ),
    "function of C": (
        "P0110",
        function("T.evaluate(T.call_extern('int32', 'f'))"),
        3,
        "nothing says what 'f' computes: declare `instruction f(...)`",
    ),
    "pointer that writes": (
        "P0110",
        block(
            "T.tvm_access_ptr(T.type_annotation('float32'), A.data, 0, 64, 2)\n        B[v] = 1.0"
        ),
        6,
        "the block says that it writes 'A', and nothing says what",
    ),
    "product of fragments": (
        "P0110",
        block("T.tvm_mma_sync(B.data, 0, A.data, 0, A.data, 0, B.data, 0)"),
        6,
        "nothing says what 'T.tvm_mma_sync' reads, writes and computes",
    ),
    "another fragment": (
        "P0110",
        fragment(FILL.replace("i * 4 + j", "j * 4 + i")),
        8,
        "fragment j * 4 + i of 'B' is not the part that T.reads and T.writes name",
    ),
    "fragment without a part": (
        "P0110",
        fragment(FILL, writes=""),
        8,
        "T.reads and T.writes do not say which part of 'B' it accesses",
    ),
    "shape of a fragment": (
        "P0110",
        fragment(FILL.replace("16, 16, 16", "8, 16, 16")),
        8,
        "the part of 'B' in T.reads and T.writes is not 8 x 16",
    ),
    "pointer elsewhere": (
        "P0110",
        fragment(LOAD.replace("j * 16,", "j * 16 + 1,")),
        8,
        "it is not the part of 'A' that T.reads and T.writes name",
    ),
    "rows elsewhere": (
        "P0110",
        fragment(LOAD.replace('64, "row', '32, "row')),
        8,
        "it is not the part of 'A' that T.reads and T.writes name",
    ),
    "layout of a fragment": (
        "P0110",
        fragment(LOAD.replace("row_major", "packed")),
        8,
        "the layout is row_major or col_major",
    ),
    "tensorize": (
        "P0201",
        MATMUL + STEP + "sch.tensorize(c, 'wmma')\n",
        17,
        "its intrinsic is code of TVM; declare the instruction as text, and use tensorize",
    ),
    "misspelt step": (
        "P0201",
        MATMUL + STEP + "sch.computeat(c, c)\n",
        17,
        "'computeat' has no counterpart: it is no step of tirc",
    ),
    "argument": (
        "P0202",
        MATMUL + STEP + "sch.parallel(loops=c)\n",
        17,
        "'parallel' has no argument 'loops'",
    ),
    "buffer index": (
        "P0202",
        MATMUL + STEP + "sch.cache_read(c, 2, 'shared')\n",
        17,
        "the block reads 2 buffers",
    ),
    "handle unknown": (
        "P0101",
        MATMUL + STEP + "sch.parallel(d)\n",
        17,
        "'d' is no result of a step above",
    ),
    "python loop": (
        "P0203",
        MATMUL + STEP + "while 1:\n        sch.parallel(c)\n",
        17,
        "tirc does not run this While of Python",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_have_a_code_a_line_and_a_reason(name):
    code, text, line, message = REFUSED[name]
    found = convert(text, "p.py")
    assert found.refused
    first = found.messages.splitlines()[0]
    assert first.startswith(f"p.py:{line}:") and f"error[{code}]: " in first and message in first
    assert found.messages.count("error[") == 1, found.messages
    assert CODES[code][1] in found.messages


def test_every_code_has_an_example():
    assert {case[0] for case in REFUSED.values()} == set(CODES)


def test_all_statements_are_read_after_a_refusal():
    found = convert(function("B[0] = T.atan(A[0])\nB[1] = A[1]\nB[2] = C[2]"), "p.py")
    assert found.messages.count("error[") == 2


def test_the_manual_shows_what_the_importer_writes():
    text = (ROOT / "docs" / "import_tvm.md").read_text()
    found = convert(text.split("```python\n")[1].split("```")[0])
    assert not found.messages
    assert (
        text.split("```tir rows.tir\n")[1].split("```")[0] == found.program + "\n" + found.schedules
    )
    for code in CODES:
        assert f"| {code} |" in text


# ---- the command -------------------------------------------------------------------------------


def command(*words, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "tirc", "import-tvmscript", *map(str, words)],
        capture_output=True,
        text=True,
        input=stdin,
        env={"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"},
    )


def test_the_command_writes_programs_and_schedules(tmp_path, tirc):
    done = command(TUTORIAL, "-o", tmp_path / "t.tir")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    listed = tirc(tmp_path / "t.tir", "--list")
    kernels = [line for line in listed.stdout.splitlines() if "kernel" in line]
    assert kernels[:2] + [kernels[5]] == [
        "kernel add(A: f32[128], B: f32[128]) -> C: f32[128]",
        "kernel standard(A: f32[128, 128], B: f32[128, 128]) -> C: f32[128, 128]",
        "kernel dynamic<M, N, K>(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N]",
    ]
    done = tirc(
        tmp_path / "t.tir",
        "--schedule",
        "decomposed",
        "--kernel",
        "transformation",
        "--emit",
        "tir",
    )
    assert done.returncode == 0 and "Y_init" in done.stdout, done.stderr
    assert command(TUTORIAL, "-o", tmp_path / "t.sched").returncode == 0
    assert (tmp_path / "t.sched").read_text().startswith("schedule split for transformation()")


def test_the_command_has_the_exit_status_of_tirc(tmp_path):
    assert command(tmp_path / "none.py").returncode == 1
    assert command("-", stdin="x = 1\n").returncode == 1
    assert command("-", "-o", "x.py", stdin=MATMUL).returncode == 2
    assert command("-", "-o", tmp_path / "no" / "x.tir", stdin=MATMUL).returncode == 3


def test_the_program_says_where_the_importer_is(tirc):
    done = tirc("import-tvmscript", "x.py")
    assert done.returncode == 2
    assert "python3 -m tirc import-tvmscript x.py" in done.stderr
