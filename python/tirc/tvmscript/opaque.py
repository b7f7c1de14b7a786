"""Translates calls that TVM does not look into: fragments of tensor cores, pointers, functions of C.

    T.tvm_fill_fragment(B.data, 16, 16, 16, 0, 1.0)   for row, col in T.grid(16, 16):
                                                 =>       B[row, col] = 1.0

    T.call_extern("void", "f", x.data)           =>   call f(x);     with  instruction f(inout x: ...)

What a call of a fragment computes is known, and where is what T.reads and T.writes say. What a
function of C computes is known where an `instruction` of tirc declares it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .expression import called
from .refusal import Refusal
from .view import Views

_POINTERS = {"tvm_access_ptr", "address_of"}
_FRAGMENTS = {"tvm_fill_fragment": 6, "tvm_load_matrix_sync": 8, "tvm_store_matrix_sync": 8}
EXTERNAL = {"call_extern", "call_pure_extern", "call_packed", "tvm_call_packed"}
_WRITES = 2  # the bit of an access mask

Linear = dict[str, int]


@dataclass(frozen=True)
class Instruction:
    """The declaration of an instruction of tirc: which operands it reads and writes."""

    name: str
    ranks: list[int]
    """of the operands: how many axes each has"""
    reads: list[bool]
    writes: list[bool]


@dataclass
class Part:
    """A part of a buffer of two axes or more: its first element and its extents."""

    base: ast.Name
    first: list[ast.expr]
    extents: list[ast.expr]


@dataclass
class Regions:
    """What T.reads and T.writes of a block say, by buffers."""

    reads: dict[str, ast.expr] = field(default_factory=dict)
    writes: dict[str, ast.expr] = field(default_factory=dict)


def instructions(text: str) -> dict[str, Instruction]:
    """The instructions that the text of a `.tir` file declares."""
    found = {}
    for m in re.finditer(
        r"^instruction\s+(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)([^{]*)", text, re.M
    ):
        outputs = m[3].partition("->")[2] if m[3].lstrip().startswith("->") else ""
        outputs = re.split(r"\b(?:lanes|where|cuda)\b", outputs)[0]
        operands = [(o, False) for o in _operands(m[2])] + [(o, True) for o in _operands(outputs)]
        shapes = [re.match(r"[^:]*:\s*\w+\s*\[([^\]]*)\]", o) for o, _ in operands]
        ranks = [s[1].count(",") + 1 if s else 0 for s in shapes]
        reads = [not out for _, out in operands]
        writes = [out or o.startswith("inout ") for o, out in operands]
        found[m[1]] = Instruction(m[1], ranks, reads, writes)
    return found


def _operands(text: str) -> list[str]:
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [p.strip() for p in parts if p.strip()]


def opaque_call(node: ast.stmt) -> ast.Call | None:
    """The call of a statement `f(...)` or `T.evaluate(f(...))`."""
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and called(call) == "evaluate" and len(call.args) == 1:
        call = call.args[0]
    return call if isinstance(call, ast.Call) else None


def is_pointer(call: ast.Call) -> bool:
    return called(call) in _POINTERS


def written_pointer(call: ast.Call, constant: Callable[[ast.expr], object]) -> str:
    """The buffer that a statement `T.tvm_access_ptr(...)` says is written, or nothing."""
    if called(call) != "tvm_access_ptr" or len(call.args) != 5:
        return ""
    mask = constant(call.args[4])
    writes = isinstance(mask, int) and mask & _WRITES
    return _owner(call.args[1]) if writes else ""


def _owner(node: ast.expr) -> str:
    """The name X of X.data."""
    plain = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    return node.value.id if plain and node.attr == "data" else ""  # type: ignore[attr-defined]


class Fragments:
    """Writes out the calls of fragments in one block."""

    def __init__(
        self, regions: Regions, views: Views, constant: Callable[[ast.expr], object]
    ) -> None:
        self.regions, self.views, self.constant = regions, views, constant

    def write_out(self, call: ast.Call, columns: Callable[[ast.Name], int | None]) -> ast.stmt:
        """A loop nest that does what the call does. `columns` is the length of a buffer's rows."""
        self.columns = columns
        count = _FRAGMENTS[called(call)]
        if len(call.args) != count:
            raise Refusal("P0110", call, f"'{called(call)}' has {count} arguments here")
        rows, cols = (self._number(call, n) for n in call.args[1:3])
        stores = called(call) == "tvm_store_matrix_sync"
        fragment = self._fragment(call, rows, cols, self.regions.reads if stores else None)
        row, col = self._names(call)
        inside = self._element(fragment, row, col)
        if count == 6:
            return self._loops(call, row, col, rows, cols, inside, ast.unparse(call.args[5]))
        memory = self._memory(call, rows, cols, self.regions.writes if stores else None)
        turned = self.constant(call.args[7]) == "col_major"
        outside = self._element(memory, *((col, row) if turned else (row, col)))
        to, value = (outside, inside) if stores else (inside, outside)
        return self._loops(call, row, col, rows, cols, to, value)

    def _number(self, call: ast.Call, node: ast.expr) -> int:
        value = self.constant(node)
        if not isinstance(value, int):
            raise Refusal("P0110", node, f"'{called(call)}' has numbers for its shape")
        return value

    def _names(self, call: ast.Call) -> tuple[str, str]:
        used = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}
        for view in self.views.views.values():
            used |= {n.id for e in view.first for n in ast.walk(e) if isinstance(n, ast.Name)}
        fresh = [n for n in ("row", "col", "row_1", "col_1", "row_2", "col_2") if n not in used]
        return fresh[0], fresh[1]

    def _element(self, part: Part, row: str, col: str) -> str:
        at = [ast.unparse(e) for e in part.first]
        at[-2] = row if at[-2] == "0" else f"{at[-2]} + {row}"
        at[-1] = col if at[-1] == "0" else f"{at[-1]} + {col}"
        return f"{part.base.id}[{', '.join(at)}]"

    def _loops(
        self, call: ast.Call, row: str, col: str, rows: int, cols: int, to: str, value: str
    ) -> ast.stmt:
        text = f"for {row}, {col} in T.grid({rows}, {cols}):\n    {to} = {value}"
        (loop,) = ast.parse(text).body
        for n in ast.walk(loop):
            ast.copy_location(n, call)
        return loop

    # ---- where the operands lie --------------------------------------------------------------

    def _part(self, call: ast.Call, name: str, declared: dict[str, ast.expr]) -> Part:
        view = self.views.views.get(name)
        if view and isinstance(view.base, ast.Name):
            return Part(view.base, view.first, view.extents)
        region = declared.get(name)
        if not isinstance(region, ast.Subscript) or not isinstance(region.value, ast.Name):
            raise Refusal(
                "P0110", call, f"T.reads and T.writes do not say which part of '{name}' it accesses"
            )
        first, extents = self.views.box(region)
        return Part(region.value, first, extents)

    def _checked(self, call: ast.Call, part: Part, rows: int, cols: int) -> Part:
        extents = [self.constant(e) for e in part.extents]
        if len(extents) < 2 or extents[-2:] != [rows, cols] or any(e != 1 for e in extents[:-2]):
            raise Refusal(
                "P0110",
                call,
                f"the part of '{part.base.id}' in T.reads and T.writes is not {rows} x {cols}",
            )
        return part

    def _fragment(
        self, call: ast.Call, rows: int, cols: int, declared: dict[str, ast.expr] | None
    ) -> Part:
        """The tile of a fragment: fragments are numbered row by row."""
        name = _owner(call.args[0])
        part = self._part(call, name, self.regions.writes if declared is None else declared)
        part = self._checked(call, part, rows, cols)
        length = self.columns(part.base)
        number = self._linear(call.args[4])
        above = _scaled(self._linear(part.first[-2]), (length or 0) // cols, rows)
        place = _sum(above, _scaled(self._linear(part.first[-1]), 1, cols))
        if len(part.first) != 2 or not length or length % cols or number is None or number != place:
            raise Refusal(
                "P0110",
                call,
                f"fragment {ast.unparse(call.args[4])} of '{part.base.id}' is not the part that "
                "T.reads and T.writes name: fragments are tiles, numbered row by row",
            )
        return part

    def _memory(
        self, call: ast.Call, rows: int, cols: int, declared: dict[str, ast.expr] | None
    ) -> Part:
        """The part behind a pointer, whose rows lie as far apart as those of the buffer."""
        pointer, stride, layout = call.args[5], self.constant(call.args[6]), call.args[7]
        turned = self.constant(layout) == "col_major"
        if not turned and self.constant(layout) != "row_major":
            raise Refusal("P0110", layout, "the layout is row_major or col_major")
        if not isinstance(pointer, ast.Call) or called(pointer) != "tvm_access_ptr":
            raise Refusal("P0110", pointer, "the pointer is a T.tvm_access_ptr")
        if len(pointer.args) != 5:
            raise Refusal("P0110", pointer, "T.tvm_access_ptr has 5 arguments here")
        name, offset = _owner(pointer.args[1]), pointer.args[2]
        part = self._part(call, name, self.regions.reads if declared is None else declared)
        part = self._checked(call, part, *((cols, rows) if turned else (rows, cols)))
        length = self.columns(part.base)
        same = isinstance(offset, ast.Attribute) and offset.attr == "elem_offset"
        if not same or not isinstance(offset.value, ast.Name) or offset.value.id != name:  # type: ignore[attr-defined]
            first = _scaled(self._linear(part.first[-2]), length or 0, 1)
            begins = _sum(first, self._linear(part.first[-1]))
            same = begins is not None and self._linear(offset) == begins
        if len(part.first) != 2 or length is None or stride != length or not same:
            raise Refusal(
                "P0110",
                pointer,
                f"it is not the part of '{part.base.id}' that T.reads and T.writes name",
            )
        return part

    def _linear(self, node: ast.expr) -> Linear | None:
        """A sum of names times numbers: name to number, and "" to the rest; None for others."""
        number = self.constant(node)
        if isinstance(number, int):
            return {"": number} if number else {}
        if isinstance(node, ast.Name):
            return {node.id: 1}
        if not isinstance(node, ast.BinOp):
            return None
        a, b = self._linear(node.left), self._linear(node.right)
        if a is None or b is None:
            return None
        if isinstance(node.op, ast.Add):
            return _sum(a, b)
        if isinstance(node.op, ast.Sub):
            return _sum(a, _scaled(b, -1, 1))
        for one, other in ((a, b), (b, a)):
            if isinstance(node.op, ast.Mult) and set(one) <= {""}:
                return _scaled(other, one.get("", 0), 1)
        return None


def _scaled(terms: Linear | None, by: int, over: int) -> Linear | None:
    """Times `by`, and divided by `over`; None if that leaves a rest."""
    if terms is None or any(n % over for n in terms.values()):
        return None
    return {k: n // over * by for k, n in terms.items() if n // over * by}


def _sum(a: Linear | None, b: Linear | None) -> Linear | None:
    if a is None or b is None:
        return None
    total = {k: a.get(k, 0) + b.get(k, 0) for k in {*a, *b}}
    return {k: n for k, n in total.items() if n}


def is_fragment(call: ast.Call) -> bool:
    return called(call) in _FRAGMENTS


def missing(call: ast.Call) -> str:
    """Why a call cannot be translated, in words."""
    name = called(call)
    if name in EXTERNAL:
        function = next((a.value for a in call.args if _is_name(a)), "f")  # type: ignore[attr-defined]
        return (
            f"nothing says what '{function}' computes: declare `instruction {function}(...)` with "
            "its operands and its body in a .tir file, and give the file with --instructions"
        )
    return f"nothing says what '{ast.unparse(call.func)}' reads, writes and computes"


def _is_name(node: ast.expr) -> bool:
    """A string that can name a function: not the type that it returns."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and value not in ("void", "handle") and not _is_type(value)


def _is_type(word: str) -> bool:
    return re.fullmatch(r"(?:u?int|b?float)\d+|bool|", word) is not None
