"""Translates a program as it stands in its .tir source, at given sizes, to a C++ function that runs
it in program order.

    program = Program(kernel, {"N": 7}, {"T": "f16"})
    program.parameters       [Data(name, type, role, is_scalar, elements, low, high, order)]
    program.is_for_sizes     the sizes satisfy the program's `where`
    program.function()       static void evaluate(void **arguments) { ... }

What an operation means is in reference.h. How types meet is docs/language.md, "Expressions". Shares
no code with tirc."""

from typing import NamedTuple

import tir

BITS = {
    "f64": 64,
    "f32": 32,
    "f16": 16,
    "bf16": 16,
    "f8e4m3": 8,
    "f8e5m2": 8,
    "i64": 64,
    "i32": 32,
    "i16": 16,
    "i8": 8,
    "u64": 64,
    "u32": 32,
    "u16": 16,
    "u8": 8,
    "bool": 8,
    "index": 64,
}
STORED = {
    "f64": "double",
    "f32": "float",
    "f16": "f16_bits",
    "bf16": "bf16_bits",
    "f8e4m3": "f8e4m3_bits",
    "f8e5m2": "f8e5m2_bits",
    "i64": "long long",
    "i32": "int",
    "i16": "short",
    "i8": "signed char",
    "u64": "unsigned long long",
    "u32": "unsigned",
    "u16": "unsigned short",
    "u8": "unsigned char",
    "bool": "bool",
    "index": "long long",
}
NARROW = {"f16", "bf16", "f8e4m3", "f8e5m2"}
UNARY = (
    "exp exp2 fast_exp fast_exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan tanh erf abs "
    "floor ceil round trunc tf32 tf32_rz"
)
FUNCTIONS = {name: 1 for name in UNARY.split()}
FUNCTIONS |= {"pow": 2, "fmod": 2, "fma": 3, "minimum": 2, "maximum": 2}
CLASSES = {"isnan", "isinf"}  # of floats: bool
COUNTS = {"popcount", "clz"}  # of integers: i32
OPERATIONS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "quotient",
    "%": "remainder_of",
    "&": "bit_and",
    "|": "bit_or",
    "^": "bit_xor",
    "<<": "shift_left",
    ">>": "shift_right",
}
OPEN, FREE = 1e30, (1, 0)  # the end of a range that has none; of an input that may be anything
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}


class Data(NamedTuple):
    name: str
    type: str
    role: str
    is_scalar: bool
    elements: int
    low: float  # inputs are drawn between these, where low < high + 1
    high: float
    order: str  # "", "nondecreasing", "distinct", "increasing", "permutation"


class Value(NamedTuple):
    code: str
    type: str
    literal: object = None  # the number, of a bare literal


class Buffer(NamedTuple):
    code: str
    type: str
    shape: list  # the code of each extent


def is_float(t):
    return t[0] == "f" or t == "bf16"


def is_unsigned(t):
    return t[0] == "u"


def promote(t):
    if t in ("f8e4m3", "f8e5m2"):
        return "f32"
    if t in ("bool", "i8", "i16", "u8", "u16"):
        return "i32"
    return t


def meet_types(a, b):
    if "index" in (a, b):
        return promote(b if a == "index" else a)
    a, b = promote(a), promote(b)
    if is_float(a) or is_float(b):
        if not (is_float(a) and is_float(b)):
            return a if is_float(a) else b
        if BITS[a] == BITS[b]:
            return a if a == b else "f32"
        return a if BITS[a] > BITS[b] else b
    if BITS[a] != BITS[b]:
        return a if BITS[a] > BITS[b] else b
    return a if is_unsigned(a) else b


def value_type(t):
    return "float" if t in NARROW else STORED[t]


