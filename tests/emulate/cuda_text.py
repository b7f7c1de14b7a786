"""Prepares emitted CUDA text for a C++ compiler, and writes the host's part of a lowered program in
C++.

The text stays as it is but for what C++ has no words for:
    extern "C" __global__          __global__: each text stands in a namespace of its own
    asm("cvt.f32.f16 %0, %1;" ...) ptx_cvt_f32_f16(f, h): a function for each opcode (cuda_host.h)
    extern __shared__ x[];         an array in the namespace
    f<<<grid, block>>>(a)          a call of the emulator, in complete programs
"""

import copy
import re

import evaluate
import tir


class TextError(Exception):
    pass


def closing(text, at):
    """The place of the bracket that closes the one at `at`; strings are skipped."""
    depth = 0
    while at < len(text):
        c = text[at]
        if c in "\"'":
            end = at + 1
            while text[end] != c:
                end += 2 if text[end] == "\\" else 1
            at = end
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return at
        at += 1
    raise TextError("a bracket is not closed")


def split_top(text, separator):
    """The parts of a list between separators outside of strings and brackets."""
    parts, begin, at = [], 0, 0
    while at < len(text):
        if text[at] in "([{":
            at = closing(text, at)
        elif text[at] == '"':
            at = text.index('"', at + 1)
        elif text[at] == separator:
            parts.append(text[begin:at].strip())
            begin = at + 1
        at += 1
    return [*parts, text[begin:].strip()]


def ptx_call(inner):
    """The call that stands for the inside of an asm's parentheses."""
    parts = split_top(inner, ":")
    template = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', parts[0])).strip().rstrip(";")
    asked = re.fullmatch(r"\{ \.reg \.pred p; (.*) p, (.*); selp\.u32 (%\d), 1, 0, p; \}", template)
    if asked:  # whether something is so
        template = f"{asked[1]} {asked[3]}, {asked[2]}"
    begins = re.fullmatch(
        r"\{ \.reg \.pred (\w+); setp\.ne\.b32 \1, (%\d+), 0; (.*), \1, (.*); \}", template
    )
    if begins:  # a product that adds to its sums if so
        template = f"{begins[3]}, {begins[2]}, {begins[4]}"
    if re.fullmatch(r"mov\.u32 %0, %%laneid", template):
        template = "laneid %0"
    operands = [
        re.fullmatch(r'"[^"]*"\s*\((.*)\)', o, re.S).group(1)
        for part in parts[1:3]
        for o in split_top(part, ",")
        if o
    ]
    opcode, _, rest = template.partition(" ")
    arguments = [
        operands[int(found[1:])] if found[0] == "%" else found
        for found in re.findall(r"%\d+|(?<![\w%.])\d[\d.]*", rest)
    ]
    return f"ptx_{re.sub(r'[^0-9A-Za-z]+', '_', opcode)}({', '.join(arguments)})"


def without_asm(text):
    out, at = [], 0
    for found in re.finditer(r"\basm\s*(?:volatile\s*)?\(", text):
        if found.start() < at:
            continue
        end = closing(text, found.end() - 1)
        out += [text[at : found.start()], ptx_call(text[found.end() : end])]
        at = end + 1
    return "".join(out) + text[at:]


def without_dynamic(text, most_bytes):
    """extern __shared__ becomes an array of the namespace."""
    names = {}

    def declared(found):
        names[found.group(3)] = found.group(1)
        return f"extern {found.group(2)}{found.group(3)}[];"

    text = re.sub(
        r"extern __shared__ ((?:__align__\(\d+\) )?)(unsigned char )(\w+)\[\];", declared, text
    )
    arrays = [
        f"__shared__ {names[name]}unsigned char {name}[{most_bytes}];" for name in sorted(names)
    ]
    return "\n".join(arrays) + "\n" + text if arrays else text


def host_text(text, most_dynamic=0):
    return without_dynamic(
        without_asm(text.replace('extern "C" __global__', "__global__")), most_dynamic
    )


