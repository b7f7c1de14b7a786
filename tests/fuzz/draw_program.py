"""Draws programs for fuzz_default.py: a few nests each, of the kinds that `default` has rules for.

The nests share buffers, so that one reads, overwrites or updates what another has made. All
elements that a program reads have values, and subscripts stay in bounds.
"""

import dataclasses
import random
import re

SIZES = ((1, 2, 3, 5, 7), (16, 31, 32, 33, 40, 64), (100, 128, 200, 257, 384))
MOST_WORK = 400_000  # iterations of a nest, which runs on the simulator
REALS = ("f32", "f32", "f32", "f64", "f16", "bf16")
INTEGERS = ("i32", "i32", "i64")
BYTES = ("u8", "i8")


@dataclasses.dataclass
class Buffer:
    name: str
    type: str
    shape: tuple  # names of sizes
    role: str  # input, inout, output or temp
    below: str = ""  # elements are places below this size
    ready: bool = True  # all elements have values
    sorted: bool = False  # elements are nondecreasing


def indented(lines):
    return ["    " + line for line in lines]


class Program:
    """A program: its sizes, its buffers, and its nests, lists of lines."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sizes = {name: self.one_of(*self.one_of(*SIZES)) for name in "MNK"}
        self.type = self.one_of(*(REALS if self.chance(0.7) else INTEGERS))
        self.buffers, self.numbers, self.nests = [], {}, []
        for _ in range(self.random.randint(1, 4)):
            self.nests.append(self.one_of(*KINDS)(self))
            written = "\n".join(self.nests[-1])
            for buffer in self.buffers:
                buffer.ready |= bool(re.search(rf"\b{buffer.name}\b", written))

    def one_of(self, *choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def fresh(self, stem):
        self.numbers[stem] = self.numbers.get(stem, 0) + 1
        return f"{stem}{self.numbers[stem]}"

    # ---- buffers ---------------------------------------------------------------------------------

    def add(self, stem, shape, role, kind=None, below=""):
        ready = role in ("input", "inout")
        buffer = Buffer(self.fresh(stem), kind or self.type, tuple(shape), role, below, ready)
        self.buffers.append(buffer)
        return buffer

    def known(self, shape, roles):
        return [
            buffer
            for buffer in self.buffers
            if buffer.shape == tuple(shape)
            and buffer.role in roles
            and buffer.ready
            and not buffer.below
            and buffer.type == self.type
        ]

    def input(self, shape):
        """A buffer to read."""
        known = self.known(shape, ("input", "inout", "output", "temp"))
        if known and self.chance(0.5):
            return self.one_of(*known)
        kinds = (REALS if self.type in REALS else INTEGERS) + BYTES
        return self.add("x", shape, "input", self.one_of(*kinds) if self.chance(0.2) else None)

    def places(self, count, below):
        """A list of places."""
        known = [b for b in self.buffers if b.below == below and b.shape == (count,)]
        return known[0] if known else self.add("at", [count], "input", "i32", below)

    def number(self, loops, size):
        """An element of an input, from 0 to a size."""
        v = self.one_of(*loops)
        shape, at = (loops[v],), self.one_of(v, v, v, self.place(loops[v], {v: loops[v]}))
        if self.chance(0.3):
            shape, at = ("2", loops[v]), self.one_of("0, ", "1, ") + at
        known = [b for b in self.buffers if b.below == f"{size} + 1" and b.shape == shape]
        if not known or (len(known) == 1 and self.chance(0.3)):
            known.append(self.add("len", shape, "input", "i32", f"{size} + 1"))
        return f"{self.one_of(*known).name}[{at}]"

    def row(self, v, of_v, size):
        """Part `v` of elements that a list divides: ends of the range."""
        shape = (f"{of_v} + 1",)
        known = [b for b in self.buffers if b.sorted and b.shape == shape]
        known = [b for b in known if b.below == f"{size} + 1"]
        if not known or (len(known) == 1 and self.chance(0.2)):
            known.append(self.add("ptr", shape, "input", "i32", f"{size} + 1"))
            known[-1].sorted = True
        name = self.one_of(*known).name
        if self.chance(0.8):
            return f"{name}[{v}]..{name}[{v} + 1]"
        return self.one_of(
            f"{name}[{v}] + 1..{name}[{v} + 1]",
            f"{name}[{v}]..min({name}[{v}] + 2, {name}[{v} + 1])",
            f"{name}[{v}]..{size}",
            f"{name}[{v} + 1]",
        )

    def range(self, loops, size):
        """Ends of a part of 0..size, of loops around it or of data."""
        v = self.one_of(*loops)
        how = self.random.random()
        if how < 0.3:
            return self.number(loops, size)
        if how < 0.55:
            return self.row(v, loops[v], size)
        if how < 0.7:
            a, b = self.number(loops, size), self.number(loops, size)
            return self.one_of(
                f"{a}..{b}", f"min({a}, {b})", f"max({a}, {b})", f"{a}..{size}", f"{a} + 1..{size}"
            )
        up, down = f"min({v} + 1, {size})", f"max({v} - {self.one_of(1, 3, 8)}, 0)"
        return self.one_of(f"{up}", f"{down}..{up}", f"{v}..{size}", f"{v} + 1..{size}", size)

    def result(self, shape):
        """A buffer of which a nest stores all elements; until then, it reads none."""
        known = self.known(shape, ("inout", "output", "temp"))
        if known and self.chance(0.2):
            buffer = self.one_of(*known)
            buffer.ready = False
            return buffer
        return self.add("t", shape, "temp") if self.chance(0.25) else self.add("y", shape, "output")

    def changed(self, shape):
        """A buffer of which a nest changes elements."""
        known = self.known(shape, ("inout", "output", "temp"))
        return self.one_of(*known) if known and self.chance(0.5) else self.add("z", shape, "inout")

    # ---- expressions -----------------------------------------------------------------------------

    def converted(self, buffer, text):
        return text if buffer.type == self.type else f"{self.type}({text})"

    def place(self, size, loops):
        """A subscript below a size, from loops {variable: size}."""
        same = [v for v, s in loops.items() if s == size]
        if not loops or self.chance(0.015):
            return "0"
        v = self.one_of(*(same or loops))
        if loops[v] != size:
            at = self.places(loops[v], size).name
            return f"{v} % {size}" if self.chance(0.7) else f"{at}[{v}]"
        if self.chance(0.72):
            return v
        return self.one_of(
            f"{size} - 1 - {v}",
            f"min({v} + 1, {size} - 1)",
            f"max({v} - 1, 0)",
            f"({v} + 1) % {size}",
            f"{v} / 2",
            f"({v} * 3) % {size}",
            f"{self.places(size, size).name}[{v}]",
        )

    def load(self, loops, shape=None):
        if shape is None:
            sizes = sorted(set(loops.values()))
            shape = self.random.sample(sizes, self.random.randint(0, min(2, len(sizes))))
            shape *= 2 if len(shape) == 1 and self.chance(0.2) else 1
        buffer = self.input(shape)
        text = subscripted(buffer, [self.place(size, loops) for size in buffer.shape])
        return self.converted(buffer, text)

    def literal(self):
        return self.one_of("0", "1", "2", *(("3",) if self.type in INTEGERS else ("0.5", "0.25")))

    def condition(self, loops):
        if loops and self.chance(0.1):
            v = self.one_of(*loops)
            return f"{v} {self.one_of('<', '<', '>=')} {self.number(loops, loops[v])}"
        if loops and self.chance(0.6):
            v = self.one_of(*loops)
            size = loops[v]
            return self.one_of(
                f"{v} > 0", f"{v} % 2 == 0", f"{v} < {size} / 2", f"{v} + 1 < {size}"
            )
        return f"{self.load(loops)} {self.one_of('>', '<')} {self.literal()}"

    def term(self, loops, depth):
        how = self.random.random()
        if depth == 0 or how < 0.3:
            return self.load(loops) if self.chance(0.85) else self.literal()
        a, b = self.term(loops, depth - 1), self.term(loops, depth - 1)
        if how < 0.7:
            return f"({a} {self.one_of('+', '-', '*', '+', '*')} {b})"
        if how < 0.8:
            return f"{self.one_of('min', 'max')}({a}, {b})"
        if how < 0.85 and self.type in ("f32", "f64"):
            return self.one_of(f"abs({a})", f"exp(-abs({a}))", f"({a} / (1 + abs({b})))")
        return f"({self.condition(loops)} ? {a} : {b})"

    def value(self, loops, depth=2):
        text = self.term(loops, depth)
        return f"{self.type}({text})" if self.type in ("f16", "bf16") else text

    # ---- nests -----------------------------------------------------------------------------------

    def work(self, sizes):
        count = 1
        for size in sizes:
            count *= self.sizes[size]
        return count

    def size(self):
        return self.one_of(*self.sizes)

    def loops(self, most=3, names="ijk"):
        """Names and sizes of one to `most` loops."""
        sizes = [self.size() for _ in range(self.random.randint(1, most))]
        while self.work(sizes) > MOST_WORK:
            sizes.pop()
        return dict(zip(names, sizes))

    def operator(self):
        more = ("&=", "|=", "^=") if self.type in INTEGERS else ()
        return self.one_of("+=", "+=", "+=", "min=", "max=", *more)

    def start(self, operator):
        """The literal that a reduction starts with."""
        known = {"+=": "0", "&=": "1", "|=": "0", "^=": "0"}
        return known.get(operator) or self.one_of("0", "1")

    def elements(self):
        loops = self.loops()
        order = list(loops)
        if self.chance(0.3):
            self.random.shuffle(order)
        y = self.result([loops[v] for v in order])
        return [header(loops), f"    {subscripted(y, order)} = {self.value(loops, 3)};"]

    def sums(self):
        loops = self.loops()
        n = self.random.randint(0, len(loops) - 1)
        outer = dict(list(loops.items())[:n])
        inner = dict(list(loops.items())[n:])
        order = list(outer)
        if self.chance(0.3):
            self.random.shuffle(order)
        target = subscripted(self.result([loops[v] for v in order]), order)
        operator = self.operator()
        update = f"{target} {operator} {self.value(loops)};"
        if self.chance(0.25):
            update = f"if {self.condition(loops)} {update}"
        start = f"{target} = {self.start(operator)};"
        if outer and self.chance(0.35):  # apart, in an order of the loops
            nest = self.one_of(loops, {**inner, **outer})
            return [header(outer), f"    {start}", header(nest), f"    {update}"]
        return around(outer, [start, header(inner), f"    {update}"])

    def product(self):
        m, n, k = self.size(), self.size(), self.size()
        if self.work([m, n, k]) > MOST_WORK:
            return self.elements()
        a = self.operand("i", m, "k", k)
        b = self.operand("k", k, "j", n)
        c = self.result([m, n]).name
        start = self.one_of("0", "0", "0", self.load({"j": n}, [n]))
        term = self.one_of(f"{a} * {b}", f"{a} * {b}", f"({a} - {b}) * ({a} - {b})")
        lines = [f"{c}[i, j] = {start};", f"for k in {k}", f"    {c}[i, j] += {term};"]
        if self.chance(0.3):
            lines.append(f"{c}[i, j] = max({c}[i, j], {self.literal()});")
        return around({"i": m, "j": n}, lines)

    def operand(self, p, of_p, q, of_q):
        if self.chance(0.4):
            p, of_p, q, of_q = q, of_q, p, of_p
        x = self.input([of_p, of_q])
        return self.converted(x, f"{x.name}[{p}, {q}]")

    def rows(self):
        """Sums of a row, and what uses them."""
        loops = {"i": self.size(), "j": self.size()}
        if self.work(loops.values()) > MOST_WORK:
            return self.elements()
        s, operator = self.fresh("s"), self.operator()
        y = self.result(loops.values()).name
        each = header({"j": loops["j"]})
        lines = [f"temp {s}: {self.type};", f"{s} = {self.start(operator)};"]
        lines += [each, f"    {s} {operator} {self.value(loops)};"]
        used = s
        if self.chance(0.4):
            q = self.fresh("s")
            lines += [f"temp {q}: {self.type};", f"{q} = 0;"]
            lines += [each, f"    {q} += {self.value(loops, 1)} * {s};"]
            used = f"({s} + {q})"
        use = f"{self.value(loops)} {self.one_of('+', '-', '*')} {used}"
        return around({"i": loops["i"]}, [*lines, each, f"    {y}[i, j] = {use};"])

    def scan(self):
        *outer, t = self.loops(2, "it").items()
        loops = dict([*outer, t])
        s, operator = self.fresh("s"), self.one_of("+=", "+=", "max=", "min=")
        store = f"{subscripted(self.result(loops.values()), loops)} = {s};"
        update = f"{s} {operator} {self.value(loops, 1)};"
        inner = [update, store] if self.chance(0.5) else [store, update]
        start = [f"temp {s}: {self.type};", f"{s} = {self.start(operator)};"]
        return around(dict(outer), [*start, *around(dict([t]), inner)])

    def recurrence(self):
        loops = self.loops(2, "it")
        *outer, t = loops
        y = self.result(loops.values())
        before, value = subscripted(y, [*outer, f"{t} - 1"]), self.value(loops, 1)
        factor = "" if self.type in INTEGERS else self.one_of("", " * 0.5")
        step = self.one_of(f"{before}{factor} + {value}", f"max({before}, {value})")
        first = self.value(loops, 1)
        return [header(loops), f"    {subscripted(y, loops)} = {t} > 0 ? {step} : {first};"]

    def scatter(self):
        n, k = self.size(), self.size()
        z, at = self.changed([k]).name, self.places(n, k).name
        operator = self.one_of("+=", "+=", "max=", "=")
        return [f"for i in {n}", f"    {z}[{at}[i]] {operator} {self.value({'i': n}, 1)};"]

    def window(self):
        n, taps, operator = self.size(), self.one_of(2, 3, 5), self.operator()
        x, y = self.input([n]), self.result([n]).name
        at = self.one_of(f"min(max(i + u - 1, 0), {n} - 1)", f"(i + u) % {n}", "i + u")
        value = self.converted(x, f"{x.name}[{at}]")
        if at == "i + u":
            value = f"(i + u < {n} ? {value} : 0)"
        start = f"{y}[i] = {self.start(operator)};"
        return around({"i": n}, [start, f"for u in {taps}", f"    {y}[i] {operator} {value};"])

    def triangle(self):
        n, operator = self.size(), self.operator()
        y, value = self.result([n]).name, self.value({"i": n, "j": n}, 1)
        span = self.one_of("0..i", f"i..{n}", "0..i + 1", f"i + 1..{n}")
        start = f"{y}[i] = {self.start(operator)};"
        return around({"i": n}, [start, f"for j in {span}", f"    {y}[i] {operator} {value};"])

    def best(self):
        loops = self.loops(2)
        *outer, j = loops
        shape = [loops[v] for v in outer]
        value = self.load(loops, loops.values())
        best = subscripted(self.add("b", shape, "output"), outer)
        where = subscripted(self.add("w", shape, "output", "i32"), outer)
        lines = [f"{best} = {self.one_of('0', '1')};", f"{where} = 0;", f"for {j} in {loops[j]}"]
        lines += [f"    if {value} {self.one_of('>', '<', '>=')} {best} {{"]
        lines += [f"        {best} = {value};", f"        {where} = {j};", "    }"]
        return around({v: loops[v] for v in outer}, lines)

    def branches(self):
        loops = self.loops(2)
        target = subscripted(self.result(loops.values()), loops)
        lines = [header(loops), f"    if {self.condition(loops)}"]
        lines += [f"        {target} = {self.value(loops)};"]
        return [*lines, "    else", f"        {target} = {self.value(loops)};"]

    def in_place(self):
        loops = self.loops(2)
        target = subscripted(self.changed(loops.values()), loops)
        if self.chance(0.5):
            operator = self.one_of("+=", "-=", "*=", "max=")
            return [header(loops), f"    {target} {operator} {self.value(loops)};"]
        return [header(loops), f"    {target} = {self.value(loops)} + {target};"]

    def two_sums(self):
        loops = self.loops(2)
        *outer, j = loops
        shape = [loops[v] for v in outer]
        s, t = (subscripted(self.add("y", shape, "output"), outer) for _ in range(2))
        lines = [f"{s} = 0;", f"{t} = 0;"]
        updates = [f"{s} += {self.value(loops, 1)};"]
        updates += [f"{t} {self.one_of('+=', 'max=')} {self.value(loops, 1)};"]
        return around({v: loops[v] for v in outer}, [*lines, *around({j: loops[j]}, updates)])

    def reversed(self):
        """Elements that exchange places."""
        n, s = self.size(), self.fresh("s")
        z = self.changed([n]).name
        lines = [f"temp {s}: {self.type};", f"{s} = {z}[i];", f"{z}[i] = {z}[{n} - 1 - i];"]
        return around({"i": f"{n} / 2"}, [*lines, f"{z}[{n} - 1 - i] = {s};"])

    def counts(self):
        n, k = self.size(), self.size()
        at, h = self.places(n, k).name, self.add("h", [k], "output", "i32").name
        update = f"{h}[{at}[i]] += 1;"
        if self.chance(0.4):
            update = f"if {self.condition({'i': n})} {update}"
        return [f"for b in {k}", f"    {h}[b] = 0;", f"for i in {n}", f"    {update}"]

    def packed(self):
        """Elements that a condition chooses, side by side."""
        n, c = self.size(), self.fresh("n")
        x, y = self.input([n]), self.result([n]).name
        value = self.converted(x, f"{x.name}[i]")
        lines = [f"for i in {n}", f"    {y}[i] = 0;", f"temp {c}: i32;", f"{c} = 0;"]
        lines += [f"for i in {n}", f"    if {value} > {self.literal()} {{"]
        return [*lines, f"        {y}[{c}] = {value};", f"        {c} += 1;", "    }"]

    def strided(self):
        n, step = self.size(), self.one_of(2, 3, 4)
        y = self.result([n]).name
        lines = [f"for i in {n}", f"    {y}[i] = {self.literal()};", f"for i in 0..{n} step {step}"]
        return [*lines, f"    {y}[i] = {self.value({'i': n})};"]

    def downward(self):
        n = self.size()
        z, value = self.changed([n]).name, self.value({"i": n}, 1)
        step = self.one_of(f"{z}[i + 1] + {value}", f"max({z}[i + 1], {value})", value)
        return [f"for i in {n} - 2..0 step -1", f"    {z}[i] = {step};"]

    def first(self):
        loops = self.loops(2)
        *outer, j = loops
        value = self.load(loops, loops.values())
        target = subscripted(self.add("f", [loops[v] for v in outer], "output", "i32"), outer)
        lines = [
            f"{target} = -1;",
            f"for {j} in {loops[j]}",
            f"    if {value} > {self.literal()} {{",
        ]
        lines += [f"        {target} = {j};", "        break;", "    }"]
        return around({v: loops[v] for v in outer}, lines)

    def normalized(self):
        """A row of temporaries that is read again."""
        loops = {"i": self.size(), "j": self.size()}
        if self.work(loops.values()) > MOST_WORK:
            return self.elements()
        p, s = self.fresh("p"), self.fresh("s")
        y, size = self.result(loops.values()).name, loops["j"]
        lines = [f"temp {p}: {self.type}[{size}];", f"temp {s}: {self.type};"]
        lines += [f"for j in {size}", f"    {p}[j] = {self.value(loops)};"]
        operator = self.operator()
        lines += [f"{s} = {self.start(operator)};", f"for j in {size}"]
        lines += [f"    {s} {operator} {p}[{self.place(size, loops)}];"]
        if self.chance(0.4):
            lines += [f"for j in {size}", f"    {p}[j] = {p}[j] - {s};"]
        use = f"{p}[j] {self.one_of('+', '-', '*')} {s}"
        return around({"i": loops["i"]}, [*lines, f"for j in {size}", f"    {y}[i, j] = {use};"])

    def solved(self):
        """A triangular system: each element needs all before it."""
        n = self.size()
        factor = self.load({"i": n, "j": n}, [n, n])
        start, y = self.load({"i": n}, [n]), self.result([n]).name
        part = "" if self.type in INTEGERS else " * 0.0625"
        update = f"{y}[i] {self.one_of('-=', '+=', 'max=')} {y}[j]{part} * ({factor} > 0 ? 1 : 0);"
        return around({"i": n}, [f"{y}[i] = {start};", "for j in 0..i", f"    {update}"])

    def named(self):
        """Values with names, of which one is used twice."""
        loops = self.loops()
        a, b = self.fresh("v"), self.fresh("v")
        first, second, condition = self.value(loops), self.value(loops, 1), self.condition(loops)
        target = subscripted(self.result(loops.values()), loops)
        lines = [f"let {a} = {first};", f"let {b} = {a} {self.one_of('+', '*')} {second};"]
        return around(loops, [*lines, f"{target} = {condition} ? {a} : {b};"])

    def change(self, p, s, loops):
        """A new value of an element, from the old one and a sum."""
        used = self.one_of(s, self.value(loops, 1), self.literal()) if s else self.value(loops, 1)
        if self.type in INTEGERS:
            return f"{p} {self.one_of('+', '-', '^')} {used}"
        text = self.one_of(
            f"{p} * 0.5 + {used}", f"min({p}, {used})", f"{used} - {p}", f"exp(-abs({p} - {used}))"
        )
        return text if self.type in ("f32", "f64") or "exp" not in text else f"{used} - {p}"

    def stage(self, lines, p, s, loops, range):
        """A loop that changes a row of temporaries, adds it up, or both."""
        inner, operator = {**loops, "j": range[1]}, self.operator()
        update = f"{p}[j] = {self.change(f'{p}[j]', s, inner)};"
        if self.chance(0.2):
            update = f"if {self.condition(inner)} {update}"
        how, body = self.random.random(), []
        if how < 0.6:
            body.append(update)
        if how > 0.4:
            s = self.fresh("s")
            lines += [f"temp {s}: {self.type};", f"{s} = {self.start(operator)};"]
            term = self.one_of(f"{p}[j]", f"{p}[j] * {self.load(inner)}")
            body.append(f"{s} {operator} {term};")
        lines += around({"j": range[0]}, body)
        return s

    def stages(self):
        """Rows of temporaries in several loops, over parts that loops or data decide."""
        outer = self.loops(2, "bi")
        size = self.size()
        if self.work([*outer.values(), size]) > MOST_WORK / 4:
            return self.elements()
        p, s, whole = self.fresh("p"), None, self.chance(0.4)
        spans = dict(outer)
        if len(outer) == 2 and self.chance(0.5):
            spans["i"] = self.range({"b": outer["b"]}, outer["i"])
        elif self.chance(0.15):
            first = next(iter(outer))
            spans[first] = self.number({"0": outer[first]}, outer[first])
        range = self.range(outer, size)
        other = self.range(outer, size) if whole else range
        y = self.result([*outer.values(), size] if self.chance(0.6) else [*outer.values()])
        lines, declared = [], [f"temp {p}: {self.type}[{size}];"]
        if whole:
            lines += [f"for j in {size}", f"    {p}[j] = {self.literal()};"]
        value = self.value({**outer, "j": size}, 1)
        lines += [f"for j in {range}", f"    {p}[j] = {value};"]
        for _ in [1] * self.random.randint(1, 3):
            s = self.stage(lines, p, s, outer, (self.one_of(range, other), size))
        if len(y.shape) > len(outer):
            use = f"{p}[j] {self.one_of('+', '*')} {s}" if s else f"{p}[j]"
            lines += [f"for j in {other}", f"    {subscripted(y, [*outer, 'j'])} = {use};"]
        else:
            lines.append(f"{subscripted(y, outer)} = {s or self.value(outer, 1)};")
        starts = dict(zip("bij", y.shape))
        first = [header(starts), f"    {subscripted(y, starts)} = {self.literal()};"]
        if whole and self.work(outer.values()) < 64:  # one row for all
            zero = [f"for j in {size}", f"    {p}[j] = {self.literal()};"]
            return [*declared, *zero, *first, *around(spans, lines[2:])]
        return [*first, *around(spans, [*declared, *lines])]

    def attention(self):
        """Products, weights of them in a range, and weighted sums, in numbers of other types."""
        m, n, k, d = self.size(), self.size(), self.size(), self.size()
        if self.type in INTEGERS or self.work([m, n, k]) + self.work([m, n, d]) > MOST_WORK:
            return self.elements()
        sums = "f64" if self.type == "f64" else "f32"
        q, x, v = self.input([m, k]), self.input([n, k]), self.input([n, d])
        y, (p, t, o) = self.result([m, d]).name, (self.fresh(stem) for stem in "pto")
        span = self.one_of(n, n, f"min(i + 1, {n})", f"max(i - 7, 0)..min(i + 1, {n})")
        span = self.range({"i": m}, n) if self.chance(0.4) else span
        fewer = " product_digits(8)" if sums == "f32" and self.chance(0.5) else ""
        product = f"{sums}({q.name}[i, d]) * {sums}({x.name}[j, d])"
        lines = [f"temp {p}: {sums}[{n}];", f"temp {t}: {sums};", f"for j in {span} {{"]
        lines += [f"    {p}[j] = 0;", f"    for d in {k}", f"        {p}[j] += {product};", "}"]
        lines += [f"{t} = 1;", f"for j in {span} {{", f"    {p}[j] = exp(min({p}[j] * 0.125, 1));"]
        lines += [f"    {t} += {p}[j];", "}", f"for d in {d} {{", f"    temp {o}: {sums}{fewer};"]
        lines += [f"    {o} = 0;", f"    for j in {span}"]
        lines += [f"        {o} += {p}[j] * {sums}({v.name}[j, d]);"]
        lines += [f"    {y}[i, d] = {self.type}({o} / {t});", "}"]
        return around({"i": m}, lines)

    def factorization(self):
        """Steps that scale a column and update what is behind it, in place."""
        n = self.size()
        if self.type not in ("f32", "f64") or self.work([n, n, n]) > MOST_WORK:
            return self.elements()
        z = self.changed([n, n]).name
        rows, columns = self.one_of((f"k + 1..{n}", f"k + 1..{n}"), (f"k + 1..{n}", "k + 1..i + 1"))
        lines = [f"for i in {rows}", f"    {z}[i, k] = {z}[i, k] / (2 + abs({z}[k, k]));"]
        if self.chance(0.3):
            lines = [f"{z}[k, k] = sqrt(1 + abs({z}[k, k]));", *lines]
        update = f"{z}[i, j] -= {z}[i, k] * {z}[k, j] * {self.one_of('0.01', '0.001')};"
        return around({"k": n}, [*lines, f"for i in {rows}, j in {columns}", f"    {update}"])

    def steps(self):
        """A state that a few steps change, from a copy of it or in place."""
        n, t, s = self.size(), self.one_of("3", "5"), self.fresh("t")
        z, x = self.changed([n]).name, self.load({"j": n}, [n])
        at = self.one_of(f"min(j + 1, {n} - 1)", f"(j + 1) % {n}", "max(j - 1, 0)", "j")
        half = "" if self.type in INTEGERS else " * 0.5"
        new = f"max({z}[j]{half} - {z}[{at}], {x})"
        if self.chance(0.3):
            return [f"for t in {t}, j in {n}", f"    {z}[j] = {self.type}({new});"]
        copy = f"{z}[j] = {self.type}({s}[j]);"
        if self.chance(0.2):
            copy = f"if j < {self.number({'j': n}, n)} {copy}"
        lines = [f"temp {s}: {self.type}[{n}];", f"for j in {n}", f"    {s}[j] = {new};"]
        return around({"t": t}, [*lines, f"for j in {n}", f"    {copy}"])

    def whiles(self):
        """Halves a number until it is small, or goes on until a count."""
        n, v, c = self.size(), self.fresh("v"), self.fresh("n")
        x, y = self.input([n]), self.add("y", [n], "output", "i32").name
        limit = self.number({"i": n}, n)
        small = f"{v} / 2" if self.type in INTEGERS else f"{v} * 0.5"
        value = self.converted(x, f"{x.name}[i]")
        lines = [f"temp {v}: {self.type};", f"temp {c}: i32;", f"{v} = abs({value});", f"{c} = 0;"]
        lines += [f"while {v} >= 1 && {c} < {limit} {{"]
        lines += [f"    {v} = {small};", f"    {c} += 1;", "}"]
        return around({"i": n}, [*lines, f"{y}[i] = {c};"])

    def pool(self):
        """Windows of a plane in steps."""
        m, n, taps, step = self.size(), self.size(), self.one_of(1, 2, 3), self.one_of(1, 2, 3)
        if self.work([m, n]) * taps * taps > MOST_WORK:
            return self.elements()
        shape = [f"{size} * {step} + {taps}" for size in (m, n)]
        x, y, operator = self.input(shape), self.result([m, n]).name, self.operator()
        value = self.converted(x, f"{x.name}[i * {step} + u, j * {step} + w]")
        if self.chance(0.4):
            value = f"{value} * {self.converted(f := self.input([n]), f'{f.name}[j]')}"
        lines = [f"{y}[i, j] = {self.start(operator)};", f"for u in {taps}, w in {taps}"]
        return around({"i": m, "j": n}, [*lines, f"    {y}[i, j] {operator} {value};"])

    def backward(self):
        """Elements from the last one on, each of all behind it."""
        m, n = self.size(), self.size()
        if self.work([m, n, n]) > MOST_WORK:
            return self.elements()
        factor = self.load({"i": n, "j": n}, [n, n])
        y, value = self.result([m, n]).name, self.value({"r": m, "i": n}, 1)
        part = "" if self.type in INTEGERS else " * 0.0625"
        update = f"{y}[r, i] {self.one_of('-=', '+=', 'max=')} {y}[r, j]{part} * {factor};"
        if self.type not in INTEGERS:
            update = update.replace(factor, f"min(abs({factor}), 1)")
        lines = [f"{y}[r, i] = {value};", f"for j in i + 1..{n}", f"    {update}"]
        lines = [f"for i in {n} - 1..0 step -1 {{", *indented(lines), "}"]
        return around({"r": m}, lines)

    def scattered_rows(self):
        n, k, m = self.size(), self.size(), self.size()
        if self.work([n, m]) > MOST_WORK:
            return self.elements()
        z, at = self.changed([k, m]).name, self.places(n, k).name
        operator = self.one_of("+=", "+=", "max=", "=")
        value = self.value({"i": n, "j": m}, 1)
        span = self.range({"i": n}, m) if self.chance(0.4) else m
        return [f"for i in {n}, j in {span}", f"    {z}[{at}[i], j] {operator} {value};"]

    def layer(self):
        """Products of narrow numbers, in wider ones, that several nests use."""
        m, n, k = self.size(), self.size(), self.size()
        if self.type not in ("f32", "f16", "bf16") or self.work([m, n, k]) > MOST_WORK:
            return self.elements()
        c, narrow = self.fresh("c"), self.one_of("f16", "bf16")
        a, b = self.add("a", [m, k], "input", narrow), self.add("a", [n, k], "input", narrow)
        lines = [f"temp {c}: f32[{m}, {n}];", f"for i in {m}, j in {n} {{", f"    {c}[i, j] = 0;"]
        term = f"f32({a.name}[i, k]) * f32({b.name}[j, k])"
        lines += [f"    for k in {k}", f"        {c}[i, j] += {term};", "}"]
        if self.chance(0.3):
            lines += [f"for i in {m}, j in {n}"]
            lines += [f"    {c}[i, j] = max({c}[i, j], {self.literal()});"]
        for _ in [1] * self.random.randint(1, 3):
            at, y = self.one_of("i, j", "i, j", f"{m} - 1 - i, j"), None
            value = f"{self.type}({c}[{at}] * 0.5) + {self.value({'i': m, 'j': n}, 1)}"
            if self.chance(0.3):
                y = self.result([m]).name
                lines += [f"for i in {m} {{", f"    {y}[i] = 0;", f"    for j in {n}"]
                lines += [f"        {y}[i] += {value};", "}"]
            else:
                y = self.result([m, n]).name
                lines += [f"for i in {m}, j in {n}", f"    {y}[i, j] = {value};"]
        return lines

    # ---- text ------------------------------------------------------------------------------------

    def text(self, nests=None):
        """The program, or that of some of its nests."""
        lines = [line for nest in nests or self.nests for line in nest]
        body = "\n".join(indented(lines))
        used = [b for b in self.buffers if re.search(rf"\b{b.name}\b", body)]
        inputs = [said(b, body) for b in used if b.role in ("input", "inout")]
        temps = [b for b in used if b.role == "temp"]
        outputs = [said(b, body) for b in used if b.role == "output"]
        if not outputs and not any(text.startswith("inout") for text in inputs):
            outputs, temps = [said(b, body) for b in temps], []
        facts = [f"{b.name} in 0..{b.below}" for b in used if b.below]
        facts += [f"{b.name} is nondecreasing" for b in used if b.sorted]
        sizes = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        head = f"kernel drawn<{sizes}>({', '.join(inputs)})"
        head += f"\n    -> {', '.join(outputs)}" if outputs else ""
        head += f"\n    where {', '.join(facts)}" if facts else ""
        declared = "".join(f"    temp {said(b, body)};\n" for b in temps)
        return f"{head}\n{{\n{declared}{body}\n}}\n"


def header(loops):
    return "for " + ", ".join(f"{v} in {size}" for v, size in loops.items())


def around(loops, lines):
    """The loops, if there are any, around lines."""
    return [header(loops) + " {", *indented(lines), "}"] if loops else lines


def subscripted(buffer, index):
    return f"{buffer.name}[{', '.join(index)}]" if buffer.shape else buffer.name


def said(buffer, body):
    """The declaration of a buffer: those that a nest left out has changed are plain inputs."""
    written = re.search(rf"\b{buffer.name}(\[.*\])? \S*= ", body)
    shape = f"[{', '.join(buffer.shape)}]" if buffer.shape else ""
    return (
        "inout " if buffer.role == "inout" and written else ""
    ) + f"{buffer.name}: {buffer.type}{shape}"


KINDS = [
    *[Program.elements, Program.rows] * 2,
    *[Program.sums] * 3,
    Program.product,
    Program.scan,
    Program.recurrence,
    Program.scatter,
    Program.window,
    Program.triangle,
    Program.best,
    Program.branches,
    Program.in_place,
    Program.two_sums,
    Program.reversed,
    Program.counts,
    Program.packed,
    Program.strided,
    Program.downward,
    Program.first,
    Program.normalized,
    Program.solved,
    Program.named,
    *[Program.stages] * 4,
    *[Program.attention] * 2,
    Program.layer,
    Program.factorization,
    Program.steps,
    Program.whiles,
    Program.pool,
    Program.backward,
    Program.scattered_rows,
]
