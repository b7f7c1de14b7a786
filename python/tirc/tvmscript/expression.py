"""Translates expressions of TVMScript."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from .constants import NotConstant, evaluate
from .refusal import Refusal, follows
from .value import (
    TYPES,
    UNARY,
    Value,
    beside,
    binary,
    cast,
    choice,
    extreme,
    floor_divide,
    integer,
    is_float,
    joined,
    negative,
    real,
)


@dataclass
class Buffer:
    """A parameter or temporary of a function."""

    name: str
    type: str
    shape: list[Value]
    parameter: bool = False
    scope: str = "global"


@dataclass(frozen=True)
class Access:
    """A read or write of a buffer, in the order in which the program runs."""

    buffer: Buffer
    write: bool
    whole: bool = True


class Refused:
    """The meaning of a name whose definition was refused."""


@dataclass
class Scope:
    """The names that a function, its loops and its blocks define, and what it accesses."""

    constants: dict[str, object]
    frames: list[dict[str, object]] = field(default_factory=lambda: [{}])
    accesses: list[Access] = field(default_factory=list)

    def find(self, name: str) -> object:
        for frame in reversed(self.frames):
            if name in frame:
                return frame[name]
        return None

    def define(self, name: str, meaning: object) -> None:
        self.frames[-1][name] = meaning

    def visible(self) -> dict[str, object]:
        """The constants of Python that no name of the function hides."""
        return {k: v for k, v in self.constants.items() if self.find(k) is None}


_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
# Functions of T with two operands that are operators of tirc.
_OPERATOR_CALLS = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "truncdiv": "/",
    "Mod": "%",
    "truncmod": "%",
    "EQ": "==",
    "NE": "!=",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
    "And": "&&",
    "Or": "||",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "shift_left": "<<",
    "shift_right": ">>",
}
_FLOOR_CALLS = {
    "floordiv": "/",
    "FloorDiv": "/",
    "indexdiv": "/",
    "floormod": "%",
    "FloorMod": "%",
    "indexmod": "%",
}
_SAME_NAME = set(
    "exp exp2 log log2 log10 sqrt rsqrt sin cos tan tanh erf floor ceil trunc round abs".split()
)
_LIMITS = {
    "f64": 1.7976931348623157e308,
    "f32": 3.4028234663852886e38,
    "f16": 65504.0,
    "bf16": 3.3895313892515355e38,
}


class Expressions:
    """Translates expressions in a scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    # ---- constants ---------------------------------------------------------------------------

    def constant(self, node: ast.expr) -> object:
        """The value of a Python expression, or None."""
        try:
            return evaluate(node, self.scope.visible())
        except NotConstant:
            return None

    def type_of(self, node: ast.expr) -> str:
        name = self.constant(node)
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            return self.buffer(node.value).type
        if name in TYPES:
            return TYPES[str(name)]
        raise Refusal("P0103", node, f"tirc has no type for {ast.unparse(node)}")

    # ---- expressions -------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        name = "_" + type(node).__name__.lower()
        method: Callable[[ast.expr], Value] | None = getattr(self, name, None)
        if method is None:
            raise Refusal("P0108", node, f"tirc has no counterpart of '{ast.unparse(node)[:80]}'")
        return method(node)

    def _constant(self, node: ast.Constant) -> Value:
        return self.python(node, node.value)

    def python(self, node: ast.expr, value: object) -> Value:
        if isinstance(value, bool):
            return Value("true" if value else "false", "bool")
        if isinstance(value, int):
            return integer(value)
        if isinstance(value, float):
            return real(value)
        raise Refusal("P0108", node, f"{value!r} is not a number")

    def _name(self, node: ast.Name) -> Value:
        meaning = self.scope.find(node.id)
        if isinstance(meaning, Value):
            return meaning
        if isinstance(meaning, Buffer):
            return self.load(node, meaning, [])
        if isinstance(meaning, Refused):
            raise follows(node)
        if node.id in self.scope.constants:
            return self.python(node, self.scope.constants[node.id])
        raise Refusal("P0101", node, f"'{node.id}' has no value here that the importer knows")

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        v = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            return negative(v)
        if isinstance(node.op, ast.UAdd):
            return v
        sign = "!" if isinstance(node.op, ast.Not) or v.type == "bool" else "~"
        return Value(sign + v.within(UNARY + 1), "bool" if sign == "!" else v.type, UNARY)

    def _binop(self, node: ast.BinOp) -> Value:
        a, b = self.value(node.left), self.value(node.right)
        if isinstance(node.op, (ast.FloorDiv, ast.Mod)):
            return self._floor(node, "/" if isinstance(node.op, ast.FloorDiv) else "%", a, b)
        if type(node.op) not in _BINARY:
            raise Refusal("P0108", node, f"'{ast.unparse(node)[:80]}' has no counterpart in tirc")
        if isinstance(node.op, ast.Div) and not is_float(joined(a, b)):
            raise Refusal("P0108", node, "'/' divides integers here; TVM wants '//' for these")
        return binary(_BINARY[type(node.op)], a, b)

    def _floor(self, node: ast.expr, op: str, a: Value, b: Value) -> Value:
        if is_float(joined(a, b)):
            raise Refusal("P0108", node, f"'{op}' of floats that rounds down has no counterpart")
        return floor_divide(op, a, b)

    def _boolop(self, node: ast.BoolOp) -> Value:
        values = [self.value(v) for v in node.values]
        result = values[0]
        for v in values[1:]:
            result = binary("&&" if isinstance(node.op, ast.And) else "||", result, v)
        return result

    def _compare(self, node: ast.Compare) -> Value:
        values = [self.value(v) for v in (node.left, *node.comparators)]
        result: Value | None = None
        for op, a, b in zip(node.ops, values, values[1:]):
            if type(op) not in _COMPARE:
                raise Refusal("P0108", node, "tirc compares numbers only")
            part = binary(_COMPARE[type(op)], a, b)
            result = binary("&&", result, part) if result else part
        assert result
        return result

    def _ifexp(self, node: ast.IfExp) -> Value:
        return choice("?:", *(self.value(v) for v in (node.test, node.body, node.orelse)))

    def _subscript(self, node: ast.Subscript) -> Value:
        buffer = self.buffer(node.value)
        return self.load(node, buffer, self.subscripts(node, buffer))

    def buffer(self, node: ast.expr) -> Buffer:
        meaning = self.scope.find(node.id) if isinstance(node, ast.Name) else None
        if isinstance(meaning, Buffer):
            return meaning
        if isinstance(meaning, Refused):
            raise follows(node)
        raise Refusal("P0101", node, f"'{ast.unparse(node)[:80]}' is not a buffer of this function")

    def subscripts(self, node: ast.Subscript, buffer: Buffer) -> list[Value]:
        at = node.slice
        items = at.elts if isinstance(at, ast.Tuple) else [at]
        for item in items:
            if isinstance(item, (ast.Slice, ast.Starred)):
                raise Refusal("P0108", item, f"'{buffer.name}' is used as a slice, not an element")
        if len(items) != len(buffer.shape):
            raise Refusal(
                "P0108",
                node,
                f"'{buffer.name}' has {len(buffer.shape)} axes, and {len(items)} subscripts here",
            )
        return [self.value(item) for item in items]

    def load(self, node: ast.expr, buffer: Buffer, at: list[Value]) -> Value:
        if len(at) != len(buffer.shape):
            raise Refusal("P0108", node, f"'{buffer.name}' needs {len(buffer.shape)} subscripts")
        self.scope.accesses.append(Access(buffer, write=False))
        return Value(element(buffer, at), buffer.type)

    def _attribute(self, node: ast.Attribute) -> Value:
        raise Refusal("P0108", node, f"'{ast.unparse(node)[:80]}' has no counterpart in tirc")

    # ---- calls -------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        name = called(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "astype":
            return self._converted(self.value(node.func.value), self.type_of(node.args[0]))
        handler = self._handler(name)
        if handler is None:
            raise Refusal("P0104", node, f"'{ast.unparse(node.func)}' has no counterpart in tirc")
        try:
            return handler(node)
        except (IndexError, ValueError, TypeError):
            raise Refusal(
                "P0104", node, f"'{name}' does not take {len(node.args)} arguments of this kind"
            ) from None

    def _handler(self, name: str) -> Callable[[ast.Call], Value] | None:
        if name in TYPES:
            return lambda n: self._typed(n, TYPES[name])
        if name in _OPERATOR_CALLS:
            return lambda n: binary(_OPERATOR_CALLS[name], *self._arguments(n, 2))
        if name in _FLOOR_CALLS:
            return lambda n: self._floor(n, _FLOOR_CALLS[name], *self._arguments(n, 2))
        if name in _SAME_NAME:
            return lambda n: self._function(name, n, 1)
        return getattr(self, "_call_" + name.lower(), None)

    def _arguments(self, node: ast.Call, count: int) -> list[Value]:
        if len(node.args) != count:
            raise ValueError
        return [self.value(a) for a in node.args]

    def _function(self, name: str, node: ast.Call, count: int) -> Value:
        values = self._arguments(node, count)
        kind = values[0].type
        for v in values[1:]:
            kind = joined(Value("", kind), v) if values[0].literal != "bare" else v.type
        values = [beside(v, kind) for v in values]
        return Value(f"{name}({', '.join(v.text for v in values)})", kind)

    def _converted(self, v: Value, kind: str) -> Value:
        return cast(v, kind)

    def _typed(self, node: ast.Call, kind: str) -> Value:
        """T.float32(2), T.float32("inf"), T.int32(i)."""
        (argument,) = node.args
        value = self.constant(argument)
        if isinstance(value, str):
            value = float(value)
        if isinstance(value, bool) or kind == "bool" and isinstance(value, int):
            return Value("true" if value else "false", "bool")
        if isinstance(value, (int, float)):
            if is_float(kind):
                return real(value, kind, "typed")
            return integer(int(value), "typed", "index" if kind in ("i32", "i64") else kind)
        return self._converted(self.value(argument), kind)

    def _call_cast(self, node: ast.Call) -> Value:
        """T.Cast("float32", x), T.cast(x, "float32")."""
        first, second = node.args
        if isinstance(self.constant(first), str):
            first, second = second, first
        return self._converted(self.value(first), self.type_of(second))

    def _call_max(self, node: ast.Call) -> Value:
        return extreme("max", *self._arguments(node, 2))

    def _call_min(self, node: ast.Call) -> Value:
        return extreme("min", *self._arguments(node, 2))

    def _call_if_then_else(self, node: ast.Call) -> Value:
        return choice("?:", *self._arguments(node, 3))

    def _call_select(self, node: ast.Call) -> Value:
        return choice("select", *self._arguments(node, 3))

    def _call_likely(self, node: ast.Call) -> Value:
        return self._arguments(node, 1)[0]

    def _call_not(self, node: ast.Call) -> Value:
        return Value("!" + self._arguments(node, 1)[0].within(UNARY + 1), "bool", UNARY)

    def _call_bitwise_not(self, node: ast.Call) -> Value:
        v = self._arguments(node, 1)[0]
        return Value("~" + v.within(UNARY + 1), v.type, UNARY)

    def _call_all(self, node: ast.Call) -> Value:
        return self._several("&&", node)

    def _call_any(self, node: ast.Call) -> Value:
        return self._several("||", node)

    def _several(self, op: str, node: ast.Call) -> Value:
        values = self._arguments(node, len(node.args))
        result = values[0]
        for v in values[1:]:
            result = binary(op, result, v)
        return result

    def _call_fabs(self, node: ast.Call) -> Value:
        return self._function("abs", node, 1)

    def _call_pow(self, node: ast.Call) -> Value:
        return self._function("pow", node, 2)

    _call_power = _call_pow

    def _call_fmod(self, node: ast.Call) -> Value:
        return self._function("fmod", node, 2)

    def _call_sigmoid(self, node: ast.Call) -> Value:
        (v,) = self._arguments(node, 1)
        one = real(1.0, v.type, "typed")
        shown = Value(f"exp({negative(v).text})", v.type)
        return binary("/", one, binary("+", one, shown))

    def _call_ceildiv(self, node: ast.Call) -> Value:
        a, b = self._arguments(node, 2)
        return floor_divide("/", binary("-", binary("+", a, b), integer(1)), b)

    def _call_isnan(self, node: ast.Call) -> Value:
        (v,) = self._arguments(node, 1)
        return binary("!=", v, v)

    def _call_infinity(self, node: ast.Call) -> Value:
        return real(math.inf, self.type_of(node.args[0]), "typed")

    def _call_max_value(self, node: ast.Call) -> Value:
        return self._limit(self.type_of(node.args[0]), 1)

    def _call_min_value(self, node: ast.Call) -> Value:
        return self._limit(self.type_of(node.args[0]), -1)

    def _limit(self, kind: str, sign: int) -> Value:
        if kind in _LIMITS:
            return real(sign * _LIMITS[kind], kind, "typed")
        bits, signed = int(kind[1:]), kind[0] == "i"
        most = 2 ** (bits - 1 if signed else bits) - 1
        return integer(most if sign > 0 else -most - 1 if signed else 0, "typed", kind)


def called(node: ast.expr) -> str:
    """The last part of the name of a called function: `grid` of T.grid(...)."""
    f = node.func if isinstance(node, ast.Call) else node
    return f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""


def element(buffer: Buffer, at: list[Value]) -> str:
    return f"{buffer.name}[{', '.join(v.text for v in at)}]" if at else buffer.name