def in_namespace(text, number, kind, more="", arch=900):
    """A text in a namespace of its own, with what its __shared__ memory and launches (SHARED) speak
    of; `more` follows the text. arch: the value of __CUDA_ARCH__."""
    awaits = "true" if "await_element(" in text else "false"
    section, declared = f"shared_{kind}_{number}", ""
    shared = f"emulator::Shared{{nullptr, nullptr, {awaits}}}"
    if "__shared__" in text:
        declared = f'extern "C" char __start_{section}[], __stop_{section}[];\n'
        shared = f"emulator::Shared{{__start_{section}, __stop_{section}, {awaits}}}"
    return f"""
#undef SHARED_SECTION
#undef SHARED
#undef __CUDA_ARCH__
#define __CUDA_ARCH__ {arch}
#define SHARED_SECTION {section}
#define SHARED {shared}
{declared}#line 1 "{kind}_{number}"
namespace {kind}_{number} {{
{text}
{more}
}}
"""


def is_wide(text):
    """Whether buffers are accessed by more than an element at a time."""
    return (
        re.search(
            r"\b(?:char|uchar|short|ushort|int|uint|longlong|ulonglong|float|double)[24] \*"
            r"|unsigned (?:int|short) \*\)"
            r"|atomic_update\(&|copy_async",
            text,
        )
        is not None
    )


# ---- the host's part -----------------------------------------------------------------------------


def functions(text):
    """The names of the kernels, in order."""
    return re.findall(r"__global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(", text)


def constants(text):
    """The names in constant memory."""
    return re.findall(r"^__constant__ (?:__align__\(\d+\) )?[\w ]+? (\w+)[\[;]", text, re.M)


