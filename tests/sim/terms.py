"""Which function of its inputs a lowered kernel computes, whatever they are: the same kernel on
fingerprints of terms.

Every number becomes a fingerprint of the expression that makes it, and every operation a function
that mixes those of its operands: `a * b + c` becomes plus(times(a, b), c), with nothing known about
plus and times but that they are functions (max and min are known to commute and associate, and so
are atomic updates). Where things are read and written, and under which conditions, stays as it is.
Two kernels whose outputs have equal fingerprints compute the same expressions of the same inputs,
operation for operation: they are equal, bit for bit, for every input of these sizes, up to a
collision of fingerprints. This needs control flow and subscripts that depend on no number of this
kind; arrays that others are subscripted with, or that conditions ask, keep their values.

With `exact`, + - and *, and / by a literal, are those of numbers modulo the prime, and literals
that are whole numbers stand for themselves: kernels with equal outputs then compute the same
rational functions, up to the order of additions, that is up to rounding (Schwartz and Zippel:
polynomials that differ seldom agree in a random point).

Two functions of terms mix by a * b modulo a prime, each side first moved by constants of its own,
so that neither order nor grouping is lost."""

import re
import zlib

PRIME = 2147483647
TYPES = {
    "f32": "i32",
    "f16": "i32",
    "bf16": "i32",
    "i32": "i32",
    "f64": "i64",
    "i64": "i64",
    "u8": "i32",
    "i8": "i32",
}
LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<=", ">=", "<", ">"),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
TOKEN = re.compile(
    r"\s*(\d+\.\d*(?:e[-+]?\d+)?|\d+(?:e[-+]?\d+)?|\w+(?:\.[xyz]\b)?|<<|>>|<=|>=|==|!=|&&"
    r"|\|\||[-+*/%<>=!~?:(),\[\]&|^])"
)
WHOLE = re.compile(
    r"\d+\.0*"
)  # of a floating-point type: a quotient by it is a product with its inverse
# Sums of products that are cut off: operators of their own, which no other order equals.
SHORT = re.compile(r"\b(\w+): \w+(?:\[[^\]]*\])?(?: in \w+)? product_digits\((\d+)\)")


class Unsupported(Exception):
    pass


def number(name):
    """A constant of its own for each name, none of them 0."""
    return zlib.crc32(name.encode()) % (PRIME - 2) + 1


def mix(name, *terms):
    """The fingerprint of a function of terms."""
    out = str(number(name))
    for i, term in enumerate(terms):
        k, c = number(f"{name} {i}"), number(f"{name} {i}+")
        out = f"(({out} + {c}) % {PRIME} * ((i64({term}) * {k} + {c}) % {PRIME}) % {PRIME})"
    return out


def residue(term):
    return f"((i64({term}) % {PRIME} + {PRIME}) % {PRIME})"


def combine(op, exact, *terms):
    """The fingerprint of an operator."""
    if not exact or op not in ("+", "-", "*", "unary -"):
        return mix(op, *terms)
    a, b = [residue(0), *map(residue, terms)][-2:]
    return residue(f"{a} {op[-1]} {b}")


