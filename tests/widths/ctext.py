"""Emitted kernels, read as C and evaluated with Python's integers: every int that a thread computes
has to be one.

Only what decides about indices is followed: integers are exact, floats and the contents of memory
are not known (an integer in memory is taken to be 0). Loops run for their first, middle and last
values, and the step that ends them is taken."""

import operator
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from tir_tokens import LEVELS  # noqa: E402

LIMITS = {"int": (-(2**31), 2**31 - 1), "ll": (-(2**63), 2**63 - 1)}
TOKEN = re.compile(
    r"\s+|(\d+\.\d*(?:e[-+]?\d+)?f?|\d+e[-+]?\d+f?|0x[0-9a-f]+(?:u?ll|u)?|\d+(?:u?ll|u)?"
    r"|[A-Za-z_]\w*|<<=|>>=|<<|>>|<=|>=|==|!=|&&|"
    r"\|\||\+\+|--|[-+*/%&|^]=|.)",
    re.S,
)
WORDS = {
    "const",
    "unsigned",
    "signed",
    "long",
    "int",
    "short",
    "char",
    "float",
    "double",
    "bool",
    "__shared__",
    "extern",
    "void",
    "__restrict__",
}
VECTORS = "char uchar short ushort int uint longlong ulonglong float double".split()
WORDS |= {f"{name}{lanes}" for name in VECTORS for lanes in (2, 4)}


class Overflow(Exception):
    """An int that is none."""


class Beyond(Exception):
    """An index beyond 64 bits, which the language leaves undefined: the sizes are too large for the
    program."""


def tokens(text):
    text = re.sub(r"//[^\n]*|#pragma[^\n]*", "", text)
    return [t for t in TOKEN.findall(text) if t]


def kind_of(words):
    if words & {"float", "double", "float2", "float4", "double2", "void"}:
        return "f"
    return "ll" if "long" in words else "int"


class Parser:
    def __init__(self, text):
        self.t, self.at = tokens(text), 0

    def peek(self, ahead=0):
        return self.t[self.at + ahead] if self.at + ahead < len(self.t) else ""

    def take(self, what=None):
        token = self.peek()
        assert token and (what is None or token == what), (
            what,
            self.t[max(0, self.at - 10) : self.at + 10],
        )
        self.at += 1
        return token

    # -- expressions: (operator, operands...)

    def expr(self):
        cond = self.binary(0)
        if self.peek() != "?":
            return cond
        self.take()
        yes = self.expr()
        self.take(":")
        return ("?", cond, yes, self.expr())

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.peek() in LEVELS[level]:
            left = (self.take(), left, self.binary(level + 1))
        return left

    def unary(self):
        token = self.peek()
        if token in ("-", "!", "~", "&", "*"):
            self.take()
            return ("u" + token, self.unary())
        if token == "(" and self.peek(1) in WORDS:
            self.take()
            words, pointer = set(), False
            while self.peek() != ")":
                pointer |= self.peek() == "*"
                words.add(self.take())
            self.take()
            return ("cast", "p" if pointer else kind_of(words), self.unary())
        return self.postfix()

    def postfix(self):
        e = self.primary()
        while self.peek() in ("[", ".", "("):
            token = self.take()
            if token == "[":
                e = ("[]", e, self.expr())
                self.take("]")
            elif token == ".":
                e = (".", e, self.take())
            else:
                e = ("call", e, self.arguments())
        return e

    def arguments(self):
        found = []
        while self.peek() != ")":
            found.append(self.expr())
            if self.peek() == ",":
                self.take()
        self.take(")")
        return found

    def primary(self):
        token = self.take()
        if token == "(":
            e = self.expr()
            self.take(")")
            return e
        if token[0].isdigit():
            if token.startswith("0x"):
                return ("number", "f", None)  # the mask of a shuffle
            if re.fullmatch(r"\d+(?:u?ll|u)?", token):
                kind = "ll" if "ll" in token else "int"
                return ("number", kind, int(token.rstrip("ul")))
            return ("number", "f", None)
        if self.peek() == "<" and self.peek(2) == ">" and self.peek(1).isdigit():  # copy_async<16>
            self.at += 3
        return ("name", token)

    # -- statements

    def statement(self):
        token = self.peek()
        if token == "{":
            self.take()
            body = []
            while self.peek() != "}":
                body.append(self.statement())
            self.take()
            return ("block", body)
        if token == "if":
            self.take()
            self.take("(")
            cond = self.expr()
            self.take(")")
            then, otherwise = self.statement(), None
            if self.peek() == "else":
                self.take()
                otherwise = self.statement()
            return ("if", cond, then, otherwise)
        if token == "for":
            return self.loop()
        if token in WORDS or token == "__align__":
            return self.declaration()
        return self.store()

    def loop(self):
        self.take()
        self.take("(")
        words = set()
        while self.peek(1) != "=":
            words.add(self.take())
        name = self.take()
        self.take("=")
        first = self.expr()
        self.take(";")
        assert self.take() == name
        down = self.take() == ">="
        end = self.expr()
        self.take(";")
        if self.peek() in ("++", "--"):
            step = 1 if self.take() == "++" else -1
            self.take(name)
        else:
            self.take(name)
            sign = 1 if self.take() == "+=" else -1
            step = sign * int(self.take())
        self.take(")")
        assert down == (step < 0)
        return ("for", kind_of(words), name, first, end, step, self.statement())

    def declaration(self):
        words = set()
        while self.peek() in WORDS or self.peek() in ("__align__", "*", "("):
            word = self.take()
            if word == "__align__":
                self.at += 3
            words.add(word)
        name = self.take()
        if "(" in words or "*" in words or "extern" in words:  # a part of dynamic shared memory
            while self.take() != ";":
                pass
            return ("array", name, kind_of(words))
        array, value = False, None
        while self.peek() == "[":
            array = True
            while self.take() != "]":
                pass
        if self.peek() == "=":
            self.take()
            value = self.expr()
        self.take(";")
        return ("array", name, kind_of(words)) if array else ("let", name, kind_of(words), value)

    def store(self):
        target, value = self.expr(), None
        if self.peek() == "=" or (
            len(self.peek()) == 2 and self.peek()[1] == "=" and self.peek()[0] in "+-*/%&|^"
        ):
            self.take()
            value = self.expr()
        self.take(";")
        return ("store", target, value)