def number(expression, names):
    """An extent: a number."""
    kind = expression[0]
    if kind in ("int", "float"):
        return expression[1]
    if kind == "name":
        return names[expression[1]]
    if kind == "unary":
        return -number(expression[2], names)
    if kind == "call":
        return {"min": min, "max": max}[expression[1]](number(e, names) for e in expression[2])
    a, b = number(expression[2], names), number(expression[3], names)
    quotient = 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return {"+": a + b, "-": a - b, "*": a * b, "/": quotient, "%": a - quotient * b}[expression[1]]


def walk(node, visit):
    visit(node)
    for part in node:
        if isinstance(part, tuple):
            walk(part, visit)
        elif isinstance(part, list):
            for item in part:
                if isinstance(item, tuple):
                    walk(item, visit)


def names_in(node):
    found = set()
    walk(node, lambda n: found.add(n[1]) if n and n[0] in ("name", "load") else None)
    return found


# ---- inits ---------------------------------------------------------------------------------------


def single(statement):
    while statement[0] == "seq" and len(statement[1]) == 1:
        statement = statement[1][0]
    return statement


def split_init(body):
    """The inits directly in a body, and the rest of it; None without one."""
    items = body[1] if body[0] == "seq" else [body]
    inits = [s[1] for s in items if s[0] == "init"]
    return (("seq", inits), ("seq", [s for s in items if s[0] != "init"])) if inits else None


def nest(loops, body):
    for loop in reversed(loops):
        body = (*loop[:5], body)
    return body


def hoist_inits(statement):
    """An init runs before all updates of its point: before the outermost loop that reduces."""
    loops, inner = [], statement
    while inner[0] == "for":
        loops.append(inner)
        inner = single(inner[5])
    parts = split_init(inner[4] if inner[0] == "block" else inner)
    if not parts:
        return hoist_from_list(loops, inner) or map_statements(statement, hoist_inits)
    init, rest = parts
    if inner[0] == "block":
        first = first_reducing(loops, inner)
        before = nest(loops[first:], (*inner[:4], init))
        after = nest(loops[first:], (*inner[:4], rest))
    else:
        kept = set()
        walk(init, lambda n: kept.update(*[names_in(("seq", n[2]))]) if n[0] == "store" else None)
        first = next((i for i, loop in enumerate(loops) if loop[1] not in kept), len(loops))
        before = nest([loop for loop in loops[first:] if loop[1] in kept], init)
        after = nest(loops[first:], rest)
    return nest(loops[:first], ("seq", [before, after]))


def first_reducing(loops, block):
    """The number of loops around the outermost one that reduces; of all, if none does."""
    reducing = set()
    for reduce, _, _, _, binding in block[2]:
        reducing |= names_in(binding) if reduce else set()
    return next((i for i, loop in enumerate(loops) if loop[1] in reducing), len(loops))


def hoist_from_list(loops, inner):
    """The loops around a list of blocks, with the inits of those that reduce in these loops before
    the outermost such loop; None where there are none."""
    inits, items, first = [], [], len(loops)
    for item in inner[1] if inner[0] == "seq" else []:
        parts = split_init(item[4]) if item[0] == "block" else None
        if parts and first_reducing(loops, item) < len(loops):
            first = min(first, first_reducing(loops, item))
            inits.append((*item[:4], parts[0]))
            item = (*item[:4], parts[1])
        items.append(item)
    if not inits:
        return None
    rest = hoist_inits(nest(loops[first:], ("seq", items)))
    return nest(loops[:first], ("seq", [nest(loops[first:], i) for i in inits] + [rest]))


def map_statements(s, change):
    if s[0] == "seq":
        return ("seq", [change(item) for item in s[1]])
    if s[0] == "for":
        return (*s[:5], change(s[5]))
    if s[0] == "if":
        return ("if", s[1], change(s[2]), change(s[3]) if s[3] else None)
    if s[0] == "while":
        return ("while", s[1], change(s[2]))
    if s[0] == "block":
        return (*s[:4], change(s[4]))
    return s


# ---- the program ---------------------------------------------------------------------------------