class Parser:
    """An expression of numbers as one of fingerprints."""

    def __init__(self, text, kept, exact):
        self.tokens, self.at, self.kept, self.exact = [], 0, kept, exact
        i = 0
        while i < len(text.rstrip()):
            match = TOKEN.match(text, i)
            if not match:
                raise Unsupported(text[i:])
            self.tokens.append((match[1], i + len(match[0]) - len(match[1]), match.end()))
            i = match.end()
        self.text = text

    def peek(self):
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, token=None):
        if token and self.peek() != token:
            raise Unsupported(f"{self.peek()} where {token} stands: {self.text}")
        self.at += 1
        return self.tokens[self.at - 1][0]

    def raw(self, first):
        """The text from token `first` to here."""
        return self.text[self.tokens[first][1] : self.tokens[self.at - 1][2]]

    def is_index(self, first):
        """Is it made of coordinates, sizes and kept arrays alone?"""
        names = re.findall(r"\b([a-zA-Z_]\w*)\[", self.raw(first))
        return all(n in self.kept for n in names) and not re.search(r"\d\.\d", self.raw(first))

    def ternary(self):
        first = self.at
        cond = self.binary(0)
        if self.peek() != "?":
            return cond
        plain = self.raw(first) if self.is_index(first) else None
        self.take("?")
        yes = self.ternary()
        self.take(":")
        no = self.ternary()
        return f"({plain} ? i64({yes}) : i64({no}))" if plain else mix("?:", cond, yes, no)

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        out = self.binary(level + 1)
        while self.peek() in LEVELS[level]:
            op = self.take()
            if (
                self.exact
                and op == "/"
                and WHOLE.fullmatch(self.peek())
                and float(self.peek()) % PRIME
            ):
                op, divisor = "*", str(pow(int(float(self.take())), -1, PRIME))
            else:
                divisor = self.binary(level + 1)
            out = combine(op, self.exact, out, divisor)
        return out

    def unary(self):
        if self.peek() in ("-", "!", "~"):
            return combine("unary " + self.take(), self.exact, self.unary())
        return self.primary()

    def skip(self, open_, close):
        depth = 0
        while True:
            token = self.take()
            depth += (token == open_) - (token == close)
            if depth == 0:
                return

    def primary(self):
        first, token = self.at, self.take()
        if token == "(":
            out = self.ternary()
            self.take(")")
            return out
        if self.peek() == "[":
            self.skip("[", "]")
            return self.raw(first)
        if self.peek() == "(":
            return self.call(token)
        if re.match(r"\d", token):
            value = float(token)
            return str(int(value) if self.exact and value.is_integer() else number(str(value)))
        return token

    def call(self, name):
        self.take("(")
        if name.startswith("shuffle"):
            value = self.ternary()
            self.take(",")
            lane = self.take()
            self.take(")")
            return f"{name}({value}, {lane})"
        terms = [self.ternary()]
        while self.peek() == ",":
            self.take(",")
            terms.append(self.ternary())
        self.take(")")
        return mix(name, *terms)


def fingerprint(text, kept, exact):
    parser = Parser(text, kept, exact)
    out = parser.ternary()
    if parser.peek():
        raise Unsupported(text)
    return out


def decisive(text, arrays):
    """Arrays whose values decide where something is read or written, or whether."""
    deciding = " ".join(
        re.findall(r"(?:\bif |\bin |\blet \w+ = )(.*)", text)
        + re.findall(r"\[([^\[\]]*\[.*?)\]", text)
    )
    return {name for name in arrays if re.search(rf"\b{name}\[", deciding)}


def terms(text, exact=False):
    """The kernel on fingerprints. Unsupported where numbers are too small to be some, or decide
    what happens."""
    head = re.compile(r"\b(\w+): (\w+)\b(?=[\[,;)\n]| in )")
    short = dict(SHORT.findall(text))
    text = re.sub(r" product_digits\(\d+\)", "", text)
    declared = dict(head.findall(text))
    kept = decisive(text, declared)
    for name, kind in declared.items():
        if name not in kept and kind not in TYPES:
            raise Unsupported(f"{name}: {kind}")
    out = []
    for line in text.split("\n"):
        line = head.sub(lambda m: m[0] if m[1] in kept else f"{m[1]}: {TYPES[m[2]]}", line)
        store = re.match(
            r"(\s*)(\w+)(\[.*?\]) (atomic )?(async|min|max|&&|\|\||[-+*/&|^])?=(?!=) (.*);$", line
        )
        if not store or store[2] in kept:
            out.append(line)
            continue
        space, name, at, atomic, op, value = store.groups()
        new, kind = fingerprint(value, kept, exact), TYPES[declared[name]]
        grows = f"((i64({new}) * {number('each')} + {number('of')}) % {PRIME})"
        if atomic:
            out.append(f"{space}{name}{at} atomic += {kind}({grows});")
            continue
        if op in ("min", "max"):
            new = f"(i64({name}{at}) * {grows} % {PRIME})"
        elif name in short and op and op != "async":
            new = mix(f"{op} of {short[name]} digits", f"{name}{at}", new)
        elif op and op != "async":
            new = combine(op, exact, f"{name}{at}", new)
        out.append(
            f"{space}{name}{at} {'async' if op == 'async' else ''}= "
            f"{new if op == 'async' and new.endswith(']') else f'{kind}({new})'};"
        )
    return "\n".join(out)
