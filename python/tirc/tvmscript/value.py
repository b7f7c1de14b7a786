"""Expressions of tirc as text, with what later text depends on: type, precedence and range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

(CHOICE, OR, AND, BIT_OR, BIT_XOR, BIT_AND, EQUAL, LESS, SHIFT, SUM, PRODUCT, UNARY, ATOM) = range(
    13
)
RANK = {
    "||": OR,
    "&&": AND,
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    "==": EQUAL,
    "!=": EQUAL,
    "<": LESS,
    "<=": LESS,
    ">": LESS,
    ">=": LESS,
    "<<": SHIFT,
    ">>": SHIFT,
    "+": SUM,
    "-": SUM,
    "*": PRODUCT,
    "/": PRODUCT,
    "%": PRODUCT,
}

# TVM's names of the types; "index" is the type of loops, sizes and whole numbers.
TYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "f8e4m3",
    "float8_e5m2": "f8e5m2",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
    "bool": "bool",
}
WIDTH: tuple[str, ...] = tuple(
    "bool i8 u8 i16 u16 i32 u32 i64 u64 f8e4m3 f8e5m2 f16 bf16 f32 f64".split()
)
NARROW = {"i8", "u8", "i16", "u16"}


@dataclass(frozen=True)
class Value:
    """An expression. `literal` is "bare" for a number of Python, which takes the type of its
    context, and "typed" for one such as T.float16(2). `low` and `high` bound an index; `covers` is
    the extent of an iterator that starts at 0."""

    text: str
    type: str
    rank: int = ATOM
    low: int | None = None
    high: int | None = None
    literal: str = ""
    covers: str = ""

    def within(self, rank: int) -> str:
        return self.text if self.rank >= rank else f"({self.text})"


def integer(n: int, literal: str = "bare", kind: str = "index") -> Value:
    return Value(str(n), kind, ATOM if n >= 0 else UNARY, n, n, literal)


def real(x: float, kind: str = "f32", literal: str = "bare") -> Value:
    text = repr(float(x))
    return Value(text, kind, UNARY if text.startswith("-") else ATOM, literal=literal)


def is_float(kind: str) -> bool:
    return "f" in kind


def beside(v: Value, kind: str) -> Value:
    """`v` where it stands beside a value of type `kind`: a literal of another type says so."""
    if v.literal == "typed" and kind != v.type and v.type != "index":
        return cast(replace(v, literal=""), v.type, force=True)
    return v


def joined(a: Value, b: Value) -> str:
    """The type of two operands together."""
    if a.type == b.type:
        return a.type
    for v, other in ((a, b), (b, a)):
        if v.literal == "bare" and (is_float(other.type) or not is_float(v.type)):
            return other.type
    for v, other in ((a, b), (b, a)):
        if v.type == "index":
            return other.type
    return max(a.type, b.type, key=lambda type: WIDTH.index(type))


def cast(v: Value, kind: str, force: bool = False) -> Value:
    """`v` converted to `kind`; a whole number stays a literal."""
    if v.type == kind and not force:
        return v
    if v.literal and not force:
        if is_float(kind) and not is_float(v.type):
            return replace(v, text=v.text + ".0", type=kind, literal="typed")
        return replace(v, type=kind, literal="typed")
    if v.type == "index" and kind in ("i32", "i64"):
        return v
    return Value(f"{kind}({v.text})", kind)


def _bounds(op: str, a: Value, b: Value) -> tuple[int | None, int | None]:
    def each(f: Callable[[int, int], int], x: int | None, y: int | None) -> int | None:
        return None if x is None or y is None else f(x, y)

    if op == "+":
        return each(int.__add__, a.low, b.low), each(int.__add__, a.high, b.high)
    if op == "-":
        return each(int.__sub__, a.low, b.high), each(int.__sub__, a.high, b.low)
    positive = a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0
    if op == "*" and positive:
        return each(int.__mul__, a.low, b.low), each(int.__mul__, a.high, b.high)
    if op == "*" and b.low is not None and b.low == b.high and b.low < 0:
        return each(int.__mul__, a.high, b.low), each(int.__mul__, a.low, b.low)
    if op == "*" and b.low is not None and b.low == b.high:
        return each(int.__mul__, a.low, b.low), each(int.__mul__, a.high, b.low)
    if op == "/" and positive and b.low:
        return each(int.__floordiv__, a.low, b.high) or 0, each(int.__floordiv__, a.high, b.low)
    if op == "%" and positive:
        return 0, None if b.high is None else min(b.high - 1, a.high or b.high)
    return None, None


def binary(op: str, a: Value, b: Value) -> Value:
    rank = RANK[op]
    kind = joined(a, b)
    a, b = beside(a, b.type), beside(b, a.type)
    text = f"{a.within(rank)} {op} {b.within(rank + 1)}"
    if rank in (OR, AND, EQUAL, LESS):
        return Value(text, "bool", rank)
    low, high = _bounds(op, a, b) if kind == "index" else (None, None)
    both = a.literal if a.literal == b.literal else ""
    result = Value(text, kind, rank, low, high, both)
    return Value(f"{kind}({text})", kind) if kind in NARROW else result


def negative(v: Value) -> Value:
    low, high = (None if x is None else -x for x in (v.high, v.low))
    return Value("-" + v.within(ATOM), v.type, UNARY, low, high, v.literal)


def extreme(name: str, a: Value, b: Value) -> Value:
    """min or max."""
    kind = joined(a, b)
    pick = min if name == "min" else max
    low, high = (
        None if x is None or y is None else pick(x, y)
        for x, y in ((a.low, b.low), (a.high, b.high))
    )
    a, b = beside(a, b.type), beside(b, a.type)
    return Value(f"{name}({a.text}, {b.text})", kind, low=low, high=high)


def floor_divide(op: str, a: Value, b: Value) -> Value:
    """// and % of Python for the operators of C, which truncate."""
    unsigned = a.type.startswith("u") and b.type.startswith("u")
    if unsigned or (a.low is not None and a.low >= 0 and b.low is not None and b.low >= 0):
        return binary(op, a, b)
    if a.type == "index" and a.low is not None and b.literal and b.low is not None and b.low > 0:
        periods = -(a.low // b.low)
        shifted = binary("+", a, integer(periods * b.low))
        quotient = binary(op, replace(shifted, low=0), b)
        return quotient if op == "%" else binary("-", quotient, integer(periods))
    remainder = binary("%", binary("+", binary("%", a, b), b), b)
    return remainder if op == "%" else binary("/", binary("-", a, remainder), b)


def choice(name: str, condition: Value, a: Value, b: Value) -> Value:
    kind = joined(a, b)
    a, b = beside(a, b.type), beside(b, a.type)
    if name == "select":
        return Value(f"select({condition.text}, {a.text}, {b.text})", kind)
    text = f"{condition.within(OR)} ? {a.within(OR)} : {b.within(CHOICE)}"
    return Value(text, kind, CHOICE)
