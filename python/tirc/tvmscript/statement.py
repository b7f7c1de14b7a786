"""Translates statements of TVMScript: loops, conditions, blocks, stores."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from .expression import Access, Buffer, Expressions, Refused, Scope, called, element
from .header import Axis, Header, Item, Loop, runs_all
from .names import Names, legal
from .opaque import (
    EXTERNAL,
    Fragments,
    Instruction,
    is_fragment,
    is_pointer,
    missing,
    opaque_call,
    written_pointer,
)
from .refusal import Refusal, Report, targets
from .value import NARROW, Value, beside, cast, integer
from .view import Views

_KINDS = {
    "range": "",
    "serial": "",
    "grid": "",
    "parallel": " parallel",
    "vectorized": " vectorize",
    "unroll": " unroll",
    "unrolled": " unroll",
    "thread_binding": " bind ",
}
_ALLOCATE = {"alloc_buffer", "sblock_alloc_buffer", "block_alloc_buffer"}
_BLOCKS = {"block", "sblock"}
_SCOPES = {
    "global": "",
    "shared": " in shared",
    "shared.dyn": " in shared",
    "warp": " in warp",
    "local": " in local",
}
_AXES = [f"{kind}.{axis}" for kind in ("blockIdx", "threadIdx") for axis in "xyz"]
# The iterations of virtual threads run side by side in one thread.
_VIRTUAL_AXES = ["vthread", *(f"vthread.{axis}" for axis in "xyz")]
_AXIS_KINDS = {"spatial": "S", "S": "S", "reduce": "R", "R": "R", "opaque": "O", "scan": "O"}
_IN_ORDER = " @in_order"
_IGNORED = {"reads", "writes", "func_attr"}
_UPDATES = {
    ast.Add: "+=",
    ast.Sub: "-=",
    ast.Mult: "*=",
    ast.BitAnd: "&=",
    ast.BitOr: "|=",
    ast.BitXor: "^=",
}
_UPDATE_CALLS = {"max": "max=", "min": "min=", "And": "&&=", "Or": "||="}
_COMMUTE = {"+=", "*=", "&=", "|=", "^=", "max=", "min="}


@dataclass
class BlockInfo:
    """A block for schedules: its name in tirc, and the buffers it reads, in the order of TVM."""

    name: str
    reads: list[str]
    writes: list[str]
    depth: int = 0
    """the loops around it"""
    outside: int = 0
    """those of them around the block of TVM that holds it"""
    holds: list[BlockInfo] = field(default_factory=list)
    """the blocks in it, if it is written out"""
    loops: list[str] = field(default_factory=list)
    """the names of the loops around it"""


@dataclass
class Store:
    """A store as text: `element op value`."""

    element: str
    op: str
    value: str
    subscripts: list[str]
    type: str = ""

    def text(self) -> str:
        return f"{self.element} {self.op} {self.value};"


def braces(head: str, items: list[Item]) -> Item:
    """`head` and its statements: in braces, unless it is one."""
    if len(items) == 1 and items[0][0] == "{":
        return [f"{head} {{", *items[0][1:]]
    if len(items) == 1 and _one_nest(head, items[0][0]):
        return [f"{head}, {items[0][0][4:]}", *items[0][1:]]
    if len(items) == 1:
        return [head, *("    " + line for line in items[0])]
    return [f"{head} {{", *("    " + line for item in items for line in item), "}"]


def _one_nest(outer: str, inner: str) -> bool:
    """Both are plain loops, and fit on one line."""
    plain = not any(word in outer + inner for word in (" bind ", "@"))
    return outer.startswith("for ") and inner.startswith("for ") and plain and len(inner) < 60


def keyword(node: ast.Call, name: str, position: int | None = None) -> ast.expr | None:
    if position is not None and len(node.args) > position:
        return node.args[position]
    return next((k.value for k in node.keywords if k.arg == name), None)


class Statements(Expressions):
    """Translates the statements of one function."""

    def __init__(self, scope: Scope, report: Report) -> None:
        super().__init__(scope)
        self.report = report
        self.instructions: dict[str, Instruction] = {}
        """those that the user declares"""
        self.called: set[str] = set()
        """those of them that the function calls"""
        self.names = Names()
        self.block_names = Names()
        self.blocks: dict[str, BlockInfo] = {}
        self.loops: list[Loop] = []
        self.conditions = 0
        self.around: list[tuple[str, Axis]] = []
        """the axes of the blocks around, which are written out"""
        self.stores: list[Store] = []
        self.temporaries: list[Buffer] = []
        self.outside = 0
        """the loops around the block that holds the statements"""

    # ---- sequences ---------------------------------------------------------------------------

    def sequence(self, body: list[ast.stmt]) -> list[Item]:
        items: list[Item] = []
        for statement in body:
            try:
                items += self.statement(statement)
            except Refusal as refusal:
                self.refuse(statement, refusal)
        return items

    def refuse(self, statement: ast.AST, refusal: Refusal) -> None:
        """Reports a refusal; the names that the statement defines have no meaning."""
        self.report.refuse(refusal)
        for name in targets(statement):
            self.scope.define(name, Refused())

    def statement(self, node: ast.stmt) -> list[Item]:
        name = "_" + type(node).__name__.lower() + "_statement"
        method: Callable[[ast.stmt], list[Item]] | None = getattr(self, name, None)
        if method is None:
            raise Refusal("P0102", node, f"tirc has no counterpart of this {type(node).__name__}")
        return method(node)

    def _pass_statement(self, node: ast.Pass) -> list[Item]:
        return []

    def _return_statement(self, node: ast.Return) -> list[Item]:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            raise Refusal("P0102", node, "a kernel returns nothing")
        return []

    def _expr_statement(self, node: ast.Expr) -> list[Item]:
        call = node.value
        if isinstance(call, ast.Constant):
            return []
        if isinstance(call, ast.Call) and called(call) in _IGNORED:
            return []
        if isinstance(call, ast.Call) and called(call) == "evaluate":
            if isinstance(self.constant(call.args[0]), int):
                return []
        if isinstance(call, ast.Call) and called(call) == "buffer_store":
            return self._buffer_store(call)
        inner = opaque_call(node)
        if inner and is_pointer(inner) and not written_pointer(inner, self.constant):
            self._drop_pointer(node)
            return []
        if inner:
            raise Refusal("P0110", inner, missing(inner))
        raise Refusal("P0102", node, f"'{ast.unparse(call)[:80]}' stores nothing that tirc sees")

    def _drop_pointer(self, node: ast.stmt) -> None:
        self.report.warn(node, "the pointer is left out: nothing uses it, so nothing is accessed")

    def _if_statement(self, node: ast.If) -> list[Item]:
        condition = self.value(node.test)
        self.conditions += 1
        then, other = self.sequence(node.body), self.sequence(node.orelse)
        self.conditions -= 1
        if not other:
            return [braces(f"if {condition.text}", then)] if then else []
        head = [f"if {condition.text} {{", *("    " + line for item in then for line in item)]
        return [[*head, "} else {", *("    " + line for item in other for line in item), "}"]]

    # ---- loops -------------------------------------------------------------------------------

    def _for_statement(self, node: ast.For) -> list[Item]:
        kind, call = self._loop_kind(node)
        targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
        ranges = self._ranges(call, len(targets))
        suffix = kind + self._annotations(keyword(call, "annotations"))
        self.scope.frames.append({})
        loops = [self._open(t, *r) for t, r in zip(targets, ranges)]
        head = "for " + ", ".join(f"{loop.name} in {loop.range()}{suffix}" for loop in loops)
        items = self.sequence(node.body)
        for loop in loops:
            self.loops.pop()
            self.names.release(loop.name)
        self.scope.frames.pop()
        return [braces(head, items)] if items else []

    def _loop_kind(self, node: ast.For) -> tuple[str, ast.Call]:
        call = node.iter
        if not isinstance(call, ast.Call) or called(call) not in _KINDS:
            raise Refusal("P0106", call, f"tirc has no loop over '{ast.unparse(call)[:80]}'")
        kind = _KINDS[called(call)]
        if kind == " bind ":
            axis = self.constant(keyword(call, "thread", 2) or ast.Constant(None))
            if axis in _VIRTUAL_AXES:
                return " unroll", call
            if axis not in _AXES:
                raise Refusal("P0106", call, f"tirc has no thread axis {axis!r}")
            kind += str(axis)
        return kind, call

    def _ranges(self, call: ast.Call, count: int) -> list[tuple[Value, Value]]:
        if called(call) == "grid":
            if len(call.args) != count:
                raise Refusal(
                    "P0106", call, f"{count} loop variables, and {len(call.args)} extents"
                )
            return [self.interval(a) for a in call.args]
        if count != 1 or keyword(call, "step", 2 if called(call) == "range" else None):
            raise Refusal("P0106", call, "one loop has one variable, and steps of 1")
        start, stop = keyword(call, "start"), keyword(call, "stop")
        bounds = [self.value(a) for a in call.args[:2]]
        if stop is not None:
            bounds.append(self.value(stop))
        if start is not None:
            bounds.insert(0, self.value(start))
        if not bounds:
            raise Refusal("P0106", call, "the loop has no extent")
        return [(bounds[0], bounds[1]) if len(bounds) > 1 else (integer(0), bounds[0])]

    def interval(self, node: ast.expr) -> tuple[Value, Value]:
        if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == 2:
            low, end = self.value(node.elts[0]), self.value(node.elts[1])
            return low, end
        return integer(0), self.value(node)

    def _open(self, target: ast.expr, low: Value, end: Value) -> Loop:
        if not isinstance(target, ast.Name):
            raise Refusal("P0106", target, "a loop variable is a name")
        loop = Loop(self.names.fresh(target.id), low, end)
        self.loops.append(loop)
        self.scope.define(target.id, loop.variable())
        return loop

    def _annotations(self, node: ast.expr | None) -> str:
        if not isinstance(node, ast.Dict):
            return ""
        text = ""
        for key, value in zip(node.keys, node.values):
            shown = self.annotation_value(value)
            if key is None or shown is None:
                self.report.warn(value, "the annotation is left out: tirc has no such value")
            else:
                text += f" @{legal(str(self.constant(key)))}({shown})"
        return text

    def annotation_value(self, node: ast.expr) -> str | None:
        """A number, a string or a list of these; None for other values."""
        value = self.constant(node)
        if isinstance(node, ast.Call) and len(node.args) == 1:
            value = self.constant(node.args[0])
        return annotation_text(value)

    # ---- buffers and values ------------------------------------------------------------------

    def _assign_statement(self, node: ast.Assign) -> list[Item]:
        target = node.targets[0]
        if isinstance(target, ast.Subscript):
            return self._store(target, node.value)
        call = node.value
        if isinstance(call, ast.Call) and isinstance(target, ast.Name):
            if called(call) in _ALLOCATE:
                return [self._allocate(target.id, call)]
            if called(call) == "match_buffer":
                raise Refusal("P0109", call, "this names a part of a buffer")
        if isinstance(target, ast.Name):
            return self._let(target, call)
        raise Refusal("P0102", node, f"'{ast.unparse(node)[:80]}' has no counterpart in tirc")

    def _annassign_statement(self, node: ast.AnnAssign) -> list[Item]:
        if node.value is None or not isinstance(node.target, ast.Name):
            raise Refusal("P0102", node, f"'{ast.unparse(node)[:80]}' has no counterpart in tirc")
        return self._let(node.target, node.value)

    def _let(self, target: ast.Name, node: ast.expr) -> list[Item]:
        value = self.value(node)
        if isinstance(self.scope.frames[-1].get(target.id), Value):
            raise Refusal("P0102", node, f"'{target.id}' has a value already; values do not change")
        name = self.names.fresh(target.id)
        kind = f": {value.type}" if value.literal and value.type != "index" else ""
        self.scope.define(target.id, Value(name, value.type, low=value.low, high=value.high))
        return [[f"let {name}{kind} = {value.text};"]]

    def _allocate(self, name: str, call: ast.Call) -> Item:
        buffer = self.make_buffer(name, call, 0)
        self.scope.define(name, buffer)
        self.temporaries.append(buffer)
        shape = ", ".join(v.text for v in buffer.shape)
        return [f"temp {buffer.name}: {buffer.type}[{shape}]{_SCOPES[buffer.scope]};"]

    def make_buffer(self, name: str, call: ast.Call, position: int) -> Buffer:
        """The buffer of a call whose argument number `position` is the shape."""
        shape = keyword(call, "shape", position)
        dtype = keyword(call, "dtype", position + 1)
        scope_node = keyword(call, "scope")
        scope = "global" if scope_node is None else str(self.constant(scope_node))
        if scope not in _SCOPES:
            raise Refusal("P0105", call, f"tirc has no memory scope {scope!r}")
        kind = self.type_of(dtype) if dtype is not None else "f32"
        if shape is None:
            raise Refusal("P0105", call, f"'{name}' has no shape")
        extents = self.shape(shape)
        for unsupported in ("strides", "elem_offset", "axis_separators", "layout"):
            given = keyword(call, unsupported)
            if given is not None and not self._is_dense(given, extents):
                raise Refusal("P0105", given, f"'{name}' has {unsupported}")
        return Buffer(self.names.fresh(name), kind, extents, scope=scope)

    def _is_dense(self, given: ast.expr, extents: list[Value]) -> bool:
        """None, nothing, 0, or the strides of a dense buffer."""
        if isinstance(given, ast.Constant) and given.value is None:
            return True
        inner = [v.text for v in extents[1:]]
        dense = None
        if all(map(str.isdigit, inner)):
            dense = [math.prod(map(int, inner[i:])) for i in range(len(extents))]
        return self.constant(given) in ([], 0, dense or [])

    def shape(self, node: ast.expr) -> list[Value]:
        known = self.constant(node)
        if isinstance(known, list):
            return [self.python(node, n) for n in known]
        items = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node]
        return [self.value(item) for item in items]

    # ---- stores ------------------------------------------------------------------------------

    def _buffer_store(self, call: ast.Call) -> list[Item]:
        indices = call.args[2]
        subscript = ast.Subscript(
            call.args[0], ast.Tuple(list(getattr(indices, "elts", [indices])))
        )
        return self._store(ast.copy_location(subscript, call), call.args[1])

    def _augassign_statement(self, node: ast.AugAssign) -> list[Item]:
        if not isinstance(node.target, ast.Subscript):
            raise Refusal("P0102", node, "only elements of buffers are updated")
        value = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
        return self._store(node.target, ast.fix_missing_locations(value))

    def _store(self, target: ast.Subscript, node: ast.expr) -> list[Item]:
        buffer = self.buffer(target.value)
        at = [] if self._no_subscript(target) else self.subscripts(target, buffer)
        place = element(buffer, at)
        store = self._update(buffer, place, node) or (buffer, place, "=", self.value(node))
        op, value = store[2], store[3]
        self.scope.accesses.append(Access(buffer, True, self._covers(buffer, at)))
        found = Store(place, op, self._stored(value, buffer), [v.text for v in at], buffer.type)
        self.stores.append(found)
        return [[found.text()]]

    def _no_subscript(self, target: ast.Subscript) -> bool:
        return isinstance(target.slice, ast.Tuple) and not target.slice.elts

    def _covers(self, buffer: Buffer, at: list[Value]) -> bool:
        """The store overwrites every element."""
        return not self.conditions and all(
            v.covers == n.text or v.low == 0 and n.high is not None and v.high == n.high - 1
            for v, n in zip(at, buffer.shape)
        )

    def _stored(self, value: Value, buffer: Buffer) -> str:
        if value.type in (buffer.type, "index") or value.literal == "bare":
            return value.text
        return cast(beside(value, buffer.type), buffer.type, force=True).text

    def _update(
        self, buffer: Buffer, place: str, node: ast.expr
    ) -> tuple[Buffer, str, str, Value] | None:
        """`C[i] = C[i] + e` as `C[i] += e`."""
        if isinstance(node, ast.BinOp) and type(node.op) in _UPDATES:
            op, operands = _UPDATES[type(node.op)], [node.left, node.right]
        elif isinstance(node, ast.Call) and called(node) in _UPDATE_CALLS and len(node.args) == 2:
            op, operands = _UPDATE_CALLS[called(node)], node.args
        else:
            return None
        mark = len(self.scope.accesses)
        first, second = (self.value(n) for n in operands)
        if first.text != place and second.text == place and op in _COMMUTE:
            first, second = second, first
        if first.text == place and second.type in (buffer.type, "index") or second.literal:
            if first.text == place:
                return buffer, place, op, beside(second, buffer.type)
        del self.scope.accesses[mark:]
        return None

    # ---- blocks ------------------------------------------------------------------------------

    def _with_statement(self, node: ast.With) -> list[Item]:
        call = node.items[0].context_expr
        if not isinstance(call, ast.Call) or called(call) not in _BLOCKS or len(node.items) > 1:
            raise Refusal("P0102", node, f"'with {ast.unparse(call)[:80]}' has no counterpart")
        name = self.constant(call.args[0]) if call.args else None
        self.scope.frames.append({})
        try:
            header = self._header(node)
            nested = any(_is_block(n) for s in header.body for n in ast.walk(s))
            if nested:
                return self._written_out(node, str(name or "root"), header)
            return self._block(node, str(name or "block"), header)
        finally:
            self.scope.frames.pop()

    def _header(self, node: ast.With) -> Header:
        header, views = Header(), Views()
        for statement in node.body:
            try:
                if views.takes(statement):
                    continue
                call = opaque_call(statement)
                if call and is_fragment(call):
                    fragments = Fragments(header.regions, views, self.constant)
                    statement = fragments.write_out(call, self._row_length)
                statement = views.visit(statement)
                if call and is_pointer(call):
                    header.pointers.append(statement)
                elif not self._declaration(statement, header):
                    header.body.append(statement)
            except Refusal as refusal:
                self.refuse(statement, refusal)
        self._check_pointers(header)
        return header

    def _row_length(self, name: ast.Name) -> int | None:
        shape = self.buffer(name).shape
        return shape[-1].low if shape and shape[-1].low == shape[-1].high else None

    def _check_pointers(self, header: Header) -> None:
        """A pointer alone accesses nothing. One for writing says that the block writes a buffer."""
        stored = {
            n.value.id
            for s in header.body
            for n in ast.walk(s)
            if isinstance(n, ast.Subscript)
            and isinstance(n.ctx, ast.Store)
            and isinstance(n.value, ast.Name)
        }
        for statement in header.pointers:
            call = opaque_call(statement)
            name = written_pointer(call, self.constant) if call else ""
            if call and name and name not in stored:
                message = f"the block says that it writes '{name}', and nothing says what"
                self.report.refuse(Refusal("P0110", call, message))
            else:
                self._drop_pointer(statement)

    def _declaration(self, node: ast.stmt, header: Header) -> bool:
        """Takes an axis, a condition, an annotation, a temporary or the init of a block."""
        if isinstance(node, ast.With) and called(node.items[0].context_expr) == "init":
            header.init = node.body
            return True
        call = getattr(node, "value", None)
        if not isinstance(call, ast.Call):
            return False
        name = called(call)
        if isinstance(node, ast.Assign) and _is_axis(call):
            self._axes(node, call, header)
        elif isinstance(node, ast.Assign) and name in _ALLOCATE:
            header.temporaries += self.statement(node)
        elif name == "where":
            frame = self.scope.frames.pop()
            mark = len(self.scope.accesses)
            header.where = self.value(call.args[0]).text
            header.reads_temp = any(not a.buffer.parameter for a in self.scope.accesses[mark:])
            header.bounds = self._bounds(call.args[0])
            self.scope.frames.append(frame)
        elif name in ("block_attr", "sblock_attr"):
            header.annotations += self._annotations(call.args[0])
        elif name == "reads":
            header.reads = self._regions(call)
            header.regions.reads.update(_parts(call))
        elif name == "writes":
            header.regions.writes.update(_parts(call))
        else:
            return False
        return True

    def _bounds(self, node: ast.expr) -> list[tuple[str, str]] | None:
        parts = node.values if isinstance(node, ast.BoolOp) else [node]
        if isinstance(node, ast.BoolOp) and not isinstance(node.op, ast.And):
            return None
        bounds = []
        for part in parts:
            if not isinstance(part, ast.Compare) or not isinstance(part.ops[0], ast.Lt):
                return None
            bounds.append((self.value(part.left).text, self.value(part.comparators[0]).text))
        return bounds

    def _regions(self, call: ast.Call) -> list[str]:
        """The names of the buffers of T.reads."""
        items = [i for a in call.args for i in (a.elts if isinstance(a, ast.List) else [a])]
        names = []
        for item in items:
            node = item.value if isinstance(item, ast.Subscript) else item
            names.append(self.buffer(node).name)
        return names

    def _axes(self, node: ast.Assign, call: ast.Call, header: Header) -> None:
        target = node.targets[0]
        targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        made = self._remap(call) if called(call) == "remap" else [self._axis(call)]
        if len(targets) != len(made):
            raise Refusal("P0107", node, f"{len(targets)} names for {len(made)} axes")
        for name, (kind, low, end, binding) in zip(targets, made):
            if not isinstance(name, ast.Name):
                raise Refusal("P0107", name, "an axis has a name")
            loop = Loop(self._axis_name(name.id, low, end, binding, header), low, end)
            header.axes.append((name.id, Axis(loop, kind == "R", binding)))
            if kind == "O" and _IN_ORDER not in header.annotations:
                header.annotations += _IN_ORDER

    def _axis_name(
        self, wanted: str, low: Value, end: Value, binding: Value, header: Header
    ) -> str:
        """The name of the loop if the axis is that loop."""
        taken = {axis.loop.name for _, axis in header.axes}
        for loop in self.loops:
            same = (loop.name, loop.low.text, loop.end.text)
            if same == (binding.text, low.text, end.text) and loop.name not in taken:
                return loop.name
        loops = {loop.name for loop in self.loops}
        name = Names((self.names.taken - loops) | taken).fresh(wanted)
        return name

    def _axis(self, call: ast.Call) -> tuple[str, Value, Value, Value]:
        kind = _AXIS_KINDS.get(called(call))
        if kind is None or len(call.args) < 2:
            raise Refusal("P0107", call, f"tirc has no '{ast.unparse(call)[:80]}'")
        low, end = self.interval(call.args[0])
        return kind, low, end, self.value(call.args[1])

    def _remap(self, call: ast.Call) -> list[tuple[str, Value, Value, Value]]:
        kinds, bindings = self.constant(call.args[0]), call.args[1]
        if not isinstance(kinds, str) or not isinstance(bindings, (ast.List, ast.Tuple)):
            raise Refusal("P0107", call, 'T.axis.remap takes a string and a list: "SR", [i, k]')
        axes = []
        for kind, binding in zip(kinds, bindings.elts):
            value = self.value(binding)
            loop = next((one for one in reversed(self.loops) if one.name == value.text), None)
            if kind not in "SR" or loop is None:
                raise Refusal("P0107", binding, f"'{kind}' of {value.text} is no axis of a loop")
            axes.append((kind, loop.low, loop.end, value))
        return axes

    def _written_out(self, node: ast.With, name: str, header: Header) -> list[Item]:
        """A block around blocks, which schedules name by these."""
        before, depth, outside = set(self.blocks), len(self.loops), self.outside
        if header.axes or depth:
            self.outside = depth
        items = self._flat(node, name, header)
        self.outside = outside
        if header.axes or depth:
            inner = [b for n, b in self.blocks.items() if n not in before and not b.holds]
            if inner:
                reads = header.reads or _unique(r for b in inner for r in b.reads)
                writes = _unique(w for b in inner for w in b.writes)
                self.blocks[name] = BlockInfo(name, reads, writes, depth, outside, inner)
        return items

    def _flat(self, node: ast.With, name: str, header: Header) -> list[Item]:
        """A block around blocks: its axes are replaced by what they are bound to."""
        if _IN_ORDER in header.annotations:
            raise Refusal(
                "P0107", node, "the iterations of blocks in a block have no order to keep"
            )
        if header.axes:
            self.report.warn(
                node, f"block '{name}' holds blocks, and is written out: its axes stand in these"
            )
        for python, axis in header.axes:
            self.scope.define(python, self._bound(axis))
        outer, partial = self.around, not runs_all(header)
        self.around = outer + header.axes
        self.conditions += partial
        items = self._flat_items(header)
        self.conditions -= partial
        self.around = outer
        return items

    def _flat_items(self, header: Header) -> list[Item]:
        items = header.temporaries
        if header.init:
            first = [f"{a.binding.text} == {a.loop.low.text}" for _, a in header.axes if a.reduce]
            init = self.sequence(header.init)
            items += [braces(f"if {' && '.join(first)}", init)] if first else init
        items += self.sequence(header.body)
        return [braces(f"if {header.where}", items)] if header.where else items

    def _bound(self, axis: Axis) -> Value:
        variable = axis.loop.variable()
        text, rank = axis.binding.text, axis.binding.rank
        return Value(text, "index", rank, variable.low, variable.high)

    def _inherit(self, header: Header) -> None:
        """Gives a block the axes of blocks around it that its body uses."""
        body = [*(header.init or []), *header.body]
        used = set(_names_in(body))
        used -= {python for python, _ in header.axes}
        place = 0
        for python, axis in self.around:
            if python in used and not axis.binding.text.isdigit():
                low, end = axis.loop.low, axis.loop.end
                name = self._axis_name(python, low, end, axis.binding, header)
                inherited = Axis(Loop(name, low, end), axis.reduce, axis.binding)
                header.axes.insert(place, (python, inherited))
                place += 1

    def _take_loops(self, header: Header) -> None:
        """Gives an opaque block, which has no axes, the loops that its body uses."""
        if header.axes:
            return
        for python in _names_in(header.body):
            value = self.scope.find(python)
            for loop in self.loops:
                if isinstance(value, Value) and value.text == loop.name:
                    header.axes.append((python, Axis(loop, False, loop.variable())))

    def _external(self, name: str, call: ast.Call, header: Header) -> list[Item]:
        """A block of one call of a declared instruction: `name: call f(A[i, 0:16], B[i:]);`."""
        texts = [self.constant(a) for a in call.args]
        at = next((i for i, t in enumerate(texts) if str(t) in self.instructions), None)
        if at is None:
            raise Refusal("P0110", call, missing(call))
        declared = self.instructions[str(texts[at])]
        given = call.args[at + 1 :]
        if len(given) != len(declared.ranks):
            n = len(declared.ranks)
            raise Refusal("P0110", call, f"'{declared.name}' has {n} operands, not {len(given)}")
        if header.where or header.annotations or header.init:
            raise Refusal("P0110", call, "the block of a call has no condition, init or annotation")
        for python, axis in header.axes:
            self.scope.define(python, self._bound(axis))
        start, operands = len(self.scope.accesses), []
        for node, rank, reads, writes in zip(
            given, declared.ranks, declared.reads, declared.writes
        ):
            buffer, text, whole = self._operand(node, rank, header, writes)
            operands.append(text)
            self.scope.accesses += [Access(buffer, False)] * reads
            self.scope.accesses += [Access(buffer, True, whole)] * writes
        info = self._info(name, header, self.scope.accesses[start:], False)
        self.called.add(declared.name)
        text = f"{info.name}: call {declared.name}({', '.join(operands)});"
        return [*header.temporaries, [text]]

    def _operand(
        self, node: ast.expr, rank: int, header: Header, writes: bool
    ) -> tuple[Buffer, str, bool]:
        """A pointer as the part of its buffer that T.reads or T.writes name."""
        pointer = node.args[1] if isinstance(node, ast.Call) and len(node.args) > 1 else node
        if isinstance(node, ast.Call) and called(node) == "address_of" and len(node.args) == 1:
            pointer = node.args[0]
        if isinstance(pointer, ast.Subscript):
            buffer = self.buffer(pointer.value)
            at = [v.text for v in self.subscripts(pointer, buffer)]
            sliced = [*at[: len(at) - rank], *(f"{t}:" for t in at[len(at) - rank :])]
            return buffer, f"{buffer.name}[{', '.join(sliced)}]", False
        if not isinstance(pointer, ast.Attribute) or pointer.attr != "data":
            message = f"'{ast.unparse(node)[:80]}' is no pointer to a buffer, as A.data is"
            raise Refusal("P0110", node, message)
        buffer = self.buffer(pointer.value)
        regions = header.regions.writes if writes else header.regions.reads
        region = regions.get(getattr(pointer.value, "id", ""))
        if not isinstance(region, ast.Subscript):
            return buffer, buffer.name, not self.conditions
        items = region.slice.elts if isinstance(region.slice, ast.Tuple) else [region.slice]
        if len(items) != len(buffer.shape):
            raise Refusal("P0108", region, f"'{buffer.name}' has {len(buffer.shape)} axes")
        bounds = [self._slice(item) for item in items]
        whole = all(b == f"0:{n.text}" for b, n in zip(bounds, buffer.shape))
        text = buffer.name if whole else f"{buffer.name}[{', '.join(bounds)}]"
        return buffer, text, whole and not self.conditions

    def _slice(self, item: ast.expr) -> str:
        if not isinstance(item, ast.Slice):
            return self.value(item).text
        if item.lower is None or item.upper is None or item.step:
            raise Refusal("P0108", item, "a part has a beginning and an end: a : a + 16")
        return f"{self.value(item.lower).text}:{self.value(item.upper).text}"

    def _block(self, node: ast.With, name: str, header: Header) -> list[Item]:
        call = opaque_call(header.body[0]) if len(header.body) == 1 else None
        if call and called(call) in EXTERNAL:
            return self._external(name, call, header)
        self._inherit(header)
        self._take_loops(header)
        header.body = _without_last_value(header.body)
        for python, axis in header.axes:
            self.scope.define(python, axis.loop.variable())
        has_init = header.init is not None
        if not any(axis.reduce for _, axis in header.axes):  # it runs in each instance
            header.body, header.init = [*(header.init or []), *header.body], None
        outer, loops = self.stores, self.loops
        axis_names = {axis.loop.name for _, axis in header.axes} - self.names.taken
        self.names.taken |= axis_names
        self.stores, self.loops = [], []
        start, partial = len(self.scope.accesses), not runs_all(header)
        self.conditions += partial
        init = self.sequence(header.init or [])
        n_init = len(self.stores)
        body = self.sequence(header.body)
        self.conditions -= partial
        if header.body and has_init and not header.init:
            body = _started(self.stores, body)
        stores, self.stores, self.loops = self.stores, outer, loops
        self.names.taken -= axis_names
        info = self._info(name, header, self.scope.accesses[start:], has_init)
        axes = [axis for _, axis in header.axes]
        outside = header.where if header.reads_temp else ""  # it is no condition of a block
        header.where = "" if outside else header.where
        if self._is_plain(header, axes, init, body, stores, n_init):
            plain = _plain(info, init, stores)
            return [*header.temporaries, braces(f"if {outside}", [plain]) if outside else plain]
        text = [f"block {info.name}({', '.join(a.text() for a in axes)})"]
        text[0] += f" where {header.where}" if header.where else ""
        text[0] += header.annotations + " {"
        if init:
            text += (
                ["    " + line for line in braces("init", init)]
                if len(init) > 1
                else ["    init " + init[0][0], *("    " + line for line in init[0][1:])]
            )
        text += ["    " + line for item in body for line in item]
        text.append("}")
        return [*header.temporaries, braces(f"if {outside}", [text]) if outside else text]

    def _info(self, name: str, header: Header, accesses: list[Access], has_init: bool) -> BlockInfo:
        writes = _unique(a.buffer.name for a in accesses if a.write)
        reads = _unique(a.buffer.name for a in accesses if not a.write)
        if has_init:
            reads = [r for r in reads if r not in writes]
        info = BlockInfo(self.block_names.fresh(name), header.reads or reads, writes)
        info.depth, info.outside = len(self.loops), self.outside
        info.loops = [loop.name for loop in self.loops]
        self.blocks[name] = info
        return info

    def _is_plain(
        self,
        header: Header,
        axes: list[Axis],
        init: list[Item],
        body: list[Item],
        stores: list[Store],
        n_init: int,
    ) -> bool:
        """The block is what tirc reads from its loops and stores alone."""
        if header.where or header.annotations or self.conditions:
            return False
        if [a.binding.text for a in axes] != [loop.name for loop in self.loops]:
            return False
        if any(a.binding.text != a.loop.name for a in axes) or len(axes) == 0:
            return False
        if len(init) != n_init or n_init > 1 or len(body) != 1 or len(stores) != n_init + 1:
            return False
        spatial = {a.loop.name for a in axes if not a.reduce}
        update = stores[-1]
        if spatial != set(update.subscripts) & {a.loop.name for a in axes}:
            return False
        if not all(s in spatial for s in update.subscripts):
            return False
        if not init:
            return update.op == "=" and not any(a.reduce for a in axes)
        return stores[0].element == update.element and update.op != "="


def _started(stores: list[Store], body: list[Item]) -> list[Item]:
    """`x = a; x += b;`, an init and an update, as `x = a + b;`."""
    if len(stores) != 2 or len(body) != 2 or stores[0].op != "=" or len(stores[1].op) < 2:
        return body
    first, update = stores
    if first.element != update.element or first.element in update.value:
        return body
    op = update.op.removesuffix("=")
    value = f"{first.value} {op} ({update.value})"
    if op in ("max", "min"):
        value = f"{op}({first.value}, {update.value})"
    elif first.type in NARROW:
        value = f"{first.type}({value})"
    stores[:] = [Store(first.element, "=", value, first.subscripts, first.type)]
    return [[stores[0].text()]]


def _plain(info: BlockInfo, init: list[Item], stores: list[Store]) -> Item:
    label = "" if info.writes[0] == info.name else f"{info.name}: "
    if not init:
        return [label + stores[-1].text()]
    return [f"{label}{{", "    init " + init[0][0], "    " + stores[-1].text(), "}"]


def _is_block(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and called(node.items[0].context_expr) in _BLOCKS


def _names_in(body: list[ast.stmt]) -> list[str]:
    """Each name once, in the order of first use."""
    found = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Name)]
    return _unique(n.id for n in sorted(found, key=lambda n: (n.lineno, n.col_offset)))


def _without_last_value(body: list[ast.stmt]) -> list[ast.stmt]:
    """`v = e; C[i] = v` as `C[i] = e`, which is an update where e reads C[i]."""
    if len(body) != 2:
        return body
    value, store = body
    if not isinstance(store, ast.Assign):
        return body
    if not isinstance(value, (ast.Assign, ast.AnnAssign)) or value.value is None:
        return body
    target = value.target if isinstance(value, ast.AnnAssign) else value.targets[0]
    used = [n.id for n in ast.walk(store) if isinstance(n, ast.Name)]
    if not isinstance(target, ast.Name) or used.count(target.id) != 1:
        return body
    if not isinstance(store.value, ast.Name) or store.value.id != target.id:
        return body
    return [ast.copy_location(ast.Assign(store.targets, value.value), store)]


def _parts(call: ast.Call) -> dict[str, ast.expr]:
    """The parts in T.reads or T.writes, by the names of their buffers."""
    items = [i for a in call.args for i in (a.elts if isinstance(a, ast.List) else [a])]
    parts = [i for i in items if isinstance(i, ast.Subscript) and isinstance(i.value, ast.Name)]
    return {part.value.id: part for part in parts}  # type: ignore[attr-defined]


def _is_axis(call: ast.Call) -> bool:
    f = call.func
    return isinstance(f, ast.Attribute) and called(f.value) == "axis"


def _unique(names: object) -> list[str]:
    return list(dict.fromkeys(names))  # type: ignore[call-overload]


def annotation_text(value: object) -> str | None:
    """An annotation's value in the text of tirc; None for what has none."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        value = [list(pair) for pair in value.items()]
    if isinstance(value, list):
        items = [annotation_text(v) for v in value]
        return None if None in items else f"[{', '.join(filter(None, items))}]"
    return None