class Program:
    def __init__(self, kernel, sizes, types):
        self.kernel = kernel
        self.sizes = {s.name: sizes.get(s.name, s.default) for s in kernel.sizes if not s.is_type}
        self.types = {s.name: types.get(s.name, s.default) for s in kernel.sizes if s.is_type}
        self.lines, self.indent, self.count = [], 1, 0
        self.ranges, self.orders = {}, {}
        self.find_subscripts()
        self.is_for_sizes = all([self.learn(fact) for fact in kernel.facts])
        self.parameters = [self.data(p) for p in kernel.parameters]
        self.scope = [{name: Value(f"{value}ll", "index") for name, value in self.sizes.items()}]

    def element_type(self, name):
        name = self.types.get(name, name)
        if name not in STORED:
            raise tir.TirError(f"no type {name}")
        return name

    def shape(self, expressions):
        return [number(e, self.sizes) for e in expressions]

    def data(self, p):
        elements = 1
        for extent in self.shape(p.shape or []):
            elements *= extent
        low, high = self.ranges.get(p.name, FREE)
        if (low, high) != FREE and high - low > OPEN / 2:  # one end is open
            low, high = (low, low + 8) if low > -OPEN / 2 else (high - 8, high)
        return Data(
            p.name,
            self.element_type(p.type),
            p.role,
            p.shape is None,
            elements,
            low,
            high,
            self.orders.get(p.name, ""),
        )

    # ---- what the program assumes ----

    def narrow(self, name, low, high):
        old = self.ranges.get(name, (-OPEN, OPEN))
        self.ranges[name] = max(low, old[0]), min(high, old[1])

    def learn(self, fact):
        """Notes what a fact says of an input; whether it holds, of sizes."""
        if fact[0] == "order":
            self.orders[fact[1]] = fact[2]
            return True
        if fact[0] == "range":
            subject, lo, hi = fact[1:]
            return self.compare("<=", lo, subject) and self.compare("<", subject, hi)
        return self.condition_holds(fact[1])

    def condition_holds(self, e):
        if e[0] == "binary" and e[1] == "&&":
            return self.condition_holds(e[2]) and self.condition_holds(e[3])
        if e[0] != "binary" or e[1] not in COMPARISONS:
            raise tir.TirError("a fact that is no comparison")
        if e[2][0] == "binary" and e[2][1] in COMPARISONS:  # 0 < x <= 1
            return self.condition_holds(e[2]) and self.compare(e[1], e[2][3], e[3])
        return self.compare(e[1], e[2], e[3])

    def compare(self, op, a, b):
        inputs = {p.name: p for p in self.kernel.parameters}
        for subject, other, forward in ((a, b, True), (b, a, False)):
            if subject[0] in ("name", "load") and subject[1] in inputs:
                step = 0 if is_float(self.element_type(inputs[subject[1]].type)) else 1
                bound = number(other, self.sizes)
                if op == "==":
                    self.narrow(subject[1], bound, bound)
                elif (op[0] == "<") == forward:
                    self.narrow(subject[1], -OPEN, bound - step * (op == "<" or op == ">"))
                else:
                    self.narrow(subject[1], bound + step * (op == "<" or op == ">"), OPEN)
                return True
        x, y = number(a, self.sizes), number(b, self.sizes)
        return {"==": x == y, "!=": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[op]

    def find_subscripts(self):
        """Which parameters are subscripts by themselves, and below what."""
        shapes = {p.name: p.shape for p in self.kernel.parameters if p.shape is not None}
        walk(self.kernel.body, lambda n: shapes.update({n[1]: n[3]}) if n[0] == "temp" else None)
        parameters = {p.name for p in self.kernel.parameters}

        def visit(node):
            if node[0] not in ("load", "store") or node[1] not in shapes:
                return
            for extent, subscript in zip(shapes[node[1]], node[2]):
                if (
                    subscript[0] in ("load", "name")
                    and subscript[1] in parameters
                    and names_in(extent) <= set(self.sizes)
                ):
                    self.narrow(subscript[1], 0, number(extent, self.sizes) - 1)

        walk(self.kernel.body, visit)

    # ---- text ----

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def fresh(self, name):
        self.count += 1
        return f"v{self.count}_{name}"

    def find(self, name):
        for names in reversed(self.scope):
            if name in names:
                return names[name]
        raise tir.TirError(f"no name {name}")

    def function(self):
        self.line("(void)arguments;")
        if not self.is_for_sizes:
            self.line('undefined("sizes that the program is not for");')
        for i, (p, data) in enumerate(zip(self.kernel.parameters, self.parameters)):
            code, stored = self.fresh(p.name), STORED[data.type]
            self.line(f"{stored} *const {code} = ({stored} *)arguments[{i}];")
            known = (
                Value(f"load({code}[0])", data.type)
                if data.is_scalar
                else Buffer(code, data.type, [f"{n}ll" for n in self.shape(p.shape)])
            )
            self.scope[0][p.name] = known
        self.statement(hoist_inits(self.kernel.body))
        return "\n".join(["static void evaluate(void **arguments)", "{", *self.lines, "}", ""])

    # ---- statements ----

    def statement(self, s):
        getattr(self, "write_" + s[0])(s)

    def nested(self, head, *statements):
        self.line(head + " {")
        self.indent += 1
        self.scope.append({})
        for s in statements:
            self.statement(s)
        self.scope.pop()
        self.indent -= 1
        self.line("}")

    def write_seq(self, s):
        self.nested("", *s[1])

    def write_for(self, s):
        _, var, lo, hi, step, body = s
        code = self.fresh(var)
        by = self.literal(step)
        begin, end = self.index(lo), self.index(hi)
        self.line("{")
        self.indent += 1
        self.line(f"const long long {code}_end = {end};")
        self.scope.append({var: Value(code, "index")})
        self.nested(
            f"for (long long {code} = {begin}; {code} {'<' if by > 0 else '>='} {code}_end; "
            f"{code} += {by})",
            body,
        )
        self.scope.pop()
        self.indent -= 1
        self.line("}")

    def literal(self, e):
        return number(e, self.sizes)

    def write_if(self, s):
        self.nested(f"if ({self.condition(s[1])})", s[2])
        if s[3]:
            self.nested("else", s[3])

    def write_while(self, s):
        self.nested(f"while ({self.condition(s[1])})", s[2])

    def write_break(self, _):
        self.line("break;")

    def write_temp(self, s):
        _, name, type_name, shape, _, _ = s
        code, data_type = self.fresh(name), self.element_type(type_name)
        extents = [f"{code}_{axis}" for axis in range(len(shape))]
        for extent, e in zip(extents, shape):
            self.line(f"const long long {extent} = {self.index(e)};")
        self.line(
            f"Temp {code}_memory({' * '.join(extents) or 1} "
            f"* (long long)sizeof({STORED[data_type]}));"
        )
        self.line(f"{STORED[data_type]} *const {code} = ({STORED[data_type]} *){code}_memory.data;")
        self.scope[-1][name] = Buffer(code, data_type, extents)

    def write_let(self, s):
        value = self.value(s[2])
        kind = (
            "index" if value.literal is not None and isinstance(value.literal, int) else value.type
        )
        code = self.fresh(s[1])
        self.line(f"const {value_type(kind)} {code} = {self.convert(value, kind)};")
        self.scope[-1][s[1]] = Value(code, kind)

    def write_block(self, s):
        _, _, iterators, where, body = s
        tests = []
        self.line("{")
        self.indent += 1
        bindings = [self.index(binding) for _, _, _, _, binding in iterators]
        self.scope.append({})
        for (_, name, lo, hi, _), binding in zip(iterators, bindings):
            code = self.fresh(name)
            self.line(f"const long long {code} = {binding};")
            self.scope[-1][name] = Value(code, "index")
            tests.append(f"{code} >= {self.index(lo)} && {code} < {self.index(hi)}")
        if where:
            tests.append(self.condition(where))
        self.nested(f"if ({' && '.join(tests) or 'true'})", body)
        self.scope.pop()
        self.indent -= 1
        self.line("}")

    def write_init(self, s):
        raise tir.TirError("an init that stands in no nest of loops")

    def write_store(self, s):
        _, name, index, op, value = s
        buffer = self.find(name)
        place = self.element(buffer, index)
        given = self.value(value)
        new = self.convert(given, buffer.type)
        old = f"load({place})"
        if op == "-=":
            new = self.operation("+", old, self.negated(new, buffer.type), buffer.type)
        elif op in ("min=", "max="):
            new = f"{op[:3]}imum({old}, {new})"
        elif op in ("&&=", "||="):
            new = f"({old} {op[:2]} {new})"
        elif op != "=":
            new = self.operation(op[:-1], old, new, buffer.type)
        self.line(f"store({place}, {new});")

    # ---- expressions ----

    def element(self, buffer, subscripts):
        if len(subscripts) != len(buffer.shape):
            raise tir.TirError("a wrong number of subscripts")
        at = "0"
        for subscript, extent in zip(subscripts, buffer.shape):
            inside = f"within({self.index(subscript)}, {extent})"
            at = inside if at == "0" else f"({at}) * {extent} + {inside}"
        return f"{buffer.code}[{at}]"

    def index(self, e):
        return self.convert(self.value(e), "index")

    def condition(self, e):
        value = self.value(e)
        if value.type != "bool":
            raise tir.TirError("a condition is no truth value")
        return value.code

    def convert(self, v, to):
        """The code of a value as a type; narrow floats are f32 codes that hold a value of the
        type."""
        if v.literal is not None:
            return self.convert_literal(v.literal, to)
        if v.type == to:
            return v.code
        return f"to_{to}({v.code})"

    def convert_literal(self, literal, to):
        if is_float(to):
            text = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "(double)NAN"}.get(
                str(float(literal))
            ) or float(literal).hex()
            return f"to_{to}({text})"
        if isinstance(literal, float):
            return f"to_{to}(to_f32({self.convert_literal(literal, 'f64')}))"
        text = (
            "(-9223372036854775807ll - 1)"
            if literal == -(2**63)
            else f"{literal}ull"
            if literal >= 2**63
            else f"({literal}ll)"
        )
        return text if to == "index" else f"({STORED[to]}){text}"

    def rounded(self, code, t):
        return f"to_{t}({code})" if t in NARROW else code

    def negated(self, code, t):
        return f"({STORED[t]})negate({code})" if not is_float(t) else f"(-{code})"

    def operation(self, op, a, b, t):
        if t == "bool":
            return f"({a} {op} {b})"
        if t == "index":
            return f"index_{OPERATIONS[op]}({a}, {b})"
        code = f"{OPERATIONS[op]}({a}, {b})"
        return self.rounded(code, t) if is_float(t) else f"({STORED[t]}){code}"

    def meet(self, a, b, promoted):
        def is_float_literal(v):
            return isinstance(v.literal, float)

        if is_float_literal(a) and is_float_literal(b):
            return "f32"
        if is_float_literal(a) or is_float_literal(b):
            other = (b if is_float_literal(a) else a).type
            return "f32" if not is_float(other) else promote(other) if promoted else other
        literal = a.literal is not None or b.literal is not None
        if not promoted and (a.type == b.type or (literal and "index" in (a.type, b.type))):
            return b.type if a.type == "index" else a.type
        return meet_types(a.type, b.type)

    def met(self, a, b, promoted):
        t = self.meet(a, b, promoted)
        return t, self.convert(a, t), self.convert(b, t)

    def value(self, e):
        return getattr(self, "value_" + e[0])(*e[1:])

    def value_int(self, v):
        return Value("", "index", v)

    def value_float(self, v):
        return Value("", "f64", v)

    def value_bool(self, v):
        return Value("true" if v else "false", "bool")

    def value_name(self, name):
        found = self.find(name)
        return found if isinstance(found, Value) else self.value_load(name, [])

    def value_load(self, name, subscripts):
        buffer = self.find(name)
        return Value(f"load({self.element(buffer, subscripts)})", buffer.type)

    def value_select(self, condition, a, b):
        test = self.condition(condition)
        t, left, right = self.met(self.value(a), self.value(b), False)
        return Value(f"({test} ? {left} : {right})", t)

    def value_unary(self, op, a):
        v = self.value(a)
        if op == "!":
            return Value(f"(!{v.code})", "bool")
        if op == "-" and v.literal is not None:
            return Value("", v.type, -v.literal)
        t = promote(v.type)
        code = self.convert(v, t)
        if op == "~":
            return Value(f"(~{code})", t)
        if t == "index":
            return Value(f"index_sub(0, {code})", t)
        return Value(self.negated(code, t), t)

    def value_binary(self, op, left, right):
        a, b = self.value(left), self.value(right)
        if op in ("&&", "||"):
            return Value(f"({a.code} {op} {b.code})", "bool")
        if op in ("<<", ">>"):
            return self.shift(op, a, b)
        truths = a.type == b.type == "bool"
        t, x, y = self.met(a, b, not (op in COMPARISONS or (op in "&|^" and truths)))
        if op in COMPARISONS:
            return Value(f"({x} {op} {y})", "bool")
        return Value(self.operation(op, x, y, t), t)

    def shift(self, op, a, b):
        ta, tb = promote(a.type), promote(b.type)
        if a.literal is not None and b.literal is None:
            ta = tb
        elif b.literal is not None and a.literal is None:
            tb = ta
        return Value(self.operation(op, self.convert(a, ta), self.convert(b, tb), ta), ta)

    def value_call(self, name, arguments):
        if self.types.get(name, name) in STORED:
            t = self.element_type(name)
            return Value(self.convert(self.value(arguments[0]), t), t)
        if name == "select":
            return self.value_select(*arguments)
        if name == "bitcast":
            return self.bitcast(arguments[0][1], self.value(arguments[1]))
        values = [self.value(e) for e in arguments]
        if name in COUNTS:
            return Value(f"call_{name}({values[0].code})", "i32")
        if name == "dp4a":
            t = next(v.type for v in values if v.literal is None)
            return Value(f"call_dp4a({', '.join(self.convert(v, t) for v in values)})", t)
        if name in ("min", "max"):
            t, a, b = self.met(*values, False)
            return Value(f"{name}imum({a}, {b})", t)
        if name not in FUNCTIONS and name not in CLASSES:
            raise tir.TirError(f"no function {name}")
        if name == "abs" and not is_float(values[0].type):
            t = promote(values[0].type)
            return Value(f"absolute({self.convert(values[0], t)})", t)
        types = [v.type for v in values if v.literal is None and v.type != "index"]
        t = promote(types[0]) if types else "f32"
        for other in types[1:]:
            t = meet_types(t, other)
        once = f"_{t}" if name == "fma" and t in ("f16", "bf16") else ""
        code = f"call_{name}{once}({', '.join(self.convert(v, t) for v in values)})"
        if name in CLASSES:
            return Value(code, "bool")
        return Value(self.rounded(code, t), t)

    def bitcast(self, to, v):
        to = self.element_type(to)
        if v.literal is not None:
            t = "f32" if isinstance(v.literal, float) else f"u{BITS[to]}"
            v = Value(self.convert(v, t), t)
        stored = STORED[to]
        return Value(f"load(bits_as<{stored}>(stored_{v.type}({v.code})))", to)
