"""Arithmetic at the edges of its types means what docs/language.md says: on the simulator, and in
the emitted text, which a C++ compiler translates with all its optimizations and stops where C has
no meaning (-fsanitize=undefined).

What is expected is computed here, with Python's integers (Number), from the same expressions.
"""

import functools
import itertools
import math
import os
import re
import struct
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
C = {
    "i8": "signed char",
    "i16": "short",
    "i32": "int",
    "i64": "long long",
    "u8": "unsigned char",
    "u16": "unsigned short",
    "u32": "unsigned int",
    "u64": "unsigned long long",
}
FACTOR = 1000003  # of the checksum
BITS = {type_name: int(type_name[1:]) for type_name in C}


def wrap(value, type_name):
    value %= 1 << BITS[type_name]
    return (
        value - (1 << BITS[type_name])
        if type_name[0] == "i" and value >> (BITS[type_name] - 1)
        else value
    )


def promoted(type_name):
    return "i32" if BITS[type_name] < 32 else type_name


def met(a, b):
    a, b = promoted(a), promoted(b)
    return max(a, b, key=lambda t: (BITS[t], t[0] == "u"))


class Number:
    """An integer of a type of the language."""

    def __init__(self, value, type_name):
        self.value, self.type = wrap(int(value), type_name), type_name

    def operate(self, other, function):
        type_name = met(self.type, other.type) if isinstance(other, Number) else promoted(self.type)
        a, b = (
            wrap(self.value, type_name),
            wrap(other.value if isinstance(other, Number) else other, type_name),
        )
        return Number(function(a, b), type_name)

    def __add__(self, other):
        return self.operate(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self.operate(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self.operate(other, lambda a, b: a * b)

    def __and__(self, other):
        return self.operate(other, lambda a, b: a & b)

    def __or__(self, other):
        return self.operate(other, lambda a, b: a | b)

    def __xor__(self, other):
        return self.operate(other, lambda a, b: a ^ b)

    def __radd__(self, other):
        return Number(other, promoted(self.type)) + self

    def __rsub__(self, other):
        return Number(other, promoted(self.type)) - self

    def __rmul__(self, other):
        return Number(other, promoted(self.type)) * self

    def __neg__(self):
        return Number(-self.value, promoted(self.type))

    def __invert__(self):
        return Number(~self.value, promoted(self.type))

    def __abs__(self):
        return -self if self.value < 0 else Number(self.value, promoted(self.type))

    def __truediv__(self, other):
        return self.operate(other, quotient)

    def __mod__(self, other):
        return self.operate(other, lambda a, b: a - b * quotient(a, b))

    def __lshift__(self, other):
        return self.shifted(other, lambda a, by, bits: a << by if by < bits else 0)

    def __rshift__(self, other):
        return self.shifted(other, lambda a, by, bits: a >> min(by, bits))

    def __gt__(self, other):
        return self.operate(other, lambda a, b: a > b).value

    def __lt__(self, other):
        return self.operate(other, lambda a, b: a < b).value

    def shifted(self, by, function):
        """Amounts are taken as unsigned, so that one below 0 is a large one."""
        type_name = promoted(self.type)
        amount = wrap(by.value if isinstance(by, Number) else by, "u" + type_name[1:])
        return Number(function(wrap(self.value, type_name), amount, BITS[type_name]), type_name)


def quotient(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def cast(type_name):
    return (
        lambda x: Number(x.value, type_name)
        if isinstance(x, Number)
        else Number(from_float(x, type_name), type_name)
    )


def from_float(x, type_name):
    """Small types are made of an i32."""
    made = type_name if BITS[type_name] >= 32 else "i32"
    least, most = (
        (0, (1 << BITS[made]) - 1)
        if made[0] == "u"
        else (-(1 << (BITS[made] - 1)), (1 << (BITS[made] - 1)) - 1)
    )
    return 0 if math.isnan(x) else least if x <= least else most if x >= most else int(x)


def pick(function):
    return lambda a, b: Number(
        function(a.value, b.value), met(a.type, b.type) if a.type != b.type else a.type
    )


NAMES = {type_name: cast(type_name) for type_name in C} | {
    "select": lambda c, a, b: a if c else b,
    "abs": abs,
    "min": pick(min),
    "max": pick(max),
}
INTEGERS = """
    a + b; a - b; a * b; a * b + a - b; a - (b - a) * 3; 3 - a * b; -a; -(a + b) * b; a * -b;
    a + -b; -(-a); ~a + 1; abs(a); abs(a - b); a / (b | 1); a % (b | 1); (a - b) / (a | 1); a / 7;
    a % 7; a << b; a >> b; a << (b & 7); a >> (b & 7); (a << 3) + b; (a << 1) * 3 - (b << 2);
    select(a + 1 > a, a - 1, b); min(a + b, a * b); max(a - b, b - a); i8(a * b); i16(a + b) * 77;
    u8(a - b) * a; i64(a) * b; i64(a + b); u32(a) * u32(b) - 1; i32(a) * i32(b) + 1;
    (a ^ b) * (a & b) - (a | b); u16(a) * u16(b); u16(a) * u16(b) + a; i8(a) * i8(b) * i8(a);
    (i32(i16(a)) * i16(b)) * 2; a * 3 + b * 5 - (a - b) * (a + b)"""
EDGES = {
    "i32": [0, 1, -1, 2, 7, 31, 32, 46341, -65536, 12345678, 2**31 - 1, -(2**31), -(2**31) + 1],
    "i64": [0, 1, -1, 63, 64, 3037000500, -(2**32), 2**31, 2**63 - 1, -(2**63), -(2**63) + 1],
    "i16": [0, 1, -1, 9, 33, 181, 2**15 - 1, -(2**15)],
    "i8": [0, 1, -1, 7, 12, 127, -128],
    "u32": [0, 1, 31, 32, 65536, 2**31, 2**32 - 1],
    "u64": [0, 1, 63, 64, 2**33, 2**63, 2**64 - 1],
    "u16": [0, 1, 40, 256, 2**15, 65535],
    "u8": [0, 1, 9, 128, 255],
}
UPDATES = ["+= b", "-= b", "*= b", "+= -b", "*= -b", "+= a", "-= a", "*= a", "*= a"]
FLOATS = [
    0.0,
    0.75,
    -0.75,
    1.5,
    -1.5,
    300.0,
    -129.0,
    65537.0,
    2147483520.0,
    2147483648.0,
    -2147483648.0,
    -2147483904.0,
    3e9,
    4294967296.0,
    2147483647.25,
    9.2e18,
    9.3e18,
    -9.3e18,
    1.8e19,
    1.9e19,
    1e30,
    -1e30,
    math.inf,
    -math.inf,
    math.nan,
]


def evaluate(text, a, b):
    return eval(text, {"__builtins__": {}}, NAMES | {"a": a, "b": b})


def expected_updates(a, b):
    """The element after each of the updates; its type is that of a."""
    element, after = a, []
    for update in UPDATES:
        op, value = update.split("= ")
        value = cast(a.type)(evaluate(value, a, b))
        element = cast(a.type)(
            {"+": element + value, "-": element - value, "*": element * value}[op]
        )
        after.append(element)
    return after


def tirc(text, *arguments):
    command = [os.environ["TIRC"], "-", *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + text
    return done.stdout


def literal(value):
    if isinstance(value, float):
        return (
            "nan"
            if math.isnan(value)
            else "inf"
            if value == math.inf
            else "-inf"
            if value == -math.inf
            else repr(value)
        )
    return str(value)


def set_all(buffer, values):
    return " ".join(f"{buffer}[{i}] = {literal(v)};" for i, v in enumerate(values))


class Table:
    """Expressions of two operands over all pairs of their values."""

    def __init__(self, type_name, values, expressions, result="i64", updates=()):
        self.type, self.values, self.expressions, self.result, self.updates = (
            type_name,
            values,
            expressions,
            result,
            updates,
        )
        self.n, self.rows = len(values), len(expressions) + len(updates)

    def statements(self):
        lines = [
            f"y[{k}, i, j] = {self.result}({self.tir(text)});"
            for k, text in enumerate(self.expressions)
        ]
        if self.updates:
            lines.append("z[i, j] = a[i];")
        for k, update in enumerate(self.updates):
            op, value = update.split(" ", 1)
            value = f"{self.type}({self.tir(value)})"
            lines += [
                f"z[i, j] {op} {value};",
                f"y[{len(self.expressions) + k}, i, j] = {self.result}(z[i, j]);",
            ]
        return f"for i in {self.n}, j in {self.n} {{ {' '.join(lines)} }}"

    def tir(self, text):
        return re.sub(r"\b([ab])\b", lambda m: f"a[{'i' if m[1] == 'a' else 'j'}]", text)

    def declared(self):
        return (
            f"z: {self.type}[{self.n}, {self.n}]",
            f"y: {self.result}[{self.rows}, {self.n}, {self.n}]",
        )

    def on_simulator(self):
        """A checksum of what the simulator computes."""
        z, y = self.declared()
        text = (
            f"kernel t() -> part: i32[4] {{ temp a: {self.type}[{self.n}]; temp {z}; temp {y}; "
            f"{set_all('a', self.values)} "
            f"{self.statements()} temp sum: i64[1]; sum[0] = 0; "
            f"for k in {self.rows}, i in {self.n}, j in {self.n} sum[0] = sum[0] * {FACTOR} "
            "+ y[k, i, j]; "
            "for k in 4 part[k] = i32(sum[0] >> 16 * k & 65535); }"
        )
        found = re.search(
            r"part: .* starts ([\d ]+)",
            tirc(text, "--schedule", "none", "--run", "--device", "sim"),
        )
        return wrap(sum(int(part) << 16 * k for k, part in enumerate(found[1].split())), "i64")

    def on_host(self, folder):
        """What the emitted text computes."""
        z, y = self.declared()
        text = f"kernel t(a: {self.type}[{self.n}]) -> {z}, {y} {{ {self.statements()} }}"
        if not self.updates:
            text = text.replace(f"{z}, ", "")
        cuda = tirc(text, "--schedule", "none", "--emit", "cuda")
        bits = (
            struct.pack("<" + {"f32": "f", "f64": "d"}[self.type] * self.n, *self.values)
            if self.type[0] == "f"
            else b""
        )
        source = [
            f'#include "{HERE}/cuda.h"',
            "#include <stdio.h>",
            "#include <string.h>",
            cuda,
            "int main()",
            "{",
        ]
        if bits:
            kind = {"f32": "float", "f64": "double"}[self.type]
            source += [
                f"    const unsigned char bits[] = {{{', '.join(map(str, bits))}}};",
                f"    {kind} a[{self.n}];",
                "    memcpy(a, bits, sizeof a);",
            ]
        else:
            values = ", ".join(self.c_literal(value) for value in self.values)
            source += [
                f"    {C[self.type]} a[] = {{{values}}};",
                f"    static {C[self.type]} z[{self.n * self.n}];",
            ]
        size = self.rows * self.n * self.n
        source += [
            f"    static {C[self.result]} y[{size}];",
            f"    t({'a, z, y' if self.updates else 'a, y'});",
            f'    for (int k = 0; k < {size}; k++) printf("%lld\\n", (long long)y[k]);',
            "}",
        ]
        (folder / "t.cpp").write_text("\n".join(source))
        command = [
            "g++",
            "-std=c++17",
            "-O2",
            "-fsanitize=undefined",
            "-fno-sanitize-recover=all",
            "-fsanitize=float-cast-overflow",
            "-o",
            folder / "t",
            folder / "t.cpp",
        ]
        built = subprocess.run(command, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        done = subprocess.run([folder / "t"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [int(line) for line in done.stdout.split()]

    def c_literal(self, value):
        return f"({C[self.type]}){value % 2**64}ull"

    def name(self, k):
        row, rest = divmod(k, self.n * self.n)
        text = [*self.expressions, *self.updates][row]
        return f"{text} for a = {self.values[rest // self.n]}, b = {self.values[rest % self.n]}"


def check(table, expected, folder):
    found = table.on_host(folder)
    for k, (got, want) in enumerate(zip(found, expected, strict=True)):
        assert got == want, table.name(k)
    assert table.on_simulator() == functools.reduce(
        lambda total, value: wrap(total * FACTOR + value, "i64"), expected, 0
    )


@pytest.mark.parametrize("type_name", EDGES)
def test_integers(type_name, tmp_path):
    expressions = [text.strip() for text in INTEGERS.split(";")]
    table = Table(type_name, EDGES[type_name], expressions, updates=UPDATES)
    pairs = [
        (Number(a, type_name), Number(b, type_name))
        for a, b in itertools.product(table.values, repeat=2)
    ]
    expected = [wrap(evaluate(text, a, b).value, "i64") for text in expressions for a, b in pairs]
    after = [expected_updates(a, b) for a, b in pairs]
    expected += [wrap(row[k].value, "i64") for k in range(len(UPDATES)) for row in after]
    check(table, expected, tmp_path)


@pytest.mark.parametrize("type_name", ["f32", "f64"])
def test_conversions(type_name, tmp_path):
    code = {"f32": "<f", "f64": "<d"}[type_name]
    values = [struct.unpack(code, struct.pack(code, value))[0] for value in FLOATS]
    table = Table(type_name, values, [f"{to}(a)" for to in C])
    expected = [
        wrap(from_float(a, to) if BITS[to] >= 32 else wrap(from_float(a, to), to), "i64")
        for to in C
        for a in values
        for _ in values
    ]
    check(table, expected, tmp_path)


# ---- bits ----------------------------------------------------------------------------------------

WORDS = """
    popcount(a); popcount(b) - clz(a); clz(a - b); clz(a >> 1) * popcount(~b); bits(a); bits(a * b);
    i64(bits(b)) - 1"""


def unsigned(x):
    return x.value % 2 ** BITS[x.type]


def bytes_of(x):
    raw = [unsigned(x) >> shift & 255 for shift in range(0, 32, 8)]
    return [wrap(byte, x.type[0] + "8") for byte in raw]


BIT_NAMES = NAMES | {
    "popcount": lambda x: Number(bin(unsigned(x)).count("1"), "i32"),
    "clz": lambda x: Number(BITS[x.type] - unsigned(x).bit_length(), "i32"),
    "dp4a": lambda a, b, c: Number(
        c.value + sum(x * y for x, y in zip(bytes_of(a), bytes_of(b), strict=True)), a.type
    ),
    "bits": lambda x: Number(x.value, ("u" if x.type[0] == "i" else "i") + x.type[1:]),
}


@pytest.mark.parametrize("type_name", ["i32", "u32", "i64", "u64"])
def test_bits(type_name, tmp_path):
    """`bits` is a bitcast to the other signedness."""
    expressions = [text.strip() for text in WORDS.split(";")]
    if BITS[type_name] == 32:
        expressions += ["dp4a(a, b, a)", "dp4a(a ^ b, a - b, b) + 1"]
    other = ("u" if type_name[0] == "i" else "i") + type_name[1:]
    values = [*EDGES[type_name], 0x7F80017F, 0x01020304]
    table = Table(
        type_name, values, [text.replace("bits(", f"bitcast({other}, ") for text in expressions]
    )
    expected = [
        wrap(
            eval(
                text,
                {"__builtins__": {}},
                BIT_NAMES | {"a": Number(a, type_name), "b": Number(b, type_name)},
            ).value,
            "i64",
        )
        for text in expressions
        for a, b in itertools.product(values, repeat=2)
    ]
    check(table, expected, tmp_path)


# ---- minima and maxima ---------------------------------------------------------------------------

EXTREMES = [-0.0, 0.0, math.nan, 1.5, -1.5, math.inf, -math.inf]
# Each of them as a digit.
CODE = (
    "select({v} != {v}, 1, select({v} == 0, select(1 / {v} > 0, 2, 3), select({v} > 0, select({v} "
    "> 2, 4, 6), select({v} < -2, 5, 7))))"
)


def code(value):
    if math.isnan(value):
        return 1
    if value == 0:
        return 2 if math.copysign(1, value) > 0 else 3
    return {math.inf: 4, -math.inf: 5, 1.5: 6, -1.5: 7}[value]


def extreme(a, b, of, keeps_nan=False):
    """Of two numbers; NaN stands for none unless it is kept, and -0 is less than +0."""
    if math.isnan(a) or math.isnan(b):
        return math.nan if keeps_nan else b if math.isnan(a) else a
    return of(a, b, key=lambda x: (x, math.copysign(1, x)))


def codes(n, name="", v="v", y="y"):
    """Statements that pack the codes of v[0..n] into y, four to an element."""
    packed = f"{y}[i / 4] = {y}[i / 4] * 8 + {CODE.format(v=f'{v}[i]')};"
    return f"for i in {(n + 3) // 4} {y}[i] = 0; for i in {n} pack{name}: {packed}"


def unpacked(text, *arguments):
    """The codes that `text` computes, for each of its outputs."""
    said = tirc(text, "--run", "--device", "sim", *arguments)
    return [
        "".join(f"{int(value):o}" for value in found.split())
        for found in re.findall(r"y\d*: .* starts (.+)", said)
    ]


@pytest.mark.parametrize("type_name", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("name", ["min", "max", "minimum", "maximum"])
def test_extremes(type_name, name, tmp_path):
    of = {"min": min, "max": max}[name[:3]]
    n = len(EXTREMES)
    outputs = ", ".join(f"y{k}: i32[{(n + 3) // 4}]" for k in range(n))
    rows = "".join(
        f"for i in {n} v{k}[i] = {name}(a[{k}], a[i]); {codes(n, k, f'v{k}', f'y{k}')} "
        for k in range(n)
    )
    text = (
        f"kernel t() -> {outputs} {{ temp a: {type_name}[{n}]; "
        + "".join(f"temp v{k}: {type_name}[{n}]; " for k in range(n))
        + f"{set_all('a', EXTREMES)} {rows} }}"
    )
    expected = [
        "".join(str(code(extreme(a, b, of, name.endswith("imum")))) for b in EXTREMES)
        for a in EXTREMES
    ]
    for schedule in "none", "default":
        assert unpacked(text, "--schedule", schedule) == expected


# The order of the values, and which of them a partial result has, make no difference; neither does
# a start that is NaN or -0.
STARTS = [-0.0, 0.0, math.nan, -math.inf, math.inf, None]  # None: read from memory, and NaN
SUMS = ", ".join(f"sum{n}" for n in range(len(STARTS)))
SCHEDULES = f"""
schedule partial for t() {{
    for sum in [{SUMS}] {{ rfactor(split(loops(sum)[1], [_, 2])[1], 0); }}
}}
schedule threads for t() {{
    for sum in [{SUMS}] {{ let [i, k] = loops(sum); bind(i, blockIdx.x); bind(k, threadIdx.x); }}
}}
schedule atomics for t() {{
    for sum in [{SUMS}] {{
        decompose_reduction(sum, loops(sum)[1]); let [i, k] = loops(sum); atomic(sum);
        bind(i, blockIdx.x); bind(k, threadIdx.x);
    }}
}}
schedule backwards for t() {{ for sum in [{SUMS}] {{ let [i, k] = loops(sum); reorder(k, i); }} }}
"""
ROWS = [
    [-0.0, 0.0, -0.0, -0.0],
    [0.0, -0.0, -0.0, -0.0],
    [-0.0] * 4,
    [math.nan] * 4,
    [math.nan, -0.0, math.nan, 0.0],
    [-math.inf, math.nan, -math.inf, math.nan],
    [math.inf, math.nan, -0.0, math.nan],
    [math.nan, math.nan, math.nan, -math.inf],
]


def reduced(type_name, name, n, start):
    """Reduces the rows of x into v{n}, from `start`."""
    begin = "s[0]" if start is None else literal(start)
    return (
        f"for i in 8, k in 4 block sum{n}(vi in 8 = i, reduce vk in 4 = k) {{ "
        f"init v{n}[vi] = {begin}; v{n}[vi] {name}= x[vi, vk]; }} "
    )


@pytest.mark.parametrize("type_name", ["f64", "f32", "f16", "bf16"])
@pytest.mark.parametrize("name", ["min", "max", "+"])
def test_reductions_of_extremes(type_name, name):
    combine = (
        (lambda a, b: a + b)
        if name == "+"
        else lambda a, b: extreme(a, b, {"min": min, "max": max}[name])
    )
    fill = " ".join(set_all(f"x[{i}, #]", row).replace(", #][", ", ") for i, row in enumerate(ROWS))
    outputs = ", ".join(f"y{n}: i32[2]" for n in range(len(STARTS)))
    text = (
        f"kernel t() -> {outputs} {{ temp x: {type_name}[8, 4]; temp s: {type_name}[1]; "
        + "".join(f"temp v{n}: {type_name}[8]; " for n in range(len(STARTS)))
        + f"s[0] = nan; {fill} "
        + "".join(reduced(type_name, name, n, start) for n, start in enumerate(STARTS))
        + "".join(codes(8, n, f"v{n}", f"y{n}") for n in range(len(STARTS)))
        + "}"
        + SCHEDULES
    )
    expected = [
        "".join(
            str(code(functools.reduce(combine, row, math.nan if start is None else start)))
            for row in ROWS
        )
        for start in STARTS
    ]
    for schedule in "none", "default", *re.findall(r"schedule (\w+)", SCHEDULES):
        assert unpacked(text, "--schedule", schedule) == expected, schedule