class Host:
    """The host's part of a lowered program: loops, conditions, temporaries and launches."""

    def __init__(self, program, lowered, launches, text):
        self.program = program  # evaluate.Program of the same kernel
        self.lowered = lowered  # tir.Kernel
        self.shapes = {p.name: p.shape for p in lowered.parameters}
        self.launches, self.temps = list(launches["launches"]), launches["temps"]
        self.names = functions(text)
        self.described = {p["name"]: p for p in launches["parameters"]}
        self.layouts = {n: p["layout"] for n, p in self.described.items() if "layout" in p}
        self.lines, self.indent = [], 1
        self.symbols = {}
        self.known = copy.copy(program)  # translates expressions
        self.known.scope = [
            {
                p.name: evaluate.Value(f"load(*d_{p.name})", p.type)
                for p in program.parameters
                if p.is_scalar
            }
        ]
        declared = constants(text)
        for launch in self.launches:
            for c in launch["constants"]:
                if c["symbol"] not in self.symbols:
                    self.symbols[c["symbol"]] = declared[len(self.symbols)]
        if len(self.names) != len(self.launches):
            raise TextError(f"{len(self.names)} kernels for {len(self.launches)} launches")

    def line(self, text):
        self.lines.append("    " * self.indent + text)

    def code(self, e):
        """An integer expression of sizes, loops and scalars."""
        return self.known.index(e)

    def learn(self, name):
        self.known.scope[0][name] = evaluate.Value(f"h_{name}", "index")

    def text(self):
        program, parameters = self.program, self.program.parameters
        self.line("(void)arguments;")
        for name, value in program.sizes.items():
            self.line(f"const long long h_{name} = {value}ll;")
            self.learn(name)
        for i, data in enumerate(parameters):
            stored = self.stored(data.type)
            self.line(f"{stored} *const d_{data.name} = {self.given(data, stored, i)};")
        self.move_all("d_{name}[{new}] = {given}[{old}];")
        for temp in self.temps:
            elements = self.product(temp["shape"])
            stored = self.stored(temp["type"])
            self.line(
                f"{stored} *const d_{temp['name']} = "
                f"({stored} *)emulator::device_memory(({elements}) * (long long)sizeof({stored}));"
            )
        self.statement(self.lowered.body)
        self.move_all("{given}[{old}] = d_{name}[{new}];")
        return "\n".join(["static void launch(void **arguments)", "{", *self.lines, "}", ""])

    # A parameter that has a layout of the schedule's: the caller passes an array in it.

    def given(self, data, stored, i):
        """What a kernel gets: the argument, or memory for it in the layout."""
        if data.name not in self.layouts:
            return f"({stored} *)arguments[{i}]"
        self.line(f"{stored} *const given_{data.name} = ({stored} *)arguments[{i}];")
        elements = self.product(self.described[data.name]["shape"])
        return f"({stored} *)emulator::device_memory({elements} * (long long)sizeof({stored}))"

    def product(self, shape):
        return " * ".join(f"({self.code(tir.expression(str(e)))})" for e in shape) or "1"

    def move_all(self, statement):
        """Runs a statement for each element of each parameter with a layout: `given` at `old` is
        where the program has it, `new` where the kernels have it."""
        for name, layout in self.layouts.items():
            inputs, outputs = (
                split_top(part.strip()[1:-1], ",") for part in layout["map"].split("->")
            )
            at = [f"at_{axis}" for axis in range(len(inputs))]
            for var, extent in zip(at, layout["shape"]):
                self.line(f"for (long long {var} = 0; {var} < {self.product([extent])}; {var}++)")
            self.known.scope.append({n: evaluate.Value(c, "index") for n, c in zip(inputs, at)})
            places = [self.code(tir.expression(e)) for e in outputs]
            self.known.scope.pop()
            old = self.flat(at, layout["shape"])
            new = self.flat(places, self.described[name]["shape"])
            moved = statement.format(name=name, given=f"given_{name}", old=old, new=new)
            self.line("    " + moved)

    def flat(self, subscripts, shape):
        """One subscript for all axes."""
        at = "0"
        for subscript, extent in zip(subscripts, shape):
            at = f"({at}) * {self.product([extent])} + ({subscript})"
        return at

    @staticmethod
    def stored(t):
        return (
            {1: "unsigned char", 2: "unsigned short"}[evaluate.BITS[t] // 8]
            if t in evaluate.NARROW
            else evaluate.STORED[t]
        )

    def statement(self, s):
        getattr(self, "write_" + s[0])(s)

    def braces(self, head, s):
        self.line(head + " {")
        self.indent += 1
        self.statement(s)
        self.indent -= 1
        self.line("}")

    def write_seq(self, s):
        for item in s[1]:
            self.statement(item)

    def write_for(self, s):
        _, var, lo, hi, step, body = s
        by = evaluate.number(step, self.program.sizes)
        begin, end = self.code(lo), self.code(hi)
        self.learn(var)
        self.braces(
            f"for (long long h_{var} = {begin}, end_{var} = {end}; "
            f"h_{var} {'<' if by > 0 else '>='} end_{var}; h_{var} += {by})",
            body,
        )

    def write_if(self, s):
        self.braces(f"if ({self.known.condition(s[1])})", s[2])
        if s[3]:
            self.braces("else", s[3])

    def write_let(self, s):
        self.line(f"const long long h_{s[1]} = {self.code(s[2])};")
        self.learn(s[1])

    def write_temp(self, s):
        """The launches say which buffers they need; a tensor map also needs the shape."""
        self.shapes[s[1]] = s[3]

    def tensor_map(self, a):
        """A tensor map, the last axis first as CUDA wants it."""
        extents = ", ".join(self.code(e) for e in reversed(self.shapes[a["name"]]))
        box = ", ".join(str(e) for e in reversed(a["box"]))
        return (
            f"emulator::TensorMapOf{{d_{a['name']}, (int)sizeof *d_{a['name']}, "
            f'{len(a["box"])}, {{{extents}}}, {{{box}}}, {a["swizzle"]}, "{a["element"]}"}}'
        )

    def write_launch(self, _):
        launch, name = self.launches.pop(0), self.names.pop(0)
        dims = [[self.code(tir.expression(str(e))) for e in launch[k]] for k in ("grid", "block")]
        arguments = []
        for a in launch["arguments"]:
            if a["kind"] == "tensor_map":
                arguments.append(self.tensor_map(a))
                continue
            prefix = {"buffer": "d_", "scalar": "*d_", "size": "h_", "loop": "h_", "value": "h_"}[
                a["kind"]
            ]
            arguments.append(
                f"emulator::Size{{h_{a['name']}}}" if prefix == "h_" else prefix + a["name"]
            )
        nothing = " || ".join(f"{e} <= 0" for e in dims[0])
        self.line(f"if (!({nothing})) {{")
        for c in launch["constants"]:
            symbol = self.symbols[c["symbol"]]
            self.line(
                f"    memcpy((void *)&device::{symbol}, d_{c['from']}, sizeof device::{symbol});"
            )
        dynamic = launch["shared_bytes"] if launch["shared_is_dynamic"] else 0
        self.line(
            f"    emulator::launch(dim3({', '.join(dims[0])}), dim3({', '.join(dims[1])}), "
            f"{dynamic}, SHARED,"
        )
        self.line(f"                     [&] {{ device::{name}({', '.join(arguments)}); }});")
        self.line("}")
