"""Evaluates constants of Python, numbers, strings and tuples, without running the file."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping

_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}


class NotConstant(Exception):
    """The expression is not a constant."""


def evaluate(node: ast.expr, known: Mapping[str, object]) -> object:
    """The value of a constant expression."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, (ast.Tuple, ast.List)):
        return [evaluate(item, known) for item in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        keys = [evaluate(key, known) for key in node.keys if key]
        return dict(zip(keys, (evaluate(value, known) for value in node.values)))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_number(evaluate(node.operand, known))
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left, right = evaluate(node.left, known), evaluate(node.right, known)
        try:
            return _OPERATORS[type(node.op)](_number(left), _number(right))
        except (ArithmeticError, TypeError, ValueError):
            raise NotConstant from None
    raise NotConstant


def _number(value: object) -> int | float:
    if isinstance(value, (int, float)):
        return value
    raise NotConstant


def assign(statement: ast.stmt, known: dict[str, object]) -> None:
    """Takes note of `M = N = 128` and `M, N = 4, 5`; other assignments make their names unknown."""
    if not isinstance(statement, ast.Assign):
        return
    try:
        value = evaluate(statement.value, known)
    except NotConstant:
        value = None
    for target in statement.targets:
        _bind(target, value, known)


def _bind(target: ast.expr, value: object, known: dict[str, object]) -> None:
    if isinstance(target, ast.Name):
        known.pop(target.id, None)
        if value is not None:
            known[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        items = value if isinstance(value, list) else []
        for i, part in enumerate(target.elts):
            _bind(part, items[i] if i < len(items) else None, known)
