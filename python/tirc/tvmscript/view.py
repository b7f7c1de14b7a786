"""Writes out views of TVMScript: `X = T.match_buffer(A[i * 16 : i * 16 + 16, k], (16,))`.

Behind it, `X[j]` is `A[i * 16 + j, k]`.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from .expression import called
from .refusal import Refusal

_IGNORED = {"scope", "align", "offset_factor", "strides", "elem_offset", "buffer_type"}


@dataclass
class View:
    """Where elements of a view lie: behind the first element of the part."""

    base: ast.expr
    first: list[ast.expr]
    extents: list[ast.expr]
    rank: int
    """the last axes of the part that subscripts of the view count along"""


class Views(ast.NodeTransformer):
    """The views of one block."""

    def __init__(self) -> None:
        self.views: dict[str, View] = {}
        self.fixed: set[str] = set()
        """the names that the views use, which mean one thing"""

    def takes(self, node: ast.stmt) -> bool:
        """Declares the view if the statement is `X = T.match_buffer(part, shape)`."""
        call = node.value if isinstance(node, ast.Assign) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if not isinstance(call, ast.Call) or not isinstance(target, ast.Name):
            return False
        if called(call) != "match_buffer":
            return False
        self._declare(target.id, call)
        return True

    def _declare(self, name: str, call: ast.Call) -> None:
        part = self.visit(call.args[0]) if call.args else None
        shape = call.args[1] if len(call.args) > 1 else None
        unknown = [k.arg for k in call.keywords if k.arg not in _IGNORED | {"dtype"}]
        if not isinstance(shape, (ast.Tuple, ast.List)) or unknown or len(call.args) > 3:
            raise Refusal("P0109", call, "a view has a part of a buffer and a shape")
        if not isinstance(part, ast.Subscript):
            raise Refusal("P0109", call, "the part is written as A[i : i + 16, k]")
        first, extents = self.box(part)
        rank = len(shape.elts)
        same = [ast.dump(a) == ast.dump(b) for a, b in zip(extents[-rank:], shape.elts)]
        if rank > len(first) or not all(same) or any(not _is_one(e) for e in extents[:-rank]):
            raise Refusal("P0109", call, "the shape is that of the part, but for its first axes")
        self.views[name] = View(part.value, first, extents, rank)
        self.fixed |= {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}

    def box(self, part: ast.Subscript) -> tuple[list[ast.expr], list[ast.expr]]:
        """The first subscripts of a part, and its extents."""
        items = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
        first: list[ast.expr] = []
        extents: list[ast.expr] = []
        for item in items:
            if not isinstance(item, ast.Slice):
                first.append(item)
                extents.append(ast.Constant(1))
            elif item.lower is None or item.upper is None or item.step:
                raise Refusal("P0109", item, "a slice has a beginning and an end")
            else:
                first.append(item.lower)
                extents.append(_difference(item))
        return first, extents

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Store) and node.id in self.fixed:
            raise Refusal("P0109", node, f"'{node.id}' has another meaning in a view above")
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        view = self.views.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if not view:
            return node
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(items) != view.rank:
            raise Refusal("P0108", node, f"the view has {view.rank} axes, and {len(items)} here")
        fixed = len(view.first) - view.rank
        places = [_moved(first, item) for first, item in zip(view.first[fixed:], items)]
        index = ast.Tuple([*view.first[:fixed], *places], ast.Load())
        moved = ast.Subscript(view.base, index, node.ctx)
        return ast.fix_missing_locations(ast.copy_location(moved, node))


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _difference(item: ast.Slice) -> ast.expr:
    """The extent of `a : a + n`, or of `3 : 7`."""
    low, end = item.lower, item.upper
    assert low and end
    if isinstance(low, ast.Constant) and isinstance(end, ast.Constant):
        return ast.Constant(end.value - low.value)  # type: ignore[operator]
    if isinstance(low, ast.Constant) and low.value == 0:
        return end
    if isinstance(end, ast.BinOp) and isinstance(end.op, ast.Add):
        for one, other in ((end.left, end.right), (end.right, end.left)):
            if ast.dump(one) == ast.dump(low):
                return other
        (whole, beyond), (same, before) = _split(end), _split(low)
        if whole == same:
            return ast.Constant(beyond - before)
    raise Refusal("P0109", item, "the extent of a slice is that of a : a + 16")


def _split(node: ast.expr) -> tuple[str, int]:
    """`e + 3` as e and 3."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if isinstance(node.right, ast.Constant) and isinstance(node.right.value, int):
            return ast.dump(node.left), node.right.value
    return ast.dump(node), 0


def _moved(first: ast.expr, item: ast.expr) -> ast.expr:
    if isinstance(item, ast.Slice):
        lower = _moved(first, item.lower) if item.lower else None
        return ast.Slice(lower, _moved(first, item.upper) if item.upper else None)
    if isinstance(first, ast.Constant) and first.value == 0:
        return item
    if isinstance(item, ast.Constant) and item.value == 0:
        return first
    return ast.BinOp(first, ast.Add(), item)
