"""Reads .tir text, as docs/language.md describes it, into plain tuples. Shares nothing with tirc.

Expressions:  ("int", v) ("float", v) ("bool", v) ("name", n) ("load", buffer, [subscripts])
("call", f, [arguments])
              ("unary", op, a) ("binary", op, a, b) ("select", c, a, b)
Statements:   ("seq", [statements]) ("for", var, lo, hi, step, body) ("if", c, then, otherwise or
None)
              ("store", buffer, [subscripts], op, value) ("temp", name, type, [shape], scope,
              copy_of or None) ("let", name, value) ("init", statement) ("sync",) ("block", name,
              [(reduce, iterator, lo, hi, binding)], where or None, body) ("launch", name, [grid],
              [block])        its body is skipped
              ("while", c, body) ("break",)
Facts:        ("condition", e) ("range", e, lo, hi) ("order", buffer, word)
"""

import functools
import operator
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
from tir_tokens import LEVELS, STORE_OPS, TirError, tokens  # noqa: E402

WORD_OPS = {"min", "max", "async"}  # min= and max= are two tokens
KINDS = {"parallel", "vectorize", "unroll", "bind"}
DIGITS = ("sum_digits", "product_digits")


class Size(NamedTuple):
    name: str
    is_type: bool
    default: object  # an int, the name of a type, or None


class Parameter(NamedTuple):
    role: str  # in, out, inout
    name: str
    type: str
    shape: object  # a list of expressions; None: a scalar


class Kernel(NamedTuple):
    name: str
    sizes: list
    parameters: list
    facts: list
    body: tuple


class Function(NamedTuple):
    types: list  # names of its type parameters
    parameters: list  # (name, type)
    result: str
    lets: list  # (name, type or None, value)
    value: tuple


class Reducer(NamedTuple):
    parts: list  # (name, type)
    init: tuple
    names: list  # of what is combined: a and b
    lets: list  # (name, type or None, value)
    value: tuple  # of both

    def part(self, e, k):
        """The k-th part of a tuple."""
        if e[0] == "tuple":
            return e[1][k]
        if e[0] == "select":
            return ("select", e[1], self.part(e[2], k), self.part(e[3], k))
        if e[0] == "name" and len(self.parts) > 1:
            return ("name", e[1] + "." + self.parts[k][0])
        return e

    def combined(self, old, new):
        """The parts of combine(a, b), of the parts of a and b."""
        values = {}
        for name, parts in zip(self.names, (old, new)):
            values[name] = parts[0] if len(parts) == 1 else ("name", name)
            for (part, _), value in zip(self.parts, parts):
                values[name + "." + part] = value
        for let, to, value in self.lets:
            value = replaced(value, values)
            values[let] = ("call", to, [value]) if to else value
        return [
            ("call", to, [replaced(self.part(self.value, k), values)])
            for k, (_, to) in enumerate(self.parts)
        ]


class Instruction(NamedTuple):
    sizes: list
    operands: list  # Parameter
    body: tuple


class View(NamedTuple):
    """Other subscripts for the elements of a buffer."""

    axes: list  # names
    buffer: str
    index: list  # of the names

    def at(self, subscripts):
        """The buffer and the subscripts of an element."""
        return self.buffer, replaced(self.index, dict(zip(self.axes, subscripts)))


def called(node, names, views):
    """The statement with values in the place of names, types of parameters included, and elements
    in that of operands."""
    if isinstance(node, list):
        return [called(x, names, views) for x in node]
    if not isinstance(node, tuple):
        return node
    if node[0] == "name":
        view = views.get(node[1])
        if not view:
            return names.get(node[1], node)
        buffer, index = view.at([])
        return ("load", buffer, index) if index else ("name", buffer)
    if node[0] in ("load", "store"):
        subscripts, *rest = called(list(node[2:]), names, views)
        return (node[0], *views[node[1]].at(subscripts), *rest)
    if node[0] == "for":
        variable = f"{node[1]}__called"  # the operands may speak of one of that name
        inside = called(list(node[2:]), {**names, node[1]: ("name", variable)}, views)
        return ("for", variable, *inside)
    if node[0] == "call":
        return ("call", names.get(node[1], node[1]), called(node[2], names, views))
    return tuple(called(x, names, views) for x in node)


def replaced(e, values):
    """The expression with values in the place of names."""
    if not isinstance(e, tuple):
        return [replaced(x, values) for x in e] if isinstance(e, list) else e
    if e[0] == "name":
        return values.get(e[1], e)
    return tuple(replaced(x, values) if isinstance(x, (tuple, list)) else x for x in e)


