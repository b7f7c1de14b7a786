"""Evaluates the subscripts of lowered .tir text by going through all blocks, threads and
iterations, at fixed sizes. Shares no code with tirc. Memory holds zeros: what data decide is
decided for zeros."""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from tir_tokens import LEVELS, STORE_OPS, tokens  # noqa: E402

SYNCS = {"barrier", "commit", "wait", "acquire", "receive", "release"}
STORES = STORE_OPS | {"async="}
INTEGER_CASTS = {"index", "i64", "i32", "i16", "i8", "u64", "u32", "u16", "u8"}


def divide(a, b):
    if isinstance(a, float) or isinstance(b, float) or b == 0:
        return 0
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    return 0 if isinstance(a, float) or isinstance(b, float) or b == 0 else a - b * divide(a, b)


class Text:
    """From lowered text to a Python function that calls access(name, index, place) for each
    subscripted access."""

    def __init__(self, text):
        self.tokens = []
        for _, token in tokens(text):
            if token == "=" and self.tokens[-1] == "async":
                self.tokens[-1] = "async="
            else:
                self.tokens.append(token)
        self.at = 0
        self.lines, self.depth = [], 1
        self.shapes = {}
        self.kernel()

    # ---- tokens

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, *wanted):
        if wanted and self.peek() not in wanted:
            raise SyntaxError(
                f"{wanted} expected: {' '.join(self.tokens[max(0, self.at - 8) : self.at + 4])}"
            )
        self.at += 1
        return self.tokens[self.at - 1]

    def maybe(self, *wanted):
        if self.peek() in wanted:
            return self.take()
        return None

    def list(self, end, item):
        items = []
        while self.peek() != end:
            items.append(item())
            self.maybe(",")
        self.take(end)
        return items

    # ---- expressions, as Python

    def expr(self):
        cond = self.binary(0)
        if not self.maybe("?"):
            return cond
        a = self.expr()
        self.take(":")
        return f"({a} if {cond} else {self.expr()})"

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in LEVELS[level]:
            op = self.take()
            right = self.binary(level + 1)
            left = {
                "/": f"divide({left}, {right})",
                "%": f"remainder({left}, {right})",
                "&&": f"({left} and {right})",
                "||": f"({left} or {right})",
            }.get(op, f"({left} {op} {right})")
        return left

    def unary(self):
        op = self.maybe("-", "!", "~")
        if not op:
            return self.primary()
        operand = self.unary()
        return f"(not {operand})" if op == "!" else f"({op}{operand})"

    def primary(self):
        if self.maybe("("):
            e = self.expr()
            self.take(")")
            return f"({e})"
        token = self.take()
        if token in ("true", "false"):
            return token.capitalize()
        if token in ("inf", "nan"):
            return "0.0"
        if re.match(r"[\d.]", token):
            return token if token.startswith("0x") or token.isdigit() else repr(float(token))
        if token in ("blockIdx", "threadIdx"):
            self.take(".")
            return f"{token}_{self.take()}"
        if self.peek() == "(":
            self.take("(")
            return f"call('{token}', {', '.join(self.list(')', self.expr))})"
        if self.peek() == "." and self.peek(2) == "[":  # a cache hint
            self.take(), self.take()
        if self.maybe("["):
            return self.access(token, self.list("]", self.expr))
        return "0" if token in self.shapes else f"v_{token}"

    def access(self, name, index):
        return f"access('{name}', ({''.join(i + ', ' for i in index)}))"

    # ---- statements

    def line(self, text):
        self.lines.append("    " * self.depth + text)

    def body(self):
        self.depth += 1
        self.line("pass")
        self.stmt()
        self.depth -= 1

    def loop(self):
        name = self.take()
        self.take("in")
        lo, hi, step = "0", self.expr(), "1"
        if self.maybe(".."):
            lo, hi = hi, self.expr()
        if self.maybe("step"):
            step = self.expr()
        self.line(f"for v_{name} in steps({lo}, {hi}, {step}):")
        self.maybe("parallel", "vectorize", "unroll")
        self.annotations()
        if self.maybe(","):
            self.depth += 1
            self.loop()
            self.depth -= 1
        else:
            self.body()

    def annotations(self):
        while self.maybe("@"):
            self.take()
            if self.maybe("("):
                self.list(")", self.expr)

    def launch(self):
        self.take()
        axes = []
        for word, axis in (("grid", "blockIdx"), ("block", "threadIdx")):
            self.take(word)
            self.take("(")
            axes += [(f"{axis}_{c}", e) for c, e in zip("xyz", self.list(")", self.expr))]
        self.annotations()
        for axis, extent in axes:
            self.line(f"for {axis} in range({extent}):")
            self.depth += 1
        self.stmt()
        self.depth -= len(axes)

    def temp(self):
        name = self.take()
        self.take(":")
        self.shapes.setdefault(name, [])
        self.line(f"shapes['{name}'] = ()")
        self.type(name)
        while self.peek() != ";":
            if self.maybe("in"):
                self.take()
            else:
                self.take()
                self.take("(")
                self.list(")", lambda: self.take())
        self.take(";")

    def type(self, name):
        self.take()
        if self.maybe("["):
            self.shapes[name] = self.list("]", self.expr)
            self.line(f"shapes['{name}'] = ({''.join(e + ', ' for e in self.shapes[name])})")

    def store(self):
        name = self.take()
        if self.peek() == ".":
            self.take(), self.take()
        index = self.list("]", self.expr) if self.maybe("[") else None
        self.maybe("atomic")
        if not self.maybe(*STORES):
            self.take("min", "max")
            self.take("=")
        self.line(self.expr())
        if index:
            self.line(self.access(name, index))
        self.take(";")

    def instruction(self):
        """Its operands are where accesses of its body begin: the body says all accesses."""
        self.take(), self.take()
        self.take("(")
        self.list(")", self.expr)
        self.stmt()

    def stmt(self):
        token = self.peek()
        if self.maybe("{"):
            while not self.maybe("}"):
                self.stmt()
        elif token in ("for", "launch", "temp") and self.peek(1) not in STORES | {"[", "."}:
            self.take()
            {"for": self.loop, "launch": self.launch, "temp": self.temp}[token]()
        elif self.maybe("if"):
            self.line(f"if {self.expr()}:")
            self.body()
            if self.maybe("else"):
                self.line("else:")
                self.body()
        elif self.maybe("let"):
            name = self.take()
            self.take("=")
            self.line(f"v_{name} = {self.expr()}")
            self.take(";")
        elif token == "instruction" and self.peek(2) == "(":
            self.instruction()
        elif token == "producer" and self.peek(1) == "{":
            self.take(), self.stmt()
            self.take("consumers")
            if self.maybe("turn"):
                self.take()
            self.stmt()
        elif token in SYNCS and self.peek(1) not in ("[", "=", "."):
            while self.take() != ";":
                pass
        else:
            self.store()

    def kernel(self):
        self.take("kernel")
        self.take()
        if self.maybe("<"):
            while not self.maybe(">"):
                name = self.take()
                if self.maybe(":"):
                    self.take()
                if self.maybe("="):
                    value = self.take()
                    self.line(f"v_{name} = {value if value.isdigit() else 0}")
                self.maybe(",")
        self.params(self.take())
        if self.maybe("->"):
            self.params(None)
        if self.maybe("where"):
            while self.peek() != "{":
                self.take()
        self.stmt()

    def params(self, opened):
        """In parentheses, or one after another."""
        while self.peek() not in (")", "->", "{", "where"):
            self.maybe("inout")
            name = self.take()
            self.take(":")
            self.type(name)
            if name not in self.shapes:
                self.line(f"v_{name} = 0")
            self.maybe(",")
        if opened:
            self.take(")")


class Outside(Exception):
    """An access left its buffer."""


def evaluate(text):
    """The first access that leaves its buffer, as (name, index), or None."""
    shapes = {}

    def access(name, index):
        shape = shapes[name]
        if len(index) < len(shape):  # one subscript for all axes
            total = 1
            for extent in shape:
                total *= extent
            shape = (total,)
        for at, extent in zip(index, shape):
            if not 0 <= at < extent:
                raise Outside((name, index))
        return 0

    def call(name, *args):
        if name in INTEGER_CASTS:
            return int(args[0])
        if name in ("min", "max"):
            return min(args) if name == "min" else max(args)
        if name == "select":
            return args[1] if args[0] else args[2]
        return abs(args[0]) if name == "abs" else 0

    def steps(lo, hi, step):
        return range(lo, hi, step) if step > 0 else range(lo, hi - 1, step)

    translated = Text(text)
    source = "def run():\n    pass\n" + "\n".join(translated.lines)
    scope = {
        "shapes": shapes,
        "access": access,
        "call": call,
        "steps": steps,
        "divide": divide,
        "remainder": remainder,
    }
    exec(source, scope)
    try:
        scope["run"]()
    except Outside as found:
        return found.args[0]
    return None