class Kernel:
    """One __global__ function: its name, its parameters as (name, kind, is a pointer), its body."""

    def __init__(self, name, signature, body):
        self.name = name
        self.parameters = []
        for part in filter(None, (p.strip() for p in signature.split(","))):
            words = set(re.findall(r"\w+", part)[:-1])
            self.parameters.append((re.findall(r"\w+", part)[-1], kind_of(words), "*" in part))
        self.body = Parser(body).statement()


def kernels(text):
    found = []
    for m in re.finditer(r"__global__ void[^\n]*\n(\w+)\(([^)]*)\)\n(\{.*?\n\})", text, re.S):
        found.append(Kernel(m[1], m[2], m[3]))
    return found


def quotient(a, b):
    assert b != 0, "a division by zero"
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": quotient,
    "%": lambda a, b: a - quotient(a, b) * b,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&&": lambda a, b: bool(a and b),
    "||": lambda a, b: bool(a or b),
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
COMPARISONS = {"&&", "||", "==", "!=", "<", "<=", ">", ">="}


class Thread:
    """Runs a kernel for one thread. `stored` is called with each store of a known subscript and
    value."""

    def __init__(self, kernel, arguments, coordinates, stored=None):
        self.kinds, self.values, self.pointers = {}, {}, {}
        self.coordinates, self.stored, self.kernel = coordinates, stored, kernel
        self.checked = 0
        for name, kind, pointer in kernel.parameters:
            if pointer:
                self.pointers[name] = kind
            else:
                self.bind(name, kind, arguments[name] if kind != "f" else None)

    def run(self):
        self.execute(self.kernel.body)
        return self.checked

    def fit(self, kind, value, *what):
        """`what` becomes text only where the value does not fit."""
        if kind in LIMITS and value is not None:
            self.checked += 1
            low, high = LIMITS[kind]
            if not low <= value <= high:
                message = " ".join(map(str, what))
                raise (Overflow if kind == "int" else Beyond)(
                    f"{self.kernel.name}: {message} is {value}, no {kind}; "
                    f"{self.coordinates} {self.values}"
                )
        return kind, value

    def bind(self, name, kind, value):
        self.kinds[name], self.values[name] = self.fit(kind, value, name)

    def known(self, e):
        return self.value(e)[1]

    def value(self, e):
        op = e[0]
        if op == "number":
            return self.fit(e[1], e[2], "a number")
        if op == "name":
            if e[1] in self.values:
                return self.kinds[e[1]], self.values[e[1]]
            return self.pointers.get(e[1], "f"), None
        if op == "." and e[1][0] == "name" and e[1][1] in ("blockIdx", "threadIdx"):
            return "int", self.coordinates[e[1][1] + "." + e[2]]
        if op == "[]":
            self.value(e[2])
            kind = self.value(e[1])[0]
            return kind, None if kind == "f" else 0
        if op == "call":
            return self.call(e)
        if op == "cast":
            return self.cast(e)
        if op == "?":
            return self.choice(e)
        if op in ("u&", "u*", "."):
            return self.value(e[1])[0], None
        if op[0] == "u" and len(op) == 2:
            return self.unary(e)
        return self.binary(e)

    def cast(self, e):
        kind, value = self.value(e[2])
        if e[1] in ("f", "p"):
            return "f", None
        if kind == "f":
            return e[1], None
        return self.fit(e[1], value, "a cast", e)

    def choice(self, e):
        cond = self.known(e[1])
        if cond is None:
            kinds = {self.value(e[2])[0], self.value(e[3])[0]}
            return ("f" if "f" in kinds else "ll" if "ll" in kinds else "int"), None
        kind, value = self.value(e[2] if cond else e[3])
        return kind, value

    def call(self, e):
        name = e[1][1] if e[1][0] == "name" else ""
        found = [self.value(a) for a in e[2]]
        if name in ("min", "max") and all(v is not None for _, v in found):
            kind = "ll" if any(k == "ll" for k, _ in found) else "int"
            return kind, (min if name == "min" else max)(v for _, v in found)
        return (found[0][0] if found and name in ("min", "max") else "f"), None

    def unary(self, e):
        kind, value = self.value(e[1])
        if value is None or kind == "f":
            return kind, None
        value = {"u-": lambda: -value, "u!": lambda: int(not value), "u~": lambda: ~value}[e[0]]()
        return self.fit(kind, value, "the result of", e)

    def binary(self, e):
        left_kind, a = self.value(e[1])
        if e[0] in ("&&", "||") and a is not None and bool(a) == (e[0] == "||"):
            return "int", int(bool(a))
        right_kind, b = self.value(e[2])
        kind = (
            "f"
            if "f" in (left_kind, right_kind)
            else "ll"
            if "ll" in (left_kind, right_kind)
            else "int"
        )
        kind = "int" if e[0] in COMPARISONS else kind
        if a is None or b is None:
            return kind, None
        return self.fit(kind, OPERATIONS[e[0]](a, b), "the result of", e)

    def execute(self, s):
        if s[0] == "block":
            for inner in s[1]:
                self.execute(inner)
        elif s[0] == "if":
            cond = self.known(s[1])
            if cond is None or cond:
                self.execute(s[2])
            if s[3] and not cond:
                self.execute(s[3])
        elif s[0] == "for":
            self.loop(*s[1:])
        elif s[0] == "array":
            self.pointers[s[1]] = s[2]
        elif s[0] == "let":
            self.bind(
                s[1],
                s[2],
                self.known(s[3]) if s[3] and s[2] != "f" else (s[3] and self.known(s[3]) and None),
            )
        else:
            self.store(s[1], s[2])

    def store(self, target, value):
        if value is None:
            self.value(target)
            return
        if target[0] == "name":  # a variable that holds data
            self.value(value)
            return
        at = self.known(target[2]) if target[0] == "[]" else self.value(target)[1]
        result = self.known(value)
        if self.stored and target[0] == "[]" and target[1][0] == "name":
            self.stored(target[1][1], at, result)

    def loop(self, kind, name, first, end, step, body):
        lo, hi = self.known(first), self.known(end)
        if lo is None or hi is None:
            return
        steps = (hi - lo + step - 1) // step if step > 0 else (lo - hi) // -step + 1
        for k in sorted({0, steps // 2, steps - 1}) if steps > 0 else ():
            self.bind(name, kind, lo + k * step)
            self.execute(body)
        if steps > 0:
            self.bind(name, kind, lo + steps * step)
        else:
            self.bind(name, kind, lo)