OPERATORS = {
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "+": operator.add,
    "-": operator.sub,
    "<<": operator.lshift,
    ">>": operator.rshift,
}


def constant(e, sizes):
    """The value of the default of a size; defaults are positive, so the divisions agree with C."""
    if e[0] == "int":
        return e[1]
    if e[0] == "name":
        return sizes[e[1]]
    if e[0] == "unary":
        return -constant(e[2], sizes)
    return OPERATORS[e[1]](constant(e[2], sizes), constant(e[3], sizes))


class Parser:
    def __init__(self, text):
        self.tokens = tokens(text) + [("end", "")] * 4
        self.at = 0
        self.functions = {}
        self.reducers = {}
        self.reduced = {}  # temps of a reducer's type
        self.instructions = {}
        self.views = {}  # in scope
        self.defaults = {}  # of the sizes before

    # ---- tokens ----

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead][1]

    def kind(self, ahead=0):
        return self.tokens[self.at + ahead][0]

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1][1]

    def accept(self, text):
        if self.peek() == text and self.kind() != "string":
            self.at += 1
            return True
        return False

    def expect(self, text):
        if not self.accept(text):
            near = " ".join(t for _, t in self.tokens[max(0, self.at - 8) : self.at + 4])
            raise TirError(f"expected {text!r} before {self.peek()!r}, near: {near}")

    def name(self):
        if self.kind() != "name":
            raise TirError(f"expected a name, found {self.peek()!r}")
        return self.next()

    def list(self, end, item):
        items = []
        while not self.accept(end):
            items.append(item())
            if not self.accept(","):
                self.expect(end)
                break
        return items

    def skip_braces(self):
        depth = 0
        while True:
            kind, text = self.tokens[self.at]
            self.at += 1
            if kind == "end":
                raise TirError("a brace is not closed")
            if kind == "op":
                depth += (text == "{") - (text == "}")
                if depth == 0 and text == "}":
                    return

    # ---- kernels ----

    def kernels(self):
        found = []
        while self.kind() != "end":
            word = self.name()
            if word == "kernel":
                found.append(self.kernel())
            elif word == "fn":
                self.function()
            elif word == "reducer":
                self.reducer()
            elif word == "include":
                self.next()
                self.expect(";")
            elif word == "instruction":
                self.instruction()
            else:  # a schedule or proc
                while self.peek() != "{":
                    self.next()
                self.skip_braces()
        return found

    def function(self):
        name = self.name()
        types = [size.name for size in self.list(">", self.size)] if self.accept("<") else []
        self.expect("(")
        parameters = [(p.name, p.type) for p in self.list(")", lambda: self.parameter("in"))]
        self.expect("->")
        result = self.name()
        self.expect("{")
        lets = []
        while self.accept("let"):
            lets.append(self.typed_let())
        self.expect("return")
        value = self.expression()
        self.expect(";")
        self.expect("}")
        self.functions[name] = Function(types, parameters, result, lets, value)

    def reducer(self):
        name = self.name()
        self.expect("(")
        parts = [(p.name, p.type) for p in self.list(")", lambda: self.parameter("in"))]
        self.accept("ordered")
        if self.accept("where"):
            self.expression()
            while self.accept(","):
                self.expression()
        self.expect("{")
        self.expect("init")
        init = self.expression()
        self.expect(";")
        self.expect("combine")
        self.expect("(")
        names = self.list(")", self.name)
        lets, braces = [], self.accept("{")
        while braces and self.accept("let"):
            lets.append(self.typed_let())
        self.expect("return" if braces else ":")
        value = self.expression()
        self.expect(";")
        if braces:
            self.expect("}")
        self.expect("}")
        self.reducers[name] = Reducer(parts, init, names, lets, value)

    def instruction(self):
        name = self.name()
        sizes = self.list(">", self.size) if self.accept("<") else []
        self.expect("(")
        operands = self.list(")", self.operand)
        if self.accept("->"):
            operands.append(self.operand())
            while self.accept(","):
                operands.append(self.operand())
        while self.peek() != "{":
            if self.next() in ("cuda", "commit", "wait"):
                self.skip_lines()
        self.instructions[name] = Instruction(sizes, operands, self.statement())

    def operand(self):
        operand = self.parameter("in")
        while self.peek() in ("in", "align", "strides", "swizzle", "proxy", *DIGITS):
            if self.next() == "in":
                self.name()
            else:
                self.expect("(")
                while not self.accept(")"):
                    self.next()
        return operand

    def clauses(self, parameter):
        """A parameter, and how many digits sums and products keep: there they keep all."""
        while self.peek() in DIGITS:
            self.next()
            self.expect("(")
            self.next()
            self.expect(")")
        return parameter

    def skip_lines(self):
        """CUDA text: strings, and loops over them."""
        while self.kind() == "string" or self.peek() == "for":
            if self.next() == "for":
                self.loop()
                if self.accept("{"):
                    self.skip_lines()
                    self.expect("}")

    def call(self, name, arguments):
        """A call; of a function of the file, its value. Functions stand before their calls."""
        f = self.functions.get(name)
        if not f:
            return ("call", name, arguments)

        def typed(e, to):
            return e if to is None or to in f.types else ("call", to, [e])

        values = {}
        for (parameter, to), argument in zip(f.parameters, arguments):
            values[parameter] = typed(argument, to)
        for let, to, value in f.lets:
            values[let] = typed(replaced(value, values), to)
        return typed(replaced(f.value, values), f.result)

    def kernel(self):
        name = self.name()
        sizes = self.list(">", self.size) if self.accept("<") else []
        self.expect("(")
        parameters = self.list(")", lambda: self.clauses(self.parameter("in")))
        if self.accept("->"):
            parameters.append(self.clauses(self.parameter("out")))
            while self.accept(","):
                parameters.append(self.clauses(self.parameter("out")))
        begin = [
            self.identity(p) for p in parameters if p.type in self.reducers and p.role == "out"
        ]
        parameters = [part for p in parameters for part in self.parts(p)]
        facts = [self.fact()] if self.accept("where") else []
        while facts and self.accept(","):
            facts.append(self.fact())
        return Kernel(name, sizes, parameters, facts, ("seq", begin + [self.statement()]))

    def parts(self, parameter):
        """A parameter for each part of a reducer's type; itself if it has another type."""
        if parameter.type not in self.reducers:
            return [parameter]
        self.reduced[parameter.name] = self.reducers[parameter.type]
        return [
            parameter._replace(name=f"{parameter.name}_{part}", type=to)
            for part, to in self.reducers[parameter.type].parts
        ]

    def identity(self, of):
        """Every element of a parameter or temp of a reducer's type becomes the identity."""
        reducer = self.reducers[of.type]
        axes = [f"{of.name}__axis{n}" for n in range(len(of.shape))]
        index = [("name", axis) for axis in axes]
        stores = []
        for k, (part, to) in enumerate(reducer.parts):
            value = ("call", to, [reducer.part(reducer.init, k)])
            stores.append(("store", f"{of.name}_{part}", index, "=", value))
        body = ("seq", stores)
        for axis, extent in zip(reversed(axes), reversed(of.shape)):
            body = ("for", axis, ("int", 0), extent, ("int", 1), body)
        return body

    def fact(self):
        subject = self.expression()
        if self.accept("in"):
            return ("range", subject, *self.range())
        if self.accept("is"):
            return ("order", subject[1], self.name())
        return ("condition", subject)

    def size(self):
        name = self.name()
        if self.accept(":"):
            self.expect("type")
            return Size(name, True, self.name() if self.accept("=") else None)
        default = None
        if self.accept("="):
            default = constant(self.operators(LEVELS.index(["<<", ">>"])), self.defaults)
            self.defaults[name] = default
        return Size(name, False, default)

    def parameter(self, role):
        if self.peek() == "inout" and self.kind(1) == "name":
            self.next()
            role = "inout"
        name = self.name()
        self.expect(":")
        type_name = self.name()
        shape = None
        if self.accept("["):
            shape = self.list("]", self.expression)
        elif role != "in":
            shape = []
        return Parameter(role, name, type_name, shape)

    # ---- statements ----

    def starts_store(self):
        """The word here is a name that is stored to, or a label."""
        follows, kind = self.peek(1), self.kind(1)
        if kind == "op":
            return follows in STORE_OPS or follows in "[.:,"
        return follows == "atomic" or (
            (follows in WORD_OPS or follows in self.reducers) and self.peek(2) == "="
        )

    def statement(self):
        if self.peek() == "{":
            self.next()
            body, outside = [], dict(self.views)
            while not self.accept("}"):
                one = self.statement()
                body += one[1] if one[0] == "scope of all" else [one]
            self.views = outside
            return ("seq", body)
        word = self.name()
        self.at -= 1
        reader = getattr(self, "read_" + word, None)
        if reader and not self.starts_store():
            self.next()
            return reader()
        return self.store()

    def target(self):
        name = self.name()
        if self.accept("."):
            self.name()  # a cache hint
        return self.element(name, self.list("]", self.expression) if self.accept("[") else [])

    def element(self, name, index):
        """The buffer and the subscripts behind those of a view."""
        return self.views[name].at(index) if name in self.views else (name, index)

    def read_view(self):
        name = self.name()
        self.expect("[")
        axes = self.list("]", self.name)
        self.expect("=")
        self.views[name] = View(axes, *self.target())
        self.expect(";")
        return ("seq", [])

    def read_call(self):
        """The body of the instruction, of parts of buffers."""
        name = self.name()
        sizes, operands, body = self.instructions.get(name) or library()[name]
        values = self.list(">", lambda: self.operators(len(LEVELS))) if self.accept("<") else []
        self.expect("(")
        views = {operand.name: self.part_of_buffer(operand) for operand in operands}
        names = {s.name: s.default if s.is_type else ("int", s.default) for s in sizes}
        names |= {s.name: v[1] if s.is_type else v for s, v in zip(sizes, values)}
        if self.accept("lane"):
            self.expect("=")
            names["lane"] = ("name", self.name())
        self.expect(")")
        self.expect(";")
        return called(body, names, views)

    def part_of_buffer(self, operand):
        axes = [f"{operand.name}__axis{n}" for n in range(len(operand.shape or []))]
        subscripts, name = [("name", axis) for axis in axes], self.name()
        if self.accept("["):
            whole = iter(subscripts)
            subscripts = self.list("]", lambda: self.slice(whole))
        self.accept(",")
        return View(axes, *self.element(name, subscripts))

    def slice(self, axes):
        """An element's subscript, or the begin of a slice plus the next of the operand's axes."""
        begin = ("int", 0) if self.peek() == ":" else self.expression()
        if not self.accept(":"):
            return begin
        if self.peek() not in (",", "]"):
            self.expression()
        return ("binary", "+", begin, next(axes))

    def reduction(self, targets):
        """Parts of tuples are buffers of their own; all are read before one is written."""
        reducer = self.reducers[self.next()]
        self.expect("=")
        value = self.expression()
        self.expect(";")
        parts = [name for name, _ in reducer.parts]
        if targets[0][0] in self.reduced:
            whole, index = targets[0]
            targets = [(f"{whole}_{part}", index) for part in parts]
        new = [("call", to, [reducer.part(value, k)]) for k, (_, to) in enumerate(reducer.parts)]
        old = [("load", name, index) if index else ("name", name) for name, index in targets]
        names = [(f"{part}__a", f"{part}__b") for part in parts]
        body = []
        for (a, b), before, after in zip(names, old, new):
            body += [("let", a, before), ("let", b, after)]
        sums = reducer.combined([("name", a) for a, _ in names], [("name", b) for _, b in names])
        body += [("let", f"{part}__new", value) for part, value in zip(parts, sums)]
        for part, (name, index) in zip(parts, targets):
            body.append(("store", name, index, "=", ("name", f"{part}__new")))
        return ("seq", body)

    def store(self):
        if self.peek(1) == ":":
            self.at += 2
            return self.statement()
        targets = [self.target()]
        while self.accept(","):
            targets.append(self.target())
        if self.peek() in self.reducers:
            return self.reduction(targets)
        name, index = targets[0]
        if self.peek() == "atomic":
            self.next()
        op = self.next()
        if op in WORD_OPS:
            self.expect("=")
            op += "="
        if op not in STORE_OPS and op[:-1] not in WORD_OPS:
            raise TirError(f"expected a store, found {op!r}")
        value = self.expression()
        self.expect(";")
        return ("store", name, index, op, value)

    def read_for(self):
        loops = [self.loop()]
        while self.accept(","):
            loops.append(self.loop())
        body = self.statement()
        for var, lo, hi, step in reversed(loops):
            body = ("for", var, lo, hi, step, body)
        return body

    def loop(self):
        var = self.name()
        self.expect("in")
        lo, hi = self.range()
        step = ("int", 1)
        if self.peek() == "step" and not self.starts_store():
            self.next()
            step = self.expression()
        if self.peek() in KINDS and not self.starts_store():
            if self.next() == "bind":
                self.name()
                self.expect(".")
                self.name()
        self.annotations()
        return var, lo, hi, step

    def annotations(self):
        while self.accept("@"):
            self.name()
            if self.accept("("):
                depth = 1
                while depth:
                    text, is_op = self.peek(), self.kind() == "op"
                    depth += is_op and ((text == "(") - (text == ")"))
                    self.next()

    def range(self):
        lo, hi = ("int", 0), self.expression()
        if self.accept(".."):
            lo, hi = hi, self.expression()
        return lo, hi

    def read_if(self):
        condition = self.expression()
        then = self.statement()
        otherwise = self.statement() if self.accept("else") else None
        return ("if", condition, then, otherwise)

    def read_while(self):
        condition = self.expression()
        return ("while", condition, self.statement())

    def read_break(self):
        self.expect(";")
        return ("break",)

    def read_temp(self):
        name = self.name()
        self.expect(":")
        type_name = self.name()
        shape = self.list("]", self.expression) if self.accept("[") else []
        scope, copy_of = "global", None
        while not self.accept(";"):
            word = self.next()
            if word == "in":
                scope = self.name()
            elif self.accept("("):
                arguments = self.list(")", self.expression)
                if word == "of":
                    copy_of = arguments[0][1]
        if type_name in self.reducers:
            return self.reduced_temp(Parameter("temp", name, type_name, shape), scope)
        return ("temp", name, type_name, shape, scope, copy_of)

    def reduced_temp(self, temp, scope):
        """A buffer for each part, which starts as the identity."""
        parts = [("temp", p.name, p.type, p.shape, scope, None) for p in self.parts(temp)]
        return ("scope of all", parts + [self.identity(temp)])

    def typed_let(self):
        name = self.name()
        type_name = self.name() if self.accept(":") else None
        self.expect("=")
        value = self.expression()
        self.expect(";")
        return name, type_name, value

    def read_let(self):
        name, type_name, value = self.typed_let()
        return ("let", name, ("call", type_name, [value]) if type_name else value)

    def read_init(self):
        return ("init", self.statement())

    def read_barrier(self):
        self.next()
        self.expect(";")
        return ("sync",)

    read_commit = read_barrier

    def read_wait(self):
        self.next()
        return self.read_barrier()

    def iterator(self):
        reduce = self.peek() == "reduce" and self.kind(1) == "name" and self.peek(1) != "in"
        if reduce:
            self.next()
        name = self.name()
        self.expect("in")
        lo, hi = self.range()
        self.expect("=")
        return (reduce, name, lo, hi, self.expression())

    def read_block(self):
        name = self.name()
        self.expect("(")
        iterators = self.list(")", self.iterator)
        where = self.expression() if self.accept("where") else None
        self.accept("atomic")
        if self.accept("instruction"):
            self.name()
        self.annotations()
        return ("block", name, iterators, where, self.statement())

    def read_launch(self):
        name = self.name()
        self.expect("grid")
        self.expect("(")
        grid = self.list(")", self.expression)
        self.expect("block")
        self.expect("(")
        block = self.list(")", self.expression)
        self.annotations()
        self.skip_braces()
        return ("launch", name, grid, block)

    # ---- expressions ----

    def expression(self):
        condition = self.operators(0)
        if not self.accept("?"):
            return condition
        then = self.expression()
        self.expect(":")
        return ("select", condition, then, self.expression())

    def operators(self, level):
        if level == len(LEVELS):
            return self.unary()
        left = self.operators(level + 1)
        while self.kind() == "op" and self.peek() in LEVELS[level]:
            op = self.next()
            left = ("binary", op, left, self.operators(level + 1))
        return left

    def unary(self):
        if self.kind() == "op" and self.peek() in "-!~":
            op = self.next()
            return ("unary", op, self.unary())
        return self.primary()

    def primary(self):
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "int":
            return ("int", int(text, 16) if text[:2] in ("0x", "0X") else int(text))
        if kind == "float":
            return ("float", float(text))
        if kind == "op" and text == "(":
            inner = self.list(")", self.expression)
            return inner[0] if len(inner) == 1 else ("tuple", inner)
        if kind != "name":
            raise TirError(f"expected an expression, found {text!r}")
        if text in ("true", "false"):
            return ("bool", text == "true")
        if text in ("inf", "nan"):
            return ("float", float(text))
        return self.suffix(text)

    def suffix(self, name):
        if self.accept("("):
            return self.call(name, self.list(")", self.expression))
        if self.peek() == "." and self.kind(1) == "name" and self.peek(2) == "[":
            self.at += 2  # a cache hint
        index = self.list("]", self.expression) if self.accept("[") else None
        if name in self.reduced and self.accept("."):
            name += "_" + self.name()
        if index is not None:
            return ("load", *self.element(name, index))
        if self.peek() == "." and self.kind(1) == "name":
            self.next()
            return ("name", name + "." + self.next())
        return ("name", name)


@functools.cache
def library():
    """The instructions that ship with tirc: every program may call them."""
    parser = Parser((ROOT / "frontend/library/instructions.sched").read_text())
    parser.kernels()
    return parser.instructions


def kernels(text):
    """The kernels of a file, in order; schedules are skipped."""
    return Parser(text).kernels()


def expression(text):
    return Parser(text).expression()
